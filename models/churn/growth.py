"""Growth: clients come, and nobody goes."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from bypass.models.churn.model import ChurnModel
from bypass.models.churn.population import turns, turns_of_clients
from bypass.models.churn.presence import Presence


class Growth(ChurnModel):
    """The number of clients grows evenly from `start` at time 0 to all at the end of the run.

    A `start` above the number of clients means all of them. Who comes when is random.
    """

    start: int = Field(default=0, ge=0)

    def presence(self, clients: int, end_us: int, seed: np.uint64) -> Presence:
        to_come, _ = turns_of_clients(seed, clients)
        joins = turns(clients, self.start, 0, end_us)[to_come]
        return Presence.once(joins, np.full(clients, end_us), end_us)
