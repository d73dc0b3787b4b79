"""Periods: some clients fail for a while, and return, in periods of fixed lengths."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from bypass.models.churn.model import ChurnModel
from bypass.models.churn.presence import Presence
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.units import MICROSECONDS

_Share = Annotated[float, Field(ge=0, le=1)]


class FixedPeriods(ChurnModel):
    """A `share` of the clients, whom chance picks, is by turns there for `on` and away for `off` seconds.

    At the end of each period such a client changes its state with probability `flips`, and otherwise stays as
    it is for another period of the same length. It begins with a period of being there, at a random moment of
    the first one after `start` (s). The others are always there.
    """

    share: _Share = 0.1
    on: float = Field(default=120.0, ge=0.001, le=1e9)
    off: float = Field(default=60.0, ge=0.001, le=1e9)
    flips: float = Field(default=0.75, gt=0, le=1)
    start: float = Field(default=60.0, ge=0)

    @property
    def mean_away(self) -> float:
        return self.off / self.flips

    def presence(self, clients: int, end_us: int, seed: np.uint64) -> Presence:
        drawn = [uniform_pair(seed, Purpose.CHURN, client, 0) for client in range(clients)]
        order = sorted(range(clients), key=lambda client: drawn[client][0])
        failing = set(order[: round(self.share * clients)])
        moments: list[int] = []
        offsets = [0]
        for client in range(clients):
            moments.append(0)
            if client in failing:
                moments += self._changes(client, end_us, seed, drawn[client][1])
            offsets.append(len(moments))
        return Presence(np.array(offsets, np.int64), np.array(moments, np.int64))

    def _changes(self, client: int, end_us: int, seed: np.uint64, begun: float) -> list[int]:
        """The moments (µs) before the end at which a failing client goes and returns by turns."""
        at = self.start + begun * self.on
        there, number, changes = True, 1, []
        while (at_us := round(at * MICROSECONDS)) < end_us:
            flip, _ = uniform_pair(seed, Purpose.CHURN, client, number)
            number += 1
            if flip < self.flips:
                there = not there
                changes.append(max(at_us, 1))
            at += self.on if there else self.off
        return changes
