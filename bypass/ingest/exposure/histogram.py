"""Histograms of times: counts by bucket, as Prometheus reads them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from prometheus_client.metrics_core import HistogramMetricFamily

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""Upper ends in seconds; one more has everything beyond."""


class TimeHistogram:
    """Counts times (s) that were observed. A bucket has those that are at most its end."""

    def __init__(self, buckets: Sequence[float] = BUCKETS) -> None:
        self._ends = tuple(buckets)
        self._counts = [0] * (len(self._ends) + 1)
        self.sum = 0.0

    def observe(self, times: Iterable[float], weights: Iterable[int] | None = None) -> None:
        """Add times, each as often as its weight says, once without any."""
        for time, weight in (
            zip(times, weights, strict=True) if weights is not None else ((t, 1) for t in times)
        ):
            self._counts[bisect_left(self._ends, time)] += weight
            self.sum += time * weight

    @property
    def count(self) -> int:
        """How many times there are."""
        return sum(self._counts)

    def cumulative(self) -> list[int]:
        """For each end, how many times are at most that; the last has all."""
        total, found = 0, []
        for count in self._counts:
            total += count
            found.append(total)
        return found

    def quantile(self, part: float) -> float | None:
        """The end of the bucket in which a part of all times is reached; None if that is beyond all ends, or
        there are no times."""
        for end, count in zip(self._ends, self.cumulative(), strict=False):
            if count and count >= part * self.count:
                return end
        return None

    def family(self, name: str, what: str) -> HistogramMetricFamily:
        """The histogram for Prometheus."""
        ends = [*(f"{end:g}" for end in self._ends), "+Inf"]
        return HistogramMetricFamily(
            name, what, buckets=list(zip(ends, self.cumulative(), strict=True)), sum_value=self.sum
        )
