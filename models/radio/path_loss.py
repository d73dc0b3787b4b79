"""The received power of a sender at a distance, and behind walls. Both media compute it by these
functions."""

from __future__ import annotations

import math

from bypass.models.radio.radio import NEAREST_M, UNIT
from bypass.support.kernel import borrowing_kernel


@borrowing_kernel
def power_between(x1: float, y1: float, x2: float, y2: float, interference: float, exponent: float) -> int:
    """The power, in whole units, of a sender at one place (m) at another; 0 if that is too far."""
    squared = (x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2)
    if squared > interference * interference:
        return 0
    distance = max(math.sqrt(squared), NEAREST_M)
    return int(UNIT * (interference / distance) ** exponent)


@borrowing_kernel
def power_behind(power: int, walls: int, passed: float) -> int:
    """The power that is left behind walls, each of which lets the share `passed` through; 0 if that is less
    than counts."""
    left = int(power * passed**walls)
    return left if left >= UNIT else 0
