"""Ranges of numbers by where they are, so that a number finds those that may hold it without trying all.

A range with two ends is kept in the one or two cells of a grid that it touches, whose cells are as wide as
the range is long, rounded up to a power of four: an event looks into one cell of each width in use. Ranges
with one end are kept by that end, rounded to five bits, in ascending order: an event takes all on its side.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from typing import Literal, NamedTuple

from bypass.mechanisms.matching.columns import NumberPool
from bypass.mechanisms.matching.numbers import Bounds

MOST_WIDTHS = 16
"""Widths of cells in use; further ranges go to the next larger one."""

MANTISSA = 32.0
NARROWEST = -1070  # the exponent of the smallest cells

Side = Literal["above", "below"]


class RangeCell(NamedTuple):
    """A cell of the grid whose cells are 2 ** `exponent` wide."""

    exponent: int
    number: int


class RangeEnd(NamedTuple):
    """The only end of a range, rounded, and the side of it on which the range is."""

    side: Side
    value: float


RangeName = RangeCell | RangeEnd


def width_of(low: float, high: float) -> int | None:
    """The exponent, an even number, of cells as wide as a range; None if it has no two ends."""
    length = high - low
    if not length < math.inf or math.isinf(low):
        return None
    if length <= 0:
        length = max(math.ulp(low), math.ulp(high))
    exponent = max(math.frexp(length)[1], NARROWEST)
    return exponent + (exponent & 1)


def cell_at(value: float, exponent: int) -> int | None:
    """The cell of that width in which a number lies; None if it is too far away for any range to be there."""
    try:
        return math.floor(math.ldexp(value, -exponent))
    except OverflowError:
        return None


def rounded(value: float, side: Side) -> float:
    """A number of five bits, at most as large as a lower end and at least as large as an upper end."""
    if not math.isfinite(value):
        return value
    mantissa, exponent = math.frexp(value)
    whole = math.floor(mantissa * MANTISSA) if side == "above" else math.ceil(mantissa * MANTISSA)
    try:
        return math.ldexp(whole / MANTISSA, exponent)
    except OverflowError:
        return math.copysign(math.inf, value)


class RangeKeys:
    """The keys under which ranges on one attribute are found; keys come from `keys`."""

    __slots__ = ("_cells", "_ends", "_keys", "_order", "_uses", "_widths")

    def __init__(self, keys: NumberPool) -> None:
        self._keys = keys
        self._widths: dict[int, int] = {}  # exponent → how many keys are of this width
        self._cells: dict[tuple[int, int | None], int] = {}  # cells → key; no range is in cell None
        self._ends: dict[tuple[Side, float], int] = {}  # ends → key
        self._order: dict[Side, list[float]] = {"above": [], "below": []}
        self._uses: dict[int, int] = {}  # by key

    def __bool__(self) -> bool:
        return bool(self._uses)

    def take(self, low: float, high: float) -> list[tuple[int, RangeName]]:
        """Find or make the keys of a range, each with the name to give it back by; count one more user.

        At most one end may be infinite.
        """
        exponent = width_of(low, high)
        if exponent is not None and exponent not in self._widths and len(self._widths) >= MOST_WIDTHS:
            exponent = min((each for each in self._widths if each > exponent), default=None)
        if exponent is not None:
            first, last = cell_at(low, exponent), cell_at(max(low, high), exponent)
            if first is not None and last is not None:
                return [self._take_cell(RangeCell(exponent, cell)) for cell in range(first, last + 1)]
        if math.isinf(low) and low < 0:
            return [self._take_end("below", high)]
        return [self._take_end("above", low)]

    def give_back(self, key: int, name: RangeName) -> None:
        """Count one user of a key less; nobody's key is forgotten."""
        self._uses[key] -= 1
        if self._uses[key]:
            return
        del self._uses[key]
        self._keys.give_back(key)
        if isinstance(name, RangeCell):
            del self._cells[name]
            self._widths[name.exponent] -= 1
            if not self._widths[name.exponent]:
                del self._widths[name.exponent]
        else:
            del self._ends[name]
            order = self._order[name.side]
            del order[bisect_left(order, name.value)]

    def at(self, bounds: Bounds, found: list[int]) -> None:
        """Add to `found` the keys of all ranges that may hold a number, which is not NaN."""
        low, high = bounds
        cells = self._cells
        for exponent in self._widths:
            cell = cell_at(low, exponent)
            key = cells.get((exponent, cell))
            if key is not None:
                found.append(key)
            if low != high and (other := cell_at(high, exponent)) != cell:
                key = cells.get((exponent, other))
                if key is not None:
                    found.append(key)
        above, below, ends = self._order["above"], self._order["below"], self._ends
        found += [ends["above", end] for end in above[: bisect_right(above, high)]]
        found += [ends["below", end] for end in below[bisect_left(below, low) :]]

    def _take_cell(self, cell: RangeCell) -> tuple[int, RangeName]:
        key = self._cells.get(cell)
        if key is None:
            key = self._cells[cell] = self._keys.take()
            self._uses[key] = 0
            self._widths[cell.exponent] = self._widths.get(cell.exponent, 0) + 1
        self._uses[key] += 1
        return key, cell

    def _take_end(self, side: Side, end: float) -> tuple[int, RangeName]:
        name = RangeEnd(side, rounded(end, side))
        key = self._ends.get(name)
        if key is None:
            key = self._ends[name] = self._keys.take()
            self._uses[key] = 0
            insort(self._order[side], name.value)
        self._uses[key] += 1
        return key, name
