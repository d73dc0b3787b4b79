"""The rules by which a client reports its place: by distance moved, by time passed, or by either."""

from __future__ import annotations

import math
from typing import Literal

from bypass.places.sensor import Fix

Strategy = Literal["frequency", "distance", "hybrid"]


def due(strategy: Strategy, period: float, threshold: float, last: Fix | None, fix: Fix) -> bool:
    """Whether `fix` must be reported, given the last reported one.

    `frequency`: `period` seconds have passed, whatever the movement; a period of 0 reports every fix.
    `distance`: the place is more than `threshold` metres from the last reported one. `hybrid`: either;
    a report for distance restarts the period, because the period counts from the last report.
    """
    if last is None:
        return True
    by_time = fix.at - last.at >= period - 1e-9
    by_distance = math.hypot(fix.x - last.x, fix.y - last.y) > threshold
    if strategy == "frequency":
        return by_time
    if strategy == "distance":
        return by_distance
    return by_time or by_distance
