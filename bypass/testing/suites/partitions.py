"""The suite of partitions: promises that each division of a cache keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.mechanisms import Registry
from bypass.mechanisms.caches.partition import InvalidCount
from bypass.mechanisms.families import PARTITION, Family
from bypass.ports.caches import CacheKey, EntryCounts, Partitioning
from bypass.testing.suites.suite import MechanismSuite
from bypass.transitions import Engine

CAPACITY = 20
PARTS: list[CacheKey] = ["gallery", "myapp", 3, ("world", 4)]


class DividedCache:
    """A cache of which only the number of entries in each container is known; `capacity` is that of all."""

    def __init__(self, suite: PartitionSuite, name: str = "", **values: Any) -> None:
        self.engine = Engine("node")
        self._registry = Registry(suite.brought)
        settings = {**suite.parameters, "capacity": CAPACITY, **values}
        self.partition: Partitioning = self._registry.create(
            self.engine, "edge", "partition", name or suite.name, set=settings
        )
        self.entries: Counter[CacheKey] = Counter()
        self.sizes: dict[CacheKey, int] = {}

    @property
    def capacity(self) -> int:
        """The parameter of the mechanism that runs."""
        capacity: int = self.engine.active("partition").settings()["capacity"]
        return capacity

    def by_container(self, puts: EntryCounts) -> Counter[CacheKey]:
        """Numbers of entries of parts, by container."""
        found: Counter[CacheKey] = Counter()
        for part, count in puts.items():
            found[self.partition.container(part)] += count
        return found

    def put_batch(self, puts: EntryCounts) -> None:
        """Put so many entries of each part together."""
        self.resize(self.partition.divide(self.entries, self.by_container(puts)))
        self.entries += self.by_container(puts)
        self.resize(self.sizes)

    def put(self, part: CacheKey) -> None:
        """Put one entry."""
        container = self.partition.container(part)
        self.resize(self.partition.grow(self.entries, container))
        self.entries[container] += 1
        self.resize(self.sizes)

    def resize(self, sizes: EntryCounts) -> None:
        """Give containers their sizes; what does not fit is evicted."""
        self.sizes = dict(sizes)
        total = sum(sizes.values())
        assert total <= self.capacity, (
            f"sizes {dict(sizes)}: {total} in all, expected at most {self.capacity}"
        )
        assert all(size >= 0 for size in sizes.values()), f"sizes {dict(sizes)}: expected none below 0"
        left = {each: min(count, sizes.get(each, 0)) for each, count in self.entries.items()}
        self.entries = Counter({each: count for each, count in left.items() if count})

    def exchange(self, name: str, **values: Any) -> None:
        """Exchange the mechanism; entries go to the containers that they belong to then."""
        parts = self.entries
        self.engine.transition("partition", name, set=values)
        self.entries = self.by_container(parts)


class PartitionSuite(MechanismSuite):
    """Sizes never add up to more than the capacity, all of it is used when it is asked for, and nothing is
    evicted while there is room.

    Each part keeps `least` entries, or as many as it asks for, as long as the capacity is enough for that.
    """

    family: ClassVar[Family] = PARTITION
    defaults: ClassVar[Mapping[str, Any]] = {"least": 0}

    def test_sizes_fit_and_all_of_the_capacity_is_used(self) -> None:
        """With batches and single puts, in any order."""

        def fit(steps: Sequence[EntryCounts | CacheKey]) -> None:
            cache = DividedCache(self)
            for step in steps:
                asked = cache.entries.total() + (sum(step.values()) if isinstance(step, Mapping) else 1)
                _put(cache, step)
                used = cache.entries.total()
                if isinstance(step, Mapping):
                    expected = min(asked, CAPACITY)
                    assert used == expected, f"{used} entries after a batch, expected {expected}"

        self.for_all(fit, steps=_steps())

    def test_nothing_is_evicted_while_there_is_room(self) -> None:
        def stays(steps: Sequence[EntryCounts | CacheKey]) -> None:
            cache, asked = DividedCache(self, capacity=1000), 0
            for step in steps:
                _put(cache, step)
                asked += sum(step.values()) if isinstance(step, Mapping) else 1
                used = cache.entries.total()
                assert used == asked, f"{asked - used} of {asked} entries were evicted though there was room"

        self.for_all(stays, steps=_steps())

    def test_each_part_keeps_its_least(self) -> None:
        def keeps(steps: Sequence[EntryCounts]) -> None:
            least = self.capability("least")
            cache = DividedCache(self)
            for puts in steps:
                asked = cache.entries + cache.by_container(puts)
                floors = {part: min(least, count) for part, count in asked.items()}
                cache.put_batch(puts)
                if sum(floors.values()) <= CAPACITY:
                    below = {
                        part: cache.entries[part] for part in floors if cache.entries[part] < floors[part]
                    }
                    assert not below, f"{below} have less than {least}"

        self.for_all(keeps, steps=st.lists(_batch(), max_size=6))

    def test_the_order_of_parts_does_not_matter(self) -> None:
        def same(entries: dict[CacheKey, int], puts: dict[CacheKey, int]) -> None:
            found = []
            for turn in (1, -1):
                cache = DividedCache(self)
                order = [dict([*counts.items()][::turn]) for counts in (entries, puts)]
                cache.put_batch(order[0])
                cache.put_batch(order[1])
                found.append(cache.sizes)
            assert found[0] == found[1], f"sizes {found[0]}, in another order {found[1]}"

        self.for_all(same, entries=_batch(), puts=_batch())

    def test_what_is_no_number_of_entries_is_refused(self) -> None:
        cache = DividedCache(self)
        cache.put_batch({"gallery": 7})
        before = cache.partition.divide(cache.entries, {})
        for wrong in (-1, 0.5, None):
            counts: Any = {"gallery": wrong}
            refused = 0
            for first, second in ((counts, {}), ({}, counts)):
                try:
                    cache.partition.divide(first, second)
                except InvalidCount:
                    refused += 1
            try:
                cache.partition.grow(counts, "gallery")
            except InvalidCount:
                refused += 1
            assert refused == 3, f"{counts} was accepted"
        assert cache.partition.divide(cache.entries, {}) == before, "what was refused has changed something"

    def test_it_can_be_resized(self) -> None:
        def resized(steps: Sequence[EntryCounts | CacheKey], capacity: int) -> None:
            cache = DividedCache(self)
            for number, step in enumerate(steps):
                if number == len(steps) // 2:
                    cache.engine.set("partition", capacity=capacity)
                _put(cache, step)

        self.for_all(resized, steps=_steps(), capacity=st.integers(1, 2 * CAPACITY))

    def test_it_can_be_exchanged(self) -> None:
        """Each mechanism takes over from this one and hands over to it: the capacity goes with them, and what
        was there has room."""

        def exchanged(steps: Sequence[EntryCounts | CacheKey], other: str) -> None:
            cache = DividedCache(self)
            for name in (other, self.name):
                for step in steps:
                    _put(cache, step)
                before = cache.entries.total()
                cache.exchange(name)
                assert cache.capacity == CAPACITY, f"to {name}: capacity {cache.capacity}"
                cache.resize(cache.partition.divide(cache.entries, {}))
                after = cache.entries.total()
                assert after == before, f"to {name}: {after} of {before} entries are left"
            for step in steps:
                _put(cache, step)

        self.for_all(exchanged, steps=_steps(), other=st.sampled_from(self.others))


def _batch() -> st.SearchStrategy[dict[CacheKey, int]]:
    return st.dictionaries(st.sampled_from(PARTS), st.integers(0, CAPACITY), max_size=len(PARTS))


def _steps() -> st.SearchStrategy[list[Any]]:
    """Batches, and single puts of a part."""
    return st.lists(_batch() | st.sampled_from(PARTS) | st.sampled_from(PARTS), max_size=25)


def _put(cache: DividedCache, step: EntryCounts | CacheKey) -> None:
    if isinstance(step, Mapping):
        cache.put_batch(step)
    else:
        cache.put(step)
