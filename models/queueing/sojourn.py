"""The distribution of the time that an event stays, not only its mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from math import nan

import numpy as np
from scipy.linalg import expm

from bypass.models.queueing.centre import Centre, Unstable
from bypass.models.queueing.chain import Chain, switching
from bypass.support.arrays import Floats


@dataclass(frozen=True, slots=True)
class Sojourn:
    """A distribution of times with the density `start` · exp(`matrix` · t) · `leave`."""

    start: Floats
    matrix: Floats
    leave: Floats

    @classmethod
    def at(cls, centre: Centre) -> Sojourn:
        """The time from arrival to departure at one centre, exactly. Raises `Unstable`.

        Poisson arrivals find the centre as it is at any time, by its chain: with k events and ON or OFF. Then
        k + 1 services pass. Let H(t) have the sum over k of P(not done by t | k, state) · P(k, state) on
        its diagonal: H' = waits · H + serves · H · growth, four numbers that stand for all k.
        """
        if centre.load >= 1.0:
            raise Unstable(f"{centre.name}: load {centre.load:.6g}: expected below 1")
        ends, begins = switching(centre)
        served = 1.0 / centre.service
        if ends == 0.0:
            left = np.array([served - centre.rate - centre.other])
            return cls(np.ones(1), -left[:, np.newaxis], left)
        chain = Chain.of(centre)
        serves = np.diag([served, 0.0])
        waits = np.array([[-ends - served, ends], [begins, -begins]])
        matrix = np.kron(np.eye(2), waits) + np.kron(chain.growth.T, serves)
        return cls(np.eye(2).ravel(), matrix, np.outer(chain.empty, [served, 0.0]).ravel())

    @classmethod
    def along(cls, centres: Iterable[Centre]) -> Sojourn:
        """The time to pass centres one after the other, as if they were independent.

        Each is taken by itself, with Poisson arrivals. Raises `Unstable`.
        """
        return reduce(cls.then, map(cls.at, centres))

    def then(self, other: Sojourn) -> Sojourn:
        """The sum of this time and another that does not depend on it."""
        n, m = len(self.start), len(other.start)
        matrix = np.block(
            [[self.matrix, np.outer(self.leave, other.start)], [np.zeros((m, n)), other.matrix]]
        )
        return Sojourn(
            np.concatenate((self.start, np.zeros(m))), matrix, np.concatenate((np.zeros(n), other.leave))
        )

    def mean(self) -> float:
        """Mean time (s)."""
        return float(self.start @ self._after(self._after(self.leave)))

    def within(self, limit: float) -> tuple[float, float]:
        """The share of events that take at most `limit` (s), and their mean time; no number without any."""
        n, mean = len(self.start), self.mean()
        if limit > mean:  # by what is left, whose rounding errors vanish with it
            gone = self.start @ expm(self.matrix * limit)
            staying = self._after(self.leave)
            later, beyond = float(gone @ staying), float(gone @ self._after(staying))
            share, times = 1.0 - later, mean - limit * later - beyond
        else:
            matrix = np.zeros((n + 2, n + 2))
            matrix[:n, :n] = self.matrix
            matrix[:n, n] = self.leave
            matrix[n, n + 1] = 1.0  # integrates once more
            share, area = map(float, self.start @ expm(matrix * limit)[:n, n:])
            times = limit * share - area
        return (share, times / share) if share > 0.0 else (0.0, nan)

    def later(self, limit: float) -> float:
        """The share of events that take longer than `limit` (s)."""
        return 1.0 - self.within(limit)[0]

    def curve(self, step: float, number: int) -> list[float]:
        """The shares of events that take longer than 0, `step`, 2 · `step`, ... (s): so many of them."""
        further, staying, now, shares = expm(self.matrix * step), self._after(self.leave), self.start, []
        for _ in range(number):
            shares.append(float(now @ staying))
            now = now @ further
        return shares

    def _after(self, values: Floats) -> Floats:
        """The integral over all time to come of `values` per second."""
        return np.asarray(-np.linalg.solve(self.matrix, values), np.float64)
