"""A node with a cache, in virtual time, and what the cache should have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bypass.mechanisms import Registry
from bypass.ports.caches import Cache, CacheEntry, CacheKey
from bypass.ports.host import Lease
from bypass.ports.monitor import Monitor
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.sim.sensor import TraceSensor
from bypass.testing.rules import Point
from bypass.transitions import Engine, Record


class KnownEntry(NamedTuple):
    """An entry as it was put."""

    value: Any
    size: int
    tags: frozenset[CacheKey]


@dataclass
class CacheNode:
    """A node in virtual time with a cache behind its proxy, begun with `settings`; `mechanisms` are those of
    one's own."""

    mechanism: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    mechanisms: Sequence[str | type] = ()
    seed: int = 1

    def __post_init__(self) -> None:
        self.clock = VirtualClock()
        sensor = TraceSensor(self.clock, self, 0, 0.0)
        host = SimHost(0, self.clock, sensor, Monitor(), self.seed)
        self.engine = Engine("node", lease=lambda owner: Lease(host, owner, None), clock=self.clock.now)
        registry = Registry(self.mechanisms)
        self.cache: Cache = registry.create(
            self.engine, "edge", "cache", self.mechanism, set=dict(self.settings)
        )

    def change(self, to: str, **values: Any) -> Record:
        """Exchange the mechanism, or set parameters of the one that runs."""
        record = self.engine.transition("cache", to, set=values)
        self.clock.run_until(self.clock.now_us + 1)
        return record

    # -- where the node is: it stands still ---------------------------------------------------------------

    def position(self, client: int, at: float) -> Point:  # noqa: ARG002
        return 0.0, 0.0

    def velocity(self, client: int, at: float) -> Point:  # noqa: ARG002
        return 0.0, 0.0


class CacheWorld(CacheNode):
    """A node that knows what its cache should have: `known` are the entries that were put and neither removed
    nor evicted since, `evicted` the keys of all evictions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.known: dict[CacheKey, KnownEntry] = {}
        self.evicted: list[CacheKey] = []
        self.cache.add_listener(self._gone)

    def put(self, key: CacheKey, size: int = 0, tags: Collection[CacheKey] = ()) -> None:
        """Put an entry whose value is one of its own."""
        value = object()
        before = self.known.get(key)
        self.known[key] = KnownEntry(value, size, frozenset(tags))
        told = len(self.evicted)
        if not self.cache.put(key, value, size, tags) and key not in self.evicted[told:]:
            del self.known[key]
            assert before is None or self.cache.find(key) is None, f"{key!r}: an older entry is there"

    def get(self, key: CacheKey) -> None:
        """Use an entry: it must be the one that was put."""
        found = self.cache.get(key)
        expected = self.known[key].value if key in self.known else None
        assert found is expected, f"{key!r}: the cache gives another value than was put"

    def remove(self, key: CacheKey) -> None:
        """Remove an entry."""
        there = self.known.pop(key, None) is not None
        removed = self.cache.remove(key)
        assert removed is there, f"{key!r}: removed {removed}, expected {there}"

    def settings_now(self) -> dict[str, Any]:
        """The parameters of the mechanism that runs."""
        return self.engine.active("cache").settings()

    def check(self) -> None:
        """The cache must have what was put and neither removed nor evicted, and be within its bounds."""
        keys = self.cache.keys()
        lost, strange = {*self.known} - {*keys}, {*keys} - {*self.known}
        assert not lost, f"{lost} are gone, and no listener was told"
        assert not strange, f"{strange} are there, and were removed or evicted"
        assert self.cache.count == len(keys) == len(self.known), f"{self.cache.count} entries counted"
        for key, known in self.known.items():
            entry = self.cache.find(key)
            assert entry is not None
            assert entry.value is known.value, f"{key!r}: the cache has another value than was put"
            assert entry.size == known.size, f"{key!r}: {entry.size} bytes, expected {known.size}"
            assert frozenset(entry.tags) == known.tags, f"{key!r}: tags {entry.tags}, expected {known.tags}"
        tags = {tag for known in self.known.values() for tag in known.tags}
        for tag in {*tags, "never"}:
            found = self.cache.tagged(tag)
            expected = {key for key, known in self.known.items() if tag in known.tags}
            assert sorted(map(repr, found)) == sorted(map(repr, expected)), f"tag {tag!r}: found {found}"
        self.check_bounds()

    def check_bounds(self) -> None:
        """The cache must have no more than its parameters allow."""
        settings, size = self.settings_now(), sum(known.size for known in self.known.values())
        assert self.cache.count <= settings["capacity"], f"{self.cache.count} entries of {settings}"
        assert self.cache.bytes == size, f"{self.cache.bytes} bytes counted, expected {size}"
        most = settings["most_bytes"]
        assert most is None or size <= most, f"{size} bytes, expected at most {most}"

    def _gone(self, entry: CacheEntry) -> None:
        known = self.known.pop(entry.key, None)
        assert known is not None, f"{entry.key!r} was evicted, and was not there"
        assert entry.value is known.value, f"{entry.key!r} was evicted with another value"
        assert self.cache.find(entry.key) is None, f"{entry.key!r} was evicted, and is there"
        self.evicted.append(entry.key)
