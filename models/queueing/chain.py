"""The Markov chain of a queueing centre: how many events are there, and whether it is ON.

It is solved without the formula of `Centre.response`, which can be compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from bypass.models.queueing.centre import Centre, InvalidCentre, Unstable
from bypass.support.arrays import Floats

TOLERANCE = 1e-12
"""By how much (relatively) the balance of a solved chain may be off."""


def switching(centre: Centre) -> tuple[float, float]:
    """The rates (1/s) at which a centre goes from ON to OFF and back; one that is never OFF is never left."""
    if centre.off == 0.0 or centre.on == inf:
        return 0.0, 1.0 / centre.service
    return 1.0 / centre.on, 1.0 / centre.off


@dataclass(frozen=True, slots=True)
class Chain:
    """The steady state: with k events, `empty` · `growth`^k are the probabilities of ON and OFF.

    This is the matrix-geometric form, with no level cut off.
    """

    rate: float
    empty: Floats
    growth: Floats
    sums: Floats
    """The sum of growth^k over all k."""

    @classmethod
    def of(cls, centre: Centre) -> Chain:
        """Solve the balance of the chain. Raises `Unstable`."""
        if centre.load >= 1.0:
            raise Unstable(f"{centre.name}: load {centre.load:.6g}: expected below 1")
        rate, served = centre.rate + centre.other, 1.0 / centre.service
        ends, begins = switching(centre)
        # Events leave only while it is ON: whatever it begins with, the first time that there is one event
        # less it is ON. So, watched only while there are no more than k events, it goes from OFF to ON at
        # this rate, and growth is what is left of the rate of arrivals by these and by services. Inverses
        # are written out, which leaves nothing that cancels out.
        back = begins + rate
        growth = rate / (served * back) * np.array([[back, ends], [back, ends + served]])
        margin = begins * (served - rate) - ends * rate
        sums = np.eye(2) + rate / margin * np.array([[begins, ends], [back, ends + served - rate]])
        up, down = rate * np.eye(2), np.diag([served, 0.0])
        stay = np.array([[-ends, ends], [begins, -begins]]) - up - down
        balance = up + growth @ stay + growth @ growth @ down
        assert np.abs(balance).max() <= TOLERANCE * np.abs(stay).max(), balance
        empty = np.array([back, ends])
        return cls(rate, empty / (empty @ sums).sum(), growth, sums)

    def probability(self, events: int) -> Floats:
        """The probabilities of so many events while it is ON, and while it is OFF."""
        found: Floats = self.empty @ np.linalg.matrix_power(self.growth, events)
        return found

    def mean_number(self) -> float:
        """Mean number of events."""
        return float((self.empty @ self.growth @ self.sums @ self.sums).sum())

    def response(self) -> float:
        """Mean time from arrival to departure (s), by Little's law. Raises `InvalidCentre` without events."""
        if self.rate == 0.0:
            raise InvalidCentre("rate 0.0: expected above 0, to divide the number of events by")
        return self.mean_number() / self.rate
