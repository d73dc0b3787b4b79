"""Transmissions on a radio medium: when they begin and end, and who receives them.

A frame is received where its power stands out from noise and all other power as long as it is on the air.
Since it must stand out by a factor of at least 1, a station can be receiving at most one frame at a time.
"""

from __future__ import annotations

from bypass.models.radio.kernels.arrivals import Ports, arrive
from bypass.models.radio.kernels.backoff import (
    Air,
    is_busy,
    schedule,
    tell_sender,
    turn_busy,
    turn_idle,
)
from bypass.models.radio.kernels.exchange import finish_own, overhear, receive
from bypass.models.radio.kernels.neighbour_table import UNKNOWN, find_neighbours
from bypass.models.radio.kernels.state import NEVER, NOBODY, Doing, Due, F, FrameUse, G, P, PortVerdict, R, S
from bypass.models.radio.radio import ANSWER_BYTES, RTS_BYTES, UNIT, FrameKind
from bypass.support.kernel import borrowing_kernel


@borrowing_kernel
def stands_out(sinr: float, noise: int, power: int, all_power: int) -> bool:
    """Whether one power is far enough above noise and the rest."""
    return float(power) >= sinr * float(all_power - power + noise)


@borrowing_kernel
def begin(air: Air, s: int, part: int, f: int, to: int, t: int) -> None:
    """A station sends: all around it is more power, which may drown what they receive or be received."""
    me, p = air.stations[s], air.parameters
    if part == FrameKind.DATA:
        duration = air.frames[f, F.DURATION]
        me[S.LENGTH] = duration
        me[S.SENT] += 1
        me[S.BYTES_UP] += air.frames[f, F.SIZE]
        counted = air.frames[f, F.TRAFFIC]
        if counted:
            me[counted] += 1
            me[counted + 1] += air.frames[f, F.SIZE]
    elif part == FrameKind.RTS:
        duration = p[P.RTS_US]
        me[S.LENGTH] = air.frames[f, F.DURATION]
        me[S.HANDSHAKE_BYTES] += RTS_BYTES
    else:
        duration = p[P.CTS_US] if part == FrameKind.CTS else p[P.ACK_US]
        me[S.HANDSHAKE_BYTES] += ANSWER_BYTES
    buffer = air.once[G.BUFFER]
    me[S.PART], me[S.FRAME], me[S.TO], me[S.BUFFER] = part, f, to, buffer
    me[S.ENDS] = t + duration
    me[S.HEARS] = NOBODY
    me[S.START_AT] = NEVER
    if not me[S.BUSY]:
        turn_busy(air.stations, air.parameters, s, t)
    sensitivity, carrier, sinr, noise = p[P.SENSITIVITY], p[P.CARRIER], air.reals[R.SINR], p[P.NOISE]
    if air.spans[buffer, s, 0] == UNKNOWN:
        find_neighbours(air, s)
    # Indexes in full: this loop is most of the work, and views of rows would be counted in and out.
    stations, neighbours, powers = air.stations, air.neighbours, air.powers
    for k in range(air.spans[buffer, s, 0], air.spans[buffer, s, 1]):
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


@borrowing_kernel
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
    for k in range(air.spans[buffer, s, 0], air.spans[buffer, s, 1]):
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
        found = tell_sender(air, f, PortVerdict.RAW)
    elif found == 0 and to == NOBODY and air.frames[f, F.KIND] == FrameUse.FRAGMENT:
        found = tell_sender(air, f, PortVerdict.OVER)
    return found


@borrowing_kernel
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


@borrowing_kernel
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
