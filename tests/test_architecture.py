"""The page about the architecture names functions that exist; real events and objects pass them in order."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.live.client.connection import connect
from bypass.objects.metadata import Metadata
from bypass.places.geo import PlanarLocation
from bypass.testing.worlds.storage import QUIET_S, StorageWorld
from tests.live.brokers import config, running

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
STEP = r"`(bypass[\w.]*:[\w.]+)`"
NAMED = sorted(set(re.findall(STEP, PAGE.read_text())))
PATIENCE_S = 20.0


def walk(title: str) -> list[str]:
    """The steps of a walk, in the order of the page: the first function that each line names."""
    _, _, rest = PAGE.read_text().partition(f"\n### {title}\n")
    return re.findall(rf"^\d+\. {STEP}", rest.partition("\n### ")[0], re.MULTILINE)


def function(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return getattr(found, "callback", found)  # that of a command


def test_there_are_eight_walks() -> None:
    walks = PAGE.read_text().split("\n### ")[1:]
    assert len(walks) == 8
    assert all("\n1. `bypass" in walk for walk in walks)


@pytest.mark.parametrize("name", NAMED)
def test_each_step_of_a_walk_is_where_the_page_says(name: str) -> None:
    assert function(name).__module__ == name.partition(":")[0]


@contextmanager
def recording(names: list[str]) -> Iterator[list[str]]:
    """Collect the calls of these functions, in this thread and in those that it starts meanwhile."""
    codes: dict[CodeType, str] = {function(name).__code__: name for name in names}
    calls: list[str] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code in codes:
            calls.append(codes[frame.f_code])

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def passed(steps: list[str], calls: list[str]) -> list[str]:
    """The steps that were called, each after the one before it, up to the first that was not."""
    found: list[str] = []
    rest = iter(calls)
    for step in steps:
        if step not in rest:  # this takes calls up to that step
            break
        found.append(step)
    return found


def test_steps_are_looked_for_in_their_order() -> None:
    assert passed(["a", "b", "c"], ["b", "a", "c", "b", "c"]) == ["a", "b", "c"]
    assert passed(["a", "b", "c"], ["a", "c", "b"]) == ["a", "b"]


def test_a_live_event_takes_the_walk_of_the_page(tmp_path: Path) -> None:
    steps = walk("An event, live")
    assert len(steps) >= 15

    async def publish(endpoint: str, calls: list[str]) -> None:
        async with (
            connect(endpoint, open=True, name="publisher") as publisher,
            connect(endpoint, open=True, name="subscriber", location=lambda: (10.0, 10.0)) as subscriber,
        ):
            wanted = await subscriber.subscribe(attr("kind") == "news", radius=100)
            calls.clear()
            await publisher.publish(Event(kind="news"), PlanarLocation(20.0, 20.0))
            assert (await asyncio.wait_for(anext(wanted), PATIENCE_S))["kind"] == "news"

    with recording(steps) as calls, running(config(tmp_path)) as service:
        asyncio.run(publish(service.server.endpoints[0], calls))
    assert passed(steps, calls) == steps


def test_an_object_at_a_live_broker_takes_the_walk_of_the_page(tmp_path: Path) -> None:
    steps = walk("An object, at a live broker")
    assert len(steps) >= 15

    async def store(endpoint: str, calls: list[str]) -> None:
        async with (
            connect(endpoint, open=True, name="owner") as owner,
            connect(endpoint, open=True, name="subscriber") as subscriber,
            subscriber.query("sunset", since="now") as found,
        ):
            calls.clear()
            key = await owner.insert(b"#" * 900, {"beach", "sunset"})
            match = await asyncio.wait_for(anext(found), PATIENCE_S)
            assert (match.key, await match.retrieve()) == (key, b"#" * 900)

    with recording(steps) as calls, running(config(tmp_path)) as service:
        asyncio.run(store(service.server.endpoints[0], calls))
    assert passed(steps, calls) == steps


def test_a_stored_object_takes_the_walk_of_the_page() -> None:
    steps = walk("An object, stored and found")
    assert len(steps) >= 15
    area = {"area": [0.0, 0.0, 400.0, 400.0], "reach_m": 113.0}
    world = StorageWorld([(20.0 + 35.0 * x, 20.0) for x in range(8)], ("cells", {}), ("cells", area))
    world.run(QUIET_S)
    found: list[Metadata] = []
    with recording(steps) as calls:
        world.client(7).objects.query("sunset", lambda metadata, _: found.append(metadata))
        world.run(QUIET_S)
        inserted = world.insert(0, "sunset", size=3000)
        world.run(QUIET_S)
        [metadata] = found  # it says who has the bytes
        ends = world.retrieve(7, metadata)
        world.run(QUIET_S)
    assert metadata.key == inserted.metadata.key
    assert [end.data for end in ends] == [inserted.data]
    assert passed(steps, calls) == steps
