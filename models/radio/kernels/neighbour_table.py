"""The table of neighbours: for each station the stations that hear it, and how strongly, where all are now.

It is filled as stations send: those that are silent cost nothing after all have moved.
"""

from __future__ import annotations

import math

from bypass.models.radio.kernels.backoff import Air
from bypass.models.radio.kernels.state import G, R
from bypass.models.radio.path_loss import power_behind, power_between
from bypass.models.radio.radio import UNIT
from bypass.models.radio.walls import Walls, count_walls
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import borrowing_kernel

UNKNOWN = -1  # where a row of the table would begin that nobody has asked for


@borrowing_kernel
def count_cells(x: Floats, y: Floats, reals: Floats, once: Ints) -> int:
    """Cover places (m) with cells; gives how many there are.

    They are as wide as anybody is heard: neighbours are in the nine around.
    """
    left, right, low, high = x[0], x[0], y[0], y[0]
    for i in range(len(x)):  # not x.min(): a process that loads a kernel with that one imports scipy
        left, right = min(left, x[i]), max(right, x[i])
        low, high = min(low, y[i]), max(high, y[i])
    interference = reals[R.INTERFERENCE]
    columns = int((right - left) / interference) + 1
    rows = int((high - low) / interference) + 1
    if columns > 4096 or rows > 4096:  # a few stations far apart: wider cells do as well
        columns, rows = min(columns, 4096), min(rows, 4096)
    reals[R.LEFT], reals[R.LOW] = left, low
    reals[R.WIDTH] = max(interference, (right - left) / columns + 1e-9)
    reals[R.HEIGHT] = max(interference, (high - low) / rows + 1e-9)
    once[G.COLUMNS], once[G.ROWS] = columns, rows
    return columns * rows


@borrowing_kernel
def fill_cells(
    x: Floats, y: Floats, reals: Floats, once: Ints, cell: Ints, members: Ints, first: Ints, spans: Ints
) -> None:
    """Sort stations into the cells that `count_cells` has laid out, and forget what one row after the other
    of `spans` says.

    The stations of cell c are members[first[c] : first[c + 1]], in the order of their numbers.
    """
    columns, rows = once[G.COLUMNS], once[G.ROWS]
    left, low, width, height = reals[R.LEFT], reals[R.LOW], reals[R.WIDTH], reals[R.HEIGHT]
    first[: columns * rows + 2] = 0
    for i in range(len(x)):
        cell[i] = min(int((x[i] - left) / width), columns - 1) + columns * min(
            int((y[i] - low) / height), rows - 1
        )
        first[cell[i] + 2] += 1
        spans[i, 0] = UNKNOWN
    for c in range(1, columns * rows + 1):
        first[c + 1] += first[c]
    for i in range(len(x)):  # the first of the next cell moves on to where it belongs
        members[first[cell[i] + 1]] = i
        first[cell[i] + 1] += 1
    once[G.FILLED] = 0


@borrowing_kernel
def find_neighbours(air: Air, s: int) -> None:
    """Find who hears a station where all are now, and how strongly, and note it in the snapshot in use.

    There must be room for as many neighbours as there are stations.
    """
    once, reals, x, y = air.once, air.reals, air.x, air.y
    interference, exponent, passed = reals[R.INTERFERENCE], reals[R.EXPONENT], reals[R.PASSED]
    walled = passed < 1.0 and len(air.wall_ends) > 0
    buffer, columns, rows = once[G.BUFFER], once[G.COLUMNS], once[G.ROWS]
    first, members, neighbours, powers = air.first, air.members, air.neighbours, air.powers
    column, row = air.cell[s] % columns, air.cell[s] // columns
    pairs = once[G.FILLED]
    air.spans[buffer, s, 0] = pairs
    for r in range(max(row - 1, 0), min(row + 2, rows)):
        for c in range(max(column - 1, 0), min(column + 2, columns)):
            for k in range(first[r * columns + c], first[r * columns + c + 1]):
                j = members[k]
                if j == s:
                    continue
                power = power_between(x[s], y[s], x[j], y[j], interference, exponent)
                if walled and power > 0:
                    power = weakened(air, power, x[s], y[s], x[j], y[j])
                if power > 0:
                    neighbours[buffer, pairs], powers[buffer, pairs] = j, power
                    pairs += 1
    air.spans[buffer, s, 1] = pairs
    once[G.FILLED] = pairs


@borrowing_kernel
def weakened(air: Air, power: int, x1: float, y1: float, x2: float, y2: float) -> int:
    """The power that is left behind the walls between two places (m)."""
    reals, passed = air.reals, air.reals[R.PASSED]
    walls = Walls(
        air.wall_ends, reals[R.WALLS_X], reals[R.WALLS_Y], reals[R.WALLS_SIDE],
        air.once[G.WALLS_COLUMNS], air.once[G.WALLS_ROWS], air.wall_first, air.wall_ids,
    )  # fmt: skip
    most = int(math.log(UNIT / power) / math.log(passed)) + 1
    crossed = count_walls(walls, x1, y1, x2, y2, most, air.seen, air.once[G.LOOKED])
    air.once[G.LOOKED] += 1
    return power_behind(power, crossed, passed) if crossed > 0 else power
