"""The clients' location sensors in an evaluation: fixes at regular moments, as in the simulator."""

from __future__ import annotations

import numpy as np

from bypass.mechanisms.filters.kernels.window import NEVER, Fixes, Leg
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel
from bypass.support.units import MICROSECONDS


@kernel
def _phases(seed: np.uint64, purpose: int, first: int, last: int) -> Floats:
    phases = np.empty(last - first)
    for i in range(first, last):
        phases[i - first], _ = uniform_pair(seed, purpose, i, 0)
    return phases


def sensor_phases(seed: int, first: int, last: int, interval_us: int) -> Ints:
    """When clients `first` to `last` - 1 have their first fixes (microseconds)."""
    phases = _phases(np.uint64(seed), Purpose.SENSOR, first, last)
    return np.rint(phases * interval_us).astype(np.int64)


@kernel
def _fix_times(phase_us: Ints, interval_us: int, start_us: int, end_us: int) -> Ints:
    """When each client has its fix from `start_us` on and before `end_us`, NEVER if it has none then."""
    times = np.empty(len(phase_us), np.int64)
    for i in range(len(phase_us)):
        rounds = max(0, -((phase_us[i] - start_us) // interval_us))
        at = phase_us[i] + rounds * interval_us
        times[i] = at if at < end_us else NEVER
    return times


@kernel
def _reports(fix_us: Ints, leg: Leg, before: Floats) -> Floats:
    """Place and movement vector of each client at its fix, a row (x, y, vx, vy); as before if it has none."""
    rows = np.empty((len(fix_us), 4))
    for i in range(len(fix_us)):
        if fix_us[i] == NEVER:
            for column in range(4):
                rows[i, column] = before[i, column]
        else:
            share = (fix_us[i] / MICROSECONDS - leg.t) / leg.dt
            rows[i, 0], rows[i, 1] = leg.x[i] + share * leg.dx[i], leg.y[i] + share * leg.dy[i]
            rows[i, 2], rows[i, 3] = leg.dx[i] / leg.dt, leg.dy[i] / leg.dt
    return rows


class Sensors:
    """The sensors of clients with these phases, who are where a leg begins: they all know that place."""

    def __init__(self, phase_us: Ints, interval_us: int, leg: Leg) -> None:
        self._phase_us, self._interval_us = phase_us, interval_us
        self._known = np.column_stack([leg.x, leg.y, leg.dx / leg.dt, leg.dy / leg.dt])

    def fixes(self, leg: Leg, start_us: int, end_us: int) -> Fixes:
        """The fixes of the next window, which is no longer than the interval."""
        fix_us = _fix_times(self._phase_us, self._interval_us, start_us, end_us)
        before, self._known = self._known, _reports(fix_us, leg, self._known)
        return Fixes(fix_us, before, self._known)
