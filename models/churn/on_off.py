"""On-off: every client comes and goes by itself."""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from bypass.models.churn.model import ChurnModel
from bypass.models.churn.presence import Presence
from bypass.support.arrays import Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel
from bypass.support.units import MICROSECONDS


class OnOff(ChurnModel):
    """Clients are by turns there and away, for exponential times with means `on` and `off` (s).

    They start in the steady state: at any time each is there with probability on / (on + off). When a client
    comes and goes depends on the seed, its number and the means, not on other clients or the duration.
    """

    on: float = Field(default=300.0, ge=0.001, le=1e9)
    off: float = Field(default=300.0, ge=0.001, le=1e9)

    @property
    def mean_away(self) -> float:
        return self.off

    def presence(self, clients: int, end_us: int, seed: np.uint64) -> Presence:
        return Presence(*_moments(clients, end_us, seed, self.on * MICROSECONDS, self.off * MICROSECONDS))


@kernel
def _exponential_us(mean: float, u: float) -> int:
    """A time with that mean, at least 1 µs: moments of a client must differ."""
    return max(int(-mean * math.log1p(-u)), 1)


@kernel
def _moments(clients: int, end_us: int, seed: np.uint64, on: float, off: float) -> tuple[Ints, Ints]:
    offsets = np.zeros(clients + 1, np.int64)
    at_us, count = np.empty(4 * clients, np.int64), 0
    for client in range(clients):
        state, u = uniform_pair(seed, Purpose.CHURN, client, 0)
        # Exponential times have no memory: what is left of one that has begun is like a whole one.
        t = 0 if state < on / (on + off) else _exponential_us(off, u)
        joins, number = True, 1
        while t < end_us:
            if count == len(at_us):
                larger = np.empty(2 * count, np.int64)
                larger[:count] = at_us
                at_us = larger
            at_us[count] = t
            count += 1
            u, _ = uniform_pair(seed, Purpose.CHURN, client, number)
            t += _exponential_us(on if joins else off, u)
            joins, number = not joins, number + 1
        offsets[client + 1] = count
    return offsets, at_us[:count]
