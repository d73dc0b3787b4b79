"""Crowds of any shape and what they publish, for tests of evaluations; and the windows that they make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from bypass.mechanisms.filters.kernels.window import Window
from bypass.models.workloads import Publications
from bypass.places.region import Place, Region
from bypass.scenarios.evaluation.judging.windows import windows
from bypass.support.arrays import Floats

WORLD = 1000.0
RADIUS = 100.0
CIRCLES = (
    Place("square", 300.0, 300.0, 120.0),
    Place("park", 400.0, 330.0, 80.0),
    Place("station", 800.0, 700.0, 50.0),
)
REGION = Region((0.0, 0.0, WORLD, WORLD), CIRCLES)


class MovingCrowd(NamedTuple):
    """Positions (a row a sample, a column a client), when clients have fixes, and what they publish."""

    x: Floats
    y: Floats
    step: float
    interval_us: int
    phases: list[int]
    published: Publications

    def windows(self, first: int = 0) -> Iterator[Window]:
        """The windows from sample number `first` on."""
        x, y = (each[first:].astype(np.float32) for each in (self.x, self.y))
        return windows(x, y, first, self.step, np.array(self.phases), self.interval_us, self.between)

    def between(self, start_us: int, end_us: int) -> Publications:
        """The publications from one time on and before another."""
        p = self.published
        low, high = np.searchsorted(p.at_us, (start_us, end_us))
        return Publications(p.at_us[low:high], p.client[low:high], p.x[low:high], p.y[low:high])


@st.composite
def crowds(draw: st.DrawFn) -> MovingCrowd:
    """Clients that stand, walk, jump or crowd together."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    clients, samples = draw(st.integers(1, 60)), draw(st.integers(2, 8))
    step = draw(st.sampled_from([1.0, 0.5, 2.0]))
    interval_us = draw(st.sampled_from([5_000_000, 1_500_000, 400_000]))
    start = rng.uniform(0, WORLD, (2, clients))
    crowd = rng.random(clients) < draw(st.sampled_from([0.0, 0.7, 1.0]))
    start[:, crowd] = rng.uniform(0, WORLD, (2, 1)) + rng.normal(0, 15, (2, crowd.sum()))
    moves = rng.normal(0, draw(st.sampled_from([0.0, 2.0, 40.0])), (samples, 2, clients))
    moves[:, :, rng.random(clients) < 0.3] = 0.0
    places = np.clip(start + np.cumsum(moves, axis=0), 0, WORLD).astype(np.float32).astype(np.float64)
    phases = rng.integers(0, interval_us, clients).tolist()
    count = draw(st.integers(0, 40))
    at_us = np.sort(rng.integers(0, round((samples - 1) * step * 1e6), count))
    target = np.where(rng.random(count) < 0.5, np.nan, rng.uniform(-50, WORLD + 50, (2, count)))
    published = Publications(at_us, rng.integers(0, clients, count).astype(np.int32), *target)
    return MovingCrowd(places[:, 0], places[:, 1], step, interval_us, phases, published)
