"""Tracks: the waypoints of a block of clients while a kernel writes them, one client after the other.

A track array has the rows t, x, y and a column for each waypoint, and often room for more. A kernel writes
each client's waypoints until one is at the end or later; `waypoints` then cuts them there. So what comes
before the end is the same for every end.
"""

from __future__ import annotations

import math

import numpy as np

from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel


@kernel
def put(track: Floats, count: int, t: float, x: float, y: float) -> tuple[Floats, int]:
    """Write waypoint number `count`; gives the array, a larger one if need be, and the next number."""
    if count == track.shape[1]:
        larger = np.empty((3, 2 * count + 1))
        larger[:, :count] = track
        track = larger
    track[0, count], track[1, count], track[2, count] = t, x, y
    return track, count + 1


@kernel
def walk(
    track: Floats, count: int, until: float, end: float, vx: float, vy: float, width: float, height: float
) -> tuple[Floats, int, float, float]:
    """Go on from the waypoint before `count` until time `until`, and be reflected at the borders.

    Gives what `put` gives, and the velocity (m/s) afterwards. Stops at the first waypoint at `end` or later.
    """
    t, x, y = track[0, count - 1], track[1, count - 1], track[2, count - 1]
    while t < end:
        left_x, left_y = _time_to_border(x, vx, width), _time_to_border(y, vy, height)
        left = min(left_x, left_y)
        if not t + left < until:
            x, y = _inside(x + vx * (until - t), width), _inside(y + vy * (until - t), height)
            track, count = put(track, count, until, x, y)
            break
        # Whoever meets a border is exactly on it, and is reflected once.
        if left_x == left:
            x, vx = (width if vx > 0 else 0.0), -vx
        else:
            x = _inside(x + vx * left, width)
        if left_y == left:
            y, vy = (height if vy > 0 else 0.0), -vy
        else:
            y = _inside(y + vy * left, height)
        t += left
        track, count = put(track, count, t, x, y)
    return track, count, vx, vy


@kernel
def _time_to_border(x: float, v: float, size: float) -> float:
    if v > 0:
        return (size - x) / v
    if v < 0:
        return x / -v
    return math.inf


@kernel
def _inside(x: float, size: float) -> float:
    return min(max(x, 0.0), size)


@kernel
def _cut(offsets: Ints, track: Floats, end: float) -> None:
    for last in offsets[1:] - 1:
        t, after = track[0, last - 1], track[0, last]
        if after > end:
            share = (end - t) / (after - t)
            track[0, last] = end
            for row in (1, 2):
                here, there = track[row, last - 1], track[row, last]
                place = here + share * (there - here)
                # Rounding must not carry anybody beyond the place that lies ahead.
                track[row, last] = min(max(place, min(here, there)), max(here, there))


def waypoints(offsets: Ints, track: Floats, end: float) -> Waypoints:
    """Cut the tracks that a kernel wrote at exactly `end` (s); changes `track`.

    Each client's first waypoint is at time 0; its last one, and no other, is at `end` or later.
    """
    _cut(offsets, track, end)
    t, x, y = track[:, : offsets[-1]]
    return Waypoints(offsets, t, x, y)
