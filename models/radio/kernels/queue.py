"""The queues of stations on a radio medium: frames that are handed over, wait to be sent, or are dropped."""

from __future__ import annotations

from bypass.models.radio.kernels.arrivals import Ports
from bypass.models.radio.kernels.backoff import (
    STEP,
    Air,
    contend,
    draw,
    is_busy,
    release_frame,
    tell_sender,
)
from bypass.models.radio.kernels.heap import push
from bypass.models.radio.kernels.state import (
    NEVER,
    NOBODY,
    Doing,
    Due,
    F,
    FrameUse,
    G,
    L,
    P,
    PortVerdict,
    Q,
    S,
)
from bypass.support.arrays import Bytes, Ints
from bypass.support.kernel import borrowing_kernel

SLOTS = 1 << 24  # of frames at a time


@borrowing_kernel
def hand_over(
    frames: Ints,
    keys: Ints,
    references: Ints,
    heap: Ints,
    once: Ints,
    posted: Ints,
    listening: Ints,
    copies: Bytes,
    new: int,
) -> bool:
    """Take the first `new` of the posted frames; false, and nothing is done, if there is no room for them.

    Whoever sends an event has a copy of it.
    """
    f = once[G.FREE]
    for _ in range(new):
        if f == NOBODY:
            return False
        f = frames[f, F.NEXT]
    if once[G.HEAP] + new + 16 > len(heap):
        return False
    for k in range(new):
        post = posted[k]
        f = once[G.FREE]
        frame, sender = frames[f], post[Q.SENDER]
        once[G.FREE] = frame[F.NEXT]
        frame[F.SENDER], frame[F.TARGET] = sender, post[Q.TARGET]
        frame[F.SIZE], frame[F.DURATION] = post[Q.SIZE], post[Q.DURATION]
        frame[F.NUMBER] = once[G.NUMBER]
        frame[F.DELIVERED], frame[F.NEXT] = 0, NOBODY
        frame[F.KIND], frame[F.PORT], frame[F.KEYS] = post[Q.KIND], post[Q.PORT], post[Q.KEYS]
        for i in range(post[Q.KEYS]):
            event = post[Q.EVENTS + i]
            keys[f, i] = event
            references[event] += 1
            if copies[event, sender] == 0:
                copies[event, sender] = 1
        own = listening[sender, post[Q.PORT]]
        frame[F.FLAG], frame[F.COUNTER], frame[F.SCOPE] = own[L.FLAG], own[L.COUNTER], own[L.SCOPE]
        frame[F.MOST_COPIES], frame[F.MOST_NEAR] = post[Q.MOST_COPIES], post[Q.MOST_NEAR]
        frame[F.TRAFFIC] = post[Q.TRAFFIC]
        number = once[G.NUMBER]
        once[G.HEAP] = push(heap, once[G.HEAP], post[Q.AT] * STEP + Due.RELEASE, number * SLOTS + f)
        once[G.NUMBER] = number + 1
        if post[Q.AT] < once[G.NEXT]:
            once[G.NEXT] = post[Q.AT]
    return True


@borrowing_kernel
def join_queue(air: Air, ports: Ports, f: int, t: int) -> int:
    """A frame is there to be sent, unless enough copies of it were heard, or the queue is full.

    Gives the number of rows in `found`.
    """
    frame = air.frames[f]
    s = frame[F.SENDER]
    me = air.stations[s]
    if frame[F.KEYS]:
        event = air.keys[f, 0]
        if (frame[F.MOST_COPIES] and ports.copies[event, s] >= frame[F.MOST_COPIES]) or (
            frame[F.MOST_NEAR] and ports.near[event, s] >= frame[F.MOST_NEAR]
        ):
            me[S.CALLED_OFF] += 1
            release_frame(air, f)
            return 0
    if me[S.WAITING] >= air.parameters[P.QUEUE] or not me[S.ON]:
        me[S.DROPPED] += 1
        release_frame(air, f)
        if frame[F.KIND] >= FrameUse.DATAGRAM:
            return tell_sender(air, f, PortVerdict.NO_ROOM)
        return 0
    if me[S.WAITING]:
        air.frames[me[S.TAIL], F.NEXT] = f
    else:
        me[S.HEAD] = f
    me[S.TAIL] = f
    me[S.WAITING] += 1
    if me[S.WAITING] == 1 and me[S.ENDS] == NEVER:
        if me[S.BACKOFF] == 0 and (me[S.BUSY] or not air.parameters[P.CARRIER]):
            draw(air, s, t)
        contend(air.stations, air.heap, air.once, air.parameters[P.SLOT], s, t)
    return 0


@borrowing_kernel
def switch(air: Air, s: int, on: bool, t: int) -> None:
    """Turn a station's radio on or off."""
    me = air.stations[s]
    if on == bool(me[S.ON]):
        return
    me[S.ON] = 1 if on else 0
    me[S.START_AT] = NEVER
    me[S.TIMEOUT_AT] = NEVER
    me[S.DOING] = Doing.NOTHING
    me[S.HEARS] = NOBODY
    sending = me[S.ENDS] != NEVER
    while me[S.WAITING]:
        f = me[S.HEAD]
        me[S.HEAD] = air.frames[f, F.NEXT]
        me[S.WAITING] -= 1
        if not (sending and f == me[S.FRAME]):  # what is on the air is released when that is over
            release_frame(air, f)
    if on:
        me[S.BACKOFF], me[S.TRIES], me[S.NAV] = 0, 0, 0
        me[S.WINDOW] = air.parameters[P.CW_MIN]
        me[S.BUSY] = 1 if is_busy(air.stations, air.parameters[P.CARRIER], s, t) else 0
        me[S.COUNT_FROM] = t + air.parameters[P.DIFS]
