"""Clients sorted into groups that stand close together, with a box around each: a tree over every cell of a
grid.

An event meets boxes first. Who is in a box that lies wholly inside the event's area is counted without being
looked at, who is in one that lies wholly outside is not looked at either: a crowd costs as little as its rim.
"""

from __future__ import annotations

import math

import numpy as np

from bypass.scenarios.evaluation.replay import NEXT, SCHEME, STATE, room_for
from bypass.support.arrays import Bools, Floats, Ints
from bypass.support.kernel import kernel

CROWD = 16  # a group of more clients than this is divided into quarters
DEEPEST = 12  # but no more often than so
CELLS_PER_CLIENT = 4  # a sparse world gets wider cells rather than more memory

BEGIN, END, AFTER = range(3)
"""Columns of nodes: members from, members to, and the node after it and its parts; after a leaf, the next."""


def grid_of(x: Floats, y: Floats, wish: float) -> tuple[float, float, float, int, int]:
    """Corner, cell size and numbers of columns and rows of a grid around all places; cells are `wish` wide
    unless that would be far more cells than clients."""
    x0, y0, x1, y1 = (float(each) for each in (x.min(), y.min(), x.max(), y.max()))
    size = wish
    while ((x1 - x0) / size + 1.0) * ((y1 - y0) / size + 1.0) > CELLS_PER_CLIENT * len(x) + 64.0:
        size *= 1.5
    return x0, y0, size, int((x1 - x0) / size) + 1, int((y1 - y0) / size) + 1


@kernel
def by_cell(
    x: Floats, y: Floats, x0: float, y0: float, size: float, columns: int, rows: int
) -> tuple[Ints, Ints]:
    """Places in the order of the cells they are in, and where each cell begins; those outside belong to the
    outermost cells."""
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
def plant(
    order: Ints, starts: Ints, x: Floats, y: Floats, x0: float, y0: float, size: float, rows: int
) -> tuple[Ints, Ints]:
    """Divide crowded cells, and sort `order` accordingly; gives the nodes and where those of each cell begin.

    A node comes right before its parts. None is empty.
    """
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
            nodes = room_for(nodes, used)
            nodes[used, BEGIN], nodes[used, END] = begin, end
            used += 1
            if end - begin <= CROWD or depth == DEEPEST:
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
def settled_nodes(nodes: Ints, states: Ints, first: Ints, changes: Ints) -> Bools:
    """Of which nodes all members have the same states (rows of `states`) and no change of them ahead.

    `first` says where a member's chain of changes begins, below 0 if it has none.
    """
    settled = np.ones(len(nodes), np.bool_)
    for k in range(len(nodes) - 1, -1, -1):
        begin = nodes[k, BEGIN]
        if nodes[k, AFTER] == k + 1:
            for m in range(begin, nodes[k, END]):
                for c in range(states.shape[1]):
                    if states[m, c] != states[begin, c]:
                        settled[k] = False
                change = first[m]
                while change >= 0:
                    if changes[change, STATE] != states[m, changes[change, SCHEME]]:
                        settled[k] = False
                    change = changes[change, NEXT]
        else:
            part = k + 1
            while part < nodes[k, AFTER] and settled[k]:
                settled[k] = settled[part]
                for c in range(states.shape[1]):
                    if states[nodes[part, BEGIN], c] != states[begin, c]:
                        settled[k] = False
                part = nodes[part, AFTER]
    return settled


# Columns of members. U is the direction of the way, LENGTH how far the farthest envelope reaches along it.
X, Y, DX, DY = range(4)
OLD, NEW = 4, 11
KNOWN_X, KNOWN_Y, UX, UY, LENGTH, VX, VY = range(7)  # after OLD and NEW
LEFT, BELOW, RIGHT, ABOVE, REACH = range(5)  # columns of boxes
STANDS = -1.0


@kernel
def gather(
    order: Ints, x: Floats, y: Floats, dx: Floats, dy: Floats, old: Floats, new: Floats, ahead: float
) -> Floats:  # fmt: skip
    """What the tests need to know of each client, side by side in memory, in the order of the leaves."""
    members = np.empty((len(order), 18))
    for m in range(len(order)):
        i = order[m]
        members[m, X], members[m, Y], members[m, DX], members[m, DY] = x[i], y[i], dx[i], dy[i]
        for at, known in ((OLD, old), (NEW, new)):
            vx, vy = known[i, 2], known[i, 3]
            speed = math.sqrt(vx * vx + vy * vy)
            members[m, at + KNOWN_X], members[m, at + KNOWN_Y] = known[i, 0], known[i, 1]
            members[m, at + VX], members[m, at + VY] = vx, vy
            if speed > 0.0 and ahead > 0.0:
                members[m, at + UX], members[m, at + UY] = vx / speed, vy / speed
                members[m, at + LENGTH] = ahead * speed
            else:
                members[m, at + UX] = members[m, at + UY] = 0.0
                members[m, at + LENGTH] = STANDS
    return members


@kernel
def boxes_of(nodes: Ints, members: Floats, radius: float, widening: float) -> Floats:
    """For each node the box around all places that its members have or are believed to have meanwhile, and
    how far from it the widest envelope of a member can reach."""
    boxes = np.empty((len(nodes), 5))
    for k in range(len(nodes) - 1, -1, -1):
        left = below = np.inf
        right = above = -np.inf
        reach = radius
        if nodes[k, AFTER] == k + 1:
            for m in range(nodes[k, BEGIN], nodes[k, END]):
                x, y = members[m, X], members[m, Y]
                ex, ey = x + members[m, DX], y + members[m, DY]
                ox, oy = members[m, OLD + KNOWN_X], members[m, OLD + KNOWN_Y]
                nx, ny = members[m, NEW + KNOWN_X], members[m, NEW + KNOWN_Y]
                left, right = min(left, x, ex, ox, nx), max(right, x, ex, ox, nx)
                below, above = min(below, y, ey, oy, ny), max(above, y, ey, oy, ny)
                length = max(members[m, OLD + LENGTH], members[m, NEW + LENGTH])
                if length > 0.0:
                    reach = max(reach, math.hypot(length, radius + length * widening))
        else:
            part = k + 1
            while part < nodes[k, AFTER]:
                left, right = min(left, boxes[part, LEFT]), max(right, boxes[part, RIGHT])
                below, above = min(below, boxes[part, BELOW]), max(above, boxes[part, ABOVE])
                reach = max(reach, boxes[part, REACH])
                part = nodes[part, AFTER]
        boxes[k, LEFT], boxes[k, BELOW], boxes[k, RIGHT], boxes[k, ABOVE] = left, below, right, above
        boxes[k, REACH] = reach
    return boxes


@kernel
def strays(boxes: Floats, roots: Ints, x0: float, y0: float, size: float, rows: int) -> float:
    """How far (m) a cell's box, with what reaches out of it, extends beyond the cell itself at most."""
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
        far = max(far, out + boxes[k, REACH])
    return far
