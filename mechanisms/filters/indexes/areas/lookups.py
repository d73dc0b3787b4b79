"""The shapes that hold a place, by the cells that it is in."""

from __future__ import annotations

import math

import numpy as np

from bypass.mechanisms.filters.indexes.areas.cells import COUNT, START, cell_name, slot_of
from bypass.mechanisms.filters.indexes.areas.outlines import EVERYWHERE, FARTHEST, FINEST, LEVELS
from bypass.mechanisms.filters.indexes.areas.shapes import HIGH, LOW, covers
from bypass.support.arrays import Floats, Ints, Shorts
from bypass.support.kernel import kernel


@kernel
def at_altitude(pool: Floats, start: int, z: float) -> bool:
    """Whether an altitude is in the band of a shape; none (NaN) is in every band."""
    return not (z < pool[start + LOW] or z > pool[start + HIGH])


@kernel
def with_space(found: Ints, n: int, more: int) -> Ints:
    """An array with the first n numbers, and room for more."""
    if n + more <= len(found):
        return found
    grown = np.empty(2 * (n + more), np.int64)
    grown[:n] = found[:n]
    return grown


@kernel
def holding(
    pool: Floats, starts: Ints, names: Ints, cells: Shorts, entries: Shorts, levels: Ints,
    x: float, y: float, z: float, found: Ints, n: int,
) -> tuple[Ints, int]:  # fmt: skip
    """Append the shapes that hold a place to `found`, which has n elements: gives the array, which may be a
    larger one, and how many it has. No altitude (NaN) is in every band."""
    for level in range(LEVELS + 1):
        if levels[level] == 0:
            continue
        column, row = 0, 0
        if level != EVERYWHERE:
            per_metre = math.ldexp(1.0, FINEST - level)
            if not (abs(x) * per_metre < FARTHEST and abs(y) * per_metre < FARTHEST):
                continue
            column, row = math.floor(x * per_metre), math.floor(y * per_metre)
        slot = slot_of(names, cell_name(level, column, row))
        start, count = cells[slot, START], cells[slot, COUNT]
        found = with_space(found, n, count)
        for k in range(start, start + count):
            entry = entries[k]
            at = starts[entry >> 1]
            if (entry & 1 or covers(pool, at, x, y)) and at_altitude(pool, at, z):
                found[n] = entry >> 1
                n += 1
    return found, n


@kernel
def hold_places(
    pool: Floats, starts: Ints, names: Ints, cells: Shorts, entries: Shorts, levels: Ints,
    x: Floats, y: Floats, z: Floats, order: Ints,
) -> tuple[Ints, Ints]:  # fmt: skip
    """The shapes that hold each place, looked up in this order: those of place i are
    found[offsets[i]:offsets[i + 1]], ascending."""
    ends = np.zeros(len(x) + 1, np.int64)
    offsets = np.zeros(len(x) + 1, np.int64)
    found, n = np.empty(16 * len(x) + 16, np.int64), 0
    for k in range(len(order)):
        i = order[k]
        found, n = holding(pool, starts, names, cells, entries, levels, x[i], y[i], z[i], found, n)
        ascend(found[ends[k] : n])
        ends[k + 1] = n
        offsets[i + 1] = n - ends[k]
    for i in range(len(x)):
        offsets[i + 1] += offsets[i]
    ordered = np.empty(n, np.int64)
    for k in range(len(order)):
        first = offsets[order[k]]
        for j in range(ends[k], ends[k + 1]):
            ordered[first + j - ends[k]] = found[j]
    return offsets, ordered


@kernel
def ascend(found: Ints) -> None:
    """Sort numbers; the usual handful is sorted by insertion, twice as fast as in general."""
    if len(found) > 32:
        found.sort()
        return
    for k in range(1, len(found)):
        number = found[k]
        i = k
        while i > 0 and found[i - 1] > number:
            found[i] = found[i - 1]
            i -= 1
        found[i] = number


@kernel
def scan_shapes(numbers: Ints, pool: Floats, starts: Ints, x: float, y: float, z: float) -> Ints:
    """Those of the shapes that hold a place, by looking at all of them."""
    found = np.empty(len(numbers), np.int64)
    n = 0
    for number in numbers:
        at = starts[number]
        if covers(pool, at, x, y) and at_altitude(pool, at, z):
            found[n] = number
            n += 1
    return found[:n].copy()
