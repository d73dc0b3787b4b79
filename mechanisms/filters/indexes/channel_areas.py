"""Subscriptions by the cells that their areas touch (GRID, EGRID)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from bypass.mechanisms.filters.indexes.areas.index import MARGIN
from bypass.mechanisms.filters.indexes.buckets import Buckets
from bypass.mechanisms.filters.indexes.channels import Layout
from bypass.mechanisms.filters.indexes.index import Index
from bypass.mechanisms.filters.indexes.table import NO_ROWS, SubscriptionTable
from bypass.protocol.messages import Publish
from bypass.support.arrays import Ints

if TYPE_CHECKING:
    from bypass.places.areas import Area

Span = tuple[int, int, int, int]

MOST_LOOKED_AT = 50_000
"""Vertices that are looked at in order to find the cells of one area. More than they touch are taken then."""


def cells_of(area: Area, layout: Layout) -> set[int]:
    """The numbers of the cells that an area touches; some more if that takes long to find out."""
    n = layout.n
    x0, y0, x1, y1 = area.bounds
    (i0, j0), (i1, j1) = layout.cell(x0, y0), layout.cell(x1, y1)
    found: set[int] = set()
    left = MOST_LOOKED_AT
    waiting: deque[Span] = deque([(i0, i1, j0, j1)])
    while waiting:
        i0, i1, j0, j1 = waiting.popleft()  # the largest first: all are looked at equally closely
        left -= max(area.vertices, 1)
        if left > 0:
            a0, b0, a1, b1 = layout.bounds(i0, i1, j0, j1)
            if not area.touches((max(a0, x0), max(b0, y0), min(a1, x1), min(b1, y1))):
                continue
        if (i0, j0) == (i1, j1) or left <= 0:
            found.update(i * n + j for i in range(i0, i1 + 1) for j in range(j0, j1 + 1))
        elif i1 - i0 >= j1 - j0:
            middle = (i0 + i1) // 2
            waiting += ((i0, middle, j0, j1), (middle + 1, i1, j0, j1))
        else:
            middle = (j0 + j1) // 2
            waiting += ((i0, i1, j0, middle), (i0, i1, middle + 1, j1))
    return found


class ChannelAreas(Index):
    """Rows with areas, by the cells that these touch; if they move with their owner, by those that they may
    touch from anywhere in its cell. `trust_location` is as in `ChannelIndex`."""

    def __init__(self, table: SubscriptionTable, layout: Layout, trust_location: bool) -> None:
        super().__init__(table, resolver=False)
        self._layout = layout
        self._trust_location = trust_location
        self._buckets = Buckets(layout.n * layout.n)
        self._cells: dict[int, Span] = {}  # of areas that move: the cells in which they were placed

    def insert(self, rows: Ints) -> None:
        self.removed(rows)
        for row in rows.tolist():
            interest = self.table.interests[row]
            if interest.relative:
                keys = self._around(row, interest.reach + MARGIN)
            else:
                keys = set().union(*[cells_of(area, self._layout) for area in interest.areas])
            ends = np.array((0, len(keys)), np.int64)
            self._buckets.insert(np.array((row,), np.int64), ends, np.array(sorted(keys), np.int64))

    def removed(self, rows: Ints) -> None:
        self._buckets.remove(rows)
        for row in rows.tolist() if self._cells else ():
            self._cells.pop(row, None)

    def moved(self, rows: Ints) -> None:
        t = self.table
        gone = [
            row
            for row in rows.tolist()
            if row in self._cells and self._own(float(t.x[row]), float(t.y[row])) != self._cells[row]
        ]
        if gone:
            self.insert(np.array(gone, np.int64))

    def members(self) -> Ints:
        return self._buckets.members()

    def match(self, publication: Publish) -> Ints | None:
        cell = None
        if publication.channel is not None:
            cell = self._layout.parse(publication.channel)
            if cell is None and not self._trust_location:
                return NO_ROWS
        if cell is None:
            if publication.location is None:
                return None
            cell = self._layout.cell(*publication.location)
        return self._buckets.rows(np.array((cell[0] * self._layout.n + cell[1],), np.int64))

    def _own(self, x: float, y: float) -> Span:
        i, j = self._layout.cell(x, y)
        return i, i, j, j

    def _around(self, row: int, reach: float) -> set[int]:
        """The cells that areas touch which are as far away as `reach` from a place in their owner's cell."""
        layout, n = self._layout, self._layout.n
        self._cells[row] = own = self._own(float(self.table.x[row]), float(self.table.y[row]))
        x0, y0, x1, y1 = layout.bounds(*own)
        i0, j0 = layout.cell(x0 - reach, y0 - reach)
        i1, j1 = layout.cell(x1 + reach, y1 + reach)
        return {i * n + j for i in range(i0, i1 + 1) for j in range(j0, j1 + 1)}
