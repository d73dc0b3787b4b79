"""Ports and arriving frames: kernels tell first copies from further ones, count copies, track neighbours, and
set frames apart whose senders follow another decision."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bypass.models.radio.kernels.backoff import Air
from bypass.models.radio.kernels.state import F, FrameUse, L, PortVerdict, S
from bypass.support.arrays import Bytes, Floats, Ints
from bypass.support.kernel import borrowing_kernel

MOST_COPIES = 255
MOST_NEIGHBOURS = 128  # that a port remembers; a new one takes the place of the one unheard of for longest


class Ports(NamedTuple):
    """The state of all ports of all stations.

    `listening` is (station, port, `L`); `copies` and `near` are (event, station), whichever port the event
    belongs to; neighbours are (station, port, place), the first `counts[station, port]` places in use.
    """

    listening: Ints
    copies: Bytes
    near: Bytes
    neighbours: Ints
    heard_at: Ints
    counts: Ints


def make_ports(stations: int, ports: int, events: int) -> Ports:
    """Ports at which nothing listens, with room for so many events at a time."""
    return Ports(
        np.zeros((stations, ports, len(L)), np.int64),
        np.zeros((events, stations), np.uint8),
        np.zeros((events, stations), np.uint8),
        np.zeros((stations, ports, MOST_NEIGHBOURS), np.int64),
        np.zeros((stations, ports, MOST_NEIGHBOURS), np.int64),
        np.zeros((stations, ports), np.int64),
    )


@borrowing_kernel
def same_decision(frame: Ints, own: Ints) -> bool:
    """Whether a frame can be taken as it is: it is of the mechanism that listens here and nobody has to
    follow.

    Decisions about another area are no reason to follow.
    """
    if frame[F.FLAG] != own[L.FLAG]:
        return False
    return bool(frame[F.SCOPE] != own[L.SCOPE] or frame[F.COUNTER] == own[L.COUNTER])


@borrowing_kernel
def take_events(
    f: int,
    station: int,
    keys: Ints,
    events: int,
    copies: Bytes,
    near: Bytes,
    near_mm: int,
    millimetres: int,
    found: Ints,
    count: int,
) -> int:
    """Count the copies of a frame's events; first ones go to `found`, from row `count` on."""
    for k in range(events):
        event = keys[f, k]
        before = copies[event, station]
        if millimetres <= near_mm and near[event, station] < MOST_COPIES:
            near[event, station] += 1
        if before < MOST_COPIES:
            copies[event, station] = before + 1
        if before == 0:
            found[count, 0], found[count, 1], found[count, 2] = station, k, millimetres
            count += 1
    return count


@borrowing_kernel
def take(
    now: int,
    f: int,
    station: int,
    frame: Ints,
    keys: Ints,
    x: Floats,
    y: Floats,
    ports: Ports,
    found: Ints,
    count: int,
) -> int:
    """Hand a frame to one station's port; what a mechanism must hear of goes to `found`, from row `count` on.

    A row is (station, what, distance in millimetres). Gives the number of rows.
    """
    port = frame[F.PORT]
    sender = frame[F.SENDER]
    own = ports.listening[station, port]
    millimetres = int(1000.0 * math.hypot(x[station] - x[sender], y[station] - y[sender]))
    kind = frame[F.KIND]
    if kind == FrameUse.EVENTS:
        near_mm, most = own[L.NEAR_MM], frame[F.KEYS]
        count = take_events(
            f, station, keys, most, ports.copies, ports.near, near_mm, millimetres, found, count
        )
    elif kind == FrameUse.HELLO:
        if meet(ports.neighbours, ports.heard_at, ports.counts, now, station, port, sender, own[L.NEW_AFTER]):
            found[count, 0], found[count, 1], found[count, 2] = (
                station,
                PortVerdict.NEW_NEIGHBOUR,
                millimetres,
            )
            count += 1
    elif kind == FrameUse.DIGEST:
        found[count, 0], found[count, 1], found[count, 2] = station, PortVerdict.DIGEST, millimetres
        count += 1
    return count


@borrowing_kernel
def meet(
    neighbours: Ints, heard_at: Ints, counts: Ints,
    now: int, station: int, port: int, sender: int, new_after: int,
) -> bool:  # fmt: skip
    """Note that a neighbour said hello; gives whether it is new. Takes the ports' arrays of these names."""
    count = counts[station, port]
    for k in range(count):
        if neighbours[station, port, k] == sender:
            new = now - heard_at[station, port, k] >= new_after
            heard_at[station, port, k] = now
            return bool(new)
    place = count
    if count < MOST_NEIGHBOURS:
        counts[station, port] = count + 1
    else:
        place = 0
        for k in range(count):
            if heard_at[station, port, k] < heard_at[station, port, place]:
                place = k
    neighbours[station, port, place], heard_at[station, port, place] = sender, now
    return True


@borrowing_kernel
def count_neighbours(heard_at: Ints, counts: Ints, station: int, port: int, since: int) -> int:
    """How many neighbours said hello at `since` or later; takes the ports' arrays of these names."""
    count = 0
    for k in range(counts[station, port]):
        if heard_at[station, port, k] >= since:
            count += 1
    return count


@borrowing_kernel
def forget_event(event: int, ports: Ports) -> None:
    """Make an event's place ready for another one."""
    ports.copies[event, :] = 0
    ports.near[event, :] = 0


@borrowing_kernel
def forget_station(station: int, ports: Ports) -> None:
    """A station was switched off: whom it has heard of is of no use any more."""
    ports.counts[station, :] = 0


@borrowing_kernel
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
        if kind >= FrameUse.DATAGRAM:
            stations[j, S.DATAGRAMS_HEARD] += 1
            rows[found, 0], rows[found, 1] = j, PortVerdict.DATAGRAM
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
