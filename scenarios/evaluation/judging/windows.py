"""A stretch of a trace in windows: everybody moves straight, and nobody has more than one fix in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from bypass.mechanisms.filters.kernels.window import Events, Leg, Window
from bypass.models.workloads import Publications
from bypass.scenarios.evaluation.judging.sensors import Sensors
from bypass.support.arrays import Ints, Singles
from bypass.support.units import MICROSECONDS


def windows(
    x: Singles,
    y: Singles,
    first: int,
    step: float,
    phase_us: Ints,
    interval_us: int,
    published: Callable[[int, int], Publications],
) -> Iterator[Window]:
    """The windows of a stretch whose first row of positions is sample number `first`, one each `step` s.

    Clients, one a column, have fixes each `interval_us` from `phase_us` on; `published` gives what they
    publish from one time (microseconds) on and before another.
    """
    sensors: Sensors | None = None
    for k in range(len(x) - 1):
        leg = _leg(x, y, k, (first + k) * step, (first + k + 1) * step)
        sensors = sensors or Sensors(phase_us, interval_us, leg)
        start_us, end_us = round(leg.t * MICROSECONDS), round((first + k + 1) * step * MICROSECONDS)
        parts = -(-(end_us - start_us) // interval_us)
        cuts = [start_us + (end_us - start_us) * part // parts for part in range(parts + 1)]
        for begin, until in pairwise(cuts):
            events = _placed(leg, published(begin, until))
            yield Window(leg, begin, until, sensors.fixes(leg, begin, until), events)


def _leg(x: Singles, y: Singles, k: int, t: float, end: float) -> Leg:
    x0, y0 = x[k].astype(np.float64), y[k].astype(np.float64)
    return Leg(t, end - t, x0, y0, x[k + 1].astype(np.float64) - x0, y[k + 1].astype(np.float64) - y0)


def _placed(leg: Leg, p: Publications) -> Events:
    """Publications, the local ones where their publishers are."""
    share = (p.at_us / MICROSECONDS - leg.t) / leg.dt
    local = np.isnan(p.x)
    x = np.where(local, leg.x[p.client] + share * leg.dx[p.client], p.x)
    y = np.where(local, leg.y[p.client] + share * leg.dy[p.client], p.y)
    return Events(p.at_us, p.client, local, x, y)
