"""Areas side by side: people who stand around the middle of their own, and some of whom go to others."""

from __future__ import annotations

import math
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from bypass.models.mobility.base.open_world import OpenWorld
from bypass.models.mobility.base.tracks import put, waypoints
from bypass.models.mobility.base.trip_model import Speeds
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel
from bypass.support.validation import Misfit


class Areas(OpenWorld):
    """Clients are of `areas` by turns, by their numbers: each stands at a uniform place at most `spread`
    metres from the middle of its own. The world is cut into so many areas along its width.

    Each is one of those who move with probability `mobile`: it stays for `pause` seconds, and walks straight
    to such a place in another area, at a speed (m/s) drawn from a range, again and again.
    """

    width: float = Field(default=400.0, ge=1, le=1e6)
    height: float = Field(default=100.0, ge=1, le=1e6)
    areas: int = Field(default=2, ge=1, le=1000)
    spread: float = Field(default=40.0, ge=0)
    mobile: Annotated[float, Field(ge=0, le=1)] = 0.0
    speed: Speeds = (1.0, 1.0)
    pause: float = Field(default=120.0, ge=1, le=1e9)

    @model_validator(mode="after")
    def _inside(self) -> Self:
        most = min(self.width / self.areas, self.height) / 2
        if self.spread > most:
            raise Misfit(("spread",), f"is {self.spread:g}: expected at most {most:g} m, half of an area")
        return self

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        tracks = _tracks(
            first,
            last,
            duration,
            seed,
            *self.size,
            self.areas,
            self.spread,
            self.mobile,
            *self.speed,
            self.pause,
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
    areas: int,
    spread: float,
    mobile: float,
    slowest: float,
    fastest: float,
    pause: float,
) -> tuple[Ints, Floats]:
    offsets = np.zeros(last - first + 1, np.int64)
    track, count = np.empty((3, 8 * (last - first))), 0
    for client in range(first, last):
        area = client % areas
        u, v = uniform_pair(seed, Purpose.MOBILITY, client, 0)
        x, y = _place(u, v, area, width / areas, height, spread)
        u, v = uniform_pair(seed, Purpose.MOBILITY, client, 1)
        t, number = 0.0, 2
        track, count = put(track, count, t, x, y)
        t = v * pause if u < mobile else end  # the first pause has begun at some moment before
        track, count = put(track, count, t, x, y)
        while t < end:
            u, v = uniform_pair(seed, Purpose.MOBILITY, client, number)
            if areas > 1:
                area = (area + 1 + int(u * (areas - 1))) % areas
            speed = slowest + v * (fastest - slowest)
            u, v = uniform_pair(seed, Purpose.MOBILITY, client, number + 1)
            number += 2
            to_x, to_y = _place(u, v, area, width / areas, height, spread)
            t += math.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y)) / speed
            x, y = to_x, to_y
            track, count = put(track, count, t, x, y)
            if t < end:
                t += pause
                track, count = put(track, count, t, x, y)
        offsets[client - first + 1] = count
    return offsets, track


@kernel
def _place(u: float, v: float, area: int, width: float, height: float, spread: float) -> tuple[float, float]:
    """A uniform place at most `spread` metres from the middle of an area of this width."""
    away, angle = spread * math.sqrt(u), 2 * math.pi * v
    return (area + 0.5) * width + away * math.cos(angle), 0.5 * height + away * math.sin(angle)
