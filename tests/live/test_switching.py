"""Live clients whose connections are ON and OFF by turns: what waits meanwhile arrives, once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest

import bypass
from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.live.client.link import reconnector
from bypass.models.churn import OnOff
from bypass.places.geo import PlanarLocation
from tests.live.brokers import config, running
from tests.live.faults import faulty_network
from tests.live.switching import switching

HERE = (10.0, 10.0)
LIMIT = 40.0
SCHEDULE = OnOff(on=0.1, off=0.1).schedule(2, 60.0, seed=5)
SWITCHES = 16


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.002)


@pytest.mark.parametrize(
    ("switched", "refusing"),
    [((0,), False), ((1,), False), ((0, 1), True)],
    ids=["publisher", "subscriber", "both, refused"],
)
def test_what_waits_arrives_once_and_in_order(
    switched: tuple[int, ...], refusing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconnector, "LATEST_RETRY_S", 0.1)  # as all here takes fractions of a second
    heard: list[int] = []
    states: list[str] = []

    async def scenario(endpoints: list[str]) -> None:
        async with AsyncExitStack() as stack:
            publisher, subscriber = [
                await stack.enter_async_context(
                    bypass.connect(endpoint, open=True, name=f"client{n}", location=lambda: HERE)
                )
                for n, endpoint in enumerate(endpoints)
            ]
            await subscriber.subscribe(
                attr("kind") == "x", radius=100, callback=lambda event, _: heard.append(event["n"])
            )
            (publisher if 0 in switched else subscriber).on_state = states.append
            published: list[asyncio.Future[int]] = []
            with switching({n: networks[n] for n in switched}, SCHEDULE, refusing) as switches:
                while len(switches.log) < SWITCHES:
                    seen = len(switches.log)
                    for _ in range(5):
                        event = Event(kind="x", n=len(published))
                        published.append(publisher.publish_soon(event, PlanarLocation(*HERE)))
                    await until(lambda: len(switches.log) > seen)  # noqa: B023 - called here
            async with asyncio.timeout(LIMIT):
                await asyncio.gather(*published)
            await until(lambda: len(heard) >= len(published))
            assert heard == list(range(len(published)))
            assert {each.client for each in switches.log} == set(switched)

    with ExitStack() as stack:
        service = stack.enter_context(running(config(tmp_path, listen=("tcp://127.0.0.1:*",))))
        networks = [stack.enter_context(faulty_network(service.server.endpoints[0])) for _ in range(2)]
        asyncio.run(scenario([network.endpoint for network in networks]))
    assert states.count("disconnected") > 2
    assert (sum(network.refused for network in networks) > 0) == refusing


def test_switches_follow_the_schedule() -> None:
    presence = OnOff(on=0.02, off=0.02).schedule(3, 0.3, seed=1)
    with ExitStack() as stack:
        networks = {n: stack.enter_context(faulty_network("tcp://127.0.0.1:9")) for n in (0, 2)}
        with switching(networks, presence) as switches:
            switches.wait()
    moments, clients, joins = (each.tolist() for each in presence.changes())
    planned = [
        (at / 1e6, client, on)
        for at, client, on in zip(moments, clients, joins, strict=True)
        if at > 0 and client in networks
    ]
    first = len(switches.log) - len(planned)
    assert first == sum(not presence.active(client, 0.0) for client in networks)
    assert [(client, on) for _, client, on in switches.log[first:]] == [each[1:] for each in planned]
    for (at, _, _), (due, _, _) in zip(switches.log[first:], planned, strict=True):
        assert at - switches.began >= due
