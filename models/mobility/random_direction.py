"""Random direction: off in any direction for a while, reflected at the borders."""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from bypass.models.mobility.base.open_world import OpenWorld
from bypass.models.mobility.base.steady_state import time_left
from bypass.models.mobility.base.tracks import put, walk, waypoints
from bypass.models.mobility.base.trip_model import TripModel
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel


class RandomDirection(OpenWorld, TripModel):
    """Clients walk in a uniform direction for an exponential time with mean `travel` (s), then pause.

    A border reflects them. So clients are uniform in the world at all times, whatever they do, if they start
    so (Nain et al. 2005), and they do: in the steady state, paused or walking. Walking up to the border
    instead, as in other variants, would gather them there.
    """

    travel: float = Field(default=120.0, ge=1, le=1e6)

    @property
    def paused(self) -> float:
        """The share of time for which a client pauses."""
        pause = (self.pause[0] + self.pause[1]) / 2
        return pause / (pause + self.travel)

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        tracks = _tracks(
            first, last, duration, seed, *self.size, *self.speed, *self.pause, self.travel, self.paused
        )
        return waypoints(*tracks, duration)


@kernel
def _tracks(
    first: int,
    last: int,
    end: float,
    seed: np.uint64,
    width: float,
    height: float,
    slowest: float,
    fastest: float,
    shortest: float,
    longest: float,
    travel: float,
    paused: float,
) -> tuple[Ints, Floats]:
    offsets = np.zeros(last - first + 1, np.int64)
    track, count = np.empty((3, 8 * (last - first))), 0
    for client in range(first, last):
        u, v = uniform_pair(seed, Purpose.MOBILITY, client, 0)
        track, count = put(track, count, 0.0, width * u, height * v)
        t, number = 0.0, 2
        state, u = uniform_pair(seed, Purpose.MOBILITY, client, 1)
        if state < paused:
            v, _ = uniform_pair(seed, Purpose.MOBILITY, client, 2)
            t, number = time_left(shortest, longest, u, v), 3
            track, count = put(track, count, t, track[1, count - 1], track[2, count - 1])
        # Who starts on the way begins like after a pause: of an exponential time, as much is always left.
        while t < end:
            u, v = uniform_pair(seed, Purpose.MOBILITY, client, number)
            direction, speed = 2.0 * math.pi * u, slowest + v * (fastest - slowest)
            u, v = uniform_pair(seed, Purpose.MOBILITY, client, number + 1)
            number += 2
            t -= travel * math.log(1.0 - u)
            vx, vy = speed * math.cos(direction), speed * math.sin(direction)
            track, count, _, _ = walk(track, count, t, end, vx, vy, width, height)
            pause = shortest + v * (longest - shortest)
            if t < end and pause > 0:
                t += pause
                track, count = put(track, count, t, track[1, count - 1], track[2, count - 1])
        offsets[client - first + 1] = count
    return offsets, track
