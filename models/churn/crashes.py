"""Crashes: some clients go for good."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from bypass.models.churn.model import ChurnModel
from bypass.models.churn.presence import Presence
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.units import MICROSECONDS

_Share = Annotated[float, Field(ge=0, le=1)]


class Crashes(ChurnModel):
    """Of the first clients, those with numbers below `among` times their number, a `share` crashes.

    Each of these goes for good at a uniform moment from `after` to `before` (s); chance picks them. All
    others are always there.
    """

    share: _Share = 0.5
    among: _Share = 1.0
    after: float = Field(default=200.0, ge=0)
    before: float = Field(default=300.0, ge=0)

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.before < self.after:
            raise ValueError(f"before {self.before}: expected at least after, {self.after}")
        return self

    def presence(self, clients: int, end_us: int, seed: np.uint64) -> Presence:
        drawn = [
            uniform_pair(seed, Purpose.CHURN, client, 0) for client in range(round(self.among * clients))
        ]
        order = sorted(range(len(drawn)), key=lambda client: drawn[client][0])
        leaves = np.full(clients, end_us, np.int64)
        for client in order[: round(self.share * len(drawn))]:
            at = self.after + drawn[client][1] * (self.before - self.after)
            leaves[client] = round(at * MICROSECONDS)
        return Presence.once(np.zeros(clients, np.int64), leaves, end_us)
