"""The times in which each edge sends items to others: no two at once."""

from __future__ import annotations

from collections.abc import Iterable

from bypass.support.units import MICROSECONDS


class ProvisioningSlots:
    """Divides time among edges in the order of their numbers: each has a slot of `length_s`, in turn.

    The slots of edges that know the same members are disjoint as long as no clock is wrong by more than
    `guard_s`: so much is left free at both ends of each slot. It is less than half of `length_s`.
    """

    def __init__(self, own: int, others: Iterable[int], length_s: float, guard_s: float = 0.0) -> None:
        self._own = own
        self._length_us = round(length_s * MICROSECONDS)
        self._guard_us = round(guard_s * MICROSECONDS)
        self.set_members(others)

    def set_members(self, others: Iterable[int]) -> None:
        """Divide time anew: an edge has joined or left."""
        members = sorted({self._own, *others})
        self._place, self._count = members.index(self._own), len(members)

    @property
    def cycle_s(self) -> float:
        """The time from one slot of an edge to its next one."""
        return self._count * self._length_us / MICROSECONDS

    def is_open(self, now: float) -> bool:
        """Whether this edge may send at a time in seconds."""
        slot, offset = divmod(round(now * MICROSECONDS), self._length_us)
        within = self._guard_us <= offset < self._length_us - self._guard_us
        return slot % self._count == self._place and within

    def next_start(self, now: float) -> float:
        """The first time after `now` at which this edge's slot opens."""
        slot = (round(now * MICROSECONDS) - self._guard_us) // self._length_us + 1
        slot += (self._place - slot) % self._count
        return (slot * self._length_us + self._guard_us) / MICROSECONDS
