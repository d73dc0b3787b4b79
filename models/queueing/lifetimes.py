"""Events with a lifetime: how many expire, and how late the others are.

There are two assumptions; the result of each is exact at one centre:

- `discarded_late`: every event lives equally long, and a receiver throws a late one away. Until then it is
  served like any other, so that it delays those behind it.
- `dropped_waiting`: lifetimes are exponential, and an event disappears wherever it is the moment that
  it expires, from the queue or out of service. Those behind it wait less, and no load is too much.

Along a path, centres are taken one by one with Poisson arrivals, as if they were independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

from bypass.models.queueing.centre import Centre, InvalidCentre
from bypass.models.queueing.chain import switching
from bypass.models.queueing.sojourn import Sojourn

NEGLIGIBLE = 1e-16
"""The largest probability that may be left at the highest level of the chain."""
LARGE = 1e100

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Fate:
    """The outcome of events: the share that `expired`, and the mean `delay` (s) of those that arrived.

    The delay is not a number if none arrives.
    """

    expired: float
    delay: float


def discarded_late(centres: Sequence[Centre], lifetime: float) -> Fate:
    """Every event lives for `lifetime` (s); a receiver throws it away if it comes later.

    Raises `Unstable` and `InvalidCentre`.
    """
    _check(lifetime)
    arrived, delay = Sojourn.along(centres).within(lifetime)
    return Fate(1.0 - arrived, delay)


def dropped_waiting(centres: Sequence[Centre], lifetime: float) -> Fate:
    """Events live for exponential times with mean `lifetime` (s), those of others too; then they are gone.

    What expires at one centre does not come to the next. Raises `InvalidCentre`.
    """
    _check(lifetime)
    arrived, delay = 1.0, 0.0
    for centre in centres:
        fate = _dropped_at(replace(centre, rate=arrived * centre.rate), 1.0 / lifetime)
        arrived *= 1.0 - fate.expired
        delay += fate.delay
    return Fate(1.0 - arrived, delay)


def _check(lifetime: float) -> None:
    if not (lifetime > 0.0 and isfinite(lifetime)):
        raise InvalidCentre(f"lifetime {lifetime} s: expected a finite number above 0")


def _dropped_at(centre: Centre, expiry: float) -> Fate:
    levels, top = 32, 1.0
    while top > NEGLIGIBLE:
        levels *= 2
        found = _steady_state(centre, expiry, levels)
        top = sum(found[-1])
    ends, begins = switching(centre)
    served = 1.0 / centre.service
    # An event with n before it: the chance that it is served and, times that chance, the time until then,
    # each if the centre is ON now and if it is OFF.
    chance, time = (1.0, 0.0), (0.0, 0.0)
    arrived, delay = 0.0, 0.0
    for n, (on, off) in enumerate(found):
        nearer = served + n * expiry, n * expiry
        rates = ends, begins, served + (n + 1) * expiry, (n + 1) * expiry
        chance = _mixed(nearer[0] * chance[0], nearer[1] * chance[1], *rates)
        time = _mixed(nearer[0] * time[0] + chance[0], nearer[1] * time[1] + chance[1], *rates)
        arrived += on * chance[0] + off * chance[1]
        delay += on * time[0] + off * time[1]
    return Fate(max(1.0 - arrived, 0.0), delay / arrived)


def _mixed(on: float, off: float, ends: float, begins: float, out_on: float, out_off: float) -> Pair:
    """Accumulate what comes in per second, `on` while ON and `off` while OFF, until the event leaves at the
    rates `out_on` and `out_off`; the centre switches at the rates `ends` and `begins`. Gives the sums for a
    start in ON and in OFF."""
    whole = out_on * (out_off + begins) + ends * out_off
    return (
        (on * (out_off + begins) + off * ends) / whole,
        (on * begins + off * (out_on + ends)) / whole,
    )


def _steady_state(centre: Centre, expiry: float, levels: int) -> list[Pair]:
    """The probabilities of ON and OFF with 0 to `levels` events, if there is no room for more.

    They are computed level by level from the top, by sums and products of positive numbers only, so that no
    digits are lost by subtraction.
    """
    rate = centre.rate + centre.other
    ends, begins = switching(centre)
    served = 1.0 / centre.service
    growth: list[tuple[float, float, float, float]] = []
    to_off, to_on = ends, begins
    for k in range(levels, 0, -1):
        down_on, down_off = served + k * expiry, k * expiry
        whole = to_off * down_off + down_on * to_on + down_on * down_off
        a, b = rate * (to_on + down_off) / whole, rate * to_off / whole
        c, d = rate * to_on / whole, rate * (to_off + down_on) / whole
        growth.append((a, b, c, d))
        to_off, to_on = ends + b * down_off, begins + c * down_on
    on, off = to_on, to_off
    found = [(on, off)]
    for a, b, c, d in reversed(growth):
        on, off = on * a + off * c, on * b + off * d
        if on + off > LARGE:  # levels before that are as good as empty
            found = [(x / LARGE, y / LARGE) for x, y in found]
            on, off = on / LARGE, off / LARGE
        found.append((on, off))
    total = sum(map(sum, found))
    return [(on / total, off / total) for on, off in found]
