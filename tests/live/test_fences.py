"""Fences that change under load while the broker is killed and its filter scheme is exchanged."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import bypass
from bypass import Area, Event, PlanarLocation, attr
from bypass.live.client.connection import Connection
from bypass.live.client.subscription import LiveSubscription
from bypass.live.operator import Operator
from tests.command import COMMAND
from tests.live.crash_processes import Child

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SCHEMES = ("radial", "egrid", "attract")
SETTINGS = {
    "open": True,
    "store": "store.db",
    "sync": "normal",
    "grace": 0.5,
    "limits": {"client_rate": 0},
    "region": {"places": [{"name": "park", "x": 300, "y": 300, "radius": 100}]},
}
PATIENCE_S = 60.0


@dataclass
class Fence:
    """A subscription of its own, which of events it has been told and which areas it had in this round."""

    subscription: LiveSubscription
    areas: list[Area]
    told: Counter[int] = field(default_factory=Counter)


class Yard:
    """A broker as a process, somebody with fences, and somebody who publishes all the time."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.endpoint = f"ipc://{folder}/broker.sock"
        (folder / "broker.yaml").write_text(json.dumps({**SETTINGS, "listen": self.endpoint}))
        command = [*COMMAND, "broker", "--config", str(folder / "broker.yaml")]
        self.broker = Child("broker", "broker", folder, lambda _: command)
        self.places: list[tuple[float, float]] = []  # of events, by their number
        self.fences: list[Fence] = []
        self.kills = 0

    def connect(self, name: str) -> Connection:
        return bypass.connect(self.endpoint, open=True, name=name, patience=PATIENCE_S)

    def area(self) -> Area:
        """Some area in the middle of the region: most have something in common."""
        x, y = self.random.randrange(250, 550), self.random.randrange(250, 550)
        size = self.random.choice((80.5, 160.5, 240.5))
        kind = self.random.randrange(3)
        if kind == 0:
            return Area.box((x - size, y - size), (x + size, y + size))
        if kind == 1:
            return Area.circle((x, y), size)
        return Area.polygon(
            [(x - size, y - size), (x + size, y - size), (x, y + size)],
            [[(x - 20, y - 30), (x + 20, y - 30), (x, y + 10)]],
        )

    async def enclose(self, me: Connection) -> None:
        """Have another fence."""
        area = self.area()
        told: Counter[int] = Counter()

        def tell(event: Event, _: Any) -> None:
            told[event["n"]] += 1

        subscription = await me.subscribe(attr("kind") == "x", area=area, callback=tell)
        self.fences.append(Fence(subscription, [area], told))

    async def publish(self, publisher: Connection) -> None:
        place = float(self.random.randrange(100, 700)), float(self.random.randrange(100, 700))
        self.places.append(place)
        await publisher.publish(Event(kind="x", n=len(self.places) - 1), PlanarLocation(*place))

    async def change(self) -> None:
        fence = self.random.choice(self.fences)
        area = self.area()
        fence.areas.append(area)
        await fence.subscription.change(area=area)

    async def round(self, publisher: Connection, disturb: str) -> int:
        """Publish and change for a while, with what else is to happen; gives the first event's number."""
        first = len(self.places)
        for fence in self.fences:
            fence.areas = fence.areas[-1:]
        going_on = True

        async def publishing() -> None:
            while going_on:
                await asyncio.gather(*(self.publish(publisher) for _ in range(5)))

        async def changing() -> None:
            while going_on and disturb != "nothing":
                await self.change()

        tasks = [asyncio.ensure_future(work()) for work in (publishing, changing)]
        await self.some_events(60)
        if disturb == "kill":
            await asyncio.to_thread(self.broker.kill)
            self.kills += 1
            self.broker.start()
        elif disturb in SCHEMES:
            await asyncio.to_thread(self.exchange, disturb)
        await self.some_events(60)
        going_on = False
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*tasks)
        return first

    async def some_events(self, count: int) -> None:
        """Wait until so many more events were published."""
        wanted = len(self.places) + count
        async with asyncio.timeout(PATIENCE_S):
            while len(self.places) < wanted:
                await asyncio.sleep(0.01)

    def exchange(self, scheme: str) -> None:
        with Operator(self.endpoint, None, patience=PATIENCE_S) as operator:
            operator.ask("execute", plan={"plan": "test", "actions": [{"proxy": "filter", "to": scheme}]})

    async def judge(self, publisher: Connection, first: int) -> None:
        """Everything that lies in all areas which a fence had was told, and nothing else that lies in none;
        all of it once. What comes last comes after all else."""
        self.places.append((-1.0, -1.0))
        last = len(self.places) - 1
        await publisher.publish(Event(kind="x", n=last))
        async with asyncio.timeout(PATIENCE_S):
            while not all(fence.told[last] for fence in self.fences):
                await asyncio.sleep(0.01)
        for fence in self.fences:
            assert max(fence.told.values()) == 1, "something was told twice"
            for number in range(first, last):
                inside = [area.contains(*self.places[number]) for area in fence.areas]
                told = fence.told[number] == 1
                assert told or not all(inside), (
                    f"event {number} was lost: {self.places[number]}, {fence.areas}"
                )
                assert any(inside) or not told, f"event {number} is none of its: {fence.areas}"


@pytest.mark.parametrize("seed", [1])
def test_fences_that_change_under_load_lose_nothing_and_double_nothing(tmp_path: Path, seed: int) -> None:
    yard = Yard(tmp_path, seed)

    async def scenario() -> None:
        async with yard.connect("publisher") as publisher, yard.connect("me") as me:
            for _ in range(4):
                await yard.enclose(me)
            for disturb in ("nothing", "egrid", "kill", "attract", "nothing", "kill", "radial", "nothing"):
                first = await yard.round(publisher, disturb)
                await yard.judge(publisher, first)

    yard.broker.start()
    try:
        asyncio.run(scenario())
    finally:
        yard.broker.end()
    assert yard.kills == 2
    assert all(sum(fence.told.values()) > 50 for fence in yard.fences)
