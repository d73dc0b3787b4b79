"""S3-FIFO: three queues, of which the first keeps entries that are used once from the others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from bypass.mechanisms.caches.base import CacheMechanism
from bypass.ports.caches import CacheEntry, CacheKey
from bypass.transitions import MechanismState

MOST_COUNTED = 3
"""Uses of an entry that count in a queue."""
PROMOTED = 2
"""The uses by which an entry in the small queue goes on to the main queue."""

Queue = OrderedDict[CacheKey, int]
"""Keys, the next to go first, with the uses that count."""


class S3Fifo(CacheMechanism):
    """Has a `small` share of its entries in a first queue, and the others in a main queue. An entry that
    leaves the first one goes on if it was used twice there; else it is evicted, and its key is remembered: if
    it is inserted again soon, it begins in the main queue, where each use gives it another round.

    It is the algorithm of Yang et al. (SOSP 2023). As many keys are remembered as the main queue may have
    entries.
    """

    small: Annotated[float, MechanismState(), Field(gt=0, lt=1)] = 0.1

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._small: Queue = OrderedDict()
        self._main: Queue = OrderedDict()
        self._ghosts: OrderedDict[CacheKey, None] = OrderedDict()

    def rank(self, entry: CacheEntry) -> int:
        return entry.inserted

    def adopt(self, entries: Iterable[CacheEntry]) -> None:
        """The oldest entries go into the main queue, so many that the first one has its share."""
        all_entries = list(entries)
        first = len(all_entries) - round(self.small * len(all_entries))
        for number, entry in enumerate(all_entries):
            queue = self._main if number < first else self._small
            queue[entry.key] = min(entry.uses - 1, MOST_COUNTED)

    def added(self, entry: CacheEntry) -> None:
        known = entry.key in self._ghosts
        if known:
            del self._ghosts[entry.key]
        (self._main if known else self._small)[entry.key] = 0

    def used(self, entry: CacheEntry) -> None:
        queue = self._small if entry.key in self._small else self._main
        queue[entry.key] = min(queue[entry.key] + 1, MOST_COUNTED)

    def removed(self, entry: CacheEntry) -> None:
        del (self._small if entry.key in self._small else self._main)[entry.key]

    def evict(self) -> CacheEntry:
        while True:
            if len(self._small) >= max(1.0, self.small * self.count) or not self._main:
                key, uses = self._small.popitem(last=False)
                if uses < PROMOTED:
                    self._remember(key)
                    return self.content.entries[key]
                self._main[key] = 0
            else:
                key, uses = self._main.popitem(last=False)
                if not uses:
                    return self.content.entries[key]
                self._main[key] = uses - 1

    def _remember(self, key: CacheKey) -> None:
        self._ghosts[key] = None
        while len(self._ghosts) > max(1.0, (1 - self.small) * self.count):
            self._ghosts.popitem(last=False)
