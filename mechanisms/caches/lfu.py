"""LFU: the entry that was used least often is evicted."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from bypass.mechanisms.caches.base import CacheMechanism
from bypass.ports.caches import CacheEntry, CacheKey


class Lfu(CacheMechanism):
    """Evicts the entry with the fewest uses since it was inserted; of several the one that was used least
    recently. Uses are never forgotten while an entry stays."""

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._queues: dict[int, OrderedDict[CacheKey, CacheEntry]] = {}  # by uses, the next to go first
        self._fewest = 1  # no entry has fewer uses

    def added(self, entry: CacheEntry) -> None:
        self._queues.setdefault(entry.uses, OrderedDict())[entry.key] = entry
        self._fewest = min(self._fewest, entry.uses)

    def used(self, entry: CacheEntry) -> None:
        self._forget(entry, entry.uses - 1)
        self._queues.setdefault(entry.uses, OrderedDict())[entry.key] = entry

    def removed(self, entry: CacheEntry) -> None:
        self._forget(entry, entry.uses)

    def evict(self) -> CacheEntry:
        if self._fewest not in self._queues:
            self._fewest = min(self._queues)
        entry = next(iter(self._queues[self._fewest].values()))
        self._forget(entry, entry.uses)
        return entry

    def _forget(self, entry: CacheEntry, uses: int) -> None:
        queue = self._queues[uses]
        del queue[entry.key]
        if not queue:
            del self._queues[uses]
