"""Watches of live clients, with a broker in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bypass import Action, Area, Event, PlanarLocation, connect, connect_blocking
from bypass.core.borders.client.watching import wanted_kinds
from bypass.live.broker.store.store import Batch, StoreFailed
from bypass.live.client.errors import SubscriptionRefused
from bypass.places import EVERYBODY, BorderEvent
from bypass.places.borders import BorderOptions
from bypass.protocol.borders import BorderWatch
from bypass.protocol.messages import Notify, Subscribe
from bypass.protocol.session import CAPABILITIES, Ack
from bypass.transitions import Plan
from tests.live.brokers import PATIENCE, config, in_loop, peers, running

T = TypeVar("T")
REGION = {"area": (0, 0, 1000, 1000), "places": [{"name": "market", "x": 500, "y": 500, "radius": 100}]}
OUT, IN = PlanarLocation(100, 500), PlanarLocation(500, 500)


async def soon(awaited: Coroutine[Any, Any, T]) -> T:
    return await asyncio.wait_for(awaited, PATIENCE)


def brief(event: BorderEvent) -> tuple[str, str, str, str]:
    return event.kind, event.area, event.name, event.why


def test_others_are_watched_over_a_transition_and_a_change(tmp_path: Path) -> None:
    with running(config(tmp_path, region=REGION)) as service:
        endpoint = service.server.endpoints[0]

        async def told() -> list[tuple[str, str, str, str]]:
            found = []
            bus = connect(endpoint, open=True, name="bus", interval=0.02)
            me = connect(endpoint, open=True, name="me")
            async with bus, me:
                bus.moved(IN)
                bus.allow_following(["me"])
                watch = me.watch("place:market", whom=["bus"], initial=True, interval=0.02)
                async with watch:
                    found.append(brief(await soon(anext(watch))))
                    for place, to in ((OUT, "egrid"), (IN, "attract"), (OUT, "radial"), (IN, "ste")):
                        bus.moved(place)
                        found.append(brief(await soon(anext(watch))))
                        plan = Plan(plan="other", actions=(Action(proxy="filter", to=to),))
                        execute = partial(service.server.broker.execute, plan)
                        await asyncio.to_thread(in_loop, service, execute)
                    await soon(watch.change({"elsewhere": Area.circle((0, 0), 10)}))
                    found.append(brief(await soon(anext(watch))))
            return found

        found = asyncio.run(told())
        figures = service.server.broker.borders.figures()
    moved = [(kind, "market", "bus", "moved") for kind in ("exit", "enter") * 2]
    assert found == [
        ("enter", "market", "bus", "initial"), *moved, ("exit", "market", "bus", "removed")
    ]  # fmt: skip
    assert figures == {"watches": 0, "watched": 0, "undelivered": {}}


def test_a_blocking_client_watches_itself_and_everybody(tmp_path: Path) -> None:
    with running(config(tmp_path, region=REGION)) as service:
        endpoint = service.server.endpoints[0]
        with (
            connect_blocking(endpoint, open=True, name="bus", interval=0.02) as bus,
            connect_blocking(endpoint, open=True, name="me") as me,
        ):
            bus.moved(OUT)
            with (
                bus.watch(Area.circle((500, 500), 100), interval=0.02) as own,
                me.watch("places", whom=EVERYBODY, interval=0.02, initial=True) as every,
            ):
                bus.moved(IN)
                assert brief(own.get(PATIENCE)) == ("enter", "1", "", "moved")
                assert brief(every.get(PATIENCE))[:3] == ("enter", "market", "bus")
                with pytest.raises(SubscriptionRefused, match="place 'nowhere'"):
                    me.watch("place:nowhere", whom=["bus"]).open()


@pytest.mark.parametrize("scheme", ["radial", "egrid"])
def test_a_store_that_fails_for_a_while_loses_and_doubles_nothing(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(config(tmp_path, region=REGION, scheme=scheme)) as service:
        endpoint, store = service.server.endpoints[0], service.server.store
        write, failures = store.write, [0]

        def failing(batch: Batch) -> None:
            if failures[0] and batch.borders:
                failures[0] -= 1
                raise StoreFailed("no room")
            write(batch)

        monkeypatch.setattr(store, "write", failing)

        async def told() -> list[str]:
            found: list[str] = []
            bus = connect(endpoint, open=True, name="bus", interval=0.02)
            me = connect(endpoint, open=True, name="me")
            async with bus, me:
                bus.moved(IN)
                bus.allow_following(["me"])
                async with me.watch("places", whom=["bus"], initial=True, interval=0.02) as watch:
                    found.append((await soon(anext(watch))).kind)
                    for place in (OUT, IN, OUT):
                        failures[0] = 2
                        bus.moved(place)
                        found.append((await soon(anext(watch))).kind)
                        assert failures[0] == 0
            return found

        assert asyncio.run(told()) == ["enter", "exit", "enter", "exit"]


def test_a_watch_of_oneself_that_has_expired_is_over(tmp_path: Path) -> None:
    async def told(endpoint: str) -> list[tuple[str, str, str, str]]:
        async with (
            connect(endpoint, open=True, name="bus", location=lambda: IN) as bus,
            bus.watch(Area.circle((500, 500), 100), initial=True, expires=0.2) as watch,
        ):
            return [brief(event) async for event in watch]

    with running(config(tmp_path, region=REGION)) as service:
        found = asyncio.run(soon(told(service.server.endpoints[0])))
    assert found == [("enter", "1", "", "initial"), ("exit", "1", "", "expired")]


def test_a_watch_expires_by_the_clock_of_the_broker(tmp_path: Path) -> None:
    """The clock of the watcher is an hour behind. What it says again, connected anew, begins nothing."""
    with running(config(tmp_path, region=REGION)) as service, peers() as make:
        endpoint = service.server.endpoints[0]
        me = make(endpoint, "me", capabilities=CAPABILITIES)
        with connect_blocking(endpoint, open=True, name="bus", location=lambda: IN, interval=0.02) as bus:
            bus.allow_following(everybody=True)
            bus.publish(Event(kind="none"))
            until = in_loop(service, service.server.broker.host.now) - 3600.0
            areas = (("a", Area.circle((500, 500), 100)),)
            terms = BorderWatch(BorderOptions(initial=True, interval=0.02), areas, False, ("bus",), until)
            me.send(Subscribe(1, wanted_kinds(terms), expires=1.0, watch=terms))
            told = [me.get(Notify), me.get(Notify)]
            me.send(Ack(tuple([each.publication.id for each in told])))
            me.send(Subscribe(1, wanted_kinds(terms), expires=0.0, watch=terms))
            told += [each for each in me.settle() if isinstance(each, Notify)]
    kinds = [event["border"] for each in told if (event := each.publication.event) is not None]
    assert kinds == ["enter", "exit"]
