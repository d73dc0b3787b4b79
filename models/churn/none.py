"""No churn."""

from __future__ import annotations

import numpy as np

from bypass.models.churn.model import ChurnModel
from bypass.models.churn.presence import Presence


class NoChurn(ChurnModel):
    """All clients take part all the time."""

    def presence(self, clients: int, end_us: int, _: np.uint64) -> Presence:
        return Presence.once(np.zeros(clients, np.int64), np.full(clients, end_us), end_us)
