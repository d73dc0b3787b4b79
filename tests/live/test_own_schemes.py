"""Filter schemes of one's own on a live broker: numbers, transitions, and clients that do not have them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bypass import Connection, Event, PlanarLocation, attr, connect
from bypass.core.plans import rollout_tracker
from bypass.errors import UnusableMechanism
from bypass.live.broker.service import Service
from bypass.mechanisms.filters import FilterScheme, Radial
from bypass.protocol.messages import PlanMessage
from bypass.protocol.session import SCHEMES
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.transitions import Action, Plan
from tests.live.brokers import PATIENCE, Peer, config, in_loop, peers, running, until

HEXAGONS = f"{Path(__file__).parents[2] / 'examples' / 'hexagons.py'}:Hexagons"
NEWS = attr("kind") == "news"
RADIAL = 1

Make = Callable[..., Peer]


class Everywhere(FilterScheme):
    """Another one: RADIAL under a name of its own."""

    class Client(Radial.Client):
        pass

    class Broker(Radial.Broker):
        pass


EVERYWHERE = f"{__name__}:Everywhere"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_tracker, "RETRY_S", 0.05)


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


def settings(folder: Path, *mechanisms: str, **changes: Any) -> Any:
    return config(folder, mechanisms=mechanisms, grace=0.3, **changes)


def change(service: Service, to: str, **values: Any) -> None:
    plan = Plan(plan=f"to-{to}", actions=(Action(proxy="filter", to=to, set=values),))
    (record,) = in_loop(service, lambda: service.server.broker.execute(plan))
    assert record.outcome == "done"


def schemes(service: Service) -> dict[str, str]:
    """Which scheme serves each client, by the names of sessions."""
    server = service.server
    return {each.name: server.broker.scheme_of(each.number).name for each in server.sessions}


def run(work: Callable[[], Any]) -> Any:
    async def in_time() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await work()

    return asyncio.run(in_time())


async def somebody(service: Service, name: str, x: float, **options: Any) -> Connection:
    me = connect(
        service.server.endpoints[0],
        open=True,
        name=name,
        location=lambda: (x, 500.0),
        interval=0.05,
        **options,
    )
    return await me.open()


async def settled(service: Service, condition: Callable[[], bool]) -> None:
    await asyncio.to_thread(until, lambda: in_loop(service, condition))


def _note(heard: list[tuple[str, int]], name: str, event: Event, _: object) -> None:
    heard.append((name, event["n"]))


def test_transitions_to_a_scheme_of_ones_own_and_back_lose_nothing(tmp_path: Path) -> None:
    with running(settings(tmp_path, HEXAGONS)) as service:

        async def work() -> None:
            ann = await somebody(service, "ann", 500.0, mechanisms=[HEXAGONS])
            bob = await somebody(service, "bob", 520.0, mechanisms=[HEXAGONS])
            heard: list[int] = []
            await bob.subscribe(NEWS, radius=100, callback=lambda event, _: heard.append(event["n"]))
            numbers = iter(range(1000))
            published = []

            async def publish() -> None:
                published.append(next(numbers))
                await ann.publish(Event(kind="news", n=published[-1]), PlanarLocation(500.0, 500.0))

            await publish()
            for to in ("hexagons", "grid", "hexagons", "attract", "hexagons", "ste"):
                await publish()
                await asyncio.to_thread(change, service, to)
                for _ in range(3):
                    await publish()
                await settled(service, lambda to=to: {*schemes(service).values()} == {to})  # type: ignore[misc]
                await settled(service, lambda: service.plans.latest(1)[0]["pending"] == 0)
                assert (ann.mechanisms["filter"], bob.mechanisms["filter"]) == (to, to)
                await publish()
            await asyncio.to_thread(until, lambda: len(heard) == len(published))
            assert sorted(heard) == published
            assert service.server.broker.rollout.tracker.isolations == 0
            await ann.close()
            await bob.close()

        run(work)
        assert in_loop(service, lambda: service.server.counters["malformed"]) == 0


def test_who_is_near_is_found_by_cells(tmp_path: Path) -> None:
    with running(settings(tmp_path, HEXAGONS, scheme="hexagons", set={"side": 20.0})) as service:

        async def work() -> None:
            everybody = {
                name: await somebody(service, name, x, mechanisms=[HEXAGONS])
                for name, x in (("ann", 500.0), ("bob", 560.0), ("cat", 950.0))
            }
            heard: list[tuple[str, int]] = []
            for name, me in everybody.items():
                assert me.mechanisms["filter"] == "hexagons"
                note = partial(_note, heard, name)
                await me.subscribe(NEWS, radius=100, callback=note)
            await everybody["ann"].publish_local(Event(kind="news", n=1))
            await everybody["cat"].publish_local(Event(kind="news", n=2))
            await everybody["bob"].publish_local(Event(kind="news", n=3))
            await asyncio.to_thread(until, lambda: len(heard) == 2)
            assert heard == [("bob", 1), ("ann", 3)]
            for me in everybody.values():
                await me.close()

        run(work)
        assert in_loop(service, lambda: service.server.counters["malformed"]) == 0


def test_a_client_that_lacks_the_scheme_says_so_and_is_served_by_what_it_has(tmp_path: Path) -> None:
    with running(settings(tmp_path, HEXAGONS)) as service:

        async def work() -> None:
            ann = await somebody(service, "ann", 500.0, mechanisms=[HEXAGONS])
            old = await somebody(service, "old", 520.0)
            heard: list[int] = []
            await ann.subscribe(NEWS, radius=100)
            await old.subscribe(NEWS, radius=100, callback=lambda event, _: heard.append(event["n"]))
            await asyncio.to_thread(change, service, "hexagons")
            await ann.publish_local(Event(kind="news", n=1))
            await settled(service, lambda: schemes(service) == {"ann": "hexagons", "old": "radial"})
            await ann.publish_local(Event(kind="news", n=2))
            await asyncio.to_thread(until, lambda: len(heard) == 2)
            assert old.mechanisms["filter"] == "radial"
            await ann.close()
            await old.close()

        run(work)
        execution = next(e for e in service.plans.latest(10) if e["plan"] == "to-hexagons")
        assert (execution["isolated"], execution["done"], execution["failed"]) == (["old"], 1, 1)
        records = in_loop(service, lambda: service.server.store.records(50))
        assert any("'filter' has no mechanism 'hexagons'" in content for _, _, _, content in records)


def test_who_comes_without_the_scheme_begins_with_one_that_all_have(tmp_path: Path) -> None:
    with running(settings(tmp_path, HEXAGONS, scheme="hexagons")) as service:

        async def work() -> None:
            ann = await somebody(service, "ann", 500.0, mechanisms=[HEXAGONS])
            for _ in range(2):  # the second time it is known to the broker
                old = await somebody(service, "old", 520.0)
                assert old.mechanisms["filter"] == "radial"
                near = await old.subscribe(NEWS, radius=100)
                await settled(service, lambda: schemes(service) == {"ann": "hexagons", "old": "radial"})
                await ann.publish_local(Event(kind="news", n=1))
                assert (await anext(aiter(near)))["n"] == 1
                await old.close()
            await ann.close()

        run(work)


def test_a_client_of_before_is_told_no_numbers_and_a_scheme_that_it_has(tmp_path: Path, make: Make) -> None:
    with running(settings(tmp_path, HEXAGONS, scheme="hexagons")) as service:
        endpoint = service.server.endpoints[0]
        old = make(endpoint, "old", capabilities=("missed",))
        assert (old.welcome.scheme, old.welcome.schemes) == (RADIAL, {})
        lacking = make(endpoint, "lacking", capabilities=(SCHEMES,), schemes=("octagons",))
        assert (lacking.welcome.scheme, lacking.welcome.schemes) == (RADIAL, {"hexagons": 64})
        able = make(endpoint, "able", capabilities=(SCHEMES,), schemes=("hexagons",))
        assert able.welcome.scheme == 64
        for peer in (old, lacking):
            peer.subscribe(at=(10.0, 10.0))
            plan = Plan.from_bytes(peer.get(PlanMessage).plan)
            assert [(action.proxy, action.to) for action in plan.actions] == [("filter", "hexagons")]


def test_a_number_stays_with_its_scheme_however_often_the_broker_starts(tmp_path: Path, make: Make) -> None:
    def told(name: str, *mechanisms: str) -> Any:
        with running(settings(tmp_path, *mechanisms)) as service:
            return make(service.server.endpoints[0], name, capabilities=(SCHEMES,)).welcome.schemes

    assert told("a", HEXAGONS) == {"hexagons": 64}
    assert told("b", EVERYWHERE) == {"hexagons": 64, "everywhere": 65}
    assert told("c", EVERYWHERE, HEXAGONS) == {"hexagons": 64, "everywhere": 65}


def test_a_broker_goes_on_with_the_scheme_after_a_restart(tmp_path: Path) -> None:
    configured = settings(tmp_path, EVERYWHERE, HEXAGONS)

    async def subscribe(service: Service) -> None:
        bob = await somebody(service, "bob", 520.0, mechanisms=[HEXAGONS])
        await bob.subscribe(NEWS, radius=100)
        await asyncio.to_thread(change, service, "hexagons", side=30.0)
        await settled(service, lambda: service.plans.latest(1)[0]["pending"] == 0)
        await bob.close()

    async def hear(service: Service) -> None:
        ann = await somebody(service, "ann", 500.0, mechanisms=[HEXAGONS])
        bob = await somebody(service, "bob", 520.0, mechanisms=[HEXAGONS])
        assert (ann.mechanisms["filter"], bob.mechanisms["filter"]) == ("hexagons", "hexagons")
        near = await bob.subscribe(NEWS, radius=100)
        await ann.publish_local(Event(kind="news", n=1))
        assert (await anext(aiter(near)))["n"] == 1
        await ann.close()
        await bob.close()

    with running(configured) as service:
        run(lambda: subscribe(service))
    with running(configured) as service:
        assert service.server.broker.filter_schemes[0].settings()["side"] == 30.0
        run(lambda: hear(service))
        assert in_loop(service, lambda: service.server.counters["malformed"]) == 0


def test_what_is_no_context_of_a_scheme_is_counted_and_refused(tmp_path: Path, make: Make) -> None:
    with running(settings(tmp_path, HEXAGONS, scheme="hexagons")) as service:
        peer = make(service.server.endpoints[0], "peer", capabilities=(SCHEMES,), schemes=("hexagons",))
        bodies = [
            pb.SchemeContext(scheme=64, numbers=[1]),
            pb.SchemeContext(scheme=65, numbers=[1, 2], reals=[20.0]),
            pb.SchemeContext(scheme=64, numbers=[1, 2], reals=[float("nan")]),
            pb.SchemeContext(scheme=64, numbers=[1] * 2000),
        ]
        for body in bodies:
            envelope = pb.Envelope(version=1, client=peer.number, scheme=64, scheme_context=body)
            peer.socket.send(envelope.SerializeToString())
        peer.settle()
        assert in_loop(service, lambda: service.server.counters["malformed"]) == len(bodies)


def test_a_connection_refuses_mechanisms_that_are_none() -> None:
    with pytest.raises(UnusableMechanism, match=r"nothing\.py:Here: expected module:Class"):
        connect("ipc:///nowhere", open=True, name="a", mechanisms=["nothing.py:Here"])
