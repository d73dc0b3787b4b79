"""The table of neighbours at one moment: for each station the stations that hear it, and how strongly."""

from __future__ import annotations

import math

import numpy as np

from bypass.models.radio.path_loss import power_behind, power_between
from bypass.models.radio.radio import UNIT
from bypass.models.radio.walls import Walls, count_walls
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel


@kernel
def find_neighbours(
    x: Floats,
    y: Floats,
    interference: float,
    exponent: float,
    walls: Walls,
    passed: float,
    offsets: Ints,
    ids: Ints,
    powers: Ints,
) -> int:
    """Write each station's neighbours into ids[offsets[i]:offsets[i + 1]], and their powers.

    Each of the walls lets the share `passed` of power through.
    Gives the number of all pairs. If there is not enough room, what was written is of no use: make room for
    as many and ask again.
    """
    n = len(x)
    # Cells as wide as anybody is heard: neighbours are in the nine around.
    left, right, low, high = x[0], x[0], y[0], y[0]
    for i in range(n):  # not x.min(): a process that loads a kernel with that one imports scipy
        left, right = min(left, x[i]), max(right, x[i])
        low, high = min(low, y[i]), max(high, y[i])
    columns = int((right - left) / interference) + 1
    rows = int((high - low) / interference) + 1
    if columns > 4096 or rows > 4096:  # a few stations far apart: wider cells do as well
        columns, rows = min(columns, 4096), min(rows, 4096)
    width = max(interference, (right - left) / columns + 1e-9)
    height = max(interference, (high - low) / rows + 1e-9)
    cell = np.empty(n, np.int64)
    first = np.full(columns * rows + 1, 0, np.int64)
    for i in range(n):
        cell[i] = min(int((x[i] - left) / width), columns - 1) + columns * min(
            int((y[i] - low) / height), rows - 1
        )
        first[cell[i] + 1] += 1
    for c in range(columns * rows):
        first[c + 1] += first[c]
    members = np.empty(n, np.int64)
    filled = first[:-1].copy()
    for i in range(n):
        members[filled[cell[i]]] = i
        filled[cell[i]] += 1
    seen = np.full(len(walls.ends), -1, np.int64)
    looked = 0
    pairs = 0
    for i in range(n):
        offsets[i] = min(pairs, len(ids))
        column, row = cell[i] % columns, cell[i] // columns
        for r in range(max(row - 1, 0), min(row + 2, rows)):
            for c in range(max(column - 1, 0), min(column + 2, columns)):
                for k in range(first[r * columns + c], first[r * columns + c + 1]):
                    j = members[k]
                    if j == i:
                        continue
                    power = power_between(x[i], y[i], x[j], y[j], interference, exponent)
                    if power > 0 and passed < 1.0 and len(walls.ends) > 0:
                        most = int(math.log(UNIT / power) / math.log(passed)) + 1
                        crossed = count_walls(walls, x[i], y[i], x[j], y[j], most, seen, looked)
                        looked += 1
                        if crossed > 0:
                            power = power_behind(power, crossed, passed)
                    if power > 0:
                        if pairs < len(ids):
                            ids[pairs], powers[pairs] = j, power
                        pairs += 1
    offsets[n] = min(pairs, len(ids))
    return pairs
