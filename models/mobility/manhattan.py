"""Manhattan: along the streets of a grid, with a choice at every crossing."""

from __future__ import annotations

from typing import Self

import numpy as np
from pydantic import Field, model_validator

from bypass.models.mobility.base.open_world import OpenWorld
from bypass.models.mobility.base.steady_state import speed_met
from bypass.models.mobility.base.tracks import put, waypoints
from bypass.models.mobility.base.trip_model import Speeds
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel


class Manhattan(OpenWorld):
    """Streets run along both axes, one every `spacing` (m) from 0 on; the last ones are borders as well.

    At a crossing, clients go straight on with probability 1/2 and turn left or right with 1/4 each; where
    there is no street, the others share its probability in proportion to theirs. From crossing to crossing
    they go at one speed (m/s), drawn uniformly from `speed`. They start in the steady state: anywhere on the
    streets, but on border streets half as often again, for whoever comes to the border turns into them.
    """

    spacing: float = Field(default=100.0, ge=1)
    speed: Speeds = (1.0, 2.0)

    @model_validator(mode="after")
    def _has_crossings(self) -> Self:
        if self.spacing > min(self.size):
            raise ValueError(
                f"spacing is {self.spacing} m in a world of {self.width} × {self.height} m:"
                " expected two streets on each axis"
            )
        return self

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        columns, rows = (int(side // self.spacing) for side in self.size)
        tracks = _tracks(first, last, duration, seed, columns, rows, self.spacing, *self.speed)
        return waypoints(*tracks, duration)


# Headings are numbered 0 to 3: along x, along y, against x, against y. One more is a turn to the left.


@kernel
def _tracks(
    first: int,
    last: int,
    end: float,
    seed: np.uint64,
    columns: int,
    rows: int,
    spacing: float,
    slowest: float,
    fastest: float,
) -> tuple[Ints, Floats]:
    offsets = np.zeros(last - first + 1, np.int64)
    track, count = np.empty((3, 8 * (last - first))), 0
    for client in range(first, last):
        # The crossing behind, and the heading; then how far the client has come from that crossing.
        i, j, heading = _street_met(seed, client, columns, rows)
        share, u = uniform_pair(seed, Purpose.MOBILITY, client, 2)
        x, y = spacing * i, spacing * j
        i, j = _ahead(i, j, heading)
        x, y = x + share * (spacing * i - x), y + share * (spacing * j - y)
        track, count = put(track, count, 0.0, x, y)
        t = (1.0 - share) * spacing / speed_met(slowest, fastest, u)
        track, count = put(track, count, t, spacing * i, spacing * j)
        number = 3
        while t < end:
            u, v = uniform_pair(seed, Purpose.MOBILITY, client, number)
            number += 1
            heading = _turned(i, j, heading, columns, rows, u)
            i, j = _ahead(i, j, heading)
            t += spacing / (slowest + v * (fastest - slowest))
            track, count = put(track, count, t, spacing * i, spacing * j)
        offsets[client - first + 1] = count
    return offsets, track


@kernel
def _ahead(i: int, j: int, heading: int) -> tuple[int, int]:
    """The next crossing."""
    return i + (heading == 0) - (heading == 2), j + (heading == 1) - (heading == 3)


@kernel
def _turned(i: int, j: int, heading: int, columns: int, rows: int, u: float) -> int:
    """The heading after the crossing (i, j), by the uniform draw `u`."""
    left, right = (heading + 1) % 4, (heading + 3) % 4
    straight_on = 2.0 * _leads_on(i, j, heading, columns, rows)
    turning_left = 1.0 * _leads_on(i, j, left, columns, rows)
    turning_right = 1.0 * _leads_on(i, j, right, columns, rows)
    choice = u * (straight_on + turning_left + turning_right)
    if choice < straight_on:
        return heading
    return left if choice < straight_on + turning_left else right


@kernel
def _leads_on(i: int, j: int, heading: int, columns: int, rows: int) -> bool:
    """Whether a street leads from the crossing (i, j) in this direction."""
    to_i, to_j = _ahead(i, j, heading)
    return 0 <= to_i <= columns and 0 <= to_j <= rows


@kernel
def _street_met(seed: np.uint64, client: int, columns: int, rows: int) -> tuple[int, int, int]:
    """The crossing behind somebody in the steady state, and the heading."""
    axis, street = uniform_pair(seed, Purpose.MOBILITY, client, 0)
    part, back = uniform_pair(seed, Purpose.MOBILITY, client, 1)
    along_x, along_y = columns * (rows + 2.0), rows * (columns + 2.0)
    if axis * (along_x + along_y) < along_x:
        i, j = int(part * columns), _line(rows, street)
        return (i, j, 0) if back < 0.5 else (i + 1, j, 2)
    i, j = _line(columns, street), int(part * rows)
    return (i, j, 1) if back < 0.5 else (i, j + 1, 3)


@kernel
def _line(last: int, u: float) -> int:
    """One of the parallel streets 0 to `last`, by the uniform draw `u`.

    Both outer ones have weight 3/2, inner ones 1: so every turn is made as often as the same turn backwards.
    """
    weight = u * (last + 2.0)
    if weight < 1.5:
        return 0
    return last if weight >= last + 0.5 else 1 + int(weight - 1.5)
