"""When fetched items are inserted into an edge's cache for its area: as they arrive, or in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.transitions import Mechanism, MechanismState

MOST_BATCHES = 64


class InsertionMechanism(Mechanism, ABC):
    """Says when the items that arrive in a retrieval cycle are inserted; see `bypass.ports.caches.Insertion`.

    It keeps no items, so that nothing has to move in a transition. The next retrieval cycle has another plan
    of batches; items that arrive before that are treated as the mechanism that runs then says.
    """

    immediate: ClassVar[bool] = False

    def is_immediate(self) -> bool:
        """Whether an item is inserted by itself when it arrives."""
        return self.immediate

    @abstractmethod
    def batches(self, period_s: float, slack_s: float) -> Sequence[float]:
        """The seconds after a decision at which all items that have arrived are inserted together, ascending
        and not later than `slack_s` before the next decision, which is `period_s` after the last one."""


class AtArrival(InsertionMechanism):
    """Inserts each item when it arrives."""

    immediate = True

    def batches(self, period_s: float, slack_s: float) -> Sequence[float]:
        """None but one at the end, for what arrived before this mechanism was there."""
        return (period_s - slack_s,)


class BatchInsertion(InsertionMechanism):
    """Inserts what has arrived in `count` batches with equal times between them, the last one right before
    the next decision; 1: everything then."""

    name = "batches"
    count: Annotated[int, MechanismState(), Field(ge=1, le=MOST_BATCHES)] = 3

    def batches(self, period_s: float, slack_s: float) -> Sequence[float]:
        span = period_s - slack_s
        return tuple(number * span / self.count for number in range(1, self.count + 1))
