"""AMC, adaptive multipart caching: parts of a cache grow until it is full, then share it by demand."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bypass.mechanisms.caches.base import MOST_ENTRIES
from bypass.mechanisms.caches.keys import encoded_key
from bypass.mechanisms.caches.partition import CachePartition, check_counts, largest_remainders
from bypass.ports.caches import CacheKey, EntryCounts
from bypass.transitions import MechanismState, TransferState

Sizes = dict[CacheKey, int]


class Amc(CachePartition):
    """Each part has a container. Before a batch a part's demand is what it has and what is put into it: if
    all fit, each gets its demand, else the capacity is divided in proportion.

    Before a single put a container that is full grows by one while there is room, then by one that another
    container has to spare; after that, `limit` puts into a full container count as a batch.
    """

    limit: Annotated[int, MechanismState(), Field(ge=1, le=MOST_ENTRIES)] = 10
    sizes: Annotated[Sizes, TransferState("container sizes", optional=True)]
    excess: Annotated[Sizes, TransferState("puts above the size", optional=True)]

    def set_capacity(self, capacity: int) -> None:
        super().set_capacity(capacity)
        if sum(self.sizes.values()) > capacity:
            self.sizes = self.shares(self.sizes)

    def container(self, part: CacheKey) -> CacheKey:
        return part

    def divide(self, entries: EntryCounts, puts: EntryCounts) -> EntryCounts:
        check_counts("entries", entries)
        check_counts("puts", puts)
        self._divide(entries, puts)
        return dict(self.sizes)

    def grow(self, entries: EntryCounts, container: CacheKey) -> EntryCounts:
        check_counts("entries", entries)
        self._adopt(entries)
        size = self.sizes.get(container, 0)
        if entries.get(container, 0) >= size:
            spare = {part: self.sizes[part] - entries.get(part, 0) for part in self.sizes}
            if sum(self.sizes.values()) < self.capacity:
                self.sizes[container] = size + 1
            elif any(left > 0 for left in spare.values()):
                giver = max(sorted(spare, key=encoded_key), key=lambda part: spare[part])
                self._take_one(giver)
                self.sizes[container] = size + 1
            else:
                self._exceed(entries, container)
        return dict(self.sizes)

    def shares(self, demand: EntryCounts) -> Sizes:
        """Divide the capacity by the demand of parts; those without any are left out."""
        wanted = {part: count for part, count in demand.items() if count}
        if sum(wanted.values()) <= self.capacity:
            return wanted
        return largest_remainders(wanted, self.capacity)

    def _divide(self, entries: EntryCounts, puts: EntryCounts) -> None:
        parts = dict.fromkeys((*entries, *puts))
        self.sizes = self.shares({part: entries.get(part, 0) + puts.get(part, 0) for part in parts})

    def _adopt(self, entries: EntryCounts) -> None:
        """Know the containers of a cache that somebody else has divided before."""
        if any(count > self.sizes.get(part, 0) for part, count in entries.items()):
            self._divide(entries, {})

    def _take_one(self, giver: CacheKey) -> None:
        self.sizes[giver] -= 1
        if not self.sizes[giver]:
            del self.sizes[giver]

    def _exceed(self, entries: EntryCounts, container: CacheKey) -> None:
        """Count a put into a full container of a full cache."""
        count = self.excess.pop(container, 0) + 1
        if count >= self.limit:
            self._divide(entries, {container: count})
            return
        self.excess[container] = count
        while len(self.excess) > self.capacity:  # others may make any number of parts
            del self.excess[next(iter(self.excess))]


class BoundedAmc(Amc):
    """As `amc`, but a part keeps at least `least` entries, or as many as it asks for if these are fewer, as
    long as the capacity is enough for all parts to do so."""

    least: Annotated[int, MechanismState(), Field(ge=0, le=MOST_ENTRIES)] = 10

    def shares(self, demand: EntryCounts) -> Sizes:
        wanted = {part: count for part, count in demand.items() if count}
        if sum(wanted.values()) <= self.capacity:
            return wanted
        floors = {part: min(self.least, count) for part, count in wanted.items()}
        if sum(floors.values()) >= self.capacity:
            return largest_remainders(floors, self.capacity)
        held: Sizes = {}
        while True:  # those that get their least leave less to the others
            left = self.capacity - sum(held.values())
            sizes = largest_remainders({p: n for p, n in wanted.items() if p not in held}, left)
            low = [part for part, size in sizes.items() if size < floors[part]]
            if not low:
                return {**sizes, **held}
            held.update((part, floors[part]) for part in low)
