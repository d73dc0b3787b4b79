"""A radio medium that stations share, at the speed of kernels: who sends when, who receives what."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bypass.errors import BypassError
from bypass.models.radio.kernels.arrivals import Ports, make_ports
from bypass.models.radio.kernels.backoff import Air
from bypass.models.radio.kernels.event_loop import (
    DONE,
    FOUND,
    NEEDS_FRAMES,
    NEEDS_NEIGHBOURS,
    NEEDS_POSITIONS,
    run,
)
from bypass.models.radio.kernels.neighbour_table import UNKNOWN, count_cells, fill_cells
from bypass.models.radio.kernels.queue import hand_over, switch
from bypass.models.radio.kernels.state import NEVER, NOBODY, F, FrameUse, G, P, Q, R, S
from bypass.models.radio.radio import Ending, FrameKind, RadioModel
from bypass.models.radio.walls import NO_WALLS, Walls
from bypass.support.arrays import Floats, Ints

Positions = Callable[[float], tuple[Floats, Floats]]

MOST_KEYS = 16

# Looking a member up in its enumeration takes longer than reading an array.
_NEXT, _NOW, _FOUND, _FRAME = map(int, (G.NEXT, G.NOW, G.FOUND, G.FRAME))
_SNAPSHOT, _BUFFER = int(G.SNAPSHOT), int(G.BUFFER)
_NUMBER = int(F.NUMBER)

_POST = len(Q) - 1 + MOST_KEYS  # columns of a posted frame
_PACK = [Struct(f"{len(Q) - 1 + events}q").pack_into for events in range(MOST_KEYS + 1)]


class FrameTooLong(BypassError):
    """A frame that would be on the air for longer than positions are good for."""


class Medium:
    """`stations` stations that share a radio. `positions(seconds)` gives x and y (m) of all of them; `walls`
    stand between them.

    `next_us` is when something is due, NEVER if nothing is. Frames that are sent with `send` are raw: what
    becomes of each is told by `run_until`. Frames for ports are handed over with `post`, and `step` tells
    what their ports found in them.
    """

    def __init__(
        self,
        model: RadioModel,
        positions: Positions,
        stations: int,
        seed: int,
        ports: Ports | None = None,
        references: Ints | None = None,
        walls: Walls = NO_WALLS,
    ) -> None:
        self.model = model
        self.now_us = 0
        self.next_us = NEVER
        self._number = 0  # of the next frame
        self._posted = 0  # frames that wait for the next step
        self._positions = positions
        self._durations: dict[tuple[int, bool], int] = {}
        self.ports = ports if ports is not None else make_ports(stations, 1, 1)
        p = np.zeros(len(P), np.int64)
        p[P.SLOT], p[P.SIFS], p[P.DIFS] = model.slot_us, model.sifs_us, model.difs_us
        p[P.SENSE], p[P.CW_MIN], p[P.CW_MAX] = model.sense_us, model.cw_min, model.cw_max
        p[P.RETRIES], p[P.QUEUE], p[P.REFRESH] = model.retries, model.queue, 1000 * model.refresh_ms
        p[P.CARRIER], p[P.RTS] = model.carrier_sense, model.rts
        p[P.RTS_US], p[P.CTS_US], p[P.ACK_US] = map(
            model.control_us, (FrameKind.RTS, FrameKind.CTS, FrameKind.ACK)
        )
        p[P.SENSITIVITY], p[P.NOISE] = model.sensitivity, model.noise
        p[P.SEED] = np.uint64(seed).astype(np.int64)
        station = np.zeros((stations, len(S)), np.int64)
        for column in (S.ENDS, S.START_AT, S.ENTRY_AT, S.TIMEOUT_AT):
            station[:, column] = NEVER
        station[:, S.HEARS] = NOBODY
        station[:, S.WINDOW] = model.cw_min
        station[:, S.ON] = 1
        once = np.zeros(len(G), np.int64)
        once[G.SNAPSHOT], once[G.FREE], once[G.NEXT] = -1, NOBODY, NEVER
        once[G.WALLS_COLUMNS], once[G.WALLS_ROWS] = walls.columns, walls.rows
        reals = np.zeros(len(R))
        reals[R.SINR], reals[R.PASSED] = model.sinr, model.passed
        reals[R.INTERFERENCE], reals[R.EXPONENT] = model.interference, model.exponent
        reals[R.WALLS_X], reals[R.WALLS_Y], reals[R.WALLS_SIDE] = walls.x0, walls.y0, walls.side
        self.air = Air(
            stations=station,
            frames=np.zeros((0, len(F)), np.int64),
            keys=np.zeros((0, MOST_KEYS), np.int64),
            references=references if references is not None else np.zeros(1, np.int64),
            heap=np.zeros((8 * stations + 64, 2), np.int64),
            once=once,
            parameters=p,
            reals=reals,
            spans=np.full((2, stations, 2), UNKNOWN, np.int64),
            neighbours=np.zeros((2, 8 * stations), np.int64),
            powers=np.zeros((2, 8 * stations), np.int64),
            cell=np.zeros(stations, np.int64),
            members=np.zeros(stations, np.int64),
            first=np.zeros(2, np.int64),
            wall_ends=walls.ends,
            wall_first=walls.first,
            wall_ids=walls.ids,
            seen=np.full(len(walls.ends), -1, np.int64),
            x=np.zeros(stations),
            y=np.zeros(stations),
            found=np.zeros((stations * MOST_KEYS + 1, 3), np.int64),
            receivers=np.zeros(stations, np.int64),
            posted=np.zeros((64, _POST), np.int64),
        )
        self._grow_frames(256)

    # -- raw frames ---------------------------------------------------------------------------------------

    def send(self, at_us: int, station: int, size: int, target: int | None = None) -> int:
        """Hand over a frame of `size` bytes, headers included, to be sent from `at_us` on.

        Gives its number: 0, 1, 2, ... Raises FrameTooLong.
        """
        return self.post(at_us, station, size, NOBODY if target is None else target, int(FrameUse.RAW), 0, ())

    def run_until(self, at_us: int) -> list[Ending]:
        """Everything that is due before `at_us`, then it is `at_us`; says what became of raw frames."""
        endings = []
        while self.step(at_us):
            once = self.air.once
            frame, sender = self.frame(), int(once[G.SENDER])
            who = sorted(s for s in self.found()[0] if s != NOBODY)
            endings.append(Ending(self.now_us, self.number(frame), sender, tuple(who)))
        self.now_us = at_us
        endings.sort(key=lambda ending: (ending.at_us, ending.sender))  # who gives up comes after who ends
        return endings

    @property
    def sent(self) -> Ints:
        """How many frames each station has sent, each time it tried."""
        return self.air.stations[:, S.SENT]

    @property
    def dropped(self) -> Ints:
        """How many frames found no room at their station, or its radio off."""
        return self.air.stations[:, S.DROPPED]

    @property
    def failed(self) -> Ints:
        """How many frames for one station were given up."""
        return self.air.stations[:, S.FAILED]

    # -- what a runtime does ------------------------------------------------------------------------------

    def post(
        self,
        at_us: int,
        station: int,
        size: int,
        target: int,
        kind: int,
        port: int,
        events: tuple[int, ...],
        copies: int = 0,
        near: int = 0,
        traffic: int = 0,
    ) -> int:
        """Hand over a frame of some `FrameUse` for a port; gives its number: 0, 1, 2, ...

        `events` are the places of its events in the ports' tables; `traffic` is the column of the station
        that counts the frame each time it is sent. Raises FrameTooLong.
        """
        broadcast = target == NOBODY
        duration = self._durations.get((size, broadcast)) or self._duration(size, broadcast)
        # It waits until the kernel is called the next time: each call costs as much as many frames.
        waiting, keys = self._posted, len(events)
        if waiting == len(self.air.posted):
            self._set(posted=grown(self.air.posted, 2 * waiting, 0))
        _PACK[keys](
            self._posts, 8 * _POST * waiting,
            at_us, station, target, size, duration, kind, port, copies, near, traffic, keys, *events,
        )  # fmt: skip
        self._posted = waiting + 1
        if at_us < self.next_us:
            self.next_us = at_us
        number = self._number
        self._number = number + 1
        return number

    def use_events(self, ports: Ports, references: Ints) -> None:
        """Go on with larger tables of events; what they say of those that are known is the same."""
        self.flush()
        self.ports = ports
        self._set(references=references)

    def flush(self) -> None:
        """Hand posted frames over at once, for callers that look at the state which that changes."""
        while self._posted and not hand_over(*self._handed, self._posted):
            self._make_room()
        self._posted = 0

    def step(self, until_us: int) -> bool:
        """Go on until there is something in `found`, which is then true, or until `until_us`."""
        while True:
            code = run(*self._arrays, self._posted, until_us)
            if code == NEEDS_FRAMES:
                self._make_room()
                continue
            self._posted = 0
            if code == NEEDS_POSITIONS:
                self._refresh()
            elif code == NEEDS_NEIGHBOURS:
                self._grow_neighbours()
            elif code in (DONE, FOUND):
                self.next_us = self.air.once.item(_NEXT)
                if code == FOUND:
                    self.now_us = self.air.once.item(_NOW)
                return code == FOUND
            else:
                self._grow_heap()

    def found(self) -> tuple[list[int], list[int], list[int]]:
        """Stations, what was found there, and how far the sender is (mm)."""
        stations, what, distances = self.air.found[: self.air.once.item(_FOUND)].T.tolist()
        return stations, what, distances

    def found_alike(self) -> tuple[int, list[int]]:
        """The verdict about a frame with a datagram, the same everywhere, and the stations."""
        found = self.air.found
        return found.item(0, 1), found[: self.air.once.item(_FOUND), 0].tolist()

    def frame(self) -> int:
        """The row of the frame in which that was found; it may be another frame's after the next step."""
        return self.air.once.item(_FRAME)

    def number(self, row: int) -> int:
        """The number of the frame in a row."""
        return self.air.frames.item(row, _NUMBER)

    def numbers(self) -> Ints:
        """The numbers of all frames that are not sent yet, and of some others."""
        self.flush()
        return self.air.frames[:, F.NUMBER]

    def waiting(self, station: int) -> list[int]:
        """The numbers of the frames in a station's queue, those that were only posted not among them."""
        row, count = self.air.stations.item(station, S.HEAD), self.air.stations.item(station, S.WAITING)
        numbers = []
        for _ in range(count):
            numbers.append(self.number(row))
            row = self.air.frames.item(row, F.NEXT)
        return numbers

    def switch(self, station: int, on: bool) -> None:
        """Turn a station's radio on or off, now."""
        switch(self.air, station, on, self.now_us)

    # -- internals ----------------------------------------------------------------------------------------

    def _duration(self, size: int, broadcast: bool) -> int:
        model = self.model
        duration = model.duration_us(size, model.broadcast_rate if broadcast else model.unicast_rate)
        if duration >= 1000 * model.refresh_ms:
            raise FrameTooLong(
                f"frame of {size} bytes is on the air for {duration} µs: expected less than"
                f" {model.refresh_ms} ms"
            )
        self._durations[size, broadcast] = duration  # few sizes, again and again
        return duration

    def _refresh(self) -> None:
        """Take new positions, by which stations hear each other from now on.

        Those who hear a station are found when it sends.
        """
        air, once = self.air, self.air.once
        refresh = 1000 * self.model.refresh_ms
        before, snapshot = once.item(_SNAPSHOT), once.item(_NOW) // refresh
        x, y = self._positions(snapshot * refresh / 1e6)
        once[G.SNAPSHOT] = snapshot
        if before >= 0 and np.array_equal(x, air.x) and np.array_equal(y, air.y):
            return  # nobody has moved
        air.x[:], air.y[:] = x, y
        once[G.BUFFER] = buffer = 1 - once.item(_BUFFER)
        cells = count_cells(air.x, air.y, air.reals, once)
        if len(air.first) < cells + 2:
            self._set(first=np.zeros(2 * cells + 2, np.int64))
            air = self.air
        fill_cells(air.x, air.y, air.reals, once, air.cell, air.members, air.first, air.spans[buffer])

    def _grow_neighbours(self) -> None:
        room = 2 * self.air.neighbours.shape[1]
        self._set(neighbours=grown(self.air.neighbours, room, 1), powers=grown(self.air.powers, room, 1))

    def _make_room(self) -> None:
        self._grow_frames(2 * len(self.air.frames))
        self._grow_heap()

    def _grow_frames(self, rows: int) -> None:
        before = len(self.air.frames)
        self._set(frames=grown(self.air.frames, rows, 0), keys=grown(self.air.keys, rows, 0))
        frames, once = self.air.frames, self.air.once
        frames[before:, F.NEXT] = [*range(before + 1, rows), once[G.FREE]]
        once[G.FREE] = before

    def _grow_heap(self) -> None:
        self._set(heap=grown(self.air.heap, 2 * len(self.air.heap), 0))

    def _set(self, **arrays: Any) -> None:
        """Put larger arrays in the place of others."""
        air, ports = self.air._replace(**arrays), self.ports
        self.air = air
        self._posts = air.posted.data
        self._arrays = (*air, *ports)
        self._handed = (
            air.frames, air.keys, air.references, air.heap, air.once, air.posted,
            ports.listening, ports.copies,
        )  # fmt: skip


def grown(array: NDArray[Any], size: int, axis: int = 0) -> NDArray[Any]:
    """A copy with `size` rows along an axis, new ones all 0."""
    shape = list(array.shape)
    shape[axis] = size
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(0, n) for n in array.shape)] = array
    return larger
