"""State that caches and partitions hand over when one is exchanged for another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from bypass.mechanisms.caches.edge_buffer import EdgeBuffer
from bypass.mechanisms.caches.fifo import Fifo
from bypass.mechanisms.caches.keys import key_digest
from bypass.mechanisms.caches.sketch import FrequencySketch
from bypass.mechanisms.caches.w_tiny_lfu import WTinyLfu
from bypass.ports.caches import CacheEntry, CacheKey
from bypass.testing.worlds.caches import CacheWorld
from bypass.transitions import Action, MechanismState, Plan, TransferState, TransitionFailed


class CountingFifo(Fifo):
    """A queue that counts all keys in a sketch of its own."""

    sketch: Annotated[
        FrequencySketch,
        TransferState("frequency sketch", optional=True),
        Field(default_factory=FrequencySketch),
    ]

    def adopt(self, entries: Iterable[CacheEntry]) -> None:
        self.sketch.resize(self.capacity)
        super().adopt(entries)

    def added(self, entry: CacheEntry) -> None:
        self.sketch.add(key_digest(entry.key))
        super().added(entry)


def sketch(world: CacheWorld) -> FrequencySketch:
    found = world.engine.active("cache").sketch  # type: ignore[attr-defined]
    assert isinstance(found, FrequencySketch)
    return found


def test_a_sketch_moves_where_both_have_one() -> None:
    world = CacheWorld("w-tiny-lfu", {"capacity": 20}, [CountingFifo])
    world.put("gone")
    for _ in range(6):
        world.get("gone")
    world.remove("gone")  # no entry says how often it was used
    assert sketch(world).count(key_digest("gone")) == 7
    for name, capacity in (("counting-fifo", 20), ("w-tiny-lfu", 400), ("counting-fifo", 5)):
        record = world.change(name, capacity=capacity)
        assert {"frequency sketch", "cache content"} <= {*record.moved}
        assert sketch(world).count(key_digest("gone")) >= 7
        world.check()


def counts(world: CacheWorld) -> dict[CacheKey, int]:
    """The counters of a cache that is an edge buffer."""
    running = world.engine.active("cache")
    assert isinstance(running, EdgeBuffer)
    assert {*running.counters} == {*world.known}
    assert not {*running.absent} & {*world.known}
    assert all(count > 0 for count in (*running.counters.values(), *running.absent.values()))
    assert len(running.absent) <= running.remembered * running.capacity
    return {**running.counters, **running.absent}


class OtherBuffer(EdgeBuffer):
    """Another one that has counters, and may fail."""

    fails: Annotated[bool, MechanismState()] = False

    def start(self) -> None:
        super().start()
        if self.fails:
            self.absent.clear()
            self.counters.clear()
            raise RuntimeError("no")


calls = st.lists(st.tuples(st.sampled_from(("put", "put", "get", "remove")), st.sampled_from("abcdefgh")))


@settings(derandomize=True, deadline=None, max_examples=40)
@given(calls, calls, st.integers(1, 4), st.integers(0, 2), st.sampled_from(("other-buffer", "lru")))
def test_counters_are_those_of_all_accesses_and_move_where_both_have_them(
    before: list[tuple[str, str]],
    after: list[tuple[str, str]],
    capacity: int,
    remembered: int,
    other: str,
) -> None:
    world = CacheWorld("edge-buffer", {"capacity": capacity, "remembered": 8}, [OtherBuffer])
    accesses: Counter[CacheKey] = Counter()
    for name, key in before:
        accesses[key] += name == "put" or (name == "get" and key in world.known)
        getattr(world, name)(key)
        world.check()
    assert counts(world) == +accesses
    with pytest.raises(TransitionFailed):
        world.change("other-buffer", fails=True)
    assert counts(world) == +accesses
    record = world.change(other, remembered=remembered) if other != "lru" else world.change(other)
    assert ("access counters" in record.moved) == (other != "lru")
    for name, key in after:
        getattr(world, name)(key)
        world.check()
    world.change("edge-buffer")
    found = counts(world)
    if other == "lru":
        assert found == {key: world.cache.find(key).uses for key in world.known}  # type: ignore[union-attr]


class DyingTinyLfu(WTinyLfu):
    def start(self) -> None:
        super().start()
        for number in range(200):
            self.sketch.add(key_digest(number))
        raise RuntimeError("no")


def test_a_sketch_stays_as_it_was_if_a_transition_fails() -> None:
    world = CacheWorld("w-tiny-lfu", {"capacity": 20}, [DyingTinyLfu])
    for _ in range(7):
        world.put("a")
    with pytest.raises(TransitionFailed):
        world.change("dying-tiny-lfu", capacity=400)
    assert [sketch(world).count(key_digest(key)) for key in ("a", 1, 2)] == [7, 0, 0]


def test_a_sketch_that_nobody_takes_is_said_to_be_dropped() -> None:
    world = CacheWorld("w-tiny-lfu", {"capacity": 20})
    assert world.change("lru").dropped == ("frequency sketch",)


@pytest.mark.parametrize("between", ["fifo", "lfu", "s3-fifo", "w-tiny-lfu", "random-2-lru", "edge-buffer"])
def test_the_order_of_uses_outlives_mechanisms_that_do_not_ask_for_it(between: str) -> None:
    world = CacheWorld("lru", {"capacity": 4})
    for key in "abcd":
        world.put(key)
    world.get("a")
    world.change(between)
    world.get("c")
    world.change("lru")
    for key in "1234":
        world.put(key)
    assert world.evicted == [*"bdac"]


def test_uses_outlive_mechanisms_that_do_not_ask_for_them() -> None:
    world = CacheWorld("fifo", {"capacity": 3})
    for key in "abc":
        world.put(key)
    for key in "aac":
        world.get(key)
    world.change("lfu")
    world.put("d")
    assert world.evicted == ["b"]


def test_bounds_of_a_plan_come_before_those_that_move() -> None:
    world = CacheWorld("lru", {"capacity": 4, "most_bytes": 100})
    world.engine.set("cache", capacity=6)
    for key in range(6):
        world.put(key, 10)
    plan = Plan(plan="p", actions=(Action(proxy="cache", to="fifo", set={"most_bytes": 30}),))
    assert [record.outcome for record in world.engine.execute(plan)] == ["done"]
    assert world.evicted == []  # they may hear of it once it cannot fail any more
    world.clock.run_until(world.clock.now_us + 1)
    assert world.settings_now() == {"capacity": 6, "most_bytes": 30}
    assert world.evicted == [0, 1, 2]
    world.check()


class Dies(Fifo):
    def start(self) -> None:
        super().start()
        raise RuntimeError("no")


def test_nobody_is_told_of_evictions_by_a_mechanism_that_did_not_start() -> None:
    world = CacheWorld("lru", {"capacity": 4}, [Dies])
    for key in "abcd":
        world.put(key)
    with pytest.raises(TransitionFailed):
        world.change("dies", capacity=1)
    world.clock.run_until(world.clock.now_us + 10_000_000)
    world.check()
    assert (world.evicted, world.cache.count, world.settings_now()["capacity"]) == ([], 4, 4)
