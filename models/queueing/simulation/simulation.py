"""Response times by simulation, because behind the first centre the independence that formulas assume does
not hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bypass.models.compute.engines import WorkProgress, unwatched
from bypass.models.queueing.centre import Centre, InvalidCentre
from bypass.models.queueing.simulation.kernels import ARRIVED, BUCKETS, DELAY, bucket_edges, tally
from bypass.models.queueing.simulation.passage import passages
from bypass.models.queueing.simulation.periods import Periods
from bypass.models.request import InvalidRequest
from bypass.support.arrays import Floats, Ints

BATCHES = 32
_T = 2.0395
"""Student's t for 95 % and so many batches."""

_MOST = 2**32
"""Random numbers are counted with 32 bits."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """The results of a simulation of `events` events. Delays are from production to the last departure (s).

    The mean lies in `mean` ± `half_width` with a confidence of 95 %, by the means of 32 batches of successive
    events. These depend on each other if a batch has few ON and OFF periods: `correlation` is that of
    neighbours. The interval allows for it if it is positive, as if batches beyond mattered only through those
    in between. Above 0.3 it is hardly chance, and more events are needed. `p50` and `p95` are within 0.4 %.
    """

    events: int
    mean: float
    half_width: float
    p50: float
    p95: float
    centres: tuple[float, ...]
    """Mean time at each centre, of those that have left it."""
    expired: float
    """Share of events whose lifetime was over before they arrived; the delays are those of the others."""
    correlation: float


def simulate(
    centres: Sequence[Centre],
    events: int,
    seed: int,
    *,
    arrivals: Floats | None = None,
    periods: Mapping[str, Periods] | None = None,
    lifetime: float = math.inf,
    drop: Literal["end", "waiting"] = "end",
    progress: WorkProgress = unwatched,
) -> Simulated:
    """Send events through centres, one after the other, and measure how long they take.

    They are produced as a Poisson process with the rate of the centres, which all have the same, or at
    `arrivals` (s), of which the first ones are taken. Poisson events start at empty centres: a tenth more is
    simulated, and the first ones do not count. Centres that `periods` has by their name are ON when these say
    so, not at random. An event is of no use `lifetime` seconds after its production: it goes all the way and
    is dropped at the "end" (`drop`), or, "waiting", where it is when its time is up, even if it is served.
    `progress` is told how many events of how many are through.

    The same for the same arguments, bit for bit. Raises InvalidRequest, InvalidCentre, and Unstable unless
    `arrivals` are given.
    """
    periods = periods or {}
    _check_request(events, seed, arrivals, lifetime)
    _check_centres(centres, periods, arrivals)
    before = events // 10 if arrivals is None else 0
    _check_numbers(centres, before + events, periods, arrivals)
    batches, stays = np.zeros((BATCHES, 3)), np.zeros((len(centres), 2))
    buckets = np.zeros(BUCKETS, np.int64)
    limit = lifetime if drop == "waiting" else math.inf
    first = -before
    for moments in passages(
        centres, before + events, np.uint64(seed), arrivals=arrivals, periods=periods, lifetime=limit
    ):
        tally(moments, first, events, lifetime, batches, stays, buckets)
        first += moments.shape[1]
        progress(before + first, before + events)
    arrived = float(batches[:, ARRIVED].sum())
    half_width, correlation = _confidence(batches)
    return Simulated(
        events=events,
        mean=float(batches[:, DELAY].sum()) / arrived if arrived else math.nan,
        half_width=half_width,
        p50=_percentile(buckets, 0.50),
        p95=_percentile(buckets, 0.95),
        centres=tuple(float(total / count) if count else math.nan for count, total in stays),
        expired=1.0 - arrived / events,
        correlation=correlation,
    )


def _check_request(events: int, seed: int, arrivals: Floats | None, lifetime: float) -> None:
    if events < 1:
        raise InvalidRequest(f"events is {events}: expected at least 1")
    if not 0 <= seed < 2**64:
        raise InvalidRequest(f"seed is {seed}: expected 0 to 2**64 - 1")
    if not lifetime > 0:
        raise InvalidRequest(f"lifetime is {lifetime} s: expected above 0")
    if arrivals is None:
        return
    if events > len(arrivals):
        raise InvalidRequest(f"events is {events}: expected at most {len(arrivals)}, as many as arrivals")
    fits = np.isfinite(arrivals) & (arrivals >= np.append(0.0, arrivals[:-1]))
    if not fits.all():
        wrong = int(np.argmin(fits))
        raise InvalidRequest(
            f"arrival {wrong} is at {arrivals[wrong]} s: expected finite times that ascend from 0"
        )


def _check_centres(
    centres: Sequence[Centre], periods: Mapping[str, Periods], arrivals: Floats | None
) -> None:
    if not centres:
        raise InvalidCentre("centres is empty: expected at least one")
    if unknown := periods.keys() - {centre.name for centre in centres}:
        raise InvalidCentre(f"periods has {min(unknown)!r}: expected names of centres")
    if arrivals is not None:
        return
    for centre in centres:
        if centre.rate != centres[0].rate or not centre.rate:
            raise InvalidCentre(
                f"{centre.name}: rate {centre.rate}: expected the same above 0 at all centres"
            )
        _effective(centre, periods).response()


def _effective(centre: Centre, periods: Mapping[str, Periods]) -> Centre:
    """The centre with the means of the periods that it really has."""
    recorded = periods.get(centre.name)
    return centre if recorded is None else replace(centre, on=recorded.on, off=recorded.off)


def _check_numbers(
    centres: Sequence[Centre], events: int, periods: Mapping[str, Periods], arrivals: Floats | None
) -> None:
    duration = events / centres[0].rate if arrivals is None else float(arrivals[events - 1])
    most = float(events)
    for centre in centres:
        cycle = math.inf if centre.name in periods or not centre.off else centre.on + centre.off
        most = max(most, duration * centre.other, duration / cycle)
    if most > 0.99 * _MOST:
        raise InvalidRequest(
            f"events is {events}, which takes {most:.6g} random events or periods at a centre:"
            " expected at most 2**32 - 1 of them"
        )


def _confidence(batches: Floats) -> tuple[float, float]:
    """Half the width of the interval of confidence, and how batches correlate with the one before."""
    if not batches[:, ARRIVED].all():
        return math.inf, math.nan
    means = batches[:, DELAY] / batches[:, ARRIVED]
    apart = means - means.mean()
    squares = float(apart @ apart)
    correlation = float(apart[1:] @ apart[:-1]) / squares if squares else 0.0
    wider = math.sqrt((1.0 + correlation) / (1.0 - correlation)) if correlation > 0 else 1.0
    return _T * math.sqrt(squares / (BATCHES - 1) / BATCHES) * wider, correlation


def _percentile(buckets: Ints, share: float) -> float:
    """Between the edges of the bucket in which that share is reached."""
    reached = np.append(0, np.cumsum(buckets))
    if not reached[-1]:
        return math.nan
    return float(np.interp(share * reached[-1], reached, bucket_edges()))
