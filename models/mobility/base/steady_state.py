"""Draws for clients that start in the steady state. What takes long is met more often at a random time.

If clients start like this, nothing that can be observed has another distribution later (Le Boudec & Vojnović
2006, "The random trip model").
"""

from __future__ import annotations

import math

from bypass.support.kernel import kernel


@kernel
def time_left(shortest: float, longest: float, u: float, v: float) -> float:
    """The rest of a duration that is under way at a random time; durations are uniform in [shortest,
    longest].

    Long ones are met in proportion to their length, at any of their moments. `u` and `v` are uniform draws.
    """
    return v * math.sqrt(shortest * shortest + u * (longest * longest - shortest * shortest))


@kernel
def speed_met(slowest: float, fastest: float, u: float) -> float:
    """The speed of somebody on the way, if speeds are uniform in [slowest, fastest] for each way.

    The slow are longer on their ways: the density is proportional to 1 / speed. `u` is a uniform draw.
    """
    return slowest * math.exp(u * math.log(fastest / slowest))


def seconds_per_metre(slowest: float, fastest: float) -> float:
    """The mean of 1 / speed (s/m), for speeds uniform in [slowest, fastest]."""
    if slowest == fastest:
        return 1.0 / slowest
    return math.log(fastest / slowest) / (fastest - slowest)
