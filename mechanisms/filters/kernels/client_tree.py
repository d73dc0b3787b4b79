"""Clients in groups that stand close together, with a box around each: a tree over every cell of a grid.

An event is compared with boxes first. Clients in a box wholly inside the event's area are counted without a
test, and those in a box wholly outside are skipped: a crowd costs as little as its rim.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bypass.mechanisms.filters.kernels.window import Leg
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel

GROUP = 16  # a group of more clients than this is divided into quarters
DEEPEST = 12  # but no more often than so
CELLS_PER_CLIENT = 4  # a sparse world gets wider cells rather than more memory
SLACK = 1e-6  # metres by which boxes are too wide, against rounding

BEGIN, END, AFTER = range(3)
"""Columns of nodes: members from, members to, and the node after it and its parts; after a leaf, the next."""
LEFT, BELOW, RIGHT, ABOVE = range(4)
"""Columns of boxes."""


class Tiling(NamedTuple):
    """Square cells of `size` m, the first of which has its corner at (x0, y0)."""

    x0: float
    y0: float
    size: float
    columns: int
    rows: int


class ClientTree(NamedTuple):
    """All clients during a leg, in groups.

    Members are clients in an `order` in which those who stand together are neighbours; `place_of` says which
    member a client is. `nodes` are the groups: a node comes right before its parts, none is empty, and those
    of cell c of the `tiling`, column by column, are roots[c] to roots[c + 1] - 1. Kernels keep what they need
    to know of clients in the order of members.
    """

    tiling: Tiling
    order: Ints
    place_of: Ints
    nodes: Ints
    roots: Ints

    @classmethod
    def of(cls, leg: Leg, wish: float) -> ClientTree:
        """The crowd at the beginning of a leg, in cells of `wish` m, or larger ones where it is sparse."""
        tiling = tiling_of(leg.x, leg.y, wish)
        order, starts = by_cell(leg.x, leg.y, tiling)
        nodes, roots = plant(order, starts, leg.x, leg.y, tiling)
        place_of = np.empty(len(order), np.int64)
        place_of[order] = np.arange(len(order))
        return cls(tiling, order, place_of, nodes, roots)


def tiling_of(x: Floats, y: Floats, wish: float) -> Tiling:
    """Cells around all places; they are `wish` m wide unless that would be far more cells than clients."""
    x0, y0, x1, y1 = (float(each) for each in (x.min(), y.min(), x.max(), y.max()))
    size = wish
    while ((x1 - x0) / size + 1.0) * ((y1 - y0) / size + 1.0) > CELLS_PER_CLIENT * len(x) + 64.0:
        size *= 1.5
    return Tiling(x0, y0, size, int((x1 - x0) / size) + 1, int((y1 - y0) / size) + 1)


@kernel
def by_cell(x: Floats, y: Floats, tiling: Tiling) -> tuple[Ints, Ints]:
    """Places in the order of the cells they are in, and where each cell begins; those outside belong to the
    outermost cells."""
    x0, y0, size, columns, rows = tiling
    cell = np.empty(len(x), np.int64)
    starts = np.zeros(columns * rows + 1, np.int64)
    for i in range(len(x)):
        column = min(max(int((x[i] - x0) / size), 0), columns - 1)
        row = min(max(int((y[i] - y0) / size), 0), rows - 1)
        cell[i] = column * rows + row
        starts[cell[i] + 1] += 1
    for c in range(columns * rows):
        starts[c + 1] += starts[c]
    order = np.empty(len(x), np.int64)
    free = starts.copy()
    for i in range(len(x)):
        order[free[cell[i]]] = i
        free[cell[i]] += 1
    return order, starts


@kernel
def quarter(order: Ints, x: Floats, y: Floats, mx: float, my: float, begin: int, end: int) -> Ints:
    """Sort order[begin:end] into the four quarters around (mx, my); gives where they begin, and the end."""
    own = order[begin:end].copy()
    cuts = np.empty(5, np.int64)
    cuts[0] = begin
    for q in range(4):
        at = cuts[q]
        for i in own:
            if (x[i] >= mx) * 2 + (y[i] >= my) == q:
                order[at] = i
                at += 1
        cuts[q + 1] = at
    return cuts


@kernel
def _room_for(rows: Ints, used: int) -> Ints:
    """The rows, in an array with room for one more."""
    if used < len(rows):
        return rows
    grown = np.empty((2 * len(rows) + 1024, rows.shape[1]), np.int64)
    for k in range(used):
        for column in range(rows.shape[1]):
            grown[k, column] = rows[k, column]
    return grown


@kernel
def plant(order: Ints, starts: Ints, x: Floats, y: Floats, tiling: Tiling) -> tuple[Ints, Ints]:
    """Divide crowded cells, and sort `order` accordingly; gives the nodes and where each cell's begin."""
    x0, y0, size, _, rows = tiling
    nodes = np.empty((len(order) + 16, 3), np.int64)
    used = 0
    roots = np.empty(len(starts), np.int64)
    # Left to do: members, depth, and the middle's multiple of the size of that depth.
    todo = np.empty((4 * DEEPEST + 4, 5), np.int64)
    for cell in range(len(starts) - 1):
        roots[cell] = used
        waiting = 0
        if starts[cell + 1] > starts[cell]:
            todo[0, 0], todo[0, 1], todo[0, 2], todo[0, 3], todo[0, 4] = (
                starts[cell],
                starts[cell + 1],
                0,
                0,
                0,
            )
            waiting = 1
        left, below = x0 + (cell // rows) * size, y0 + (cell % rows) * size
        while waiting:
            waiting -= 1
            begin, end, depth = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
            a, b = todo[waiting, 3], todo[waiting, 4]
            nodes = _room_for(nodes, used)
            nodes[used, BEGIN], nodes[used, END] = begin, end
            used += 1
            if end - begin <= GROUP or depth == DEEPEST:
                continue
            side = size / (1 << depth)
            cuts = quarter(order, x, y, left + (a + 0.5) * side, below + (b + 0.5) * side, begin, end)
            for q in range(3, -1, -1):
                if cuts[q + 1] > cuts[q]:
                    todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = cuts[q], cuts[q + 1], depth + 1
                    todo[waiting, 3], todo[waiting, 4] = 2 * a + q // 2, 2 * b + q % 2
                    waiting += 1
    roots[len(starts) - 1] = used
    # Of several nodes that begin at the same member, the first one holds the others.
    first_at = np.full(len(order) + 1, used, np.int64)
    for k in range(used - 1, -1, -1):
        nodes[k, AFTER] = first_at[nodes[k, END]]
        first_at[nodes[k, BEGIN]] = k
    return nodes[:used], roots


@kernel
def boxes_of(nodes: Ints, bounds: Floats) -> Floats:
    """The box around the bounds of all members of each node."""
    boxes = np.empty((len(nodes), 4))
    for k in range(len(nodes) - 1, -1, -1):
        left = below = np.inf
        right = above = -np.inf
        if nodes[k, AFTER] == k + 1:
            for m in range(nodes[k, BEGIN], nodes[k, END]):
                left, right = min(left, bounds[m, LEFT]), max(right, bounds[m, RIGHT])
                below, above = min(below, bounds[m, BELOW]), max(above, bounds[m, ABOVE])
        else:
            part = k + 1
            while part < nodes[k, AFTER]:
                left, right = min(left, boxes[part, LEFT]), max(right, boxes[part, RIGHT])
                below, above = min(below, boxes[part, BELOW]), max(above, boxes[part, ABOVE])
                part = nodes[part, AFTER]
        boxes[k, LEFT], boxes[k, BELOW], boxes[k, RIGHT], boxes[k, ABOVE] = left, below, right, above
    return boxes


@kernel
def stray_of(boxes: Floats, roots: Ints, tiling: Tiling) -> float:
    """How far (m) a cell's box extends beyond the cell itself at most."""
    x0, y0, size, _, rows = tiling
    far = 0.0
    for c in range(len(roots) - 1):
        k = roots[c]
        if k == roots[c + 1]:
            continue
        left, below = x0 + (c // rows) * size, y0 + (c % rows) * size
        out = max(
            left - boxes[k, LEFT], below - boxes[k, BELOW],
            boxes[k, RIGHT] - left - size, boxes[k, ABOVE] - below - size,
        )  # fmt: skip
        far = max(far, out)
    return far


@kernel
def cells_near(x: float, y: float, far: float, tiling: Tiling) -> tuple[int, int, int, int]:
    """First and last column, first and last row of the cells that are within `far` of a place; the last is
    before the first if there are none."""
    x0, y0, size, columns, rows = tiling
    low_row = max(0, math.floor((y - far - y0) / size))
    high_row = min(rows - 1, math.floor((y + far - y0) / size))
    low_column = max(0, math.floor((x - far - x0) / size))
    high_column = min(columns - 1, math.floor((x + far - x0) / size))
    return low_column, high_column if low_row <= high_row else low_column - 1, low_row, high_row


@kernel
def outside_box(x: float, y: float, boxes: Floats, k: int) -> bool:
    """Whether a place is outside of a box."""
    aside = (x < boxes[k, LEFT]) | (x > boxes[k, RIGHT])
    outside: bool = aside | (y < boxes[k, BELOW]) | (y > boxes[k, ABOVE])
    return outside


@kernel
def squared_gap(x: float, y: float, boxes: Floats, k: int) -> float:
    """The square of the distance from a place to the nearest point of a box."""
    gx = max(boxes[k, LEFT] - x, x - boxes[k, RIGHT], 0.0)
    gy = max(boxes[k, BELOW] - y, y - boxes[k, ABOVE], 0.0)
    square: float = gx * gx + gy * gy
    return square


@kernel
def squared_span(x: float, y: float, boxes: Floats, k: int) -> float:
    """The square of the distance from a place to the farthest point of a box."""
    gx = max(x - boxes[k, LEFT], boxes[k, RIGHT] - x)
    gy = max(y - boxes[k, BELOW], boxes[k, ABOVE] - y)
    square: float = gx * gx + gy * gy
    return square
