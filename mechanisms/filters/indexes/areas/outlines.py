"""The cells that a shape covers: wholly, or in part, where its border is near.

The side of a cell of level n is 2^(n-16) metres. Cells begin at whole multiples of their side, which
floating point numbers hold exactly, so that the cell of a place is known to the last bit. Outlines err on
the side of "in part", by a thousandth of a cell: rounding is far below that.
"""

from __future__ import annotations

import math

from bypass.mechanisms.filters.indexes.areas.shapes import (
    HEAD,
    KIND,
    MOVING,
    PART,
    POLYGONS,
    X0,
    X1,
    Y0,
    Y1,
    border_distance,
    covers,
    weight,
)
from bypass.support.arrays import Bytes, Floats, Ints
from bypass.support.kernel import kernel

LEVELS = 64
FINEST = 16
"""Cells of level 0 have a side of 2^-16 metres."""

FARTHEST = 1 << 27
"""Cells of a level are numbered from minus this number on, in both directions."""

NOTHING, PARTLY, WHOLE = range(3)
EVERYWHERE = LEVELS
"""The level of shapes that are too large, or too far away, for cells: one cell of it is the whole world."""

FEW, MANY = 4, 16
"""An area is so many cells wide if it has few vertices, or many; those of a polygon that has many are
looked at for each place in a cell in part, so that more cells pay."""
WIDEST = MANY + 3
MARGIN = 1 / 1024

LEVEL, COLUMN, ROW, COLUMNS, ROWS = range(5)  # what `frame` says


@kernel
def frame(pool: Floats, start: int, where: Ints) -> None:
    """Note in `where` the level for a shape, and the first column and row and the numbers of columns and
    rows of its cells."""
    x0, y0, x1, y1 = pool[start + X0], pool[start + Y0], pool[start + X1], pool[start + Y1]
    across = 1 if pool[start + KIND] == MOVING else min(max(FEW, weight(pool, start) // 4), MANY)
    extent = max(x1 - x0, y1 - y0) / across
    level = math.frexp(extent)[1] + FINEST if extent > 0.0 else 0
    farthest = max(max(abs(x0), abs(x1)), max(abs(y0), abs(y1)))
    level = max(level, math.frexp(farthest)[1] - 26 + FINEST, 0)
    if not farthest < math.inf or level >= LEVELS:
        where[LEVEL], where[COLUMN], where[ROW], where[COLUMNS], where[ROWS] = EVERYWHERE, 0, 0, 1, 1
        return
    side = math.ldexp(1.0, level - FINEST)
    margin = side * MARGIN
    where[LEVEL] = level
    where[COLUMN] = math.floor((x0 - margin) / side)
    where[ROW] = math.floor((y0 - margin) / side)
    where[COLUMNS] = math.floor((x1 + margin) / side) - where[COLUMN] + 1
    where[ROWS] = math.floor((y1 + margin) / side) - where[ROW] + 1


@kernel
def span(ax: float, ay: float, bx: float, by: float, west: float, side: float) -> tuple[float, float]:
    """The least and the greatest y of the way from a to b within the column that begins at `west`, and a
    bit beyond on all sides."""
    margin = side * MARGIN
    low, high = min(ay, by), max(ay, by)
    dx = bx - ax
    if abs(dx) > side / 4:
        slope = (by - ay) / dx
        first = ay + (west - margin - ax) * slope
        last = ay + (west + side + margin - ax) * slope
        low, high = max(low, min(first, last)), min(high, max(first, last))
    return low - margin, high + margin


@kernel
def outline(pool: Floats, start: int, where: Ints, marks: Bytes) -> None:
    """Say for each cell in the frame of a shape, row by row, whether the shape covers it."""
    columns, rows = where[COLUMNS], where[ROWS]
    if where[LEVEL] == EVERYWHERE or pool[start + KIND] == MOVING:
        marks[: columns * rows] = PARTLY
        return
    side = math.ldexp(1.0, where[LEVEL] - FINEST)
    if pool[start + KIND] == POLYGONS:
        marks[: columns * rows] = NOTHING
        trace_polygons(pool, start + HEAD, where, side, marks)
        fill_between(pool, start, where, side, marks)
        return
    half = side * (math.sqrt(0.5) + MARGIN)
    for j in range(rows):
        for i in range(columns):
            x, y = (where[COLUMN] + i + 0.5) * side, (where[ROW] + j + 0.5) * side
            if border_distance(pool, start, x, y) <= half:
                marks[j * columns + i] = PARTLY
            else:
                marks[j * columns + i] = WHOLE if covers(pool, start, x, y) else NOTHING


@kernel
def trace_polygons(pool: Floats, at: int, where: Ints, side: float, marks: Bytes) -> None:
    """Mark the cells that a border crosses, or comes near to."""
    parts = int(pool[at])
    at += 1
    for _ in range(parts):
        rings = int(pool[at + 4])
        at += PART
        for _ in range(rings):
            end = at + 1 + 2 * int(pool[at])
            ax, ay = pool[end - 2], pool[end - 1]
            for k in range(at + 1, end, 2):
                bx, by = pool[k], pool[k + 1]
                trace_edge(ax, ay, bx, by, where, side, marks)
                ax, ay = bx, by
            at = end


@kernel
def trace_edge(ax: float, ay: float, bx: float, by: float, where: Ints, side: float, marks: Bytes) -> None:
    """Mark the cells that an edge crosses, or comes near to."""
    margin = side * MARGIN
    first = max(math.floor((min(ax, bx) - margin) / side) - where[COLUMN], 0)
    last = min(math.floor((max(ax, bx) + margin) / side) - where[COLUMN], where[COLUMNS] - 1)
    for i in range(first, last + 1):
        low, high = span(ax, ay, bx, by, (where[COLUMN] + i) * side, side)
        lowest = max(math.floor(low / side) - where[ROW], 0)
        highest = min(math.floor(high / side) - where[ROW], where[ROWS] - 1)
        for j in range(lowest, highest + 1):
            marks[j * where[COLUMNS] + i] = PARTLY


@kernel
def fill_between(pool: Floats, start: int, where: Ints, side: float, marks: Bytes) -> None:
    """Mark the cells that no edge crosses: two of them that have a side in common are both inside or both
    outside."""
    columns, rows = where[COLUMNS], where[ROWS]
    for j in range(rows):
        for i in range(columns):
            at = j * columns + i
            if marks[at] == PARTLY:
                continue
            if i > 0 and marks[at - 1] != PARTLY:
                marks[at] = marks[at - 1]
            elif j > 0 and marks[at - columns] != PARTLY:
                marks[at] = marks[at - columns]
            else:
                x, y = (where[COLUMN] + i + 0.5) * side, (where[ROW] + j + 0.5) * side
                marks[at] = WHOLE if covers(pool, start, x, y) else NOTHING
