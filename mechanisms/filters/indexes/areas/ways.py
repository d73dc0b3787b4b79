"""The areas whose border a straight way may cross, found in the cells along it."""

from __future__ import annotations

import math

import numpy as np

from bypass.mechanisms.filters.indexes.areas.cells import COUNT, START, cell_name, slot_of
from bypass.mechanisms.filters.indexes.areas.lookups import ascend, with_space
from bypass.mechanisms.filters.indexes.areas.outlines import (
    EVERYWHERE,
    FARTHEST,
    FINEST,
    LEVELS,
    MARGIN,
    span,
)
from bypass.mechanisms.filters.indexes.areas.shapes import HIGH, LOW, X0, X1, Y0, Y1
from bypass.support.arrays import Floats, Ints, Shorts
from bypass.support.kernel import kernel

MOST_CELLS = 1 << 12
"""A way through more cells of a level than that is compared with the bounds of all shapes instead."""


@kernel
def beside(pool: Floats, at: int, ax: float, ay: float, bx: float, by: float) -> bool:
    """Whether the bounds of a shape and those of a way have a place in common."""
    return bool(
        pool[at + X0] <= max(ax, bx)
        and min(ax, bx) <= pool[at + X1]
        and pool[at + Y0] <= max(ay, by)
        and min(ay, by) <= pool[at + Y1]
    )


@kernel
def boundless(pool: Floats, at: int) -> bool:
    """Whether a shape is at every altitude: a way that climbs may leave others in the middle of a cell."""
    return bool(pool[at + LOW] == -math.inf and pool[at + HIGH] == math.inf)


@kernel
def along(
    pool: Floats, starts: Ints, shapes: int, names: Ints, cells: Shorts, entries: Shorts, levels: Ints,
    ax: float, ay: float, bx: float, by: float, found: Ints, n: int,
) -> tuple[Ints, int]:  # fmt: skip
    """Append to `found`, which has n elements, all shapes whose border the way from a to b may touch,
    ascending and each once: gives the array, which may be a larger one, and how many it has."""
    first = n
    for level in range(LEVELS + 1):
        if levels[level] == 0:
            continue
        side = math.ldexp(1.0, level - FINEST)
        margin = side * MARGIN
        far = max(max(abs(ax), abs(bx)), max(abs(ay), abs(by))) / side
        if level != EVERYWHERE and not (
            far < FARTHEST - 1 and (abs(bx - ax) + abs(by - ay)) / side < MOST_CELLS
        ):
            return beside_all(pool, starts, shapes, ax, ay, bx, by, found, first)
        west, east = 0, 0
        if level != EVERYWHERE:
            west = math.floor((min(ax, bx) - margin) / side)
            east = math.floor((max(ax, bx) + margin) / side)
        for column in range(west, east + 1):
            south, north = 0, 0
            if level != EVERYWHERE:
                low, high = span(ax, ay, bx, by, column * side, side)
                south, north = math.floor(low / side), math.floor(high / side)
            for row in range(south, north + 1):
                slot = slot_of(names, cell_name(level, column, row))
                start, count = cells[slot, START], cells[slot, COUNT]
                found = with_space(found, n, count)
                for k in range(start, start + count):
                    entry = entries[k]
                    at = starts[entry >> 1]
                    if not (entry & 1 and boundless(pool, at)) and beside(pool, at, ax, ay, bx, by):
                        found[n] = entry >> 1
                        n += 1
    return found, first + each_once(found[first:n])


@kernel
def beside_all(
    pool: Floats, starts: Ints, shapes: int,
    ax: float, ay: float, bx: float, by: float, found: Ints, n: int,
) -> tuple[Ints, int]:  # fmt: skip
    """Append the shapes whose bounds are beside those of a way, by looking at all."""
    found = with_space(found, n, shapes)
    for number in range(shapes):
        if starts[number] >= 0 and beside(pool, starts[number], ax, ay, bx, by):
            found[n] = number
            n += 1
    return found, n


@kernel
def each_once(found: Ints) -> int:
    """Sort numbers and move the distinct ones to the front; gives how many these are."""
    ascend(found)
    kept = 0
    for k in range(len(found)):
        if kept == 0 or found[k] != found[kept - 1]:
            found[kept] = found[k]
            kept += 1
    return kept


@kernel
def along_many(
    pool: Floats, starts: Ints, shapes: int, names: Ints, cells: Shorts, entries: Shorts, levels: Ints,
    ways: Floats,
) -> tuple[Ints, Ints]:  # fmt: skip
    """The shapes whose border each way (x, y, x, y) may touch: those of way i are
    found[offsets[i]:offsets[i + 1]]."""
    offsets = np.zeros(len(ways) + 1, np.int64)
    found, n = np.empty(16 * len(ways) + 16, np.int64), 0
    for i in range(len(ways)):
        found, n = along(
            pool, starts, shapes, names, cells, entries, levels,
            ways[i, 0], ways[i, 1], ways[i, 2], ways[i, 3], found, n,
        )  # fmt: skip
        offsets[i + 1] = n
    return offsets, found[:n].copy()
