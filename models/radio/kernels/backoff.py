"""Turn-taking of stations on a radio medium: waiting for silence, counting slots, starting.

A station with something to send waits until it has heard nobody for a while, and then a random number of
slots; slots are not counted while somebody is heard.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bypass.models.radio.kernels.heap import push
from bypass.models.radio.kernels.state import NEVER, NOBODY, Doing, Due, F, G, P, S
from bypass.models.radio.radio import UNIT
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import borrowing_kernel

STEP = 8  # keys of the heap are time × 8 + what is due


class Air(NamedTuple):
    """All of a medium's state. `neighbours`, `powers` and `spans` are of two snapshots, used in turn:
    a transmission goes on as it began while those that begin later see new positions. Those who hear station
    s are, once it has sent, in a snapshot's row from `spans[s, 0]` to `spans[s, 1]`."""

    stations: Ints
    frames: Ints
    keys: Ints
    references: Ints
    heap: Ints
    once: Ints
    parameters: Ints
    reals: Floats
    spans: Ints
    neighbours: Ints
    powers: Ints
    cell: Ints
    members: Ints
    first: Ints
    wall_ends: Floats
    wall_first: Ints
    wall_ids: Ints
    seen: Ints
    x: Floats
    y: Floats
    found: Ints
    receivers: Ints
    posted: Ints


# What is called for every neighbour of every sender takes the arrays that it needs and no others: handing
# over all of `Air` would take longer than the work.


@borrowing_kernel
def schedule(heap: Ints, once: Ints, at: int, due: int, number: int) -> None:
    """Have something done at a time."""
    once[G.HEAP] = push(heap, once[G.HEAP], at * STEP + due, number)


@borrowing_kernel
def draw(air: Air, s: int, t: int) -> None:
    """Give a station a new number of slots to wait."""
    me = air.stations[s]
    share, _ = uniform_pair(np.uint64(air.parameters[P.SEED]), Purpose.RADIO, s, me[S.DRAWS])
    me[S.DRAWS] += 1
    me[S.BACKOFF] = int(share * (me[S.WINDOW] + 1))
    if me[S.BUSY] == 0:
        me[S.COUNT_FROM] = max(me[S.COUNT_FROM], t)


@borrowing_kernel
def contend(stations: Ints, heap: Ints, once: Ints, slot: int, s: int, t: int) -> None:
    """Let a station that has something to send, and hears nobody, start when its slots are counted."""
    if (
        not stations[s, S.WAITING]
        or stations[s, S.BUSY]
        or stations[s, S.DOING] != Doing.NOTHING
        or not stations[s, S.ON]
    ):
        return
    start = max(t, stations[s, S.COUNT_FROM] + stations[s, S.BACKOFF] * slot)
    stations[s, S.START_AT] = start
    # One entry that is early enough will do: it is put off when its time comes.
    if stations[s, S.ENTRY_AT] > start:
        stations[s, S.ENTRY_AT] = start
        schedule(heap, once, start, Due.START, s)


@borrowing_kernel
def is_busy(stations: Ints, carrier: int, s: int, t: int) -> bool:
    """Whether a station must keep silent, by what it hears, sends and was asked."""
    if stations[s, S.ENDS] != NEVER or stations[s, S.NAV] > t:
        return True
    return bool(carrier != 0 and stations[s, S.POWER] >= UNIT)


@borrowing_kernel
def turn_busy(stations: Ints, parameters: Ints, s: int, t: int) -> None:
    """Stop counting slots, unless the station starts before it notices."""
    stations[s, S.BUSY] = 1
    if stations[s, S.START_AT] <= t + parameters[P.SENSE]:
        return
    stations[s, S.START_AT] = NEVER
    # Most have no slots left to count.
    if stations[s, S.BACKOFF] > 0 and t > stations[s, S.COUNT_FROM]:
        counted = (t - stations[s, S.COUNT_FROM]) // parameters[P.SLOT]
        stations[s, S.BACKOFF] = max(0, stations[s, S.BACKOFF] - counted)


@borrowing_kernel
def turn_idle(stations: Ints, heap: Ints, once: Ints, parameters: Ints, s: int, t: int) -> None:
    """Count slots again, after a while."""
    stations[s, S.BUSY] = 0
    stations[s, S.COUNT_FROM] = t + parameters[P.DIFS]
    if stations[s, S.WAITING]:
        contend(stations, heap, once, parameters[P.SLOT], s, t)


@borrowing_kernel
def take_off(air: Air, s: int) -> None:
    """The first frame leaves a station's queue."""
    me = air.stations[s]
    f = me[S.HEAD]
    me[S.HEAD] = air.frames[f, F.NEXT]
    me[S.WAITING] -= 1
    me[S.TRIES] = 0
    me[S.WINDOW] = air.parameters[P.CW_MIN]
    release_frame(air, f)


@borrowing_kernel
def tell_sender(air: Air, f: int, what: int) -> int:
    """Have the sender of a frame told what became of it; gives the number of rows in `found`."""
    air.once[G.FRAME], air.once[G.SENDER] = f, air.frames[f, F.SENDER]
    air.found[0, 0], air.found[0, 1] = NOBODY, what
    return 1


@borrowing_kernel
def release_frame(air: Air, f: int) -> None:
    """A frame's row is free for another one."""
    frame = air.frames[f]
    for k in range(frame[F.KEYS]):
        air.references[air.keys[f, k]] -= 1
    frame[F.NEXT] = air.once[G.FREE]
    air.once[G.FREE] = f
