"""FIFO: the entry that was inserted first is evicted."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from bypass.mechanisms.caches.base import CacheMechanism
from bypass.ports.caches import CacheEntry, CacheKey


class Fifo(CacheMechanism):
    """Evicts the entry that was inserted first, however often it is used."""

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self.queue: OrderedDict[CacheKey, CacheEntry] = OrderedDict()  # the next to go first

    def rank(self, entry: CacheEntry) -> int:
        return entry.inserted

    def added(self, entry: CacheEntry) -> None:
        self.queue[entry.key] = entry

    def removed(self, entry: CacheEntry) -> None:
        del self.queue[entry.key]

    def evict(self) -> CacheEntry:
        return self.queue.popitem(last=False)[1]
