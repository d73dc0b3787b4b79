"""Clients sorted into leaves: groups that stand close together, with a box around each.

An event meets boxes first. Who is in a box that lies wholly inside the event's area is counted without being
looked at, who is in one that lies wholly outside is not looked at either: a crowd costs as little as its rim.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bypass.kernel import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CROWD = 32  # a cell with more clients than this is divided, until about so many are in each part
MOST_SIDES = 64  # but into no more than so many parts on each side
CELLS_PER_CLIENT = 4  # a sparse world gets wider cells rather than more memory


@kernel
def grid_of(x: Floats, y: Floats, wish: float) -> tuple[float, float, float, int, int]:
    """Corner, cell size and numbers of columns and rows of a grid around all places; cells are `wish` wide
    unless that would be far more cells than clients."""
    x0, y0, x1, y1 = x.min(), y.min(), x.max(), y.max()
    size = wish
    while ((x1 - x0) / size + 1.0) * ((y1 - y0) / size + 1.0) > CELLS_PER_CLIENT * len(x) + 64.0:
        size *= 1.5
    return x0, y0, size, int((x1 - x0) / size) + 1, int((y1 - y0) / size) + 1


@kernel
def sides_of(count: int) -> int:
    """Into how many parts on each side a cell with so many clients is divided."""
    sides = 1
    while count > CROWD * sides * sides and sides < MOST_SIDES:
        sides *= 2
    return sides


@kernel
def sort_clients(
    x: Floats, y: Floats, x0: float, y0: float, size: float, columns: int, rows: int
) -> tuple[Ints, Ints, Ints]:
    """Clients in the order of their leaves, where each leaf begins, and where each cell's leaves begin.

    An empty cell has no leaf, another one has as many as it has parts, some of which may be empty.
    """
    n = len(x)
    place = np.empty(n, np.int64)
    count = np.zeros(columns * rows, np.int64)
    for i in range(n):
        place[i] = int((x[i] - x0) / size) * rows + int((y[i] - y0) / size)
        count[place[i]] += 1
    cell_leaves = np.zeros(columns * rows + 1, np.int64)
    for c in range(columns * rows):
        cell_leaves[c + 1] = cell_leaves[c] + (sides_of(count[c]) ** 2 if count[c] else 0)
    starts = np.zeros(cell_leaves[-1] + 1, np.int64)
    for i in range(n):
        c = place[i]
        sides = sides_of(count[c])
        part = size / sides
        a = min(max(int((x[i] - x0 - (c // rows) * size) / part), 0), sides - 1)
        b = min(max(int((y[i] - y0 - (c % rows) * size) / part), 0), sides - 1)
        place[i] = cell_leaves[c] + a * sides + b
        starts[place[i] + 1] += 1
    for leaf in range(len(starts) - 1):
        starts[leaf + 1] += starts[leaf]
    order = np.empty(n, np.int64)
    free = starts.copy()
    for i in range(n):
        order[free[place[i]]] = i
        free[place[i]] += 1
    return order, starts, cell_leaves


@kernel
def sort_by_state(
    order: Ints, starts: Ints, states: Ints, first: Ints
) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Sort the clients of each leaf into runs; gives where runs begin, where each leaf's runs begin, and
    which runs are settled.

    Clients of a settled run have the same states (rows of `states`) and no change ahead (`first` below 0). A
    client with a change ahead is a run of its own.
    """
    n = len(order)
    runs = np.empty(n + 1, np.int64)
    settled = np.empty(n, np.bool_)
    leaf_runs = np.zeros(len(starts), np.int64)
    used = 0
    key = np.empty(n, np.int64)
    for i in range(n):
        key[i] = 0
        for c in range(states.shape[1]):
            key[i] = (key[i] ^ states[i, c]) * 0x100000001B3
    for leaf in range(len(starts) - 1):
        begin, end = starts[leaf], starts[leaf + 1]
        if end - begin > 1:
            own = order[begin:end].copy()
            order[begin:end] = own[np.argsort(key[own])]
        for m in range(begin, end):
            i = order[m]
            new = m == begin or first[i] >= 0 or not settled[used - 1]
            if not new:
                for c in range(states.shape[1]):
                    new = new or states[i, c] != states[order[m - 1], c]
            if new:
                runs[used] = m
                settled[used] = first[i] < 0
                used += 1
        leaf_runs[leaf + 1] = used
    runs[used] = n
    return runs[: used + 1], leaf_runs, settled[:used]


