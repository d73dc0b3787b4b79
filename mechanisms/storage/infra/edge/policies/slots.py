"""The times in which each edge sends items to others: no two at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Annotated

from pydantic import Field

from bypass.support.units import MICROSECONDS
from bypass.transitions import InvalidParameter, Mechanism, MechanismState

LONGEST_SLOT_S = 86_400.0


class SlotMechanism(Mechanism, ABC):
    """Divides time among edges; see `bypass.ports.edge.ProvisioningSlots`."""

    @abstractmethod
    def is_open(self, now: float, own: int, others: Collection[int]) -> bool:
        """Whether the edge `own` may send at a time."""

    @abstractmethod
    def next_start(self, now: float, own: int, others: Collection[int]) -> float:
        """The first time after `now` at which the slot of the edge `own` opens."""


class EqualSlots(SlotMechanism):
    """Divides time among edges in the order of their numbers: each has a slot of `length_s`, in turn.

    The slots of edges that know the same members, and have the same lengths, are disjoint as long as no clock
    is wrong by more than `guard_s`: so much is left free at both ends of each slot.
    """

    length_s: Annotated[float, MechanismState(), Field(gt=0, le=LONGEST_SLOT_S)] = 60.0
    guard_s: Annotated[float, MechanismState(), Field(ge=0, le=LONGEST_SLOT_S)] = 0.0

    def start(self) -> None:
        self._check(self.length_s, self.guard_s)

    def set_length_s(self, length_s: float) -> None:
        """Change the length of slots. Raises InvalidParameter if the guards leave nothing of them."""
        self._check(length_s, self.guard_s)
        self.length_s = length_s

    def set_guard_s(self, guard_s: float) -> None:
        """Change the guard. Raises InvalidParameter if it leaves nothing of a slot."""
        self._check(self.length_s, guard_s)
        self.guard_s = guard_s

    def is_open(self, now: float, own: int, others: Collection[int]) -> bool:
        place, count = _place(own, others)
        length_us, guard_us = self._lengths()
        slot, offset = divmod(round(now * MICROSECONDS), length_us)
        return slot % count == place and guard_us <= offset < length_us - guard_us

    def next_start(self, now: float, own: int, others: Collection[int]) -> float:
        place, count = _place(own, others)
        length_us, guard_us = self._lengths()
        slot = (round(now * MICROSECONDS) - guard_us) // length_us + 1
        slot += (place - slot) % count
        return (slot * length_us + guard_us) / MICROSECONDS

    def _lengths(self) -> tuple[int, int]:
        return round(self.length_s * MICROSECONDS), round(self.guard_s * MICROSECONDS)

    def _check(self, length_s: float, guard_s: float) -> None:
        if 2 * guard_s >= length_s:
            raise InvalidParameter(
                f"guard_s {guard_s} with length_s {length_s}: expected less than half of the length"
            )


def _place(own: int, others: Collection[int]) -> tuple[int, int]:
    """The place of an edge in the order of all, and how many there are."""
    members = sorted({own, *others})
    return members.index(own), len(members)
