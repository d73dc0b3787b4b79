"""Clients of a live broker that hear each other nearby, too: a plan starts it."""

from __future__ import annotations

import asyncio
import logging
import socket
from functools import partial
from pathlib import Path

import pytest

from bypass import Connection, Event, Neighbours, attr, connect
from bypass.transitions import Action, Plan
from tests.live.brokers import config, in_loop, running
from tests.live.devices import KEY
from tests.live.scripted import on_loop

LIMIT = 30.0


def free_port() -> int:
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


async def became(connection: Connection, proxy: str, name: str) -> None:
    """Wait until a client has followed a plan."""
    async with asyncio.timeout(LIMIT):
        while connection.mechanisms[proxy] != name:
            await asyncio.sleep(0.01)


@on_loop
async def test_events_travel_nearby_without_the_broker(tmp_path: Path) -> None:
    port = free_port()

    def device(name: str, address: str) -> Connection:
        nearby = Neighbours(KEY, (f"{address}/8",), port)
        return connect(endpoint, open=True, name=name, location=lambda: (100.0, 100.0), neighbours=nearby)

    with running(config(tmp_path)) as service:
        endpoint = service.server.endpoints[0]
        async with device("a", "127.0.3.1") as a, device("b", "127.0.3.2") as b:
            heard = await b.subscribe(attr("kind") == "hello", radius=50)
            await a.subscribe(attr("kind") == "hello", radius=50)
            actions: tuple[tuple[str, str], ...] = (
                ("transport", "wifi"),
                ("direct", "flooding"),
                ("mode", "offload"),
            )
            plan = Plan(plan="nearby", actions=tuple(Action(proxy=p, to=to) for p, to in actions))
            await asyncio.to_thread(in_loop, service, lambda: service.server.broker.execute(plan))
            await became(a, "mode", "offload")
            await became(b, "mode", "offload")
            published = service.server.counters["publications"]
            hearing = asyncio.ensure_future(anext(heard))
            while not hearing.done():  # a datagram may be lost, as a frame on the air
                await a.publish_local(Event(kind="hello", n=1))
                await asyncio.wait([hearing], timeout=1.0)
            assert hearing.result()["n"] == 1
            assert service.server.counters["publications"] == published


@on_loop
async def test_bluetooth_is_not_there_and_wifi_goes_on(tmp_path: Path) -> None:
    nearby = Neighbours(KEY, ("127.0.3.3/8",), free_port())
    with running(config(tmp_path)) as service:
        async with connect(service.server.endpoints[0], open=True, name="a", neighbours=nearby) as a:
            await a.subscribe(attr("kind") == "hello")
            for radio in ("wifi", "bluetooth"):
                plan = Plan(plan=radio, actions=(Action(proxy="transport", to=radio),))
                await asyncio.to_thread(in_loop, service, partial(service.server.broker.execute, plan))
            async with asyncio.timeout(LIMIT):
                while not (latest := service.plans.latest(1)[0])["failed"]:
                    await asyncio.sleep(0.01)
            assert latest["plan"] == "bluetooth"
            assert a.mechanisms["transport"] == "wifi"


@on_loop
async def test_an_address_that_is_not_ours_is_said_and_the_broker_serves_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = Neighbours(KEY, ("203.0.113.7/24",), free_port())
    with running(config(tmp_path)) as service, caplog.at_level(logging.ERROR):
        async with connect(service.server.endpoints[0], open=True, name="a", neighbours=elsewhere) as a:
            await a.publish(Event(kind="hello"))
            async with asyncio.timeout(LIMIT):
                while "devices nearby are not heard: " not in caplog.text:
                    await asyncio.sleep(0.01)


def test_what_is_no_network_is_refused_at_once() -> None:
    with pytest.raises(Exception, match="nowhere"):
        Neighbours(KEY, ("nowhere",))
