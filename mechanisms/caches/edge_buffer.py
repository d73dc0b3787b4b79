"""EdgeBuffer: a new entry takes the place of the one with the lowest counter, if its own is higher."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from bypass.mechanisms.caches.base import CacheMechanism
from bypass.ports.caches import CacheEntry, CacheKey
from bypass.transitions import MechanismState, TransferState

AbsentCounters = OrderedDict[CacheKey, int]
"""Accesses of keys that have no entry, the one that was counted least recently first."""


class EdgeBuffer(CacheMechanism):
    """Counts accesses of keys, also of those that are not here: each `put`, and each `get` that finds
    something. In a full cache the entry with the lowest counter is evicted, of several the one that was used
    least recently; a new entry whose counter is not higher is kept out instead.

    Counters never become smaller. Beside those of entries, `remembered` times as many are kept as there may
    be entries; the ones that were counted least recently are forgotten.
    """

    remembered: Annotated[int, MechanismState(), Field(ge=0, le=64)] = 8
    counters: Annotated[dict[CacheKey, int], TransferState("access counters", optional=True)]
    absent: Annotated[
        AbsentCounters,
        TransferState("access counters of absent keys", optional=True),
        Field(default_factory=OrderedDict),
    ]

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._queues: dict[int, OrderedDict[CacheKey, CacheEntry]] = {}  # by counter, the next to go first
        self._lowest = 1  # no entry has a lower counter

    def set_capacity(self, capacity: int) -> None:
        super().set_capacity(capacity)
        self._forget()

    def set_remembered(self, remembered: int) -> None:
        """Change how many counters are kept of keys that are not here."""
        self.remembered = remembered
        self._forget()

    def adopt(self, entries: Iterable[CacheEntry]) -> None:
        """An entry whose counter does not come with it begins with its uses."""
        self.absent = OrderedDict(self.absent)  # the other mechanism's, which goes on if this one fails
        known, self.counters = self.counters, {}
        for entry in entries:
            self.counters[entry.key] = known.get(entry.key, entry.uses)
            self._enqueue(entry)
        self._forget()

    def admits(self, key: CacheKey) -> bool:
        counter = self.absent.pop(key, 0) + 1
        if counter > self._find_lowest():
            self.absent[key] = counter - 1  # it is counted when it is added
            return True
        self._remember(key, counter)
        return False

    def added(self, entry: CacheEntry) -> None:
        self.counters[entry.key] = self.absent.pop(entry.key, 0) + 1
        self._enqueue(entry)

    def used(self, entry: CacheEntry) -> None:
        self._dequeue(entry.key)
        self.counters[entry.key] += 1
        self._enqueue(entry)

    def removed(self, entry: CacheEntry) -> None:
        self._dequeue(entry.key)
        self._remember(entry.key, self.counters.pop(entry.key))

    def evict(self) -> CacheEntry:
        entry = next(iter(self._queues[self._find_lowest()].values()))
        self.removed(entry)
        return entry

    def _find_lowest(self) -> int:
        """The lowest counter of an entry; there is at least one."""
        if self._lowest not in self._queues:
            self._lowest = min(self._queues)
        return self._lowest

    def _enqueue(self, entry: CacheEntry) -> None:
        counter = self.counters[entry.key]
        self._queues.setdefault(counter, OrderedDict())[entry.key] = entry
        self._lowest = min(self._lowest, counter)

    def _dequeue(self, key: CacheKey) -> None:
        counter = self.counters[key]
        queue = self._queues[counter]
        del queue[key]
        if not queue:
            del self._queues[counter]

    def _remember(self, key: CacheKey, counter: int) -> None:
        self.absent[key] = counter
        self._forget()

    def _forget(self) -> None:
        while len(self.absent) > self.remembered * self.capacity:
            self.absent.popitem(last=False)
