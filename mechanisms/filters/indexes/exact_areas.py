"""Subscriptions by their areas: an event concerns those in whose area it lies."""

from __future__ import annotations

import numpy as np

from bypass.mechanisms.filters.indexes.index import Index
from bypass.mechanisms.filters.indexes.table import NO_ROWS, SubscriptionTable
from bypass.places.area_of_interest import in_any
from bypass.protocol.messages import Publish
from bypass.support.arrays import Floats, Ints

MARGIN = 0.001
"""Metres that are added to a reach, because clients compute where they are in another order."""


class MovingAreas:
    """Rows whose areas move with their owner, by the circle around it that the areas cannot leave."""

    def __init__(self, table: SubscriptionTable) -> None:
        self._table = table
        self._reach: dict[int, float] = {}
        self._rows: Ints | None = NO_ROWS  # None: they have changed since
        self._squares: Floats = np.empty(0)

    def insert(self, row: int) -> None:
        """Take a row in."""
        self._reach[row] = self._table.interests[row].reach + MARGIN
        self._rows = None

    def remove(self, row: int) -> None:
        """Take a row out, if it is in."""
        if self._reach.pop(row, None) is not None:
            self._rows = None

    def members(self) -> list[int]:
        """The rows inside."""
        return [*self._reach]

    def reach(self, row: int) -> float:
        """How far the areas of a row can be from its owner (m)."""
        return self._reach[row]

    def at(self, x: float, y: float) -> Ints:
        """The rows whose areas may have a point in them."""
        if not self._reach:
            return NO_ROWS
        if self._rows is None:
            self._rows = np.fromiter(self._reach, np.int64, len(self._reach))
            self._squares = np.fromiter(self._reach.values(), np.float64, len(self._reach)) ** 2
        rows, table = self._rows, self._table
        dx, dy = table.x[rows] - x, table.y[rows] - y
        found: Ints = rows[dx * dx + dy * dy <= self._squares]
        return found


class ExactAreas(Index):
    """Rows with areas that are fixed, and with areas that move with their owner, whose place is known."""

    def __init__(self, table: SubscriptionTable) -> None:
        super().__init__(table, resolver=False)
        self._fixed: set[int] = set()
        self._moving = MovingAreas(table)

    def insert(self, rows: Ints) -> None:
        for row in rows.tolist():
            if self.table.interests[row].relative:
                self._moving.insert(row)
            else:
                self._fixed.add(row)

    def removed(self, rows: Ints) -> None:
        for row in rows.tolist():
            self._moving.remove(row)
            self._fixed.discard(row)

    def moved(self, rows: Ints) -> None:
        """Nothing: where owners are is looked up at each event."""

    def match(self, publication: Publish) -> Ints | None:
        if publication.location is None:
            return None
        (x, y), z = publication.location, publication.z
        fixed = [row for row in self._fixed if in_any(self.table.areas(row), x, y, z)]
        found = np.concatenate((np.array(fixed, np.int64), self._moving.at(x, y)))
        found.sort()
        return found

    def members(self) -> Ints:
        return np.array(sorted([*self._fixed, *self._moving.members()]), np.int64)
