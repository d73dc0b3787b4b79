"""A cache whose parts have a container each: a partition gives sizes, and caches keep to them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from bypass.mechanisms import Registry
from bypass.ports.caches import CacheKey, Partitioning
from bypass.testing.worlds.caches import CacheWorld
from bypass.transitions import Engine

CAPACITY = 60


class PartedCache:
    """Containers of one kind of cache, as a node would hold them."""

    def __init__(self, kind: str, partition: str, **values: Any) -> None:
        self.kind = kind
        self.engine = Engine("node")
        self.partition: Partitioning = Registry().create(
            self.engine, "edge", "partition", partition, set={"capacity": CAPACITY, **values}
        )
        self.containers: dict[CacheKey, CacheWorld] = {}
        self.evicted = 0

    @property
    def entries(self) -> Counter[CacheKey]:
        return Counter({key: each.cache.count for key, each in self.containers.items()})

    def put(self, part: str, key: int) -> None:
        container = self.partition.container(part)
        self.resize(self.partition.grow(self.entries, container))
        if container in self.containers:
            self.containers[container].put((part, key), tags=[part])

    def put_batch(self, keys: Mapping[str, range]) -> None:
        puts: Counter[CacheKey] = Counter()
        for part, of_part in keys.items():
            puts[self.partition.container(part)] += len(of_part)
        self.resize(self.partition.divide(self.entries, puts))
        for part, of_part in keys.items():
            for key in of_part:
                container = self.containers.get(self.partition.container(part))
                if container is not None:
                    container.put((part, key), tags=[part])

    def resize(self, sizes: Mapping[CacheKey, int]) -> None:
        """Give containers their sizes, those that become smaller first."""
        for container in [each for each in self.containers if not sizes.get(each)]:
            del self.containers[container]
        for container, size in sorted(sizes.items(), key=repr):
            if size and container not in self.containers:
                self.containers[container] = CacheWorld(self.kind, {"capacity": size})
            elif size:
                self.containers[container].engine.set("cache", capacity=size)

    def check(self) -> None:
        for each in self.containers.values():
            each.check()
        sizes = [each.settings_now()["capacity"] for each in self.containers.values()]
        assert sum(sizes) <= CAPACITY


@pytest.mark.parametrize("kind", ["w-tiny-lfu", "lru"])
@pytest.mark.parametrize("partition", ["amc", "bounded-amc", "flat"])
def test_containers_never_have_more_than_the_capacity_together(kind: str, partition: str) -> None:
    cache, drawn = PartedCache(kind, partition), random.Random(4)
    for number in range(400):
        part = drawn.choices("abc", [5, 2, 1])[0]
        cache.put(part, drawn.randrange(100))
        if number % 100 == 99:
            cache.put_batch({each: range(number, number + drawn.randrange(30)) for each in "abc"})
        cache.check()
    assert cache.entries.total() == CAPACITY


def test_an_overwhelming_part_leaves_others_their_least() -> None:
    """Ten batches of 588, 6 and 6 puts, after all had a third. By the formula 59.3, 0.6 and 0.6 of 60 entries
    are theirs then: the last one gets nothing."""
    left = {}
    for partition in ("amc", "bounded-amc"):
        cache = PartedCache("w-tiny-lfu", partition)
        cache.put_batch({part: range(20) for part in "abc"})
        assert cache.entries == {"a": 20, "b": 20, "c": 20}
        for number in range(1, 11):
            first = 1000 * number
            cache.put_batch(
                {"a": range(first, first + 588), "b": range(first, first + 6), "c": range(first, first + 6)}
            )
            cache.check()
        left[partition] = cache.entries
    assert left == {"amc": {"a": 59, "b": 1}, "bounded-amc": {"a": 40, "b": 10, "c": 10}}
