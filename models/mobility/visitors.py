"""Visitors: people who stand at places of a venue, and some of whom walk on now and then."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field

from bypass.models.mobility.base.open_world import OpenWorld
from bypass.models.mobility.base.tracks import put, waypoints
from bypass.models.mobility.base.trip_model import Speeds
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel

_Share = Annotated[float, Field(ge=0, le=1)]


class Visitors(OpenWorld):
    """Everybody stands at a uniform place; each is one of those who move with probability `mobile`.

    Whoever moves stays for `pause` seconds and then tosses a coin: with probability `moves` it walks straight
    to another uniform place, at a speed (m/s) drawn from a range; otherwise it stays for another pause.
    """

    width: float = Field(default=400.0, ge=1, le=1e6)
    height: float = Field(default=200.0, ge=1, le=1e6)
    mobile: _Share = 0.0
    moves: _Share = 0.8
    speed: Speeds = (1.0, 1.0)
    pause: float = Field(default=120.0, ge=1, le=1e9)

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        tracks = _tracks(
            first, last, duration, seed, *self.size, self.mobile, self.moves, *self.speed, self.pause
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
    mobile: float,
    moves: float,
    slowest: float,
    fastest: float,
    pause: float,
) -> tuple[Ints, Floats]:
    offsets = np.zeros(last - first + 1, np.int64)
    track, count = np.empty((3, 8 * (last - first))), 0
    for client in range(first, last):
        u, v = uniform_pair(seed, Purpose.MOBILITY, client, 0)
        x, y = width * u, height * v
        u, v = uniform_pair(seed, Purpose.MOBILITY, client, 1)
        stays = not u < mobile
        t, number = 0.0, 2
        track, count = put(track, count, t, x, y)
        if not stays:  # the first pause has begun at some moment before
            t = v * pause
            track, count = put(track, count, t, x, y)
        while t < end:
            if stays:
                t = end
                track, count = put(track, count, t, x, y)
                break
            u, v = uniform_pair(seed, Purpose.MOBILITY, client, number)
            number += 1
            if u < moves:
                speed = slowest + v * (fastest - slowest)
                u, v = uniform_pair(seed, Purpose.MOBILITY, client, number)
                number += 1
                to_x, to_y = width * u, height * v
                t += math.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y)) / speed
                x, y = to_x, to_y
                track, count = put(track, count, t, x, y)
            if t < end:
                t += pause
                track, count = put(track, count, t, x, y)
        offsets[client - first + 1] = count
    return offsets, track
