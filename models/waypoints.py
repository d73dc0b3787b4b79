"""Piecewise linear movement of many clients, in columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Self

import numpy as np
import numpy.typing as npt

from bypass.errors import BypassError
from bypass.support.arrays import Floats, Ints, Singles
from bypass.support.kernel import kernel
from bypass.support.search import count_up_to

Track = tuple[Floats, Floats, Floats]
Arrays = tuple[Ints, Floats, Floats, Floats, Floats]
WaypointLeg = tuple[float, float, float, float, float, float, float, float]

# A leg holds for times from `start` until before `end`; at time `at` its client has gone the share
# (at - t) / dt of (dx, dy), which begins at (x, y). No time lies inside `_NO_LEG`.
_NO_LEG: WaypointLeg = (math.inf, -math.inf, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)


class InvalidWaypoints(BypassError):
    """The arrays do not describe the movement of at least one client."""


class Waypoints:
    """The waypoints of all clients, one client after the other: those of client i begin at offsets[i].

    A client moves straight and evenly from waypoint to waypoint; a pause is two waypoints at the same place.
    It stands at its first waypoint before the first time, and at its last one after the last. Of several
    waypoints at the same time the last one counts. Raises InvalidWaypoints.
    """

    __slots__ = ("offsets", "t", "x", "y")

    def __init__(self, offsets: Ints, t: Floats, x: Floats, y: Floats) -> None:
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.t, self.x, self.y = (np.ascontiguousarray(column, dtype=np.float64) for column in (t, x, y))
        self._check()

    @classmethod
    def of_tracks(cls, tracks: Iterable[Track]) -> Self:
        """Put the clients' own (t, x, y) columns together, in the order of the client numbers."""
        parts = list(tracks)
        if not parts:
            raise InvalidWaypoints("there are no clients: expected at least one")
        offsets = np.cumsum([0, *(len(t) for t, _, _ in parts)])
        t, x, y = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return cls(offsets, t, x, y)

    def _check(self) -> None:
        offsets, count = self.offsets, len(self.t)
        if not len(self.x) == len(self.y) == count:
            raise InvalidWaypoints(
                f"t, x, y have {count}, {len(self.x)}, {len(self.y)} entries: expected as many"
            )
        if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != count:
            raise InvalidWaypoints(f"offsets are {offsets}: expected 0, ..., {count} for at least one client")
        if (empty := np.flatnonzero(np.diff(offsets) < 1)).size:
            raise InvalidWaypoints(f"client {empty[0]} has no waypoint: expected at least one")
        for name in ("t", "x", "y"):
            if (bad := np.flatnonzero(~np.isfinite(column := getattr(self, name)))).size:
                raise InvalidWaypoints(f"{name}[{bad[0]}] is {column[bad[0]]}: expected a finite number")
        steps = np.diff(self.t)
        steps[offsets[1:-1] - 1] = 0.0  # from one client's last time to the next client's first
        if (back := np.flatnonzero(steps < 0)).size:
            k = back[0]
            raise InvalidWaypoints(
                f"t[{k + 1}] is {self.t[k + 1]}: expected at least {self.t[k]}, the time before"
            )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def duration(self) -> float:
        """The last time (s) for which every client still has waypoints."""
        return float(self.t[self.offsets[1:] - 1].min())

    def positions(self, at: float) -> tuple[Floats, Floats]:
        """x and y (m) of all clients at time `at`."""
        return self.cursor().positions(at)

    def velocities(self, at: float) -> tuple[Floats, Floats]:
        """Speed in x and y (m/s) of all clients at `at`; at a waypoint, that of the leg that begins there."""
        cursor = self.cursor()
        _follow(*cursor.arrays, at)
        _, _, _, dt, _, _, dx, dy = cursor.arrays[-1]
        return dx / dt, dy / dt

    def fastest(self) -> float:
        """The highest speed (m/s) on any leg."""
        dt = np.diff(self.t)
        length = np.hypot(np.diff(self.x), np.diff(self.y))
        length[self.offsets[1:-1] - 1] = 0.0  # from one client's last place to the next client's first
        speeds = np.divide(length, dt, out=np.zeros_like(dt), where=dt > 0)
        return float(speeds.max(initial=0.0))

    def cursor(self) -> Cursor:
        """A new cursor, for questions at times that mostly go forward."""
        return Cursor(self)


