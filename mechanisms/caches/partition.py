"""The base of partitions, which divide the capacity of a cache among its parts, and one that does not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any

from pydantic import Field

from bypass.errors import BypassError, shown
from bypass.mechanisms.caches.base import MOST_ENTRIES
from bypass.mechanisms.caches.keys import encoded_key
from bypass.ports.caches import CacheKey, EntryCounts
from bypass.transitions import Mechanism, MechanismState, TransferState

WHOLE: CacheKey = ()
"""The container of all parts where they share one."""


class InvalidCount(BypassError):
    """A number of entries is none."""


def check_counts(about: str, counts: EntryCounts) -> None:
    """Raises InvalidCount unless all are whole numbers from 0 on."""
    for key, count in counts.items():
        if not isinstance(count, int) or count < 0:
            raise InvalidCount(f"{about} of {shown(key)} {shown(count)}: expected a whole number from 0 on")


def largest_remainders(demand: EntryCounts, capacity: int) -> dict[CacheKey, int]:
    """Divide a capacity in proportion to a demand that is at least as large.

    Each gets its exact share, rounded down; what is left goes, one each, to those with the largest
    remainders, of equal ones to the first by name. Nobody gets more than its demand.
    """
    total = sum(demand.values())
    if not total:
        return dict.fromkeys(demand, 0)
    sizes = {part: wanted * capacity // total for part, wanted in demand.items()}
    left = capacity - sum(sizes.values())
    order = sorted(demand, key=lambda part: (-(demand[part] * capacity % total), encoded_key(part)))
    for part in order[:left]:
        sizes[part] += 1
    return sizes


class CachePartition(Mechanism, ABC):
    """Divides `capacity` entries among the containers of a cache's parts. The capacity moves in a transition,
    unless it is set with it."""

    capacity: Annotated[int, MechanismState(), Field(ge=1, le=MOST_ENTRIES)] = 100
    divided: Annotated[int | None, TransferState("divided capacity", optional=True)] = None

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._given = values.keys()

    def start(self) -> None:
        if self.divided is not None and "capacity" not in self._given:
            self.capacity = self.divided
        self.set_capacity(self.capacity)

    def set_capacity(self, capacity: int) -> None:
        """Change the capacity; it is divided anew where less is left."""
        self.capacity = self.divided = capacity

    @abstractmethod
    def container(self, part: CacheKey) -> CacheKey:
        """The container of a part."""

    @abstractmethod
    def divide(self, entries: EntryCounts, puts: EntryCounts) -> EntryCounts:
        """Divide the capacity before so many entries are put into each container together."""

    @abstractmethod
    def grow(self, entries: EntryCounts, container: CacheKey) -> EntryCounts:
        """Divide the capacity before one entry is put into a container."""


class Flat(CachePartition):
    """All parts share one container, which has the whole capacity."""

    def container(self, part: CacheKey) -> CacheKey:  # noqa: ARG002
        return WHOLE

    def divide(self, entries: EntryCounts, puts: EntryCounts) -> EntryCounts:
        check_counts("entries", entries)
        check_counts("puts", puts)
        return {WHOLE: self.capacity}

    def grow(self, entries: EntryCounts, container: CacheKey) -> EntryCounts:  # noqa: ARG002
        check_counts("entries", entries)
        return {WHOLE: self.capacity}
