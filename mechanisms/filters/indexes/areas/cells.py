"""The areas in each cell, by the name of the cell in a table of hashes; places and ways are looked up here.

An entry of a cell is twice the number of a shape, and one more if the shape covers the cell wholly: then no
test is needed. The entries of a cell stand side by side.
"""

from __future__ import annotations

import numpy as np

from bypass.mechanisms.filters.indexes.areas.blocks import anchor
from bypass.mechanisms.filters.indexes.areas.outlines import (
    COLUMN,
    COLUMNS,
    FARTHEST,
    LEVEL,
    LEVELS,
    NOTHING,
    PARTLY,
    ROW,
    ROWS,
    WHOLE,
    WIDEST,
    frame,
    outline,
)
from bypass.mechanisms.filters.indexes.areas.pools import release_block, room_of, size_for, take_block
from bypass.support.arrays import Bytes, Floats, Ints, Shorts
from bypass.support.kernel import kernel

NOBODY = -1
START, COUNT, SIZE = range(3)  # columns of `cells`
TAKEN = LEVELS + 1
"""The element of `levels` that counts names in the table; the others count the shapes of each level."""


@kernel
def cell_name(level: int, column: int, row: int) -> int:
    """One number for a cell, at least 0."""
    return (level << 56) | ((column + FARTHEST) << 28) | (row + FARTHEST)


@kernel
def slot_of(names: Ints, name: int) -> int:
    """Where a cell is in the table, or where it would be."""
    mixed = name * -7046029254386353131
    mixed ^= (mixed >> 32) & 0xFFFFFFFF
    last = len(names) - 1
    slot = mixed & last
    while names[slot] != name and names[slot] != NOBODY:
        slot = (slot + 1) & last
    return slot


@kernel
def with_room(names: Ints, cells: Shorts, levels: Ints) -> tuple[Ints, Shorts]:
    """The table with room for all cells of one more shape: cells without entries are left out of a larger
    one."""
    if 2 * (levels[TAKEN] + WIDEST * WIDEST) <= len(names):
        return names, cells
    live = 0
    for slot in range(len(names)):
        live += cells[slot, COUNT] > 0
    room = len(names)
    while room < 4 * (live + WIDEST * WIDEST):
        room *= 2
    new_names = np.full(room, NOBODY, np.int64)
    new_cells = np.zeros((room, 3), np.int32)
    for slot in range(len(names)):
        if cells[slot, COUNT] > 0:
            to = slot_of(new_names, names[slot])
            new_names[to] = names[slot]
            new_cells[to] = cells[slot]
    levels[TAKEN] = live
    return new_names, new_cells


@kernel
def put_entry(
    names: Ints, cells: Shorts, entries: Shorts, free: Ints, levels: Ints, name: int, entry: int
) -> Shorts:
    """Add an entry to a cell; gives the entries of all cells."""
    slot = slot_of(names, name)
    if names[slot] == NOBODY:
        names[slot] = name
        levels[TAKEN] += 1
    count = cells[slot, COUNT]
    if count == 0:
        cells[slot, SIZE] = 0
        entries, start = take_block(entries, free, 0)
        cells[slot, START] = start
    elif count == room_of(cells[slot, SIZE]):
        size = size_for(count + (count >> 1))
        entries, start = take_block(entries, free, size)
        old = cells[slot, START]
        entries[start : start + count] = entries[old : old + count]
        release_block(entries, free, old, cells[slot, SIZE])
        cells[slot, START], cells[slot, SIZE] = start, size
    entries[cells[slot, START] + count] = entry
    cells[slot, COUNT] = count + 1
    return entries


@kernel
def drop_entry(names: Ints, cells: Shorts, entries: Shorts, free: Ints, name: int, number: int) -> None:
    """Take a shape out of a cell; the last entry there fills the gap."""
    slot = slot_of(names, name)
    start, count = cells[slot, START], cells[slot, COUNT]
    for k in range(start, start + count):
        if entries[k] >> 1 == number:
            entries[k] = entries[start + count - 1]
            cells[slot, COUNT] = count - 1
            if count == 1:
                release_block(entries, free, start, cells[slot, SIZE])
            return


