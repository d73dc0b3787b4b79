"""From rows of events to figures: shares, percentiles, stretches between transitions, moments around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

EventColumn = NDArray[Any]
Columns = Mapping[str, EventColumn]

PERCENTILES = (2.5, 5, 25, 50, 75, 95, 97.5)
LOST = 0.2  # recall below this is an outage, not a level that a mechanism has


def recall(events: Columns) -> NDArray[np.float64]:
    """Share of the subscribers concerned that were notified, by event; NaN if the event concerned nobody."""
    return _share(events["correct"], events["subscribers"])


def precision(events: Columns) -> NDArray[np.float64]:
    """Share of the notified clients that were concerned, by event; NaN if nobody was notified."""
    return _share(events["correct"], events["notified"])


def _share(part: EventColumn, whole: EventColumn) -> NDArray[np.float64]:
    shares = np.full(len(whole), np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


@dataclass(frozen=True, slots=True)
class Stats:
    """Mean and percentiles (2.5, 5, 25, 50, 75, 95, 97.5) of `count` values; NaN if there are none."""

    count: int
    mean: float
    percentiles: tuple[float, ...]

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Stats:
        """Statistics of the values that are not NaN."""
        values = values[~np.isnan(values)]
        if not len(values):
            return cls(0, float("nan"), tuple(float("nan") for _ in PERCENTILES))
        return cls(len(values), float(values.mean()), tuple(np.percentile(values, PERCENTILES).tolist()))

    def percentile(self, p: float) -> float:
        """One of the percentiles that are kept. Raises ValueError for another."""
        return self.percentiles[PERCENTILES.index(p)]


@dataclass(frozen=True, slots=True)
class Phase:
    """The stretch between two transitions."""

    name: str
    start_s: float
    end_s: float
    mechanisms: Mapping[str, Any]
    recall: Stats
    precision: Stats
    delay_ms: Stats
    events: int
    deliveries: int
    traffic: Mapping[str, float]

    def summary(self) -> dict[str, Any]:
        """The phase as the summary file has it: means, and percentiles beside them."""
        return {
            "name": self.name,
            "start_s": self.start_s,
            "end_s": self.end_s,
            "mechanisms": dict(self.mechanisms),
            "recall": self.recall.mean,
            "precision": self.precision.mean,
            "delay_ms": {
                "mean": self.delay_ms.mean,
                "p50": self.delay_ms.percentile(50),
                "p95": self.delay_ms.percentile(95),
            },
            "events": self.events,
            "deliveries": self.deliveries,
            "traffic": dict(self.traffic),
            "percentiles": {
                name: {f"p{p:g}": value for p, value in zip(PERCENTILES, stats.percentiles, strict=True)}
                for name, stats in (("recall", self.recall), ("precision", self.precision))
            },
        }


def between(events: Columns, start_s: float, end_s: float) -> dict[str, EventColumn]:
    """The events published from `start_s` to before `end_s`."""
    first, last = np.searchsorted(events["at_us"], np.round(np.array([start_s, end_s]) * 1e6))
    return {name: column[first:last] for name, column in events.items()}


@dataclass(frozen=True, slots=True)
class Around:
    """The seconds around one transition, in bins of publication time relative to it."""

    at_s: float
    phase: str
    width_s: float
    start_s: NDArray[np.float64]
    events: NDArray[np.int64]
    recall: NDArray[np.float64]
    precision: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        events: Columns,
        at_s: float,
        phase: str,
        before_s: float = 2.0,
        after_s: float = 6.0,
        width_s: float = 0.1,
    ) -> Around:
        near = between(events, at_s - before_s, at_s + after_s)
        starts = np.round(np.arange(-before_s, after_s - 1e-9, width_s), 9)
        number = np.floor((near["at_us"] / 1e6 - at_s + before_s) / width_s + 1e-9).astype(int)
        number = np.clip(number, 0, len(starts) - 1)
        return cls(
            at_s,
            phase,
            width_s,
            starts,
            np.bincount(number, minlength=len(starts)),
            _means(recall(near), number, len(starts)),
            _means(precision(near), number, len(starts)),
        )

    def summary(self) -> dict[str, Any]:
        """The figures around the transition: lowest recall of a bin, recall lost, and recall before and
        after."""
        close = (self.start_s >= -0.5) & (self.start_s < 2.0)
        return {
            "at_s": self.at_s,
            "phase": self.phase,
            "recall_before": self._before,
            "recall_lowest": float(np.nanmin(self.recall[close], initial=1.0)),
            "recall_after": self._after,
            "recall_lost_s": self._lost(),
        }

    @property
    def _before(self) -> float:
        return mean(self.recall[self.start_s < -0.5])

    @property
    def _after(self) -> float:
        return mean(self.recall[self.start_s >= 5.0])

    def _lost(self) -> float:
        """Seconds of full recall that are missing, against the worse of before and after. An outage at either
        end is no level to compare with; NaN if there is none."""
        levels = [level for level in (self._before, self._after) if level >= LOST]
        if not levels:
            return float("nan")
        return float(np.nansum(np.clip(min(levels) - self.recall, 0, None)) * self.width_s)


def mean(values: NDArray[np.float64]) -> float:
    """The mean of the values that are not NaN; NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _means(values: NDArray[np.float64], number: EventColumn, bins: int) -> NDArray[np.float64]:
    """The mean of the values in each bin; NaN in a bin without any."""
    valid = ~np.isnan(values)
    sums = np.bincount(number[valid], values[valid], minlength=bins)
    counts = np.bincount(number[valid], minlength=bins)
    return _share(sums, counts)
