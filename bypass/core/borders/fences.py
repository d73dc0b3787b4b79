"""The fences of all watches at a broker: which of them the ways of many clients may pass, found together."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bypass.core.borders.polygon_kernels import all_crossings
from bypass.core.borders.watched_client import KeptWatch
from bypass.places.areas.polygons import PolygonShape
from bypass.places.areas.shapes import BoxShape
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel

if TYPE_CHECKING:
    from bypass.places.areas import Area

MOST_CELLS = 1 << 20
SLACK_M = 1e-6
"""Ways that miss a border by less are looked at exactly."""


class Fence(NamedTuple):
    """One area of one watch."""

    watch: KeptWatch
    key: str
    area: Area


@kernel
def cells_of(bounds: Floats, grid: Floats, columns: int, rows: int, out: Ints) -> None:
    """Write the first and last column and row of the cells that each rectangle touches; `grid` is x0, y0 and
    the side of a cell. What is beyond the grid is in its outermost cells."""
    for i in range(len(bounds)):
        out[i, 0] = min(max(np.floor((bounds[i, 0] - grid[0]) / grid[2]), 0.0), columns - 1.0)
        out[i, 1] = min(max(np.floor((bounds[i, 1] - grid[1]) / grid[2]), 0.0), rows - 1.0)
        out[i, 2] = min(max(np.floor((bounds[i, 2] - grid[0]) / grid[2]), 0.0), columns - 1.0)
        out[i, 3] = min(max(np.floor((bounds[i, 3] - grid[1]) / grid[2]), 0.0), rows - 1.0)


@kernel
def fill_cells(spans: Ints, columns: int, starts: Ints, members: Ints) -> None:
    """Write the rectangles of each cell: those of cell c are members[starts[c]:starts[c + 1]]."""
    for i in range(len(spans)):
        for row in range(spans[i, 1], spans[i, 3] + 1):
            for column in range(spans[i, 0], spans[i, 2] + 1):
                starts[row * columns + column + 1] += 1
    for cell in range(1, len(starts)):
        starts[cell] += starts[cell - 1]
    free = starts.copy()
    for i in range(len(spans)):
        for row in range(spans[i, 1], spans[i, 3] + 1):
            for column in range(spans[i, 0], spans[i, 2] + 1):
                cell = row * columns + column
                members[free[cell]] = i
                free[cell] += 1


@kernel
def passes(ax: float, ay: float, bx: float, by: float, edges: Floats, slack: float) -> bool:
    """Whether the straight way meets one of the edges (x0, y0, x1, y1), or comes as close as `slack`."""
    left, right = min(ax, bx) - slack, max(ax, bx) + slack
    low, high = min(ay, by) - slack, max(ay, by) + slack
    dx, dy = bx - ax, by - ay
    room = slack * (abs(dx) + abs(dy) + 1.0)
    for i in range(len(edges)):
        cx, cy, ex, ey = edges[i]
        if min(cx, ex) > right or max(cx, ex) < left or min(cy, ey) > high or max(cy, ey) < low:
            continue
        first = dx * (cy - ay) - dy * (cx - ax)
        second = dx * (ey - ay) - dy * (ex - ax)
        if (first > room and second > room) or (first < -room and second < -room):
            continue
        wx, wy = ex - cx, ey - cy
        near = slack * (abs(wx) + abs(wy) + 1.0)
        first = wx * (ay - cy) - wy * (ax - cx)
        second = wx * (by - cy) - wy * (bx - cx)
        if (first > near and second > near) or (first < -near and second < -near):
            continue
        return True
    return False


@kernel
def find_passed(
    ways: Floats, spans: Ints, columns: int, starts: Ints, members: Ints, bounds: Floats,
    first_edge: Ints, edges: Floats, slack: float, stamps: Ints, found: Ints,
) -> int:  # fmt: skip
    """Write pairs of ways and fences whose border the way may pass, and give how many there are; only so many
    as fit are written. A fence without edges is told by its bounds alone."""
    count = 0
    for i in range(len(ways)):
        ax, ay, bx, by = ways[i]
        left, right = min(ax, bx), max(ax, bx)
        low, high = min(ay, by), max(ay, by)
        for row in range(spans[i, 1], spans[i, 3] + 1):
            for column in range(spans[i, 0], spans[i, 2] + 1):
                cell = row * columns + column
                for fence in members[starts[cell] : starts[cell + 1]]:
                    if stamps[fence] == i:
                        continue
                    stamps[fence] = i
                    if (
                        bounds[fence, 0] > right
                        or bounds[fence, 2] < left
                        or bounds[fence, 1] > high
                        or bounds[fence, 3] < low
                    ):
                        continue
                    begin, end = first_edge[fence], first_edge[fence + 1]
                    if begin < end and not passes(ax, ay, bx, by, edges[begin:end], slack):
                        continue
                    if count < len(found):
                        found[count, 0], found[count, 1] = i, fence
                    count += 1
    return count


class Fences:
    """All fences, in a grid that is made anew when it is asked after a change."""

    def __init__(self) -> None:
        self._fences: list[Fence] = []
        self._stale = False
        self._watches: dict[KeptWatch, None] = {}

    def put(self, watch: KeptWatch) -> None:
        """A watch is new, or has other areas."""
        self._watches[watch] = None
        self._stale = True

    def drop(self, watch: KeptWatch) -> None:
        """A watch is over."""
        self._watches.pop(watch, None)
        self._stale = True

    def passed(self, ways: Floats) -> list[tuple[int, Fence, list[float] | None]]:
        """Find the fences whose border each way (x0, y0, x1, y1) may pass: the number of the way, the fence,
        and the shares of the way at which it does; None: that is not known. None that is passed is
        missing."""
        pairs = self._met(ways)
        starts, shares = np.empty(len(pairs) + 1, np.int64), np.empty(4 * len(pairs) + 64)
        if not len(pairs):
            return []
        while True:
            count = all_crossings(
                ways, pairs, self._exact, self._first_edge, self._edges, self._first_part, self._parts,
                self._part_bounds, starts, shares,
            )  # fmt: skip
            if count <= len(shares):
                break
            shares = np.empty(count)
        told = np.flatnonzero(starts[1:] > starts[:-1])
        begins, ends, known = starts[told].tolist(), starts[told + 1].tolist(), shares[:count].tolist()
        found = []
        for (way, row), begin, end in zip(pairs[told].tolist(), begins, ends, strict=True):
            own = known[begin:end]
            found.append((way, self._fences[row], None if own[0] == inf else own))
        return found

    def _met(self, ways: Floats) -> Ints:
        """Pairs of the number of a way and of a fence that is not far from it."""
        if self._stale:
            self._build()
        if not self._fences or not len(ways):
            return np.empty((0, 2), np.int64)
        spans = np.empty((len(ways), 4), np.int64)
        corners = np.column_stack(
            (
                np.minimum(ways[:, 0], ways[:, 2]) - SLACK_M,
                np.minimum(ways[:, 1], ways[:, 3]) - SLACK_M,
                np.maximum(ways[:, 0], ways[:, 2]) + SLACK_M,
                np.maximum(ways[:, 1], ways[:, 3]) + SLACK_M,
            )
        )
        cells_of(corners, self._grid, self._columns, self._rows, spans)
        found = np.empty((max(1024, 4 * len(ways)), 2), np.int64)
        while True:
            self._stamps.fill(-1)
            count = find_passed(
                ways, spans, self._columns, self._starts, self._members, self._bounds,
                self._first_edge, self._edges, SLACK_M, self._stamps, found,
            )  # fmt: skip
            if count <= len(found):
                return found[:count]
            found = np.empty((count, 2), np.int64)

    def around(self, x: float, y: float) -> Iterable[Fence]:
        """Give the fences that a place may be in."""
        if self._stale:
            self._build()
        bounds = self._bounds
        inside = (bounds[:, 0] <= x) & (x <= bounds[:, 2]) & (bounds[:, 1] <= y) & (y <= bounds[:, 3])
        return [self._fences[row] for row in np.flatnonzero(inside).tolist()]

    def _build(self) -> None:
        self._stale = False
        self._fences = [
            Fence(watch, key, area) for watch in self._watches for key, area in watch.areas.items()
        ]
        count = len(self._fences)
        self._bounds = np.array([fence.area.bounds for fence in self._fences], np.float64).reshape(-1, 4)
        self._bounds += np.array([-SLACK_M, -SLACK_M, SLACK_M, SLACK_M])
        lines = [border_edges(fence.area) for fence in self._fences]
        self._first_edge = np.cumsum([0, *(sum(map(len, parts)) for parts in lines)])
        flat = [part for parts in lines for part in parts]
        self._edges = np.concatenate([np.empty((0, 4)), *flat])
        self._first_part = np.cumsum([0, *map(len, lines)])
        self._parts = np.cumsum([0, *map(len, flat)])
        self._part_bounds = np.array([part_bounds(part) for part in flat]).reshape(-1, 4)
        self._exact = np.array([isinstance(fence.area.shape, PolygonShape) for fence in self._fences]) & (
            np.diff(self._first_edge) > 0
        )
        self._stamps = np.empty(count, np.int64)
        if not count:
            return
        x0, y0 = self._bounds[:, :2].min(0)
        x1, y1 = self._bounds[:, 2:].max(0)
        width, height = x1 - x0, y1 - y0
        extent = float(np.mean(self._bounds[:, 2:] - self._bounds[:, :2]))
        side = max(
            extent, np.sqrt(width * height / min(4 * count, MOST_CELLS)), max(width, height) / 1024, 1e-3
        )
        self._columns, self._rows = int(width // side) + 1, int(height // side) + 1
        self._grid = np.array([x0, y0, side])
        spans = np.empty((count, 4), np.int64)
        cells_of(self._bounds, self._grid, self._columns, self._rows, spans)
        total = int(((spans[:, 2] - spans[:, 0] + 1) * (spans[:, 3] - spans[:, 1] + 1)).sum())
        self._starts = np.zeros(self._columns * self._rows + 1, np.int64)
        self._members = np.empty(total, np.int64)
        fill_cells(spans, self._columns, self._starts, self._members)


def border_edges(area: Area) -> list[Floats]:
    """The edges of the border of each part of an area; none for one with arcs, or a band of altitudes, which
    its bounds tell."""
    if area.altitude is not None or not isinstance(area.shape, BoxShape | PolygonShape):
        return []
    parts = []
    for rings in area.shape.outline().parts:
        lines = []
        for ring in rings:
            ends = np.frombuffer(ring, np.float64).reshape(-1, 2)
            lines.append(np.column_stack((np.roll(ends, 1, 0), ends)))
        parts.append(np.concatenate(lines))
    return parts


def part_bounds(edges: Floats) -> tuple[float, float, float, float]:
    """The smallest rectangle around edges."""
    x, y = edges[:, 0], edges[:, 1]
    return x.min(), y.min(), x.max(), y.max()
