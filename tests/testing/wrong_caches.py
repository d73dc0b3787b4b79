"""Caches, partitions and insertions that are wrong, each in a way of its own."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from math import ceil
from typing import Any

from bypass.mechanisms.caches.amc import Amc, Sizes
from bypass.mechanisms.caches.fifo import Fifo
from bypass.mechanisms.caches.lru import Lru
from bypass.mechanisms.storage.infra.edge.policies.insertion import InsertionMechanism
from bypass.ports.caches import CacheEntry, CacheKey, EntryCounts


class EvictsSilently(Lru):
    """Evicts two entries where one is enough, and says so of one."""

    def evict(self) -> CacheEntry:
        if len(self.queue) > 1:
            silent = super().evict()
            self.content.discard(silent.key)
        return super().evict()


class OldTags(Lru):
    """Keeps the tags that an entry had when it was inserted."""

    def put(self, key: CacheKey, value: Any, size: int = 0, tags: Collection[CacheKey] = ()) -> bool:
        known = self.find(key)
        return super().put(key, value, size, tags if known is None else known.tags)


class BeginsAnew(Fifo):
    """Does not know the entries that were there before it."""

    def adopt(self, entries: Iterable[CacheEntry]) -> None:
        pass


class Dice(Fifo):
    """Draws its numbers from elsewhere than its host."""

    def evict(self) -> CacheEntry:
        return self.queue.pop(random.SystemRandom().choice([*self.queue]))


class Ignorant(Lru):
    """Says that it resists scans, and does not."""


class KeepsOut(Lru):
    """Never admits a new entry to a full cache."""

    def admits(self, key: CacheKey) -> bool:
        return False


class RoundsUp(Amc):
    """Rounds each share up."""

    def shares(self, demand: EntryCounts) -> Sizes:
        total = max(sum(demand.values()), self.capacity)
        return {part: ceil(count * self.capacity / total) for part, count in demand.items() if count}


class FirstServed(Amc):
    """Gives all it has to the first parts."""

    def shares(self, demand: EntryCounts) -> Sizes:
        sizes: Sizes = {}
        for part, count in demand.items():
            sizes[part] = min(count, self.capacity - sum(sizes.values()))
        return sizes


class DecidesFirst(InsertionMechanism):
    """Inserts when the next decision has been made."""

    def batches(self, period_s: float, slack_s: float) -> Sequence[float]:
        return (period_s,)


class NeverInserts(InsertionMechanism):
    """Forgets what has arrived before it was there."""

    immediate = True

    def batches(self, period_s: float, slack_s: float) -> Sequence[float]:
        return ()
