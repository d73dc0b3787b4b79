"""Square channels over the broker's area (GRID, EGRID): who listens to the cell an event falls into."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bypass.mechanisms.filters.indexes.buckets import Buckets
from bypass.mechanisms.filters.indexes.index import Index
from bypass.mechanisms.filters.indexes.table import NO_ROWS, SubscriptionTable
from bypass.protocol.messages import Publish
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel

Rect = tuple[float, float, float, float]


@kernel
def cell_of(v: float, low: float, size: float, n: int) -> int:
    """The cell of a coordinate: half-open cells, everything outside belongs to the outermost ones.

    Cell i begins at low + i * size, to the last bit: clients compare their places with that. A quotient alone
    may be rounded to the cell beside it.
    """
    i = int(min(max((v - low) / size, 0.0), n - 1.0))
    while i > 0 and v < low + i * size:
        i -= 1
    while i < n - 1 and v >= low + (i + 1) * size:
        i += 1
    return i


@kernel
def assign(
    rows: Ints, x: Floats, y: Floats, r: Floats, wide: bool,
    x0: float, y0: float, width: float, height: float, n: int, spans: Ints,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Cells each row listens to, as (offsets, keys); notes the spans (i0, i1, j0, j1) by row.

    The cell the subscriber is in and, if `wide`, every cell that the square around its area touches.
    """
    offsets = np.zeros(len(rows) + 1, np.int64)
    for k in range(len(rows)):
        row = rows[k]
        margin = r[row] if wide else 0.0
        spans[row, 0] = cell_of(x[row] - margin, x0, width, n)
        spans[row, 1] = cell_of(x[row] + margin, x0, width, n)
        spans[row, 2] = cell_of(y[row] - margin, y0, height, n)
        spans[row, 3] = cell_of(y[row] + margin, y0, height, n)
        offsets[k + 1] = offsets[k] + (spans[row, 1] - spans[row, 0] + 1) * (
            spans[row, 3] - spans[row, 2] + 1
        )
    keys = np.empty(offsets[-1], np.int64)
    at = 0
    for row in rows:
        for i in range(spans[row, 0], spans[row, 1] + 1):
            for j in range(spans[row, 2], spans[row, 3] + 1):
                keys[at] = i * n + j
                at += 1
    return offsets, keys


@kernel
def scan_spans(inside: Ints, spans: Ints, i: int, j: int) -> Ints:
    """Every row inside that listens to cell (i, j), by comparing with all of them."""
    found = np.empty(len(inside), np.int64)
    n = 0
    for row in inside:
        if spans[row, 0] <= i <= spans[row, 1] and spans[row, 2] <= j <= spans[row, 3]:
            found[n] = row
            n += 1
    return found[:n].copy()


@kernel
def steady_along(v: float, margins: Floats, low: float, size: float, n: int) -> tuple[float, float]:
    """Where `Layout.steady` begins and ends along one axis.

    At no place in between does a sum with a margin, as it is rounded, leave its cells. At the very border,
    and there alone, places may be left out of which that would hold as well; v itself is not.
    """
    start, end = -np.inf, np.inf
    for margin in margins:
        first, last = cell_of(v - margin, low, size, n), cell_of(v + margin, low, size, n)
        if first > 0:
            least = low + first * size + margin
            if cell_of(least - margin, low, size, n) < first:
                least = np.nextafter(least, np.inf)
            start = max(start, least)
        if last < n - 1:
            edge = low + (last + 1) * size
            beyond = edge - margin
            if cell_of(np.nextafter(beyond, -np.inf) + margin, low, size, n) > last:
                beyond = np.nextafter(np.nextafter(edge, -np.inf) - margin, -np.inf)
            end = min(end, beyond)
    return min(start, v), max(end, np.nextafter(v, np.inf))


