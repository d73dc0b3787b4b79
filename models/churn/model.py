"""The base of churn models."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from bypass.models.churn.presence import Presence
from bypass.models.request import check_request
from bypass.support.units import MICROSECONDS


class ChurnModel(BaseModel, ABC):
    """Says when each client takes part. Who does not still moves."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that it reads."""
        return ()

    @property
    def mean_away(self) -> float | None:
        """How long (s) clients are away on average if all who go return; None if some do not.

        Where they return, their sessions can be durable, and a run goes on until what waits has arrived.
        """
        return None

    def schedule(self, clients: int, duration: float, seed: int) -> Presence:
        """Say when clients 0 to `clients` - 1 join and leave before `duration` (s). Raises InvalidRequest.

        It is the same for the same seed, parameters, clients and duration.
        """
        check_request(clients, duration, seed)
        return self.presence(clients, math.ceil(duration * MICROSECONDS), np.uint64(seed))

    @abstractmethod
    def presence(self, clients: int, end_us: int, seed: np.uint64) -> Presence:
        """Give what `schedule` does, in a run that ends at `end_us`."""
