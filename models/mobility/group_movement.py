"""Reference point group mobility: groups that stay together while they go somewhere."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from pydantic import Field, model_validator

from bypass.models.mobility.base.open_world import OpenWorld
from bypass.models.mobility.base.tracks import put, waypoints
from bypass.models.mobility.base.trip_model import TripModel
from bypass.models.mobility.random_waypoint import RandomWaypoint
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel


class GroupMovement(OpenWorld, TripModel):
    """Clients g·group to (g + 1)·group - 1 form group g, and stay within `spread` (m) of its reference point.

    The reference point moves by random waypoint with these speeds and pauses, never nearer than `spread` to
    a border. Around it, each member goes straight and evenly from place to place of the disc with this
    radius: places are uniform in the disc, and it gets to a new one every `change` (s), each member at its
    own times. All that starts in the steady state (RPGM, Hong et al. 1999).
    """

    group: int = Field(default=10, ge=1, lt=2**31)
    spread: float = Field(default=25.0, ge=0)
    change: float = Field(default=60.0, ge=0.1, le=1e6)

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if min(self.size) - 2 * self.spread < 1:
            raise ValueError(
                f"spread is {self.spread} m in a world of {self.width} × {self.height} m:"
                " expected 1 m or more between opposite borders to be left for reference points"
            )
        return self

    def reference_points(self) -> RandomWaypoint:
        """How reference points move, with the corner at (spread, spread) as (0, 0)."""
        width, height = (side - 2 * self.spread for side in self.size)
        return RandomWaypoint(width=width, height=height, speed=self.speed, pause=self.pause)

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        groups = first // self.group, (last - 1) // self.group + 1
        points = self.reference_points().tracks(*groups, duration, seed, Purpose.GROUP)
        members = _tracks(
            first, last, duration, seed, *self.size, self.group, self.spread, self.change, *points
        )
        return waypoints(*members, duration)


@kernel
def _tracks(
    first: int,
    last: int,
    end: float,
    seed: np.uint64,
    width: float,
    height: float,
    group: int,
    spread: float,
    change: float,
    group_offsets: Ints,
    group_track: Floats,
) -> tuple[Ints, Floats]:
    offsets = np.zeros(last - first + 1, np.int64)
    track, count = np.empty((3, 16 * (last - first))), 0
    for client in range(first, last):
        group_number = client // group - first // group
        leg, last_leg = group_offsets[group_number], group_offsets[group_number + 1] - 2
        phase, _ = uniform_pair(seed, Purpose.MOBILITY, client, 0)
        # The member is at its place `number` of the disc at `before`, and at the next one at `after`.
        number, before, after = 1, -phase * change, (1.0 - phase) * change
        x, y = _place(seed, client, number, spread)
        to_x, to_y = _place(seed, client, number + 1, spread)
        t = 0.0
        while True:
            while leg < last_leg and group_track[0, leg + 1] <= t:
                leg += 1
            group_before, group_after = group_track[0, leg], group_track[0, leg + 1]
            share = (t - before) / (after - before)
            group_share = (t - group_before) / (group_after - group_before)
            here_x = spread + _between(group_track[1, leg], group_track[1, leg + 1], group_share)
            here_y = spread + _between(group_track[2, leg], group_track[2, leg + 1], group_share)
            here_x, here_y = here_x + _between(x, to_x, share), here_y + _between(y, to_y, share)
            # Who is on the border must not be carried over it by rounding.
            track, count = put(track, count, t, min(max(here_x, 0.0), width), min(max(here_y, 0.0), height))
            if t >= end:
                break
            t = min(after, group_after)
            if t == after:
                number += 1
                before, after = after, (number - phase) * change
                x, y = to_x, to_y
                to_x, to_y = _place(seed, client, number + 1, spread)
        offsets[client - first + 1] = count
    return offsets, track


@kernel
def _between(here: float, there: float, share: float) -> float:
    return here + share * (there - here)


@kernel
def _place(seed: np.uint64, client: int, number: int, spread: float) -> tuple[float, float]:
    """A place of the disc, relative to its centre."""
    u, v = uniform_pair(seed, Purpose.MOBILITY, client, number)
    radius, angle = spread * math.sqrt(u), 2.0 * math.pi * v
    return radius * math.cos(angle), radius * math.sin(angle)
