"""What happens on a radio medium, one thing after the other: who sends, and who receives it.

A frame is received where its power stands out from noise and all other power as long as it is on the air.
Since it must stand out by a factor of at least 1, a station can be receiving at most one frame at a time.
"""

from __future__ import annotations

import math

from bypass.models.radio.arrivals import Ports, meet, same_decision, take, take_events
from bypass.models.radio.heap import pop, push
from bypass.models.radio.radio import UNIT, FrameKind
from bypass.models.radio.state import (
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
from bypass.models.radio.turns import (
    STEP,
    Air,
    contend,
    draw,
    is_busy,
    release_frame,
    schedule,
    take_off,
    turn_busy,
    turn_idle,
)
from bypass.support.arrays import Bytes, Floats, Ints
from bypass.support.kernel import kernel

DONE = 0
FOUND = 1
NEEDS_POSITIONS = 2
NEEDS_ROOM = 3
NEEDS_FRAMES = 4

_SLOTS = 1 << 24  # of frames at a time


@kernel
def stands_out(sinr: float, noise: int, power: int, all_power: int) -> bool:
    """Whether one power is far enough above noise and the rest."""
    return float(power) >= sinr * float(all_power - power + noise)


@kernel
def begin(air: Air, s: int, part: int, f: int, to: int, t: int) -> None:
    """A station sends: all around it is more power, which may drown what they receive or be received."""
    me, p = air.stations[s], air.parameters
    if part == FrameKind.DATA:
        duration = air.frames[f, F.DURATION]
        me[S.LENGTH] = duration
        me[S.SENT] += 1
        me[S.BYTES_UP] += air.frames[f, F.SIZE]
    elif part == FrameKind.RTS:
        duration = p[P.RTS_US]
        me[S.LENGTH] = air.frames[f, F.DURATION]
    elif part == FrameKind.CTS:
        duration = p[P.CTS_US]
    else:
        duration = p[P.ACK_US]
    buffer = air.once[G.BUFFER]
    me[S.PART], me[S.FRAME], me[S.TO], me[S.BUFFER] = part, f, to, buffer
    me[S.ENDS] = t + duration
    me[S.HEARS] = NOBODY
    me[S.START_AT] = NEVER
    if not me[S.BUSY]:
        turn_busy(air.stations, air.parameters, s, t)
    sensitivity, carrier, sinr, noise = p[P.SENSITIVITY], p[P.CARRIER], air.sinr[0], p[P.NOISE]
    # Indexes in full: this loop is most of the work, and views of rows would be counted in and out.
    stations, neighbours, powers = air.stations, air.neighbours, air.powers
    for k in range(air.offsets[buffer, s], air.offsets[buffer, s + 1]):
        power, j = powers[buffer, k], neighbours[buffer, k]
        level = stations[j, S.POWER] + power
        stations[j, S.POWER] = level
        hears = stations[j, S.HEARS]
        if hears != NOBODY and not stands_out(sinr, noise, stations[j, S.HEARD_POWER], level):
            stations[j, S.HEARS] = hears = NOBODY
        if (
            power >= sensitivity
            and hears == NOBODY
            and stations[j, S.ENDS] == NEVER
            and stations[j, S.ON]
            and stands_out(sinr, noise, power, level)
        ):
            stations[j, S.HEARS], stations[j, S.HEARD_POWER] = s, power
        if not stations[j, S.BUSY] and carrier and level >= UNIT:
            turn_busy(stations, p, j, t)
    schedule(air.heap, air.once, t + duration, Due.END, s)


@kernel
def end(air: Air, ports: Ports, s: int, t: int) -> int:
    """A transmission is over: what was received has its effect. Gives the number of rows in `found`."""
    me = air.stations[s]
    part, f, to, buffer = me[S.PART], me[S.FRAME], me[S.TO], me[S.BUFFER]
    me[S.ENDS] = NEVER
    found = 0
    raw = part == FrameKind.DATA and air.frames[f, F.KIND] == FrameUse.RAW
    stations, neighbours, powers = air.stations, air.neighbours, air.powers
    heap, once, p = air.heap, air.once, air.parameters
    carrier, receivers, count = p[P.CARRIER], air.receivers, 0
    for k in range(air.offsets[buffer, s], air.offsets[buffer, s + 1]):
        j = neighbours[buffer, k]
        stations[j, S.POWER] -= powers[buffer, k]
        if stations[j, S.HEARS] == s:
            stations[j, S.HEARS] = NOBODY
            if to == NOBODY:
                receivers[count] = j
                count += 1
            elif to == j:
                found = receive(air, ports, part, f, s, j, t, found)
            else:
                overhear(stations, heap, once, p, part, me[S.LENGTH], j, t)
        if stations[j, S.BUSY] and not is_busy(stations, carrier, j, t):
            turn_idle(stations, heap, once, p, j, t)
    if count:
        found = arrive(air, ports, f, receivers[:count], t)
    finish_own(air, s, part, f, to, t)
    if me[S.BUSY] and not is_busy(stations, carrier, s, t):
        turn_idle(stations, heap, once, p, s, t)
    if raw and found == 0 and to == NOBODY:
        # Who follows raw frames wants to know of those, too, that nobody received.
        air.found[0, 0], air.found[0, 1] = NOBODY, PortVerdict.RAW
        found = 1
    return found


@kernel
def receive(air: Air, ports: Ports, part: int, f: int, s: int, j: int, t: int, found: int) -> int:
    """Station j has received what station s sent it."""
    other, frame = air.stations[j], air.frames[f]
    p = air.parameters
    if part == FrameKind.DATA:
        respond(air, j, FrameKind.ACK, s, t)
        if frame[F.DELIVERED]:
            return found
        frame[F.DELIVERED] = 1
        air.receivers[0] = j
        return arrive(air, ports, f, air.receivers[:1], t)
    if part == FrameKind.RTS:
        if other[S.NAV] <= t:
            respond(air, j, FrameKind.CTS, s, t)
    elif part == FrameKind.CTS:
        if other[S.DOING] == Doing.AWAITING_CTS:
            other[S.DOING] = Doing.RESPONDING
            other[S.TIMEOUT_AT] = NEVER
            other[S.RESPONSE_PART], other[S.RESPONSE_AT] = FrameKind.DATA, t + p[P.SIFS]
            schedule(air.heap, air.once, t + p[P.SIFS], Due.RESPONSE, j)
    elif other[S.DOING] == Doing.AWAITING_ACK:
        other[S.TIMEOUT_AT] = NEVER
        conclude(air, j, t)
    return found


@kernel
def respond(air: Air, j: int, part: int, s: int, t: int) -> None:
    """Answer station s after a short while, unless the station is in the middle of something."""
    other = air.stations[j]
    if other[S.DOING] == Doing.NOTHING:
        at = t + air.parameters[P.SIFS]
        other[S.DOING] = Doing.RESPONDING
        other[S.RESPONSE_PART], other[S.RESPONSE_AT] = part, at
        other[S.TO], other[S.LENGTH] = s, air.stations[s, S.LENGTH]
        other[S.START_AT] = NEVER
        schedule(air.heap, air.once, at, Due.RESPONSE, j)


@kernel
def arrive(air: Air, ports: Ports, f: int, receivers: Ints, t: int) -> int:
    """A frame goes to the port that it is for, at all who received it; gives the rows in `found`."""
    frame, stations, rows, keys = air.frames[f], air.stations, air.found, air.keys
    x, y, listening = air.x, air.y, ports.listening
    kind, size, port, scope = frame[F.KIND], frame[F.SIZE], frame[F.PORT], frame[F.SCOPE]
    copies, near, events, sender = ports.copies, ports.near, frame[F.KEYS], frame[F.SENDER]
    neighbours, heard_at, counts = ports.neighbours, ports.heard_at, ports.counts
    found = 0
    for j in receivers:
        stations[j, S.BYTES_DOWN] += size
        if kind == FrameUse.RAW:
            rows[found, 0], rows[found, 1] = j, PortVerdict.RAW
            found += 1
            continue
        own = listening[j, port]
        if own[L.FLAG] == 0:
            stations[j, S.STRANGE] += 1
        elif kind == FrameUse.EVENTS and same_decision(frame, own):
            far = int(1000.0 * math.hypot(x[j] - x[sender], y[j] - y[sender]))
            found = take_events(f, j, keys, events, copies, near, own[L.NEAR_MM], far, rows, found)
        elif kind == FrameUse.HELLO and same_decision(frame, own):
            if meet(neighbours, heard_at, counts, t, j, port, sender, own[L.NEW_AFTER]):
                rows[found, 0], rows[found, 1] = j, PortVerdict.NEW_NEIGHBOUR
                found += 1
        elif same_decision(frame, own):
            found = take(t, f, j, frame, keys, x, y, ports, rows, found)
        elif scope != own[L.SCOPE]:
            stations[j, S.STRANGE] += 1
        else:
            rows[found, 0], rows[found, 1] = j, PortVerdict.FOREIGN
            found += 1
    return found


@kernel
def overhear(stations: Ints, heap: Ints, once: Ints, p: Ints, part: int, length: int, j: int, t: int) -> None:
    """Keep silent for as long as an exchange of others will take."""
    rest = p[P.SIFS] + p[P.ACK_US]
    if part == FrameKind.RTS:
        rest += 2 * p[P.SIFS] + p[P.CTS_US] + length
    elif part == FrameKind.CTS:
        rest += p[P.SIFS] + length
    elif part == FrameKind.ACK:
        return
    if stations[j, S.ON] and t + rest > stations[j, S.NAV]:
        stations[j, S.NAV] = t + rest
        schedule(heap, once, t + rest, Due.NAV, j)
        if not stations[j, S.BUSY]:
            turn_busy(stations, p, j, t)


@kernel
def finish_own(air: Air, s: int, part: int, f: int, to: int, t: int) -> None:
    """What the end of a transmission means to the station that sent."""
    me, p = air.stations[s], air.parameters
    if part == FrameKind.CTS or part == FrameKind.ACK:
        if me[S.DOING] == Doing.RESPONDING:
            me[S.DOING] = Doing.NOTHING
    elif me[S.HEAD] != f or not me[S.WAITING]:  # the station was switched off meanwhile
        release_frame(air, f)
    elif to == NOBODY:
        take_off(air, s)
        draw(air, s, t)
    elif me[S.DOING] == Doing.AWAITING_CTS or me[S.DOING] == Doing.AWAITING_ACK:
        answer = p[P.CTS_US] if part == FrameKind.RTS else p[P.ACK_US]
        me[S.TIMEOUT_AT] = t + p[P.SIFS] + answer + p[P.SLOT]
        schedule(air.heap, air.once, me[S.TIMEOUT_AT], Due.TIMEOUT, s)


@kernel
def conclude(air: Air, s: int, t: int) -> None:
    """An exchange has ended well."""
    air.stations[s, S.DOING] = Doing.NOTHING
    take_off(air, s)
    draw(air, s, t)
    contend(air.stations, air.heap, air.once, air.parameters[P.SLOT], s, t)


@kernel
def time_out(air: Air, s: int, t: int) -> int:
    """No answer came: try again, or give up. Gives the number of rows in `found`."""
    me, p = air.stations[s], air.parameters
    if me[S.TIMEOUT_AT] != t:
        return 0
    me[S.TIMEOUT_AT] = NEVER
    me[S.DOING] = Doing.NOTHING
    me[S.TRIES] += 1
    found = 0
    if me[S.TRIES] > p[P.RETRIES]:
        frame = air.frames[me[S.HEAD]]
        me[S.FAILED] += 1
        if frame[F.KIND] == FrameUse.RAW and not frame[F.DELIVERED]:
            air.once[G.FRAME], air.once[G.SENDER] = me[S.HEAD], s
            air.found[0, 0], air.found[0, 1] = NOBODY, PortVerdict.RAW
            found = 1
        take_off(air, s)
    else:
        me[S.WINDOW] = min(2 * me[S.WINDOW] + 1, p[P.CW_MAX])
    draw(air, s, t)
    contend(air.stations, air.heap, air.once, air.parameters[P.SLOT], s, t)
    return found


@kernel
def join_queue(air: Air, ports: Ports, f: int, t: int) -> None:
    """A frame is there to be sent, unless enough copies of it were heard, or the queue is full."""
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
            return
    if me[S.WAITING] >= air.parameters[P.QUEUE] or not me[S.ON]:
        me[S.DROPPED] += 1
        release_frame(air, f)
        return
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


@kernel
def start(air: Air, s: int, t: int) -> None:
    """A station's slots are counted: it sends the first frame of its queue."""
    me = air.stations[s]
    f = me[S.HEAD]
    target = air.frames[f, F.TARGET]
    if target == NOBODY:
        begin(air, s, FrameKind.DATA, f, NOBODY, t)
    elif air.parameters[P.RTS]:
        me[S.DOING] = Doing.AWAITING_CTS
        begin(air, s, FrameKind.RTS, f, target, t)
    else:
        me[S.DOING] = Doing.AWAITING_ACK
        begin(air, s, FrameKind.DATA, f, target, t)


@kernel
def answer(air: Air, s: int, t: int) -> None:
    """A station sends what it owes another one."""
    me = air.stations[s]
    if me[S.DOING] != Doing.RESPONDING or me[S.RESPONSE_AT] != t:
        return  # it was switched off meanwhile
    part = me[S.RESPONSE_PART]
    if part == FrameKind.DATA:
        me[S.DOING] = Doing.AWAITING_ACK
        begin(air, s, part, me[S.HEAD], air.frames[me[S.HEAD], F.TARGET], t)
    else:
        begin(air, s, part, NOBODY, me[S.TO], t)


@kernel
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
        number = once[G.NUMBER]
        once[G.HEAP] = push(heap, once[G.HEAP], post[Q.AT] * STEP + Due.RELEASE, number * _SLOTS + f)
        once[G.NUMBER] = number + 1
        if post[Q.AT] < once[G.NEXT]:
            once[G.NEXT] = post[Q.AT]
    return True


@kernel
def run(
    stations: Ints,
    frames: Ints,
    keys: Ints,
    references: Ints,
    heap: Ints,
    once: Ints,
    parameters: Ints,
    sinr: Floats,
    offsets: Ints,
    neighbours: Ints,
    powers: Ints,
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
        stations, frames, keys, references, heap, once, parameters, sinr, offsets, neighbours, powers,
        x, y, found_rows, receivers, posted,
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
        if (due == Due.START or due == Due.RESPONSE) and t // refresh != once[G.SNAPSHOT]:
            once[G.NOW] = t
            return NEEDS_POSITIONS
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
            join_queue(air, ports, number % _SLOTS, t)
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


@kernel
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
