"""A churn model of your own: clients work in shifts, and return after each break."""

from typing import Annotated

import numpy as np
from pydantic import Field

from bypass.models.churn import ChurnModel, Presence


class Shifts(ChurnModel):
    """Everybody is there for `work` seconds and away for `rest`; shifts begin one after the other."""

    work: Annotated[int, Field(gt=0)] = 20
    rest: Annotated[int, Field(gt=0)] = 5

    @property
    def mean_away(self) -> float:
        return self.rest  # all return: sessions may be durable

    def presence(self, clients: int, end_us: int, seed: np.uint64) -> Presence:
        begins = [
            np.arange(client % self.rest, end_us / 1e6, self.work + self.rest) for client in range(clients)
        ]
        joins = [np.column_stack((each, each + self.work)).ravel() for each in begins]
        moments = [np.rint(1e6 * each[each < end_us / 1e6]).astype(np.int64) for each in joins]
        return Presence(np.cumsum([0, *map(len, moments)]), np.concatenate(moments))
