"""Kernels of the simulation: random numbers, one centre's queue, and counts at the end of the path.

A centre has a clock that runs only while it is ON. By that clock it is an ordinary queue. For moments in
ascending order a hand of the clock is enough: one ON period, and how long it was ON before.
"""

from __future__ import annotations

import math

import numpy as np

from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel

BEGIN, LENGTH, NEXT, BEFORE, NUMBER = range(5)
"""A hand: when its ON period begins, how long it is, when the next one begins, how long the centre was ON
before it, and the number of the next one."""

DONE, OTHER_AT, OTHER_SERVICE, OTHERS = range(4)
"""A centre's state: when (by its clock) it has served all who came, when the next event of others arrives,
how long it takes to serve, and how many of them there were."""

EVENTS, OTHER, PERIODS = range(3)
"""Kinds of random numbers. A stream is 3 × index + kind; index is the centre's number, of events half the
number of the draw."""

ARRIVED, EXPIRED, DELAY = range(3)
"""Counts of each batch: events in time, events too late, and the sum of delays (s) of the former."""

FINENESS = 8
BUCKETS = 64 << FINENESS
_SHIFT = 52 - FINENESS
_LEAST = (1023 - 24) << FINENESS
"""Delays are counted in 256 buckets for each power of two, from 2**-24 s on. Their first bits say which."""


def bucket_edges() -> Floats:
    """Where buckets begin (s), and where the last one ends."""
    return (np.arange(_LEAST, _LEAST + BUCKETS + 1) << _SHIFT).view(np.float64)


@kernel
def draw(seed: np.uint64, first: int, draws: Floats) -> None:
    """Exponential numbers with mean 1: an even number of rows, a column for each event from `first` on."""
    rows, columns = draws.shape
    for pair in range(rows // 2):
        for i in range(columns):
            u, v = uniform_pair(seed, Purpose.QUEUEING, 3 * pair + EVENTS, first + i)
            draws[2 * pair, i] = -math.log(1.0 - u)
            draws[2 * pair + 1, i] = -math.log(1.0 - v)


@kernel
def produce(last: float, gaps: Floats, mean: float, moments: Floats) -> float:
    """Moments one after the other from `last` on; gives the last one."""
    for i in range(len(gaps)):
        last += mean * gaps[i]
        moments[i] = last
    return last


@kernel
def first_begin(on: float, off: float, seed: np.uint64, centre: int) -> float:
    """The first moment at which the centre is ON, in the steady state. The rest of an OFF period is
    distributed like a whole one."""
    u, v = uniform_pair(seed, Purpose.QUEUEING, 3 * centre + PERIODS, 0)
    return 0.0 if u * (on + off) < on else -off * math.log(1.0 - v)


@kernel
def turn(
    hand: Floats, on: float, off: float, periods: Floats, span: float, seed: np.uint64, centre: int
) -> None:
    """Move a hand to the next ON period: a random one, or a recorded one; records start again after
    `span`."""
    hand[BEFORE] += hand[LENGTH]
    hand[BEGIN] = hand[NEXT]
    number = int(hand[NUMBER])
    hand[NUMBER] = number + 1
    recorded = periods.shape[1]
    if recorded:
        hand[LENGTH] = periods[1, number % recorded]
        hand[NEXT] = (number + 1) // recorded * span + periods[0, (number + 1) % recorded]
    else:
        u, v = uniform_pair(seed, Purpose.QUEUEING, 3 * centre + PERIODS, number)
        hand[LENGTH] = -on * math.log(1.0 - u)
        hand[NEXT] = hand[BEGIN] + hand[LENGTH] - off * math.log(1.0 - v)


@kernel
def reading(hand: Floats, at: float) -> float:
    """The centre's ON clock at a moment before the hand's next ON period."""
    return float(hand[BEFORE] + min(max(at - hand[BEGIN], 0.0), hand[LENGTH]))


@kernel
def next_of_others(state: Floats, rate: float, service: float, seed: np.uint64, centre: int) -> None:
    """Draw the next event of others."""
    u, v = uniform_pair(seed, Purpose.QUEUEING, 3 * centre + OTHER, int(state[OTHERS]))
    state[OTHERS] += 1
    state[OTHER_AT] -= math.log(1.0 - u) / rate
    state[OTHER_SERVICE] = -math.log(1.0 - v) * service


@kernel
def serve(
    arrivals: Floats,
    draws: Floats,
    deadlines: Floats,
    departures: Floats,
    state: Floats,
    hands: Floats,
    service: float,
    other: float,
    on: float,
    off: float,
    periods: Floats,
    span: float,
    seed: np.uint64,
    centre: int,
) -> None:
    """When events leave a centre at which they arrive in that order: NaN if never, or if they never came.

    An event that has a deadline, if there are any, is gone then, also if it is being served. The three hands
    stand at the last arrival, departure and deadline.
    """
    arriving, leaving, expiring = hands[0], hands[1], hands[2]
    done = state[DONE]
    for i in range(len(arrivals)):
        at = arrivals[i]
        if math.isnan(at):
            departures[i] = math.nan
            continue
        while state[OTHER_AT] <= at:
            while state[OTHER_AT] >= arriving[NEXT]:
                turn(arriving, on, off, periods, span, seed, centre)
            done = max(done, reading(arriving, state[OTHER_AT])) + state[OTHER_SERVICE]
            next_of_others(state, other, service, seed, centre)
        while at >= arriving[NEXT]:
            turn(arriving, on, off, periods, span, seed, centre)
        end = max(done, reading(arriving, at)) + service * draws[i]
        if len(deadlines):
            while deadlines[i] >= expiring[NEXT]:
                turn(expiring, on, off, periods, span, seed, centre)
            due = reading(expiring, deadlines[i])
            if end > due:
                done = max(done, due)
                departures[i] = math.nan
                continue
        done = end
        while done > leaving[BEFORE] + leaving[LENGTH]:
            turn(leaving, on, off, periods, span, seed, centre)
        # Rounding must not let a very short service end before it began.
        departures[i] = max(at, leaving[BEGIN] + (done - leaving[BEFORE]))
    state[DONE] = done


@kernel
def tally(
    moments: Floats, first: int, events: int, lifetime: float, batches: Floats, stays: Floats, buckets: Ints
) -> None:
    """Count events: a row of `moments` for their production, then one for each departure.

    The first column is event number `first` of `events`, which the batches share; those with numbers below 0
    do not count. `stays` gets, for each centre, how many have left it and the sum of their times there (s).
    """
    rows, columns = moments.shape
    begin = min(max(-first, 0), columns)
    for k in range(rows - 1):
        count, total = 0, 0.0
        for i in range(begin, columns):
            if not math.isnan(moments[k + 1, i]):
                count += 1
                total += moments[k + 1, i] - moments[k, i]
        stays[k, 0] += count
        stays[k, 1] += total
    delays = moments[rows - 1] - moments[0]
    bits = delays.view(np.int64)
    for i in range(begin, columns):
        batch = batches[(first + i) * len(batches) // events]
        if delays[i] <= lifetime:
            batch[ARRIVED] += 1
            batch[DELAY] += delays[i]
            buckets[min(max((bits[i] >> _SHIFT) - _LEAST, 0), BUCKETS - 1)] += 1
        else:
            batch[EXPIRED] += 1
