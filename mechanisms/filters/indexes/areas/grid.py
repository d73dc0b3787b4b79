"""Many areas by number: which hold a place, and which have a border near a way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from bypass.mechanisms.filters.indexes.areas.blocks import anchor, blocks_of, forget, store, store_moving
from bypass.mechanisms.filters.indexes.areas.cells import NOBODY, TAKEN, drop_shapes, move_shapes, put_shapes
from bypass.mechanisms.filters.indexes.areas.lookups import ascend, hold_places, holding, scan_shapes
from bypass.mechanisms.filters.indexes.areas.pools import new_free_list
from bypass.mechanisms.filters.indexes.areas.ways import along_many
from bypass.places import Area
from bypass.support.arrays import Floats, Ints

NOWHERE = -1
FEWEST_CELLS = 1 << 10
AT_ONCE = 1 << 14
"""Areas whose numbers are copied together, at most: what is copied takes memory twice."""

FEW_PLACES, STRIPS = 256, 64
"""So many places are not worth being sorted; others are, by strips in both directions."""


class AreaGrid:
    """Areas in metres, each under a number: those that are equal share one. A place is in an area if
    `Area.contains` says so, to the last bit; numbers that are released are used again."""

    def __init__(self) -> None:
        self._areas: list[Area | None] = []  # by number
        self._uses: list[int] = []
        self._vacant: list[int] = []
        self._fixed: dict[Area, int] = {}
        self._drawn: dict[Area, int] = {}  # areas around (0, 0), for those that move: they are in no cell
        self._pool = np.empty(0)
        self._blocks = new_free_list()
        self._starts = np.full(16, NOWHERE, np.int64)
        self._names = np.full(FEWEST_CELLS, NOBODY, np.int64)
        self._cells = np.zeros((FEWEST_CELLS, 3), np.int32)
        self._entries = np.empty(0, np.int32)
        self._free = new_free_list()
        self._levels = np.zeros(TAKEN + 1, np.int64)
        self._found = np.empty(256, np.int64)

    @property
    def numbers(self) -> int:
        """One more than the largest number that an area ever had."""
        return len(self._areas)

    def memory(self) -> int:
        """Bytes of the arrays."""
        arrays = (self._pool, self._starts, self._names, self._cells, self._entries, self._found)
        return sum(each.nbytes for each in arrays)

    def hold(self, areas: Sequence[Area]) -> Ints:
        """Keep areas; gives the number of each. Each has to be released as often as it was held."""
        given = np.empty(len(areas), np.int64)
        new: list[int] = []
        for i, area in enumerate(areas):
            number = self._fixed.get(area, NOWHERE)
            if number == NOWHERE:
                number = self._fixed[area] = self._new_number(area)
                new.append(number)
            self._uses[number] += 1
            given[i] = number
        self._store(new)
        self._file(np.array(new, np.int64))
        return given

    def follow(self, area: Area, x: float, y: float, sine: float, cosine: float) -> int:
        """Keep an area that is drawn around (0, 0) with north up, at a place and turned by a heading, of
        which the sine and the cosine are given; gives a number that is its own, for `move`."""
        drawn = self._drawn.get(area, NOWHERE)
        if drawn == NOWHERE:
            drawn = self._drawn[area] = self._new_number(area)
            self._store([drawn])
        self._uses[drawn] += 1
        number = self._new_number(area)
        self._uses[number] = 1
        self._pool = store_moving(number, drawn, area.reach, self._pool, self._blocks, self._starts)
        anchor(self._pool, self._starts[number], x, y, sine, cosine)
        self._file(np.array((number,), np.int64))
        return number

    def move(self, numbers: Ints, turns: Floats) -> None:
        """Put areas that move at other places: `turns` has x, y, sine and cosine of the heading of each."""
        self._names, self._cells, self._entries = move_shapes(
            numbers, turns, self._pool, self._starts,
            self._names, self._cells, self._entries, self._free, self._levels,
        )  # fmt: skip

    def release(self, numbers: Iterable[int]) -> None:
        """Let go of areas, once for each time that a number is given."""
        gone, drawn = [], []
        for number in numbers:
            self._uses[number] -= 1
            if self._uses[number]:
                continue
            area = self._areas[number]
            assert area is not None
            gone.append(number)
            if self._fixed.get(area) == number:
                del self._fixed[area]
                continue
            other = self._drawn[area]
            self._uses[other] -= 1
            if not self._uses[other]:
                del self._drawn[area]
                drawn.append(other)
        drop_shapes(
            np.array(gone, np.int64), self._pool, self._starts,
            self._names, self._cells, self._entries, self._free, self._levels,
        )  # fmt: skip
        gone += drawn
        forget(np.array(gone, np.int64), self._pool, self._blocks, self._starts)
        for number in gone:
            self._areas[number] = None
        self._vacant += gone

    def area(self, number: int) -> Area:
        """The area that has a number; one that moves as it was drawn around (0, 0)."""
        area = self._areas[number]
        assert area is not None
        return area

    def at(self, x: float, y: float, z: float = math.nan) -> Ints:
        """The numbers of all areas that hold a place, ascending. NaN: the altitude is not known, any will
        do."""
        self._found, n = holding(
            self._pool, self._starts, self._names, self._cells, self._entries, self._levels,
            x, y, z, self._found, 0,
        )  # fmt: skip
        ascend(self._found[:n])
        return self._found[:n].copy()

    def at_many(self, x: Floats, y: Floats, z: Floats | None = None) -> tuple[Ints, Ints]:
        """The same for many places at once: the areas that hold place i are numbers[offsets[i]:offsets[i +
        1]]."""
        return hold_places(
            self._pool, self._starts, self._names, self._cells, self._entries, self._levels,
            x, y, np.full(len(x), math.nan) if z is None else z, _side_by_side(x, y),
        )  # fmt: skip

    def along(self, ways: Floats) -> tuple[Ints, Ints]:
        """The numbers of the areas whose border straight ways may cross or touch, ascending for each; a way
        is a row x, y, x, y. Areas that a way never leaves the inside of are mostly left out, those with a
        band of altitudes never. Those of way i are numbers[offsets[i]:offsets[i + 1]]."""
        return along_many(
            self._pool,
            self._starts,
            len(self._areas),
            self._names,
            self._cells,
            self._entries,
            self._levels,
            ways,
        )

    def scan(self, numbers: Ints, x: float, y: float, z: float = math.nan) -> Ints:
        """Those of some areas that hold a place, in their order, by testing every one."""
        return scan_shapes(numbers, self._pool, self._starts, x, y, z)

    def _new_number(self, area: Area) -> int:
        if self._vacant:
            number = self._vacant.pop()
            self._areas[number] = area
            return number
        number = len(self._areas)
        self._areas.append(area)
        self._uses.append(0)
        if number == len(self._starts):
            self._starts = np.append(self._starts, np.full(number, NOWHERE, np.int64))
        return number

    def _store(self, numbers: list[int]) -> None:
        """Copy the numbers of areas that are new into the pool."""
        for first in range(0, len(numbers), AT_ONCE):
            some = numbers[first : first + AT_ONCE]
            blocks, offsets = blocks_of([self.area(number) for number in some])
            self._pool = store(
                blocks, offsets, np.array(some, np.int64), self._pool, self._blocks, self._starts
            )

    def _file(self, numbers: Ints) -> None:
        """Enter areas into the cells that they cover."""
        self._names, self._cells, self._entries = put_shapes(
            numbers, self._pool, self._starts,
            self._names, self._cells, self._entries, self._free, self._levels,
        )  # fmt: skip


def _side_by_side(x: Floats, y: Floats) -> Ints:
    """An order of places in which one mostly is near the one before: what was read for that is in the cache
    still."""
    if len(x) < FEW_PLACES:
        return np.arange(len(x))
    with np.errstate(invalid="ignore", over="ignore"):
        column, row = _strip(x), _strip(y)
    return np.argsort(row * STRIPS + np.where(row % 2, STRIPS - column, column), kind="stable")


def _strip(values: Floats) -> Ints:
    """The number of the strip that each coordinate is in, of strips of the same width from the least to the
    greatest."""
    width = (values.max() - values.min()) / STRIPS
    if not 0 < width < math.inf:
        return np.zeros(len(values), np.int64)
    strips: Ints = ((values - values.min()) / width).astype(np.int64)
    return strips
