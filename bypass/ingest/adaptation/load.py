"""The load of the stream, sampled: for how long measurements would stay on this rung, and on the one before.

Samples follow from the batches that were noted and the plans that they have carried out, and from nothing
else: who looks again, or after a restart, sees the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from bypass.ingest.adaptation.adaptive_policy import WHO, AdaptivePolicy
from bypass.ingest.sizing.loss import evictions, longest_window
from bypass.ingest.stream.plans import plans_by
from bypass.ingest.stream.progress import BatchCounts, read_batches


class LoadSample(NamedTuple):
    """A sample: messages and bytes a second, and the seconds for which measurements would stay in the
    budget, on this rung and on the one before."""

    rate: float
    load: float
    window_max: float
    window_back: float


class SampledLoad:
    """The load since the pipeline is on the rung where it is."""

    def __init__(self, policy: AdaptivePolicy, plans: Path, progress: Path) -> None:
        self._policy = policy
        names = [rung.name for rung in policy.ladder]
        history = [(number, plan.plan) for number, plan in plans_by(plans, WHO)]
        self._numbers = [number for number, _ in history]
        self._rungs = [names.index(name) if name in names else -1 for _, name in history]
        self._loads = read_batches(progress)[::-1]

    @property
    def rung(self) -> int | None:
        """The rung that the latest plan leads to; None if there is none, or it is of another ladder."""
        return self._rungs[-1] if self._rungs and self._rungs[-1] >= 0 else None

    @property
    def number(self) -> int:
        """The number of the plan that leads to this rung; 0 if there is none."""
        return self._numbers[-1] if self._numbers else 0

    def facts(self) -> dict[str, Any] | None:
        """The facts for rules; None if there is no sample of this rung yet."""
        rung, policy = self.rung, self._policy
        latest = list(self._samples()) if rung is not None else []
        if not latest:
            return None
        back = (1 + policy.hysteresis) * policy.window
        short = [sample.window_max < policy.window for sample in latest]
        ample = [sample.window_back >= back for sample in latest]
        return {
            "rung": rung,
            **latest[0]._asdict(),
            "window_min": policy.window,
            "short_for": (*short, False).index(False),
            "ample_for": (*ample, False).index(False),
        }

    def _samples(self) -> Iterator[LoadSample]:
        """The latest samples, newest first, as many as are asked for and are wholly on this rung.

        A sample is complete once a later batch was noted: a stream that stands still is not taken for one
        that has nothing to do.
        """
        length = int(self._policy.sample * 1000)
        since = next((load.clock for load in self._loads if load.plans >= self.number), None)
        if since is None:
            return
        end = self._loads[-1].clock // length * length
        cost = self._cost_before()
        for _ in range(self._policy.samples):
            start = end - length
            if start < since:
                return
            yield self._sample(start, end, cost)
            end = start

    def _sample(self, start: int, end: int, cost: float | None) -> LoadSample:
        """The sample of a span of time. The messages of a batch have come since the one before it."""
        read = size = 0.0
        for before, batch in pairwise(self._loads):
            overlap = min(end, batch.clock) - max(start, before.clock)
            if overlap > 0:
                part = overlap / (batch.clock - before.clock)
                read, size = read + part * batch.read, size + part * batch.bytes
        rate, load = read / self._policy.sample, size / self._policy.sample
        return LoadSample(rate, load, self._window(load), self._window(load if cost is None else rate * cost))

    def _window(self, load: float) -> float:
        policy = self._policy
        allowed = policy.tolerance.probability(evictions(policy.window, load))
        return longest_window(policy.budget, load, allowed)

    def _cost_before(self) -> float | None:
        """The bytes that a message took on the rung before. None if that is not known: then it is tried."""
        wanted = (self.rung or 0) - 1
        there = [load for load in self._loads if self._rung_of(load) == wanted]
        read = sum(load.read for load in there)
        return sum(load.bytes for load in there) / read if read else None

    def _rung_of(self, load: BatchCounts) -> int:
        """The rung that a batch was on; -1 if it was on none of this ladder."""
        number = bisect_right(self._numbers, load.plans)
        return self._rungs[number - 1] if number else -1
