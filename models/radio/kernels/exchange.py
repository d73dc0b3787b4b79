"""Exchanges between two stations: requests to send, data, acknowledgements, and silence of those who overhear
them."""

from __future__ import annotations

from bypass.models.radio.kernels.arrivals import Ports, arrive
from bypass.models.radio.kernels.backoff import (
    Air,
    contend,
    draw,
    release_frame,
    schedule,
    take_off,
    tell_sender,
    turn_busy,
)
from bypass.models.radio.kernels.state import NEVER, NOBODY, Doing, Due, F, FrameUse, P, PortVerdict, S
from bypass.models.radio.radio import FrameKind
from bypass.support.arrays import Ints
from bypass.support.kernel import borrowing_kernel


@borrowing_kernel
def receive(air: Air, ports: Ports, part: int, f: int, s: int, j: int, t: int, found: int) -> int:
    """Let station j receive the transmission that station s addressed to it."""
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
        if air.frames[other[S.HEAD], F.KIND] == FrameUse.FRAGMENT:
            found = tell_sender(air, other[S.HEAD], PortVerdict.OVER)
        conclude(air, j, t)
    return found


@borrowing_kernel
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


@borrowing_kernel
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


@borrowing_kernel
def finish_own(air: Air, s: int, part: int, f: int, to: int, t: int) -> None:
    """Finish a transmission at the station that sent it: go on to the next frame, or wait for the answer."""
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


@borrowing_kernel
def conclude(air: Air, s: int, t: int) -> None:
    """End an exchange that succeeded."""
    air.stations[s, S.DOING] = Doing.NOTHING
    take_off(air, s)
    draw(air, s, t)
    contend(air.stations, air.heap, air.once, air.parameters[P.SLOT], s, t)


@borrowing_kernel
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
            found = tell_sender(air, me[S.HEAD], PortVerdict.RAW)
        elif frame[F.KIND] >= FrameUse.DATAGRAM:
            found = tell_sender(air, me[S.HEAD], PortVerdict.GIVEN_UP)
        take_off(air, s)
    else:
        me[S.RETRIED] += 1
        me[S.WINDOW] = min(2 * me[S.WINDOW] + 1, p[P.CW_MAX])
    draw(air, s, t)
    contend(air.stations, air.heap, air.once, air.parameters[P.SLOT], s, t)
    return found
