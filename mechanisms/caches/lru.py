"""LRU: the entry that was used least recently is evicted."""

from __future__ import annotations

from bypass.mechanisms.caches.fifo import Fifo
from bypass.ports.caches import CacheEntry


class Lru(Fifo):
    """Evicts the entry whose last use is the longest ago: a queue whose end an entry goes to when it is
    used."""

    def rank(self, entry: CacheEntry) -> int:
        return entry.used

    def used(self, entry: CacheEntry) -> None:
        self.queue.move_to_end(entry.key)
