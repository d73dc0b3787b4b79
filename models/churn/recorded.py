"""Recorded: clients come and go as somebody did whose connectivity was recorded."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import model_validator

from bypass.models.churn.model import ChurnModel
from bypass.models.churn.presence import Presence
from bypass.models.queueing.simulation.connectivity import read_connectivity
from bypass.support.arrays import Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.units import MICROSECONDS


class Recorded(ChurnModel):
    """Clients are there while the record of connectivity at `path` is ON, its journeys in a row, ever again.

    Each begins at a random moment of it, which depends on the seed and its number, not on other clients. What
    cannot be read raises InvalidConnectivity.
    """

    path: Path

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (self.path,)

    @model_validator(mode="after")
    def _readable(self) -> Self:
        _ = self._changes_us
        return self

    @cached_property
    def _changes_us(self) -> tuple[Ints, int]:
        """When it turns ON and OFF by turns, and how long the record is."""
        periods = read_connectivity(self.path).periods()
        ends = periods.begins + periods.lengths
        span = round(periods.span * MICROSECONDS)
        changes = np.rint(np.column_stack((periods.begins, ends)).ravel() * MICROSECONDS).astype(np.int64)
        return changes, span

    def presence(self, clients: int, end_us: int, seed: np.uint64) -> Presence:
        changes, span = self._changes_us
        rounds = np.arange(end_us // span + 2) * span
        # Where the record ends and begins ON, two changes are at the same moment: together they are none.
        moments, times = np.unique((rounds[:, None] + changes).ravel(), return_counts=True)
        moments = moments[times == 1]
        parts = []
        for client in range(clients):
            start = int(uniform_pair(seed, Purpose.CHURN, client, 0)[0] * span)
            passed = np.searchsorted(moments, start, side="right")
            own = moments[passed : np.searchsorted(moments, start + end_us)] - start
            parts.append(np.append(0, own) if passed % 2 else own)
        return Presence(np.append(0, np.cumsum([len(part) for part in parts])), np.concatenate(parts))
