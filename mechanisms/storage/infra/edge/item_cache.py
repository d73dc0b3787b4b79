"""A cache of items, whose worlds have containers: a partition gives their sizes, caches keep to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from bypass.mechanisms.caches.keys import encoded_key
from bypass.mechanisms.registry import Registry
from bypass.ports.caches import Cache, CacheEntry, CacheKey, EntryCounts, Partitioning
from bypass.protocol.edge import Item, ItemKey
from bypass.transitions import Engine, Plan, Record

ItemListener = Callable[[Item], None]
"""Is told of an item that was evicted, when the cache is without it. It must not raise."""


class CacheWorkshop(NamedTuple):
    """The means by which the caches of a node are made: its mechanisms, what leases its host, its clock."""

    registry: Registry
    lease: Callable[[str], Any]
    now: Callable[[], float]

    def engine(self, name: str) -> Engine:
        """An engine for one cache."""
        return Engine(name, lease=self.lease, clock=self.now)


class _Container:
    """A cache with an engine of its own, so that several may run in one node."""

    def __init__(self, workshop: CacheWorkshop, name: str, mechanism: str, values: Mapping[str, Any]) -> None:
        self.engine = workshop.engine(name)
        self.cache: Cache = workshop.registry.create(self.engine, "edge", "cache", mechanism, set=values)


class ItemCache:
    """Keeps at most `capacity` items. Each belongs to the container that a `partition` mechanism gives its
    world; which item of a container goes next is decided by a `cache` mechanism.

    The index of tags equals the content at any time. Both kinds of mechanisms are exchanged by
    `exchange_partition` and `exchange_eviction`. An item's size in bytes is that of all that is kept of it.
    `moved` counts the entries that had to leave a container because another one was given their room.
    """

    def __init__(
        self,
        workshop: CacheWorkshop,
        name: str,
        capacity: int,
        *,
        eviction: str = "w-tiny-lfu",
        eviction_values: Mapping[str, Any] = {},
        partition: str = "amc",
        partition_values: Mapping[str, Any] = {},
    ) -> None:
        self._workshop = workshop
        self.name = name
        self.moved = 0
        self._eviction = eviction, dict(eviction_values)
        self._containers: dict[CacheKey, _Container] = {}
        self._listeners: list[ItemListener] = []
        self._engine = workshop.engine(name)
        self._capacity = capacity
        self._partition: Partitioning = workshop.registry.create(
            self._engine, "edge", "partition", partition, set={**partition_values, "capacity": capacity}
        )
        self._spare = self._make(1)
        """An empty container, so that a mechanism that cannot run is noticed, and recorded, without any."""

    # -- content ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return sum(each.cache.count for each in self._containers.values())

    def __contains__(self, key: ItemKey) -> bool:
        return self.find(key) is not None

    def __iter__(self) -> Iterator[Item]:
        for container in list(self._containers.values()):
            yield from [entry.value for entry in _entries(container.cache)]

    @property
    def capacity(self) -> int:
        """The most items that are kept."""
        return self._capacity

    def counts(self) -> Counter[CacheKey]:
        """How many items each container has."""
        return Counter({name: each.cache.count for name, each in self._containers.items()})

    def by_world(self) -> Counter[str]:
        """How many items of each world there are."""
        return Counter(item.key.world for item in self)

    def sizes(self) -> dict[CacheKey, int]:
        """How many items each container may have."""
        return {
            name: each.engine.active("cache").settings()["capacity"]
            for name, each in self._containers.items()
        }

    def find(self, key: ItemKey) -> Item | None:
        """Look at an item, which does not count as a use."""
        cache = self._cache_of(key.world)
        entry = None if cache is None else cache.find(_name(key))
        return None if entry is None else entry.value

    def use(self, key: ItemKey) -> Item | None:
        """Use an item; None if it is not here."""
        cache = self._cache_of(key.world)
        return None if cache is None else cache.get(_name(key))

    def tagged(self, world: str, tag: str) -> list[Item]:
        """The items of a world that have a tag."""
        cache = self._cache_of(world)
        if cache is None:
            return []
        entries = [cache.find(key) for key in cache.tagged((world, tag))]
        return [entry.value for entry in entries if entry is not None]

    def put(self, item: Item) -> bool:
        """Insert an item, or replace it; others may be evicted for it. Gives whether it is here then."""
        key = item.key
        if key not in self:
            container = self._partition.container(key.world)
            self._resize(self._partition.grow(self.counts(), container))
        return self._insert(item)

    def put_batch(self, items: Iterable[Item]) -> None:
        """Insert items together: the capacity is divided once, for all of them."""
        batch = {item.key: item for item in items}
        new = [key for key in batch if key not in self]
        puts = Counter(self._partition.container(key.world) for key in new)
        self._resize(self._partition.divide(self.counts(), puts))
        for item in batch.values():
            self._insert(item)

    def remove(self, key: ItemKey) -> bool:
        """Remove an item, of which no listener is told. Gives whether it was here."""
        cache = self._cache_of(key.world)
        return cache is not None and cache.remove(_name(key))

    def add_listener(self, listener: ItemListener) -> None:
        """Have a function told of all evictions from now on."""
        self._listeners.append(listener)

    # -- transitions --------------------------------------------------------------------------------------

    def set_capacity(self, capacity: int) -> None:
        """Change the bound; what does not fit is evicted. Raises as `Engine.set` does."""
        self._engine.set("partition", capacity=capacity)
        self._capacity = capacity
        self._resize(self._partition.divide(self.counts(), {}))

    def set_parameters(self, plan: Plan) -> list[Record]:
        """Execute a plan that changes parameters of the partition, or those of the mechanism of all
        containers but for the capacity."""
        if plan.actions[0].proxy == "partition":
            records = self._engine.execute(plan)
            self._resize(self._partition.divide(self.counts(), {}))
            return records
        records = []
        for each in (self._spare, *self._containers.values()):
            records += each.engine.execute(plan)
        mechanism, before = self._eviction
        self._eviction = mechanism, {**before, **records[0].set}
        return records

    def exchange_eviction(self, to: str, **values: Any) -> list[Record]:
        """Exchange the mechanism of all containers, with the parameters `values` but for the capacity, which
        the partition gives; nothing is lost. Raises UnknownMechanism, TransitionFailed."""
        kind = self._workshop.registry.find("edge", "cache", to)
        before, self._eviction = self._eviction, (to, values)
        done: list[_Container] = []
        try:
            records = []
            for each in (self._spare, *self._containers.values()):
                size = each.engine.active("cache").settings()["capacity"]
                records.append(each.engine.transition("cache", kind, set={**values, "capacity": size}))
                done.append(each)
        except Exception:
            self._eviction = name, known = before
            for each in done:
                each.engine.transition("cache", name, set=known)
            raise
        return records

    def exchange_partition(self, to: str, **values: Any) -> Record:
        """Exchange the partition. Where a world has another container then, its items move there, in the
        order of their last uses as its containers counted them; nothing is evicted unless the capacity is
        smaller. Raises UnknownMechanism, TransitionFailed."""
        kind = self._workshop.registry.find("edge", "partition", to)
        record = self._engine.transition("partition", kind, set=values)
        self._capacity = self._engine.active("partition").settings()["capacity"]
        entries = [entry for container in self._containers.values() for entry in _entries(container.cache)]
        places = {entry.key: self._partition.container(entry.value.key.world) for entry in entries}
        if any(self._cache_in(place, key) is None for key, place in places.items()):
            self._containers.clear()
            self._resize(self._partition.divide(Counter(places.values()), {}))
            for entry in sorted(entries, key=lambda each: each.used):
                if places[entry.key] in self._containers:
                    self._insert(entry.value)
                else:
                    self._evicted(entry)
        else:
            self._resize(self._partition.divide(self.counts(), {}))
        return record

    # -- containers ---------------------------------------------------------------------------------------

    def _cache_of(self, world: str) -> Cache | None:
        container = self._containers.get(self._partition.container(world))
        return None if container is None else container.cache

    def _cache_in(self, place: CacheKey, key: CacheKey) -> CacheEntry | None:
        container = self._containers.get(place)
        return None if container is None else container.cache.find(key)

    def _insert(self, item: Item) -> bool:
        cache = self._cache_of(item.key.world)
        if cache is None:
            return False
        world = item.metadata.namespace
        size = item.metadata.told_bytes + len(item.data or b"")
        return cache.put(_name(item.key), item, size, [(world, tag) for tag in sorted(item.metadata.tags)])

    def _resize(self, sizes: EntryCounts) -> None:
        """Give containers their sizes, those that become smaller first."""
        if sum(sizes.values()) >= self._capacity:
            counts = self.counts()
            self.moved += sum(max(count - sizes.get(name, 0), 0) for name, count in counts.items())
        for name in [name for name in self._containers if not sizes.get(name)]:
            for entry in _entries(self._containers.pop(name).cache):
                self._evicted(entry)
        now = self.sizes()
        for name in sorted(sizes, key=lambda each: (sizes[each] - now.get(each, 0), encoded_key(each))):
            size = sizes[name]
            if not size or size == now.get(name):
                continue
            if name in self._containers:
                self._containers[name].engine.set("cache", capacity=size)
            else:
                self._containers[name] = container = self._make(size)
                container.cache.add_listener(self._evicted)

    def _make(self, size: int) -> _Container:
        mechanism, values = self._eviction
        return _Container(self._workshop, self.name, mechanism, {**values, "capacity": size})

    def _evicted(self, entry: CacheEntry) -> None:
        for listener in tuple(self._listeners):
            listener(entry.value)


def _entries(cache: Cache) -> list[CacheEntry]:
    """All entries of a cache, the oldest insertion first."""
    keys = cache.keys()
    return [entry for entry in map(cache.find, keys) if entry is not None]


def _name(key: ItemKey) -> CacheKey:
    """The key of an item's entry, which has no None."""
    world, (owner, name), source = key
    return world, owner, name, -1 if source is None else source
