"""The view that kernels have of a trace: windows of time in which everybody moves straight and has at most
one fix.

Clients are numbers from 0 on. Places are in metres, times in microseconds unless they are said to be seconds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bypass.support.arrays import Bools, Floats, Ints

# compiled into kernels
NEVER = 2**62
PLACE_X, PLACE_Y, SPEED_X, SPEED_Y = range(4)  # columns of reports


class Leg(NamedTuple):
    """How everybody moves between two samples, `dt` s apart, from time `t` (s) on: by (`dx`, `dy`)."""

    t: float
    dt: float
    x: Floats
    y: Floats
    dx: Floats
    dy: Floats


class Fixes(NamedTuple):
    """The readings of everybody's sensor: `before` the window, and `after` the fix in it, which is at
    `at_us`.

    A row is a place and a movement vector (m/s). `at_us` is NEVER for who has no fix in the window; both rows
    are the same then. Before the first fix, they are where a client was at the very beginning.
    """

    at_us: Ints
    before: Floats
    after: Floats


class Events(NamedTuple):
    """The publications of a window in the order of time. Where a `local` one belongs, its publisher is."""

    at_us: Ints
    client: NDArray[np.int32]
    local: Bools
    x: Floats
    y: Floats


class Window(NamedTuple):
    """A part of a leg from `start_us` on and before `end_us`, and all that happens to clients in it."""

    leg: Leg
    start_us: int
    end_us: int
    fixes: Fixes
    events: Events