@dataclass(frozen=True, slots=True)
class Layout:
    """n × n equal cells over `area`; names carry the generation, so that a stale tag is recognised."""

    area: Rect
    n: int
    generation: int

    @property
    def cell_size(self) -> tuple[float, float]:
        x0, y0, x1, y1 = self.area
        return (x1 - x0) / self.n, (y1 - y0) / self.n

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """The cell that a place is in."""
        width, height = self.cell_size
        return cell_of(x, self.area[0], width, self.n), cell_of(y, self.area[1], height, self.n)

    def span(self, x: float, y: float, margin: float) -> tuple[int, int, int, int]:
        """The cells (i0, i1, j0, j1) that a square of half side `margin` around a place touches."""
        i0, j0 = self.cell(x - margin, y - margin)
        i1, j1 = self.cell(x + margin, y + margin)
        return i0, i1, j0, j1

    def bounds(self, i0: int, i1: int, j0: int, j1: int) -> Rect:
        """The rectangle that these cells cover; the outermost cells reach to infinity."""
        width, height = self.cell_size
        x0, y0 = self.area[:2]
        last = self.n - 1
        return (
            -math.inf if i0 == 0 else x0 + i0 * width,
            -math.inf if j0 == 0 else y0 + j0 * height,
            math.inf if i1 == last else x0 + (i1 + 1) * width,
            math.inf if j1 == last else y0 + (j1 + 1) * height,
        )

    def steady(self, x: float, y: float, half_sides: Sequence[float] | Floats) -> Rect:
        """The places at which no square of one of these half sides touches a cell that it does not touch at
        (x, y). They are a rectangle, which holds (x, y) and is infinite where the squares touch the outermost
        cells."""
        width, height = self.cell_size
        margins = np.array(half_sides, np.float64)
        x0, x1 = steady_along(x, margins, self.area[0], width, self.n)
        y0, y1 = steady_along(y, margins, self.area[1], height, self.n)
        return x0, y0, x1, y1

    def name(self, i: int, j: int) -> str:
        return f"g{self.generation}:{i}:{j}"

    def parse(self, name: str) -> tuple[int, int] | None:
        """The cell of a channel name, None if it is not one of this layout."""
        prefix, _, cell = name.partition(":")
        i, _, j = cell.partition(":")
        if prefix != f"g{self.generation}" or not (i.isdecimal() and j.isdecimal()):
            return None
        cell_ij = int(i), int(j)
        return cell_ij if max(cell_ij) < self.n else None


class ChannelIndex(Index):
    """Subscriptions by the cells they listen to. A row keeps its cells until it is inserted anew.

    `trust_location` decides what an event with a channel of another layout means: its place is used, or
    the event is discarded, counted in `discarded`.
    """

    def __init__(
        self, table: SubscriptionTable, resolver: bool, layout: Layout, wide: bool, trust_location: bool
    ) -> None:
        super().__init__(table, resolver)
        self.layout = layout
        self.discarded = 0
        self._wide = wide
        self._trust_location = trust_location
        self._buckets = Buckets(layout.n * layout.n)
        self._spans = np.zeros((0, 4), np.int64)

    def insert(self, rows: Ints) -> None:
        t, layout = self.table, self.layout
        if len(self._spans) < len(t.client):
            spans = np.zeros((len(t.client), 4), np.int64)
            spans[: len(self._spans)] = self._spans
            self._spans = spans
        width, height = layout.cell_size
        offsets, keys = assign(
            rows, t.x, t.y, t.radius, self._wide,
            layout.area[0], layout.area[1], width, height, layout.n, self._spans,
        )  # fmt: skip
        self._buckets.remove(rows)
        self._buckets.insert(rows, offsets, keys)

    def removed(self, rows: Ints) -> None:
        self._buckets.remove(rows)

    def moved(self, rows: Ints) -> None:
        """Nothing: only an assignment changes the cells that a subscription listens to."""

    def members(self) -> Ints:
        return self._buckets.members()

    def match(self, publication: Publish) -> Ints | None:
        cell = None
        if publication.channel is not None:
            cell = self.layout.parse(publication.channel)
            if cell is None and not self._trust_location:
                self.discarded += 1
                return NO_ROWS
        if cell is None:
            if publication.location is None:
                return None
            cell = self.layout.cell(*publication.location)
        i, j = cell
        if self.resolver:
            return scan_spans(self._buckets.members(), self._spans, i, j)
        return self._buckets.rows(np.array((i * self.layout.n + j,), np.int64))
