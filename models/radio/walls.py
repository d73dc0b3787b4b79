"""The walls of buildings as obstacles to radio: how many of them a straight way crosses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import borrowing_kernel

CELL = 25.0
"""The side (m) of the cells by which walls are found, unless a large world has too many of them."""

MOST_CELLS = 1 << 20

# compiled into kernels
SLACK = 1e-3  # metres by which rounding may move a way, and far more than it does


class Walls(NamedTuple):
    """Straight walls, a row (x1, y1, x2, y2) (m) each in `ends`, and a grid of square cells to find them by.

    The walls of cell c, which is in column c % columns from `x0` and row c // columns from `y0`, are
    `ids[first[c] : first[c + 1]]`; a wall is in all cells that its bounding box touches.
    """

    ends: Floats
    x0: float
    y0: float
    side: float
    columns: int
    rows: int
    first: Ints
    ids: Ints

    @classmethod
    def around(cls, rings: Iterable[ArrayLike]) -> Walls:
        """The walls along rings with a row (x, y) for each corner, the first one at the end or not."""
        opened = (_open(np.asarray(ring, np.float64)) for ring in rings)
        walls = [np.hstack([ring, np.roll(ring, -1, axis=0)]) for ring in opened if len(ring) > 1]
        ends = np.ascontiguousarray(np.concatenate(walls)) if walls else np.empty((0, 4))
        if not len(ends):
            return cls(ends, 0.0, 0.0, CELL, 1, 1, np.zeros(2, np.int64), np.zeros(0, np.int64))
        low = np.minimum(ends[:, :2], ends[:, 2:])
        high = np.maximum(ends[:, :2], ends[:, 2:])
        corner, size = low.min(axis=0), high.max(axis=0) - low.min(axis=0)
        side = max(CELL, float(np.sqrt(size[0] * size[1] / MOST_CELLS)), float(size.max()) / MOST_CELLS)
        # Floors of quotients, as when walls are looked for: `//` may differ at the border of a cell.
        columns, rows = (int(np.floor(length / side)) + 1 for length in size)
        begin = np.floor((low - corner) / side).astype(np.int64)
        spans = np.floor((high - corner) / side).astype(np.int64) - begin + 1
        touched = spans.prod(axis=1)
        wall = np.repeat(np.arange(len(ends)), touched)
        number = np.arange(len(wall)) - np.repeat(np.cumsum(touched) - touched, touched)
        across = spans[wall, 0]
        cell = begin[wall, 0] + number % across + columns * (begin[wall, 1] + number // across)
        order = np.argsort(cell, kind="stable")
        first = np.searchsorted(cell[order], np.arange(columns * rows + 1)).astype(np.int64)
        return cls(ends, float(corner[0]), float(corner[1]), side, columns, rows, first, wall[order])


def _open(ring: Floats) -> Floats:
    """A ring without its first corner at the end."""
    return ring[:-1] if len(ring) > 1 and (ring[0] == ring[-1]).all() else ring


NO_WALLS = Walls.around(())


@borrowing_kernel
def _side(x1: float, y1: float, x2: float, y2: float, x: float, y: float) -> bool:
    return bool((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) > 0.0)


@borrowing_kernel
def crosses(x1: float, y1: float, x2: float, y2: float, wall: Floats) -> bool:
    """Whether the straight way between two places crosses a wall.

    A way through the corner of two walls crosses one of them if it passes from one side to the other, and
    both or none if it touches the corner only.
    """
    a = _side(x1, y1, x2, y2, wall[0], wall[1])
    b = _side(x1, y1, x2, y2, wall[2], wall[3])
    if a == b:
        return False
    c = _side(wall[0], wall[1], wall[2], wall[3], x1, y1)
    return c != _side(wall[0], wall[1], wall[2], wall[3], x2, y2)


@borrowing_kernel
def count_walls(
    walls: Walls, x1: float, y1: float, x2: float, y2: float, most: int, seen: Ints, mark: int
) -> int:
    """The walls between two places, but no more than `most` + 1 are counted.

    `seen` has a number for each wall, all different from `mark` before; those that were looked at have it
    afterwards. Both directions give the same.
    """
    if x2 < x1 or (x2 == x1 and y2 < y1):
        x1, y1, x2, y2 = x2, y2, x1, y1
    side = walls.side
    count = 0
    # The cells that the way touches, one column after the other.
    from_column = max(int(np.floor((x1 - walls.x0) / side)), 0)
    to_column = min(int(np.floor((x2 - walls.x0) / side)), walls.columns - 1)
    for column in range(from_column, to_column + 1):
        ya, yb = y1, y2
        if x2 - x1 > SLACK:
            left = max(x1, walls.x0 + column * side)
            right = min(x2, walls.x0 + (column + 1) * side)
            ya = y1 + (left - x1) / (x2 - x1) * (y2 - y1)
            yb = y1 + (right - x1) / (x2 - x1) * (y2 - y1)
        low, high = min(ya, yb) - SLACK, max(ya, yb) + SLACK
        from_row = max(int(np.floor((low - walls.y0) / side)), 0)
        to_row = min(int(np.floor((high - walls.y0) / side)), walls.rows - 1)
        for row in range(from_row, to_row + 1):
            cell = column + row * walls.columns
            for k in range(walls.first[cell], walls.first[cell + 1]):
                wall = walls.ids[k]
                if seen[wall] == mark:
                    continue
                seen[wall] = mark
                if crosses(x1, y1, x2, y2, walls.ends[wall]):
                    count += 1
                    if count > most:
                        return count
    return count
