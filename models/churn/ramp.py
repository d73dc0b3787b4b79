"""Ramp: few clients, then all, then few again."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from bypass.models.churn.model import ChurnModel
from bypass.models.churn.population import turns, turns_of_clients
from bypass.models.churn.presence import Presence

_Share = Annotated[float, Field(ge=0, le=1)]


class Ramp(ChurnModel):
    """The number of clients follows a trapezoid.

    It is `start` until `rise_from`, grows evenly to all at `full_from`, stays until `full_until`, and falls
    evenly to `end` at `fall_until`; a `start` or `end` above the number of clients means all of them. Times
    are shares of the run's duration, so that a short run has all phases too: by default minutes 8, 15, 18
    and 25 of 25, as in the thesis. Who comes when is random; so is, independently, who goes when.
    """

    start: int = Field(default=100, ge=0)
    rise_from: _Share = 8 / 25
    full_from: _Share = 15 / 25
    full_until: _Share = 18 / 25
    fall_until: _Share = 1.0
    end: int = Field(default=100, ge=0)

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        times = [self.rise_from, self.full_from, self.full_until, self.fall_until]
        if times != sorted(times):
            raise ValueError(
                f"rise_from, full_from, full_until, fall_until {times}: expected shares that ascend"
            )
        return self

    def presence(self, clients: int, end_us: int, seed: np.uint64) -> Presence:
        to_come, to_go = turns_of_clients(seed, clients)
        joins = turns(clients, self.start, self.rise_from * end_us, self.full_from * end_us)
        # Going is coming backwards: who would come first, and is there from the beginning, stays to the end.
        left = min(self.end, clients)
        leaves = turns(clients, left, self.fall_until * end_us, self.full_until * end_us)
        leaves[:left] = end_us
        return Presence.once(joins[to_come], leaves[to_go], end_us)
