"""Which entry each cache evicts, in cases small enough to follow, and on a trace whose figures are known."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bypass.errors import InvalidCallback
from bypass.live.host import LiveHost
from bypass.mechanisms import Registry
from bypass.mechanisms.caches.keys import InvalidCacheEntry
from bypass.mechanisms.families import CACHE
from bypass.ports.caches import Cache, CacheEntry, CacheKey
from bypass.ports.host import Lease
from bypass.ports.monitor import Monitor
from bypass.sim.clock import VirtualClock
from bypass.sim.host import stream
from bypass.sim.sensor import TraceSensor
from bypass.testing.worlds.caches import CacheNode, CacheWorld
from bypass.transitions import Engine, InvalidParameter, TransitionFailed
from tests.cache_traces import made_trace

REQUESTS = 20_000
HITS = {
    "w-tiny-lfu": 7694,
    "lru": 6567,
    "lfu": 7396,
    "fifo": 5980,
    "s3-fifo": 7390,
    "random-2-lru": 6985,
    "edge-buffer": 7825,
}
"""Of 20,000 requests, with 500 entries. The optimum, with the next use of each key known, is in
`benchmarks/caches.py`."""


def used(world: CacheWorld, *keys: Any) -> list[Any]:
    """Use keys, or put those that are not there. Gives what is evicted."""
    told = len(world.evicted)
    for key in keys:
        if world.cache.find(key) is None:
            world.put(key)
        else:
            world.get(key)
    return world.evicted[told:]


def cache(name: str, capacity: int, **values: Any) -> CacheWorld:
    return CacheWorld(name, {"capacity": capacity, **values})


def test_lru_evicts_what_was_used_least_recently() -> None:
    world = cache("lru", 3)
    assert used(world, *"abcad") == ["b"]
    assert used(world, *"cef") == ["a", "d"]


def test_fifo_evicts_what_was_inserted_first() -> None:
    world = cache("fifo", 3)
    assert used(world, *"abcaad") == ["a"]
    world.put("b")  # replaced, which is no insertion
    assert used(world, "e") == ["b"]


def test_lfu_evicts_what_was_used_least_often_and_then_least_recently() -> None:
    world = cache("lfu", 3)
    assert used(world, *"aaabbcd") == ["c"]
    assert used(world, *"de") == ["b"]  # as often as d, which was used later
    world.remove("e")
    world.remove("d")
    assert used(world, *"fgh") == ["f"]


def test_s3_fifo_keeps_what_is_used_twice_and_what_comes_again_soon() -> None:
    world = cache("s3-fifo", 10)
    assert used(world, *range(10), 0, 0, 10) == [1]  # 0 goes on to the main queue
    assert used(world, 1, 11, 12) == [2, 3, 4]  # 1 is known, and begins in the main queue
    assert used(world, *range(20, 28)) == [5, 6, 7, 8, 9, 10, 11, 12]
    assert {0, 1} <= {*world.known}


def test_w_tiny_lfu_admits_what_is_used_more_often_than_its_victim() -> None:
    world = cache("w-tiny-lfu", 4, window=0.25)
    assert used(world, *"aabbcc", "x") == []  # a, b, c are in the main part, x in the window
    assert used(world, *"yz") == ["x", "y"]  # neither was used more often than a
    assert used(world, *"zzz", "w") == ["a"]  # z was


def test_w_tiny_lfu_evicts_from_probation_first() -> None:
    world = cache("w-tiny-lfu", 6, window=0.2, protected=0.8)
    used(world, *"abcdef")  # f is in the window
    used(world, *"aabbccdd")  # all protected but one: e was used once
    assert used(world, "f", "f", "g") == ["e"]
    assert {*world.known} == {*"abcdfg"}


def test_random_2_lru_evicts_by_the_use_before_the_last() -> None:
    """With as many picks as there are entries it is not random."""
    world = cache("random-2-lru", 4, picks=64)
    used(world, *"abcd")
    assert used(world, *"aabcd", "e") == ["b"]  # a was used more often than twice, b first of the others
    assert used(world, "f") == ["e"]  # once


def test_edge_buffer_admits_what_was_accessed_more_often_than_its_victim() -> None:
    """Also when it was not there."""
    world = cache("edge-buffer", 3)
    assert used(world, *"aabbc", "x", "y") == []  # no more accesses than c
    assert {*world.known} == {*"abc"}
    assert used(world, "x") == ["c"]
    assert used(world, "y", "y") == ["a"]  # a, b and x have two, a was used first
    assert used(world, "c", "c", "c") == ["b"]  # its counter did not begin anew
    world.remove("c")
    assert used(world, "z") == []  # there is room
    assert used(world, "c") == ["z"]


def test_edge_buffer_forgets_counters_of_keys_that_were_not_accessed_for_long() -> None:
    world = cache("edge-buffer", 2, remembered=1)
    assert used(world, *"aab", "x", "y", "z") == []  # x is forgotten
    assert used(world, "x") == []
    assert used(world, "z") == ["b"]
    world.change("edge-buffer", remembered=0)
    assert used(world, *"zzzzxxxxxx") == []  # none is remembered


@pytest.mark.parametrize("name", Registry().kinds(CACHE))
def test_bytes_count_beside_entries(name: str) -> None:
    world = cache(name, 100, most_bytes=1000)
    for number in range(50):
        world.put(number, 100)
    world.check()
    assert world.cache.count == 10
    world.put("large", 950)
    world.check()
    world.put("large", 1001)  # no room for it, and the older one is not right any more
    world.check()
    assert world.cache.find("large") is None


@pytest.mark.parametrize("name", HITS)
def test_hits_on_a_made_trace_are_those_that_were_measured(name: str) -> None:
    trace = made_trace(REQUESTS)
    node = CacheNode(name, {"capacity": 500})
    hits = 0
    for key in trace:
        if node.cache.get(key) is None:
            node.cache.put(key, True)
        else:
            hits += 1
    assert hits == HITS[name]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (((1.5,), True), r"^key 1.5: expected a whole number, a text, bytes, or a tuple of these$"),
        ((("a", None), True), r"^key None: expected a whole number, "),
        (("a", None), r"^value of 'a' None: expected anything else"),
        (("a", True, -1), r"^size of 'a' -1: expected a whole number from 0 on$"),
        (("a", True, 2.5), r"^size of 'a' 2.5: expected"),
        (("a", True, 1, [{}]), r"^key \{\}: expected"),
        (("a", True, 1, "beach"), r"^tags of 'a' 'beach': expected a collection of tags$"),
    ],
)
def test_what_cannot_be_an_entry_is_refused(arguments: tuple[Any, ...], problem: str) -> None:
    world = cache("lru", 3)
    used(world, *"abc")
    with pytest.raises(InvalidCacheEntry, match=problem):
        world.cache.put(*arguments)
    world.check()


def test_what_cannot_be_a_listener_or_a_bound_is_refused() -> None:
    world = cache("lru", 3)
    with pytest.raises(InvalidCallback, match="listener 3: expected a plain function of an entry"):
        world.cache.add_listener(3)  # type: ignore[arg-type]
    for wrong in (0, -1, 2_000_000, "many"):
        with pytest.raises((InvalidParameter, TransitionFailed), match="capacity"):
            world.engine.set("cache", capacity=wrong)
    assert world.settings_now()["capacity"] == 3


def test_a_listener_that_was_removed_is_told_nothing_more() -> None:
    node = CacheNode("lru", {"capacity": 1})
    told: list[CacheEntry] = []
    node.cache.add_listener(told.append)
    node.cache.put("a", True)
    node.cache.put("b", True)
    node.cache.remove_listener(told.append)
    node.cache.remove_listener(told.append)
    node.cache.put("c", True)
    assert [entry.key for entry in told] == ["a"]


PROGRAM = """
from bypass.mechanisms import Registry
from bypass.mechanisms.families import CACHE
from bypass.ports.caches import CacheEntry
from bypass.testing.worlds.caches import CacheNode
from tests.cache_traces import made_trace
for name in Registry().kinds(CACHE):
    node = CacheNode(name, {"capacity": 50})
    node.cache.add_listener(lambda entry: print(entry.key))
    for key in made_trace(3000):
        node.cache.get(f"key {key}") or node.cache.put(f"key {key}", True, 1, {"a", "b", f"tag {key % 9}"})
    print(node.cache.keys(), node.cache.tagged("tag 3"))
