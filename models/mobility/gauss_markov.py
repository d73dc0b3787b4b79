"""Gauss–Markov: velocities that change a little with every step."""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from bypass.models.mobility.base.open_world import OpenWorld
from bypass.models.mobility.base.tracks import put, walk, waypoints
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, normal_pair, uniform_pair
from bypass.support.kernel import kernel


class GaussMarkov(OpenWorld):
    """Every `step` (s), a client's velocity on each axis is drawn anew around what it was before.

    As in Liang & Haas (1999): v' = alpha·v + (1 - alpha)·mean + sigma·sqrt(1 - alpha²)·w with standard normal
    w, separately for both axes; `alpha` is the memory, `sigma` (m/s) the standard deviation on each axis. The
    mean is a velocity of length `speed` (m/s) in a direction that each client has for good; a border reflects
    it together with the velocity. Clients start in the steady state: uniform in the world, velocities normal.
    """

    alpha: float = Field(default=0.9, ge=0, le=1)
    speed: float = Field(default=1.5, ge=0, le=1000)
    sigma: float = Field(default=0.5, ge=0, le=1000)
    step: float = Field(default=1.0, ge=0.01, le=3600)

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        tracks = _tracks(
            first, last, duration, seed, *self.size, self.alpha, self.speed, self.sigma, self.step
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
    alpha: float,
    speed: float,
    sigma: float,
    step: float,
) -> tuple[Ints, Floats]:
    offsets = np.zeros(last - first + 1, np.int64)
    steps = math.ceil(end / step) + 1
    # A waypoint for each step, and some room for those at borders.
    track, count = np.empty((3, int((last - first) * (steps + 1) * 1.1) + 1)), 0
    change = sigma * math.sqrt(1.0 - alpha * alpha)
    for client in range(first, last):
        u, v = uniform_pair(seed, Purpose.MOBILITY, client, 0)
        track, count = put(track, count, 0.0, width * u, height * v)
        u, _ = uniform_pair(seed, Purpose.MOBILITY, client, 1)
        mean_x, mean_y = speed * math.cos(2.0 * math.pi * u), speed * math.sin(2.0 * math.pi * u)
        # Deviations from the mean; every reflection turns them around together with the mean.
        a, b = normal_pair(seed, Purpose.MOBILITY, client, 2)
        off_x, off_y = sigma * a, sigma * b
        number, t = 0, 0.0
        while t < end:
            number += 1
            t = number * step
            vx, vy = mean_x + off_x, mean_y + off_y
            track, count, end_vx, end_vy = walk(track, count, t, end, vx, vy, width, height)
            if end_vx != vx:
                mean_x, off_x = -mean_x, -off_x
            if end_vy != vy:
                mean_y, off_y = -mean_y, -off_y
            a, b = normal_pair(seed, Purpose.MOBILITY, client, number + 2)
            off_x, off_y = alpha * off_x + change * a, alpha * off_y + change * b
        offsets[client - first + 1] = count
    return offsets, track
