"""Lévy walk: many short ways and few very long ones."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field

from bypass.models.mobility.base.open_world import OpenWorld
from bypass.models.mobility.base.ranges import ordered
from bypass.models.mobility.base.tracks import put, walk, waypoints
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel

_Metres = Annotated[float, Field(ge=0.1, le=1e6)]
_Seconds = Annotated[float, Field(ge=0.1, le=1e6)]


class LevyWalk(OpenWorld):
    """Clients walk straight in a uniform direction, pause, and so on; borders reflect them.

    As in Rhee et al. (2011), lengths of flights (m) and pauses (s) follow power laws within their ranges,
    with densities proportional to length^-(1 + alpha) and pause^-(1 + beta), and a flight of a length takes
    k·length^(1 - rho) s: with rho > 0, long flights are faster. By default, from 1 m/s on the shortest to
    2 m/s on the longest. Clients start in the steady state: uniform in the world, paused or on a flight.
    """

    alpha: float = Field(default=1.6, gt=0, le=10)
    flight: Annotated[tuple[_Metres, _Metres], AfterValidator(ordered)] = (10.0, 500.0)
    beta: float = Field(default=0.8, gt=0, le=10)
    pause: Annotated[tuple[_Seconds, _Seconds], AfterValidator(ordered)] = (1.0, 600.0)
    k: float = Field(default=1.5, ge=0.001, le=1000)
    rho: float = Field(default=0.18, ge=0, le=1)

    @property
    def paused(self) -> float:
        """The share of time for which a client pauses."""
        pause = _mean_power(*self.pause, self.beta, 1.0)
        return pause / (pause + self.k * _mean_power(*self.flight, self.alpha, 1.0 - self.rho))

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        laws = (*self.flight, self.alpha, *self.pause, self.beta, self.k, self.rho)
        return waypoints(*_tracks(first, last, duration, seed, *self.size, *laws, self.paused), duration)


def _mean_power(low: float, high: float, exponent: float, power: float) -> float:
    """The mean of value^power, for a density proportional to value^-(1 + exponent) in [low, high]."""
    if low == high:
        return math.pow(low, power)
    span = math.log(high / low)
    return math.pow(low, power) * _weight(power - exponent, span) / _weight(-exponent, span)


def _weight(a: float, span: float) -> float:
    """The integral of z^(a - 1) from z = 1 to e^span."""
    return math.expm1(a * span) / a if a * span else span


@kernel
def power_law(low: float, high: float, exponent: float, u: float) -> float:
    """A value with density proportional to value^-(1 + exponent) in [low, high], by the uniform draw `u`."""
    span = math.log(high / low)
    if exponent * span == 0.0:
        return low * math.exp(u * span)
    value = low * math.exp(-math.log1p(u * math.expm1(-exponent * span)) / exponent)
    return min(max(value, low), high)


@kernel
def _tracks(
    first: int,
    last: int,
    end: float,
    seed: np.uint64,
    width: float,
    height: float,
    nearest: float,
    farthest: float,
    alpha: float,
    shortest: float,
    longest: float,
    beta: float,
    k: float,
    rho: float,
    paused: float,
) -> tuple[Ints, Floats]:
    offsets = np.zeros(last - first + 1, np.int64)
    track, count = np.empty((3, 16 * (last - first))), 0
    for client in range(first, last):
        u, v = uniform_pair(seed, Purpose.MOBILITY, client, 0)
        track, count = put(track, count, 0.0, width * u, height * v)
        state, left = uniform_pair(seed, Purpose.MOBILITY, client, 1)
        u, direction = uniform_pair(seed, Purpose.MOBILITY, client, 2)
        moving, t, number = state >= paused, 0.0, 3
        # A flight is met in proportion to its time, at any moment of it; so is a pause.
        length = power_law(nearest, farthest, alpha - (1.0 - rho), u)
        if not moving:
            t = left * power_law(shortest, longest, beta - 1.0, u)
            track, count = put(track, count, t, track[1, count - 1], track[2, count - 1])
        while t < end:
            if not moving:
                u, direction = uniform_pair(seed, Purpose.MOBILITY, client, number)
                length, left = power_law(nearest, farthest, alpha, u), 1.0
                number += 1
            moving = False
            takes = k * length ** (1.0 - rho)
            speed, angle = length / takes, 2.0 * math.pi * direction
            t += left * takes
            vx, vy = speed * math.cos(angle), speed * math.sin(angle)
            track, count, _, _ = walk(track, count, t, end, vx, vy, width, height)
            if t < end:
                u, _ = uniform_pair(seed, Purpose.MOBILITY, client, number)
                number += 1
                t += power_law(shortest, longest, beta, u)
                track, count = put(track, count, t, track[1, count - 1], track[2, count - 1])
        offsets[client - first + 1] = count
    return offsets, track