"""


@pytest.mark.parametrize("name", HITS)
def test_caches_are_the_same_in_the_simulator_and_live(name: str) -> None:
    """The random numbers of a live host, drawn from entropy otherwise, begin as in the simulator here."""
    simulated = CacheNode(name, {"capacity": 50})
    clock = VirtualClock()
    host = LiveHost(0, clock, TraceSensor(clock, simulated, 0, 0.0), Monitor())
    host.random("cache").setstate(stream(1, 0, "cache").getstate())
    engine = Engine("node", lease=lambda owner: Lease(host, owner, None), clock=clock.now)
    live: Cache = Registry().create(engine, "edge", "cache", name, set={"capacity": 50})
    evicted: tuple[list[CacheKey], list[CacheKey]] = ([], [])
    for cache, told in zip((simulated.cache, live), evicted, strict=True):
        cache.add_listener(lambda entry, told=told: told.append(entry.key))  # type: ignore[misc]
        for key in made_trace(3000):
            if cache.get(key) is None:
                cache.put(key, True)
    assert evicted[0] == evicted[1] != []
    assert type(simulated.engine.active("cache")) is type(engine.active("cache"))


@pytest.mark.slow
def test_caches_are_the_same_in_every_process() -> None:
    """Whatever Python's hash of texts is there."""
    root = Path(__file__).parents[3]
    printed = {
        hashlib.sha256(
            subprocess.run(
                [sys.executable, "-c", PROGRAM],
                cwd=root,
                env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
                capture_output=True,
                check=True,
            ).stdout
        ).hexdigest()
        for seed in ("1", "2")
    }
    assert len(printed) == 1
