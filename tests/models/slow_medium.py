"""A shared radio channel, slow and plain: what the fast one is held to.

Nothing is kept that can be found out again: who hears what, with how much power, and whether the medium is
busy all follow from the transmissions that are on the air.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bypass.models.radio.path_loss import power_behind, power_between
from bypass.models.radio.radio import ANSWER_BYTES, RTS_BYTES, UNIT, Ending, FrameKind, RadioModel
from bypass.models.radio.walls import crosses
from bypass.support.arrays import Floats
from bypass.support.counter_rng import Purpose, uniform_pair

NO_ENDS: Floats = np.empty((0, 4))


@dataclass(eq=False)
class _Frame:
    """A frame that a station wants to send. `received` is about its target; a broadcast has none."""

    number: int
    sender: int
    size: int
    target: int | None
    released_us: int
    received: bool = False


@dataclass(eq=False)
class _Transmission:
    """A transmission during [start_us, end_us); `standing` are the stations at which it has stood out so
    far."""

    part: FrameKind
    frame: _Frame
    sender: int
    target: int | None
    start_us: int
    end_us: int
    powers: list[int]
    standing: set[int]


class _Response(NamedTuple):
    """A transmission that a station owes for what it has received, sent without contention."""

    at_us: int
    part: FrameKind
    frame: _Frame
    target: int


@dataclass(eq=False)
class _Station:
    """One station. `awaits` is the part that its exchange waits for, until `timeout_us`."""

    number: int
    cw: int
    on: bool = True
    queue: list[_Frame] = field(default_factory=list)
    backoff: int = 0
    count_from_us: int = 0
    start_us: int | None = None
    was_busy: bool = False
    nav_until_us: int = 0
    tries: int = 0
    draws: int = 0
    in_exchange: bool = False
    awaits: FrameKind | None = None
    timeout_us: int | None = None
    response: _Response | None = None

    def heads(self, frame: _Frame) -> bool:
        """Whether the frame is the one whose turn it is; never again after the station was switched off."""
        return bool(self.queue) and self.queue[0] is frame


class SlowMedium:
    """Stations that share a radio channel, by the same rules as `Medium`, to the microsecond.

    `positions` gives x and y (m) of all stations at a time (s), `walls` has a row (x1, y1, x2, y2) for each
    wall. `sent` counts frames on the air, retries too,
    `dropped` those that found a full queue or a station switched off, `failed` those given up, `retried`
    exchanges tried again, `handshake` the bytes of RTS, CTS and ACK, per station.
    """

    def __init__(
        self,
        model: RadioModel,
        positions: Callable[[float], tuple[Floats, Floats]],
        stations: int,
        seed: int,
        walls: Floats = NO_ENDS,
    ) -> None:
        self.now_us = 0
        self.sent = np.zeros(stations, np.int64)
        self.dropped = np.zeros(stations, np.int64)
        self.failed = np.zeros(stations, np.int64)
        self.retried = np.zeros(stations, np.int64)
        self.handshake = np.zeros(stations, np.int64)
        self._model = model
        self._positions = positions
        self._walls = walls
        self._seed = np.uint64(seed)
        self._stations = [_Station(number, model.cw_min) for number in range(stations)]
        self._frames = 0
        self._unreleased: list[_Frame] = []
        self._transmissions: list[_Transmission] = []
        self._endings: list[Ending] = []
        self._done_us = -1  # the last microsecond in which something was done

    def send(self, at_us: int, station: int, size: int, target: int | None = None) -> int:
        """Hand over a frame of `size` bytes that is released at `at_us`; gives its number, counted from 0."""
        self._unreleased.append(_Frame(self._frames, station, size, target, at_us))
        self._frames += 1
        return self._frames - 1

    def switch(self, station: int, on: bool) -> None:
        """Switch a station on or off now, before all else that is due now."""
        it = self._stations[station]
        if on == it.on:
            return
        it.on = on
        it.queue.clear()
        it.start_us = it.awaits = it.timeout_us = it.response = None
        it.in_exchange = False
        it.backoff, it.tries, it.cw, it.nav_until_us = 0, 0, self._model.cw_min, 0
        it.was_busy = self._busy(it)
        if not it.was_busy:
            it.count_from_us = self.now_us + self._model.difs_us
        for transmission in self._transmissions:
            transmission.standing.discard(station)

    def run_until(self, at_us: int) -> list[Ending]:
        """Do all that is due before `at_us`; the frames that ended, by time and sender."""
        while (due := self._next_due()) is not None and due < at_us:
            self.now_us = self._done_us = due
            self._do_all_due()
        self.now_us = at_us
        endings, self._endings = self._endings, []
        return sorted(endings, key=lambda ending: (ending.at_us, ending.sender))

    # -- one microsecond ----------------------------------------------------------------------------------

    def _next_due(self) -> int | None:
        times = [transmission.end_us for transmission in self._transmissions]
        times += [frame.released_us for frame in self._unreleased]
        for it in self._stations:
            times += [time for time in (it.start_us, it.timeout_us) if time is not None]
            if it.response is not None:
                times.append(it.response.at_us)
            if it.nav_until_us > self._done_us:
                times.append(it.nav_until_us)
        return min(times, default=None)

    def _do_all_due(self) -> None:
        now = self.now_us
        ended = [transmission for transmission in self._transmissions if transmission.end_us == now]
        self._transmissions = self._on_air()
        for transmission in sorted(ended, key=lambda transmission: transmission.sender):
            self._end(transmission)
        self._settle()
        for it in self._stations:
            if it.timeout_us == now:
                self._time_out(it)
        self._settle()
        released = [frame for frame in self._unreleased if frame.released_us == now]
        self._unreleased = [frame for frame in self._unreleased if frame.released_us > now]
        for frame in released:
            self._release(frame)
        self._settle()
        for it in self._stations:
            if it.response is not None and it.response.at_us == now:
                _, part, frame, target = it.response
                it.response = None
                self._transmit(it, part, frame, target)
        for it in self._stations:
            if it.start_us == now:
                self._start(it)

    def _settle(self) -> None:
        """Let stations notice that the medium has become busy or idle, or that they contend now."""
        for it in self._stations:
            busy = self._busy(it)
            if busy and not it.was_busy:
                if it.start_us is None or it.start_us > self.now_us + self._model.sense_us:
                    it.start_us = None
                    slots = max(0, self.now_us - it.count_from_us) // self._model.slot_us
                    it.backoff = max(0, it.backoff - slots)
            elif it.was_busy and not busy:
                it.count_from_us = self.now_us + self._model.difs_us
            it.was_busy = busy
            if not self._contends(it):
                it.start_us = None
            elif not busy:
                it.start_us = max(self.now_us, it.count_from_us + it.backoff * self._model.slot_us)

    # -- what follows from the transmissions on the air ---------------------------------------------------

    def _on_air(self) -> list[_Transmission]:
        return [transmission for transmission in self._transmissions if transmission.end_us > self.now_us]

    def _power_at(self, station: int) -> int:
        return sum(transmission.powers[station] for transmission in self._on_air())

    def _transmits(self, it: _Station) -> bool:
        return any(transmission.sender == it.number for transmission in self._on_air())

    def _busy(self, it: _Station) -> bool:
        heard = self._model.carrier_sense and self._power_at(it.number) >= UNIT
        return heard or self._transmits(it) or it.nav_until_us > self.now_us

    def _contends(self, it: _Station) -> bool:
        occupied = it.in_exchange or it.response is not None or self._transmits(it)
        return it.on and bool(it.queue) and not occupied

    def _stands_out(self, transmission: _Transmission, it: _Station) -> bool:
        power = transmission.powers[it.number]
        others = self._power_at(it.number) - power
        return (
            it.on
            and not self._transmits(it)
            and power >= self._model.sensitivity
            and float(power) >= self._model.sinr * float(others + self._model.noise)
        )

    # -- sending ------------------------------------------------------------------------------------------

    def _release(self, frame: _Frame) -> None:
        it = self._stations[frame.sender]
        if not it.on or len(it.queue) >= self._model.queue:
            self.dropped[it.number] += 1
            return
        listening = self._model.carrier_sense
        if not it.queue and it.backoff == 0 and (not listening or self._busy(it)) and not self._transmits(it):
            self._draw(it)
        it.queue.append(frame)

    def _draw(self, it: _Station) -> None:
        u, _ = uniform_pair(self._seed, Purpose.RADIO, it.number, it.draws)
        it.draws += 1
        it.backoff = int(u * (it.cw + 1))
        if not self._busy(it):
            it.count_from_us = max(it.count_from_us, self.now_us)

    def _start(self, it: _Station) -> None:
        it.start_us = None
        frame = it.queue[0]
        it.in_exchange = frame.target is not None
        asks = it.in_exchange and self._model.rts
        self._transmit(it, FrameKind.RTS if asks else FrameKind.DATA, frame, frame.target)

    def _transmit(self, it: _Station, part: FrameKind, frame: _Frame, target: int | None) -> None:
        x, y = self._snapshot()
        powers = [
            0 if j == it.number else self._power(x[it.number], y[it.number], x[j], y[j])
            for j in range(len(self._stations))
        ]
        end_us = self.now_us + self._duration_us(part, frame)
        everybody = set(range(len(self._stations)))
        self._transmissions.append(
            _Transmission(part, frame, it.number, target, self.now_us, end_us, powers, everybody)
        )
        if part is FrameKind.DATA:
            self.sent[it.number] += 1
        else:
            self.handshake[it.number] += RTS_BYTES if part is FrameKind.RTS else ANSWER_BYTES
        for transmission in self._on_air():
            transmission.standing = {
                j for j in transmission.standing if self._stands_out(transmission, self._stations[j])
            }
        self._settle()

    def _power(self, x1: float, y1: float, x2: float, y2: float) -> int:
        power = power_between(x1, y1, x2, y2, self._model.interference, self._model.exponent)
        if power == 0 or self._model.wall_db == 0:
            return power
        way = (x1, y1, x2, y2) if (x1, y1) < (x2, y2) else (x2, y2, x1, y1)
        crossed = sum(crosses(*way, wall) for wall in self._walls)
        return power_behind(power, crossed, self._model.passed) if crossed else power

    def _snapshot(self) -> tuple[Floats, Floats]:
        refresh_ms = self._model.refresh_ms
        return self._positions(self.now_us // (refresh_ms * 1000) * refresh_ms / 1000)

    def _duration_us(self, part: FrameKind, frame: _Frame) -> int:
        if part is not FrameKind.DATA:
            return self._model.control_us(part)
        rate = self._model.broadcast_rate if frame.target is None else self._model.unicast_rate
        return self._model.duration_us(frame.size, rate)

    # -- endings ------------------------------------------------------------------------------------------

    def _end(self, transmission: _Transmission) -> None:
        it, part, frame = self._stations[transmission.sender], transmission.part, transmission.frame
        if frame.target is None:
            self._endings.append(
                Ending(self.now_us, frame.number, it.number, tuple(sorted(transmission.standing)))
            )
            if it.heads(frame):
                it.queue.pop(0)
                self._draw(it)
        elif it.heads(frame):
            it.awaits = FrameKind.CTS if part is FrameKind.RTS else FrameKind.ACK
            wait_us = self._model.sifs_us + self._model.control_us(it.awaits) + self._model.slot_us
            it.timeout_us = self.now_us + wait_us
        for j in sorted(transmission.standing):
            if transmission.target == j:
                self._receive(self._stations[j], transmission)
            elif transmission.target is not None and part is not FrameKind.ACK:
                until_us = self.now_us + self._rest_us(part, frame)
                self._stations[j].nav_until_us = max(self._stations[j].nav_until_us, until_us)

    def _rest_us(self, part: FrameKind, frame: _Frame) -> int:
        """How long the exchange goes on after a part of it."""
        following = {
            FrameKind.RTS: (FrameKind.CTS, FrameKind.DATA, FrameKind.ACK),
            FrameKind.CTS: (FrameKind.DATA, FrameKind.ACK),
        }
        parts = following.get(part, (FrameKind.ACK,))
        return sum(self._model.sifs_us + self._duration_us(later, frame) for later in parts)

    def _receive(self, it: _Station, transmission: _Transmission) -> None:
        """A station has received what is for it alone."""
        frame, sender = transmission.frame, transmission.sender
        at_us = self.now_us + self._model.sifs_us
        free = it.on and not it.in_exchange and it.response is None
        match transmission.part:
            case FrameKind.RTS:
                if free and it.nav_until_us <= self.now_us:
                    it.response = _Response(at_us, FrameKind.CTS, frame, sender)
            case FrameKind.CTS:
                if it.awaits is FrameKind.CTS and it.heads(frame):
                    it.awaits = it.timeout_us = None
                    it.response = _Response(at_us, FrameKind.DATA, frame, sender)
            case FrameKind.DATA:
                if not frame.received:
                    frame.received = True
                    self._endings.append(Ending(self.now_us, frame.number, sender, (it.number,)))
                if free:
                    it.response = _Response(at_us, FrameKind.ACK, frame, sender)
            case FrameKind.ACK:
                if it.awaits is FrameKind.ACK and it.heads(frame):
                    self._leave(it)

    def _time_out(self, it: _Station) -> None:
        it.tries += 1
        if it.tries <= self._model.retries:
            self.retried[it.number] += 1
            it.cw = min(2 * it.cw + 1, self._model.cw_max)
            self._end_exchange(it)
            return
        frame = it.queue[0]
        self.failed[it.number] += 1
        if not frame.received:
            self._endings.append(Ending(self.now_us, frame.number, it.number, ()))
        self._leave(it)

    def _leave(self, it: _Station) -> None:
        """The frame to one device that was under way leaves the queue, received or given up."""
        it.queue.pop(0)
        it.tries, it.cw = 0, self._model.cw_min
        self._end_exchange(it)

    def _end_exchange(self, it: _Station) -> None:
        it.in_exchange = False
        it.awaits = it.timeout_us = None
        self._draw(it)
