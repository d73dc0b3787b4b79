"""Random waypoint: straight to a place anywhere in the world."""

from __future__ import annotations

import math

import numpy as np

from bypass.models.mobility.base.open_world import OpenWorld
from bypass.models.mobility.base.steady_state import seconds_per_metre, speed_met, time_left
from bypass.models.mobility.base.tracks import put, waypoints
from bypass.models.mobility.base.trip_model import TripModel
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel


class RandomWaypoint(OpenWorld, TripModel):
    """Targets are uniform in the world; clients walk in straight lines, and pause at their targets.

    Clients start in the steady state, drawn exactly (Navidi & Camp 2004): some pause, the others are
    somewhere on a trip, on long and slow ones more often. So speeds do not decay and nobody has to wait.
    """

    @property
    def paused(self) -> float:
        """The share of time for which a client pauses."""
        pause = (self.pause[0] + self.pause[1]) / 2
        return pause / (pause + mean_distance(self.width, self.height) * seconds_per_metre(*self.speed))

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        return waypoints(*self.tracks(first, last, duration, seed, Purpose.MOBILITY), duration)

    def tracks(
        self, first: int, last: int, duration: float, seed: np.uint64, purpose: Purpose
    ) -> tuple[Ints, Floats]:
        """Offsets and tracks of clients, or of whom else `purpose` is for, not yet cut at the end."""
        return _tracks(
            first, last, duration, seed, int(purpose), *self.size, *self.speed, *self.pause, self.paused
        )


def mean_distance(width: float, height: float) -> float:
    """The mean distance (m) of two places that are uniform in a rectangle."""
    long, r = max(width, height), min(width, height) / max(width, height)
    s = math.sqrt(1 + r * r)
    straight = r**3 - 1 / (1 + s) + s * (3 - r * r)
    return long / 15 * (straight + 2.5 * (r * r * math.asinh(1 / r) + math.asinh(r) / r))


@kernel
def _tracks(
    first: int,
    last: int,
    end: float,
    seed: np.uint64,
    purpose: int,
    width: float,
    height: float,
    slowest: float,
    fastest: float,
    shortest: float,
    longest: float,
    paused: float,
) -> tuple[Ints, Floats]:
    offsets = np.zeros(last - first + 1, np.int64)
    track, count = np.empty((3, 8 * (last - first))), 0
    for client in range(first, last):
        state, u = uniform_pair(seed, purpose, client, 0)
        moving = state >= paused
        if moving:
            x, y, to_x, to_y, number = _trip_met(seed, purpose, client, width, height)
            v, w = uniform_pair(seed, purpose, client, number)
            speed = speed_met(slowest, fastest, v)
            t, number = 0.0, number + 1
            track, count = put(track, count, t, x, y)
        else:
            v, w = uniform_pair(seed, purpose, client, 1)
            x, y = width * v, height * w
            v, w = uniform_pair(seed, purpose, client, 2)
            t, number = time_left(shortest, longest, u, v), 3
            track, count = put(track, count, 0.0, x, y)
            track, count = put(track, count, t, x, y)
        while t < end:
            if not moving:
                v, w = uniform_pair(seed, purpose, client, number)
                to_x, to_y = width * v, height * w
                v, w = uniform_pair(seed, purpose, client, number + 1)
                speed = slowest + v * (fastest - slowest)
                number += 2
            t += math.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y)) / speed
            x, y, moving = to_x, to_y, False
            track, count = put(track, count, t, x, y)
            pause = shortest + w * (longest - shortest)
            if t < end and pause > 0:
                t += pause
                track, count = put(track, count, t, x, y)
        offsets[client - first + 1] = count
    return offsets, track


@kernel
def _trip_met(
    seed: np.uint64, purpose: int, client: int, width: float, height: float
) -> tuple[float, float, float, float, int]:
    """Where somebody is whom one meets on a trip, the target of it, and the number of the next draw.

    Trips are met in proportion to their length, at any place of theirs.
    """
    diagonal = math.sqrt(width * width + height * height)
    number = 1
    while True:
        u, v = uniform_pair(seed, purpose, client, number)
        x, y = width * u, height * v
        u, v = uniform_pair(seed, purpose, client, number + 1)
        to_x, to_y = width * u, height * v
        u, share = uniform_pair(seed, purpose, client, number + 2)
        number += 3
        if u * diagonal < math.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y)):
            return x + share * (to_x - x), y + share * (to_y - y), to_x, to_y, number
