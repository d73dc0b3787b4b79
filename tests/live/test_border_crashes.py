"""Border events over a broker that is killed, again and again: none is lost, none comes twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import pytest

from bypass import connect
from bypass.places.areas import Area
from bypass.places.borders import BorderEvent
from bypass.places.geo import PlanarLocation
from tests.command import COMMAND
from tests.live.crash_processes import PATIENCE, Child

pytestmark = pytest.mark.slow

T = TypeVar("T")
SQUARE = Area.box((400, 400), (600, 600))
OUTSIDE, INSIDE = PlanarLocation(100, 500), PlanarLocation(500, 500)
VISITS = 3


async def soon(awaited: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaited, PATIENCE)


@pytest.mark.parametrize("scheme", ["radial", "egrid"])
def test_a_killed_broker_loses_and_doubles_nothing(scheme: str, tmp_path: Path) -> None:
    """It is killed right after the client has moved, before or after it has told that, and in between."""
    endpoint = f"ipc://{tmp_path}/broker"
    settings = {
        "listen": endpoint, "open": True, "store": str(tmp_path / "store.db"), "scheme": scheme,
        "region": {"area": [0, 0, 1000, 1000]}, "limits": {"client_rate": 0},
    }  # fmt: skip
    (tmp_path / "broker.yaml").write_text(json.dumps(settings))
    command = [*COMMAND, "broker", "--config", str(tmp_path / "broker.yaml")]
    broker = Child("broker", "broker", tmp_path, lambda _: command)
    broker.start()
    try:
        told = asyncio.run(visits(endpoint, broker))
    finally:
        broker.end()
    assert [event.kind for event in told] == ["enter", *["exit", "enter"] * VISITS]
    assert [event.why for event in told] == ["initial", *["moved"] * 2 * VISITS]
    assert all(event.name == "bus" and abs(event.x - 400) < 1e-6 for event in told[1:])


async def visits(endpoint: str, broker: Child) -> list[BorderEvent]:
    """A client goes in and out; what its watcher is told, until the last exit and a little longer."""
    told: list[BorderEvent] = []
    bus = connect(endpoint, open=True, name="bus", interval=0.02, patience=PATIENCE)
    me = connect(endpoint, open=True, name="me", patience=PATIENCE)
    async with bus, me:
        bus.moved(INSIDE)
        bus.allow_following(["me"])
        async with me.watch(
            {"square": SQUARE}, on={"enter", "exit"}, whom=["bus"], interval=0.02, initial=True
        ) as watch:
            told.append(await soon(anext(watch)))  # it is known where the client is
            for visit in range(VISITS):
                for place in (OUTSIDE, INSIDE):
                    before = len(told)
                    bus.moved(place)
                    if visit % 3 == 1:
                        broker.kill()
                        broker.start()
                    told.append(await soon(anext(watch)))
                    assert len(told) == before + 1
                    if visit % 3 == 2:
                        broker.kill()
                        broker.start()
                        await soon(bus.until_connected())
            await soon(me.until_connected())
            extra = asyncio.create_task(anext(watch))
            await asyncio.wait((extra,), timeout=0.5)
            if extra.done():
                told.append(extra.result())
            extra.cancel()
    return told