@kernel
def fill(
    number: int, where: Ints, marks: Bytes,
    names: Ints, cells: Shorts, entries: Shorts, free: Ints, levels: Ints,
) -> Shorts:  # fmt: skip
    """Enter a shape into the cells of its outline; gives the entries of all cells."""
    levels[where[LEVEL]] += 1
    for j in range(where[ROWS]):
        for i in range(where[COLUMNS]):
            mark = marks[j * where[COLUMNS] + i]
            if mark != NOTHING:
                name = cell_name(where[LEVEL], where[COLUMN] + i, where[ROW] + j)
                entry = 2 * number + (mark == WHOLE)
                entries = put_entry(names, cells, entries, free, levels, name, entry)
    return entries


@kernel
def clear(
    number: int, where: Ints, marks: Bytes,
    names: Ints, cells: Shorts, entries: Shorts, free: Ints, levels: Ints,
) -> None:  # fmt: skip
    """Take a shape out of the cells of its outline."""
    levels[where[LEVEL]] -= 1
    for j in range(where[ROWS]):
        for i in range(where[COLUMNS]):
            if marks[j * where[COLUMNS] + i] != NOTHING:
                name = cell_name(where[LEVEL], where[COLUMN] + i, where[ROW] + j)
                drop_entry(names, cells, entries, free, name, number)


@kernel
def put_shapes(
    numbers: Ints, pool: Floats, starts: Ints,
    names: Ints, cells: Shorts, entries: Shorts, free: Ints, levels: Ints,
) -> tuple[Ints, Shorts, Shorts]:  # fmt: skip
    """Enter shapes into their cells; gives names, cells and entries, which may have grown."""
    where = np.empty(5, np.int64)
    marks = np.empty(WIDEST * WIDEST, np.uint8)
    for number in numbers:
        names, cells = with_room(names, cells, levels)
        frame(pool, starts[number], where)
        outline(pool, starts[number], where, marks)
        entries = fill(number, where, marks, names, cells, entries, free, levels)
    return names, cells, entries


@kernel
def drop_shapes(
    numbers: Ints, pool: Floats, starts: Ints,
    names: Ints, cells: Shorts, entries: Shorts, free: Ints, levels: Ints,
) -> None:  # fmt: skip
    """Take shapes out of their cells, before anything of them changes."""
    where = np.empty(5, np.int64)
    marks = np.empty(WIDEST * WIDEST, np.uint8)
    for number in numbers:
        frame(pool, starts[number], where)
        outline(pool, starts[number], where, marks)
        clear(number, where, marks, names, cells, entries, free, levels)


@kernel
def move_shapes(
    numbers: Ints, turns: Floats, pool: Floats, starts: Ints,
    names: Ints, cells: Shorts, entries: Shorts, free: Ints, levels: Ints,
) -> tuple[Ints, Shorts, Shorts]:  # fmt: skip
    """Put shapes that move, which are in their cells, at other places: `turns` has x, y, sine and cosine of
    the heading of each. Gives names, cells and entries, which may have grown."""
    before, after = np.empty(5, np.int64), np.empty(5, np.int64)
    marks = np.full(WIDEST * WIDEST, PARTLY, np.uint8)
    for i in range(len(numbers)):
        start = starts[numbers[i]]
        frame(pool, start, before)
        anchor(pool, start, turns[i, 0], turns[i, 1], turns[i, 2], turns[i, 3])
        frame(pool, start, after)
        moved = False  # without np.any, which has a broker load scipy
        for k in range(len(before)):
            moved = moved or before[k] != after[k]
        if moved:
            clear(numbers[i], before, marks, names, cells, entries, free, levels)
            names, cells = with_room(names, cells, levels)
            entries = fill(numbers[i], after, marks, names, cells, entries, free, levels)
    return names, cells, entries
