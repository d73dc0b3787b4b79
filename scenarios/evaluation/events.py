"""Where an evaluation takes its events from: a workload, or a table of recorded publications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import ValidationError

from bypass.models.workloads import WORKLOADS, Publications, Rhythm, Workload, World
from bypass.scenarios.evaluation.schemes import InvalidEvaluation
from bypass.scenarios.misfit import first_misfit

MICROSECONDS = 1_000_000


class EventSource(Protocol):
    """Gives publications of a stretch of time, the same ones whoever asks; small enough to be sent around."""

    @property
    def name(self) -> str:
        """What the figures are filed under."""

    def between(self, first: int, last: int, start_us: int, end_us: int) -> Publications:
        """What clients `first` to `last` - 1 publish from `start_us` on and before `end_us`."""


@dataclass(frozen=True)
class WorkloadEvents:
    """The events of a workload model."""

    name: str
    workload: Workload
    seed: int
    world: World

    def between(self, first: int, last: int, start_us: int, end_us: int) -> Publications:
        rhythm = _rhythm(self.workload.rate, first, last, self.seed)
        return self.workload.between(rhythm, start_us, end_us, self.seed, self.world)


def make_workload(name: str, parameters: Mapping[str, Any]) -> Workload:
    """A workload by its name, with parameters. Raises InvalidEvaluation."""
    if name not in WORKLOADS:
        raise InvalidEvaluation(f"workload {name!r} is unknown: expected one of {', '.join(WORKLOADS)}")
    model = WORKLOADS[name]
    try:
        return model.model_validate(dict(parameters))
    except ValidationError as error:
        misfit = first_misfit(error, lambda _: model.model_fields)
        raise InvalidEvaluation(f"workload {name}: {misfit}") from None


_rhythm = lru_cache(maxsize=4)(Rhythm.of)


@dataclass(frozen=True)
class RecordedEvents:
    """Publications out of Parquet, a file or a folder of files: columns `t` (s), `client`, `x`, `y` (m).

    A row without x and y is an event at its publisher's place. Row groups that are in the order of time make
    reading a stretch cheap.
    """

    name: str
    path: Path

    def check(self, clients: int) -> int:
        """How many publications there are. Raises InvalidEvaluation unless they make sense for the trace."""
        try:
            table = pq.read_table(self.path, columns=["t", "client", "x", "y"])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, KeyError) as error:
            reason = str(error).splitlines()[0]
            raise InvalidEvaluation(f"{self.path}: {reason}: expected Parquet with t, client, x, y") from None
        if not len(table):
            raise InvalidEvaluation(f"{self.path} has no rows: expected publications")
        times = table["t"]
        if times.null_count or not np.isfinite(times.to_numpy()).all() or pc.min(times).as_py() < 0:
            raise InvalidEvaluation(
                f"{self.path}: column t has values that are no times: expected s from 0 on"
            )
        low, high = pc.min(table["client"]).as_py(), pc.max(table["client"]).as_py()
        if table["client"].null_count or low < 0 or high >= clients:
            raise InvalidEvaluation(
                f"{self.path}: clients are {low} to {high}: expected 0 to {clients - 1}, those of the trace"
            )
        x, y = _places(table)
        if (np.isnan(x) != np.isnan(y)).any() or np.isinf(x).any() or np.isinf(y).any():
            raise InvalidEvaluation(f"{self.path}: a place has one coordinate only: expected both or none")
        return len(table)

    def between(self, first: int, last: int, start_us: int, end_us: int) -> Publications:
        # A little more than asked for: times are rounded to microseconds only afterwards.
        stretch = [("t", ">=", start_us / MICROSECONDS - 1e-3), ("t", "<", end_us / MICROSECONDS + 1e-3)]
        table = pq.read_table(self.path, columns=["t", "client", "x", "y"], filters=stretch)
        at_us = np.rint(table["t"].to_numpy() * MICROSECONDS).astype(np.int64)
        client = table["client"].to_numpy().astype(np.int32)
        chosen = np.flatnonzero((at_us >= start_us) & (at_us < end_us) & (client >= first) & (client < last))
        chosen = chosen[np.lexsort((client[chosen], at_us[chosen]))]
        x, y = _places(table)
        return Publications(at_us[chosen], client[chosen], x[chosen], y[chosen])


def _places(table: pa.Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """x and y as numbers, NaN where they are missing."""
    x, y = (pc.fill_null(pc.cast(table[name], pa.float64()), np.nan).to_numpy() for name in "xy")
    return x, y
