"""The event loop of a radio medium: it does everything that is due, in the order of time."""

from __future__ import annotations

from bypass.models.radio.kernels.arrivals import Ports
from bypass.models.radio.kernels.backoff import (
    STEP,
    Air,
    is_busy,
    schedule,
    turn_idle,
)
from bypass.models.radio.kernels.exchange import time_out
from bypass.models.radio.kernels.heap import pop
from bypass.models.radio.kernels.queue import SLOTS, hand_over, join_queue
from bypass.models.radio.kernels.state import NEVER, Due, G, P, S
from bypass.models.radio.kernels.transmission import answer, end, start
from bypass.support.arrays import Bytes, Floats, Ints
from bypass.support.kernel import borrowing_kernel

DONE = 0
FOUND = 1
NEEDS_POSITIONS = 2
NEEDS_ROOM = 3
NEEDS_FRAMES = 4
NEEDS_NEIGHBOURS = 5


@borrowing_kernel
def run(
    stations: Ints,
    frames: Ints,
    keys: Ints,
    references: Ints,
    heap: Ints,
    once: Ints,
    parameters: Ints,
    reals: Floats,
    spans: Ints,
    neighbours: Ints,
    powers: Ints,
    cell: Ints,
    members: Ints,
    first: Ints,
    wall_ends: Floats,
    wall_first: Ints,
    wall_ids: Ints,
    seen: Ints,
    x: Floats,
    y: Floats,
    found_rows: Ints,
    receivers: Ints,
    posted: Ints,
    listening: Ints,
    copies: Bytes,
    near: Bytes,
    known: Ints,
    heard_at: Ints,
    counts: Ints,
    new: int,
    until: int,
) -> int:
    """Hand over the first `new` of the posted frames, and do what is due before `until`; stops early at what
    the world has to know or to provide.

    Takes the arrays of `Air` and `Ports` one by one: tuples of them take twice as long to hand over.
    """
    air = Air(
        stations, frames, keys, references, heap, once, parameters, reals, spans, neighbours, powers,
        cell, members, first, wall_ends, wall_first, wall_ids, seen, x, y, found_rows, receivers, posted,
    )  # fmt: skip
    if new and not hand_over(frames, keys, references, heap, once, posted, listening, copies, new):
        return NEEDS_FRAMES
    ports = Ports(listening, copies, near, known, heard_at, counts)
    room = len(heap) - 4 * len(air.stations) - 16
    refresh = air.parameters[P.REFRESH]
    while once[G.HEAP] and heap[0, 0] < until * STEP:
        if once[G.HEAP] > room:
            return NEEDS_ROOM
        key, number = heap[0, 0], heap[0, 1]
        t, due = key // STEP, key % STEP
        if due == Due.START or due == Due.RESPONSE:
            if t // refresh != once[G.SNAPSHOT]:
                once[G.NOW] = t
                return NEEDS_POSITIONS
            if once[G.FILLED] + len(stations) > neighbours.shape[1]:
                return NEEDS_NEIGHBOURS
        once[G.HEAP] = pop(heap, once[G.HEAP])
        once[G.NOW] = t
        found = 0
        if due == Due.START:
            me = air.stations[number]
            if me[S.ENTRY_AT] == t:
                me[S.ENTRY_AT] = NEVER
            if me[S.START_AT] == t:
                start(air, number, t)
            elif me[S.START_AT] != NEVER and me[S.ENTRY_AT] > me[S.START_AT]:
                me[S.ENTRY_AT] = me[S.START_AT]
                schedule(air.heap, air.once, me[S.START_AT], Due.START, number)
        elif due == Due.END:
            once[G.FRAME], once[G.SENDER] = air.stations[number, S.FRAME], number
            found = end(air, ports, number, t)
        elif due == Due.RELEASE:
            found = join_queue(air, ports, number % SLOTS, t)
        elif due == Due.RESPONSE:
            answer(air, number, t)
        elif due == Due.NAV:
            me = air.stations[number]
            if me[S.BUSY] and not is_busy(air.stations, air.parameters[P.CARRIER], number, t):
                turn_idle(air.stations, air.heap, air.once, air.parameters, number, t)
        elif due == Due.TIMEOUT:
            found = time_out(air, number, t)
        if found:
            once[G.FOUND] = found
            once[G.NEXT] = heap[0, 0] // STEP if once[G.HEAP] else NEVER
            return FOUND
    once[G.NEXT] = heap[0, 0] // STEP if once[G.HEAP] else NEVER
    return DONE