class Cursor:
    """Answers from the leg that each client was last on, so a step in time costs the same on any trace.

    Times may go back or jump: a client that is no longer on its leg costs a search. `arrays` is what
    kernels take: offsets, t, x, y, and the legs, a column of eight numbers for each client.
    """

    __slots__ = ("_legs", "_x", "_y", "arrays")

    def __init__(self, waypoints: Waypoints) -> None:
        w = waypoints
        self.arrays: Arrays = (w.offsets, w.t, w.x, w.y, np.tile(np.array(_NO_LEG)[:, None], len(w)))
        self._legs = [_NO_LEG] * len(w)
        self._x, self._y = np.empty(len(w)), np.empty(len(w))

    def position(self, client: int, at: float) -> tuple[float, float]:
        """x and y (m) of one client: the same bits as `positions`."""
        start, end, t, dt, x, y, dx, dy = self._legs[client]
        if not start <= at < end:
            _, _, t, dt, x, y, dx, dy = self._enter(client, at)
        share = (at - t) / dt
        return x + share * dx, y + share * dy

    def velocity(self, client: int, at: float) -> tuple[float, float]:
        """Speed in x and y (m/s) of one client: the same bits as `Waypoints.velocities`."""
        start, end, _, dt, _, _, dx, dy = self._legs[client]
        if not start <= at < end:
            _, _, _, dt, _, _, dx, dy = self._enter(client, at)
        return dx / dt, dy / dt

    def positions(self, at: float) -> tuple[Floats, Floats]:
        """x and y (m) of all clients, in two arrays of the cursor: the next call overwrites them."""
        _positions(*self.arrays, at, self._x, self._y)
        return self._x, self._y

    def sample(self, times: Floats, out_x: Singles, out_y: Singles) -> None:
        """x and y (m) of all clients, rounded to single precision: rows of `out_x`, `out_y` for the times."""
        _sample(*self.arrays, times, out_x, out_y)

    def _enter(self, client: int, at: float) -> WaypointLeg:
        # Calling a kernel costs a microsecond, so a leg is kept as plain floats until its client leaves it.
        leg = self._legs[client] = _leg(*self.arrays[:4], client, at)
        return leg


@kernel
def _leg(offsets: Ints, t: Floats, x: Floats, y: Floats, client: int, at: float) -> WaypointLeg:
    first, last = offsets[client], offsets[client + 1] - 1
    k = first - 1 + count_up_to(t[first : last + 1], at)
    if k < first:
        return -np.inf, t[first], 0.0, 1.0, x[first], y[first], 0.0, 0.0
    if k == last:
        return t[last], np.inf, 0.0, 1.0, x[last], y[last], 0.0, 0.0
    return t[k], t[k + 1], t[k], t[k + 1] - t[k], x[k], y[k], x[k + 1] - x[k], y[k + 1] - y[k]


@kernel
def _follow(offsets: Ints, t: Floats, x: Floats, y: Floats, legs: Floats, at: float) -> None:
    """Renew the legs on which their clients are not at time `at`."""
    start, end = legs[0], legs[1]
    for i in range(len(start)):
        if not (start[i] <= at < end[i]):
            leg = _leg(offsets, t, x, y, i, at)
            for row in range(8):
                legs[row, i] = leg[row]


@kernel
def _place(legs: Floats, i: int, at: float) -> tuple[float, float]:
    # np.divide, because `/` tests for 0, which dt never is, and so keeps loops from being vectorised.
    share = np.divide(at - legs[2, i], legs[3, i])
    return legs[4, i] + share * legs[6, i], legs[5, i] + share * legs[7, i]


@kernel
def _positions(
    offsets: Ints, t: Floats, x: Floats, y: Floats, legs: Floats, at: float, out_x: Floats, out_y: Floats
) -> None:
    _follow(offsets, t, x, y, legs, at)
    for i in range(legs.shape[1]):
        out_x[i], out_y[i] = _place(legs, i, at)


@kernel
def _sample(
    offsets: Ints,
    t: Floats,
    x: Floats,
    y: Floats,
    legs: Floats,
    times: Floats,
    out_x: Singles,
    out_y: Singles,
) -> None:
    for k in range(len(times)):
        _follow(offsets, t, x, y, legs, times[k])
        for i in range(legs.shape[1]):
            out_x[k, i], out_y[k, i] = _place(legs, i, times[k])


@kernel
def within(
    offsets: Ints,
    t: Floats,
    x: Floats,
    y: Floats,
    legs: Floats,
    at: float,
    px: float,
    py: float,
    radius: Floats,
) -> npt.NDArray[np.bool_]:
    """For each client, whether it is at most its radius (m) away from (px, py) at time `at`.

    Takes a cursor's `arrays` first. A radius is at least 0, or NaN for a client that is never within.
    """
    _follow(offsets, t, x, y, legs, at)
    inside = np.empty(legs.shape[1], np.bool_)
    for i in range(legs.shape[1]):
        cx, cy = _place(legs, i, at)
        inside[i] = (cx - px) * (cx - px) + (cy - py) * (cy - py) <= radius[i] * radius[i]
    return inside
