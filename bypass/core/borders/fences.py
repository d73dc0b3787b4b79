"""The fences of all watches at a broker: which of them the ways of many clients may pass, found together."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bypass.core.borders.polygon_kernels import all_crossings
from bypass.core.borders.watched_client import KeptWatch
from bypass.mechanisms.filters.indexes.areas.grid import AreaGrid
from bypass.places.areas.polygons import PolygonShape
from bypass.places.areas.shapes import BoxShape
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel

if TYPE_CHECKING:
    from bypass.places.areas import Area

NONE = np.empty(0, np.int64)
SLACK_M = 1e-6  # compiled into kernels
"""Ways that miss a border by less are looked at exactly."""


class Fence(NamedTuple):
    """One area of one watch."""

    watch: KeptWatch
    key: str
    area: Area


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
    ways: Floats, offsets: Ints, numbers: Ints, first_row: Ints, rows: Ints, first_edge: Ints, edges: Floats,
    found: Ints,
) -> int:  # fmt: skip
    """Write pairs of ways and fences whose border the way may pass, and give how many there are; only so many
    as fit are written. The areas that way i is near have the numbers[offsets[i]:offsets[i + 1]], and the
    fences with area n are rows[first_row[n]:first_row[n + 1]]. A fence without edges is near enough."""
    count = 0
    for i in range(len(ways)):
        ax, ay, bx, by = ways[i]
        for number in numbers[offsets[i] : offsets[i + 1]]:
            same = rows[first_row[number] : first_row[number + 1]]
            begin, end = first_edge[same[0]], first_edge[same[0] + 1]
            if begin < end and not passes(ax, ay, bx, by, edges[begin:end], SLACK_M):
                continue
            for row in same:
                if count < len(found):
                    found[count, 0], found[count, 1] = i, row
                count += 1
    return count


class Fences:
    """All fences, found by an index of areas. What is known of their edges is made anew when it is asked for
    after a change."""

    def __init__(self) -> None:
        self._index = AreaGrid()
        self._numbers: dict[KeptWatch, Ints] = {}  # of the areas of each watch
        self._fences: list[Fence] = []
        self._stale = False

    def put(self, watch: KeptWatch) -> None:
        """A watch is new, or has other areas."""
        before = self._numbers.get(watch, NONE)
        self._numbers[watch] = self._index.hold([*watch.areas.values()])
        self._index.release(before.tolist())
        self._stale = True

    def drop(self, watch: KeptWatch) -> None:
        """A watch is over."""
        self._index.release(self._numbers.pop(watch, NONE).tolist())
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
        offsets, numbers = self._index.along(ways)
        found = np.empty((max(1024, 4 * len(ways)), 2), np.int64)
        while True:
            count = find_passed(
                ways, offsets, numbers, self._first_row, self._rows, self._first_edge, self._edges, found
            )
            if count <= len(found):
                return found[:count]
            found = np.empty((count, 2), np.int64)

    def around(self, x: float, y: float) -> Iterable[Fence]:
        """Give the fences whose areas hold a place, at some altitude."""
        if self._stale:
            self._build()
        return [
            self._fences[row]
            for number in self._index.at(x, y).tolist()
            for row in self._rows[self._first_row[number] : self._first_row[number + 1]].tolist()
        ]

    def _build(self) -> None:
        self._stale = False
        self._fences = [
            Fence(watch, key, area) for watch in self._numbers for key, area in watch.areas.items()
        ]
        numbers = np.concatenate([NONE, *self._numbers.values()])
        self._rows = np.argsort(numbers, kind="stable")
        self._first_row = np.zeros(self._index.numbers + 1, np.int64)
        np.cumsum(np.bincount(numbers, minlength=self._index.numbers), out=self._first_row[1:])
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
