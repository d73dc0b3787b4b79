"""The grace period after a transition: replaced indexes keep matching, so that no event is lost in between.

Clients learn of a transition later than the broker, and the broker learns the context of its new scheme
later still. Until then the outgoing index matches beside the new one: an event reaches whom either selects.
With a period of 0 the outgoing index is forgotten at once, as in the original system.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bypass.mechanisms.filters.indexes.index import Index
from bypass.protocol.messages import Publish
from bypass.support.arrays import Ints


class Grace:
    """Outgoing indexes, and rows that linger in a running one after their owner moved to another scheme."""

    def __init__(self, seconds: float, after: Callable[..., Any]) -> None:
        self.seconds = seconds
        self.indexes: tuple[Index, ...] = ()
        self._after = after
        self._lingering: dict[Index, dict[int, int]] = {}
        self._turn = 0

    @property
    def overlapping(self) -> bool:
        """Whether some row may be found twice, by the outgoing and by the running scheme."""
        return bool(self.indexes or self._lingering)

    def retire(self, index: Index) -> None:
        """Keep a replaced index for the grace period."""
        self._lingering.pop(index, None)
        if self.seconds > 0:
            self.indexes = (*self.indexes, index)
            self._after(self.seconds, self._forget, index)

    def release(self, index: Index, rows: Ints) -> None:
        """Take rows out of a running index, at the end of the grace period."""
        if self.seconds <= 0:
            index.removed(rows)
            return
        if not len(rows):
            return
        self._turn += 1
        self._lingering.setdefault(index, {}).update(dict.fromkeys(rows.tolist(), self._turn))
        self._after(self.seconds, self._let_go, index, self._turn)

    def keep(self, index: Index, rows: Ints) -> None:
        """End the lingering of rows that are in the index to stay, or that have left it already."""
        lingering = self._lingering.get(index)
        if lingering:
            for row in rows.tolist():
                lingering.pop(row, None)

    def moved(self, rows: Ints) -> None:
        for index in self.indexes:
            index.moved(rows)

    def removed(self, rows: Ints) -> None:
        for index in self.indexes:
            index.removed(rows)
        for index in self._lingering:
            self.keep(index, rows)

    def match(self, publication: Publish) -> list[Ints]:
        """The rows that each outgoing index finds."""
        return [rows for index in self.indexes if (rows := index.match(publication)) is not None]

    def _forget(self, index: Index) -> None:
        self.indexes = tuple(kept for kept in self.indexes if kept is not index)

    def _let_go(self, index: Index, turn: int) -> None:
        lingering = self._lingering.get(index)
        if lingering is None:
            return
        due = [row for row, since in lingering.items() if since == turn]
        index.removed(np.array(due, np.int64))
        for row in due:
            del lingering[row]
        if not lingering:
            del self._lingering[index]
