"""Random-2-LRU: of a few random entries, the one whose last use but one is the longest ago is evicted."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bypass.mechanisms.caches.base import CacheMechanism
from bypass.ports.caches import CacheEntry, CacheKey
from bypass.transitions import MechanismState

PICKS = 5


class Random2Lru(CacheMechanism):
    """Picks `picks` entries at random, and evicts the one with the earliest last use but one; of several that
    were used once, the one that was used first.

    It may pick fresh entries alone; `bypass.ingest.sizing.loss` says how often.
    """

    name = "random-2-lru"
    picks: Annotated[int, MechanismState(), Field(ge=1, le=64)] = PICKS

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._entries: list[CacheEntry] = []
        self._places: dict[CacheKey, int] = {}

    def rank(self, entry: CacheEntry) -> int:
        return entry.inserted

    def added(self, entry: CacheEntry) -> None:
        self._places[entry.key] = len(self._entries)
        self._entries.append(entry)

    def removed(self, entry: CacheEntry) -> None:
        place, last = self._places.pop(entry.key), self._entries.pop()
        if last is not entry:
            self._entries[place] = last
            self._places[last.key] = place

    def evict(self) -> CacheEntry:
        count = len(self._entries)
        places = self.host.random("cache").sample(range(count), min(self.picks, count))
        picked = [self._entries[place] for place in places]
        entry = min(picked, key=lambda each: (each.used_before, each.used))
        self.removed(entry)
        return entry