@kernel
def visiting_order(
    px: Floats, py: Floats, x0: float, y0: float, size: float, columns: int, rows: int
) -> Ints:
    """Places in the order of the cells they are in: what is near is looked up while it is in the cache."""
    count = np.zeros(columns * rows + 1, np.int64)
    cell = np.empty(len(px), np.int64)
    for e in range(len(px)):
        column = min(max(int((px[e] - x0) / size), 0), columns - 1)
        row = min(max(int((py[e] - y0) / size), 0), rows - 1)
        cell[e] = column * rows + row
        count[cell[e] + 1] += 1
    for c in range(columns * rows):
        count[c + 1] += count[c]
    order = np.empty(len(px), np.int64)
    for e in range(len(px)):
        order[count[cell[e]]] = e
        count[cell[e]] += 1
    return order


X, Y, DX, DY, OLD_X, OLD_Y, OLD_VX, OLD_VY, NEW_X, NEW_Y, NEW_VX, NEW_VY = range(12)  # columns of members
LEFT, BELOW, RIGHT, ABOVE, REACH = range(5)  # columns of boxes


@kernel
def gather(
    order: Ints, x: Floats, y: Floats, dx: Floats, dy: Floats, old: Floats, new: Floats
) -> Floats:  # fmt: skip
    """What the tests need to know of each client, side by side in memory, in the order of the leaves."""
    members = np.empty((len(order), 12))
    for m in range(len(order)):
        i = order[m]
        members[m, X], members[m, Y], members[m, DX], members[m, DY] = x[i], y[i], dx[i], dy[i]
        for k in range(4):
            members[m, OLD_X + k] = old[i, k]
            members[m, NEW_X + k] = new[i, k]
    return members


@kernel
def reach_of(vx: float, vy: float, radius: float, ahead: float, widening: float) -> float:
    """How far from its subscriber an envelope reaches at most."""
    length = ahead * math.sqrt(vx * vx + vy * vy)
    return radius if length == 0.0 else max(radius, math.hypot(length, radius + length * widening))


@kernel
def boxes_of(members: Floats, starts: Ints, radius: float, ahead: float, widening: float) -> Floats:
    """For each leaf the box around all places that its members have or are believed to have meanwhile, and
    how far from it the widest envelope of a member can reach."""
    boxes = np.empty((len(starts) - 1, 5))
    for leaf in range(len(boxes)):
        left = below = np.inf
        right = above = -np.inf
        reach = 0.0
        for m in range(starts[leaf], starts[leaf + 1]):
            x, y, ex, ey = (
                members[m, X],
                members[m, Y],
                members[m, X] + members[m, DX],
                members[m, Y] + members[m, DY],
            )
            ox, oy, nx, ny = members[m, OLD_X], members[m, OLD_Y], members[m, NEW_X], members[m, NEW_Y]
            left, right = min(left, x, ex, ox, nx), max(right, x, ex, ox, nx)
            below, above = min(below, y, ey, oy, ny), max(above, y, ey, oy, ny)
            reach = max(
                reach,
                reach_of(members[m, OLD_VX], members[m, OLD_VY], radius, ahead, widening),
                reach_of(members[m, NEW_VX], members[m, NEW_VY], radius, ahead, widening),
            )
        boxes[leaf, LEFT], boxes[leaf, BELOW], boxes[leaf, RIGHT], boxes[leaf, ABOVE] = (
            left,
            below,
            right,
            above,
        )
        boxes[leaf, REACH] = reach
    return boxes


@kernel
def cell_boxes(boxes: Floats, cell_leaves: Ints) -> Floats:
    """The same for each cell, around the boxes of its leaves; nothing reaches out of an empty one."""
    around = np.empty((len(cell_leaves) - 1, 5))
    for c in range(len(around)):
        left = below = np.inf
        right = above = -np.inf
        reach = -1.0
        for leaf in range(cell_leaves[c], cell_leaves[c + 1]):
            left, right = min(left, boxes[leaf, LEFT]), max(right, boxes[leaf, RIGHT])
            below, above = min(below, boxes[leaf, BELOW]), max(above, boxes[leaf, ABOVE])
            reach = max(reach, boxes[leaf, REACH])
        around[c, LEFT], around[c, BELOW], around[c, RIGHT], around[c, ABOVE] = left, below, right, above
        around[c, REACH] = reach
    return around


@kernel
def strays(boxes: Floats, x0: float, y0: float, size: float, rows: int) -> float:
    """How far (m) a cell's box, with what reaches out of it, extends beyond the cell itself at most."""
    far = 0.0
    for c in range(len(boxes)):
        if boxes[c, REACH] < 0.0:
            continue
        left, below = x0 + (c // rows) * size, y0 + (c % rows) * size
        out = max(
            left - boxes[c, LEFT], below - boxes[c, BELOW],
            boxes[c, RIGHT] - left - size, boxes[c, ABOVE] - below - size,
        )  # fmt: skip
        far = max(far, out + boxes[c, REACH])
    return far
