"""Datagrams in virtual time: in the frames of a medium, long ones in fragments, one after the other."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

from bypass.models.radio.kernels.state import NOBODY, FrameUse, PortVerdict, S
from bypass.models.radio.medium import Medium
from bypass.models.radio.radio import RadioModel
from bypass.ports.datagrams import DatagramAnalyzer, DatagramLoss, Failed
from bypass.ports.monitor import Monitor
from bypass.protocol.datagrams import Datagram, DatagramScope, RoutingMessage
from bypass.protocol.wire import Codec, datagram_size
from bypass.sim.clock import VirtualClock
from bypass.sim.route_news import RouteNews

LONGEST_FRAME = 1500  # bytes, headers included: longer datagrams are sent in fragments
FRAGMENT_HEADER = 16  # bytes that each fragment has to say where it belongs
MOST_LONG = 64  # datagrams in fragments that wait at a station
LONGEST_PAUSE_US = 5_000_000  # between two fragments of a datagram

WHOLE, FRAGMENT = int(FrameUse.DATAGRAM), int(FrameUse.FRAGMENT)
ARRIVED, OVER, GIVEN_UP = int(PortVerdict.DATAGRAM), int(PortVerdict.OVER), int(PortVerdict.GIVEN_UP)
OWN, FORWARDED, CONTROL = int(S.OWN_FRAMES), int(S.FORWARDED_FRAMES), int(S.CONTROL_FRAMES)

Arrived = Callable[[Datagram], None]
Losses = Counter[tuple[int, DatagramLoss]]
"""Datagrams that were not sent or did not arrive whole, by client and reason."""


def longest_frame(model: RadioModel) -> int:
    """The bytes of the longest frame with a datagram: a slow radio must not send for longer than positions
    are good for."""
    symbols = (1000 * model.refresh_ms - 1 - model.preamble_us) // model.symbol_us
    bits = int(symbols * model.symbol_us * min(model.broadcast_rate, model.unicast_rate)) - model.service_bits
    return min(LONGEST_FRAME, bits // 8)


class SentDatagram:
    """A datagram that a station sends; `target` is a station, or NOBODY for all in reach.

    It has `parts` parts, of which number `index` is under way. `traffic` is the column of the station that
    counts its frames. When it is `lost`, nothing more of it is sent.
    """

    __slots__ = ("datagram", "failed", "index", "lost", "parts", "size", "station", "target", "traffic")

    def __init__(self, datagram: Datagram, station: int, target: int, failed: Failed, size: int) -> None:
        self.datagram = datagram
        self.station = station
        self.target = target
        self.failed = failed
        self.size = size
        self.parts = 1
        self.index = 0
        self.lost = False
        if isinstance(datagram.body, RoutingMessage):
            self.traffic = CONTROL
        else:
            # Every node tells a flood by itself: that is not the forwarding of what is meant for another.
            own = datagram.origin.node == station or datagram.scope is DatagramScope.NETWORK
            self.traffic = OWN if own else FORWARDED


class FrameQueue(Protocol):
    """The medium as datagrams need it."""

    medium: Medium

    def launch(self, sent: SentDatagram, size: int, kind: int) -> None:
        """Put a frame of `size` bytes, without headers, into the queue of the datagram's station, now."""

    def datagrams_of(self, station: int) -> list[SentDatagram]:
        """The datagrams of which a frame is in a station's queue."""


class MediumDatagrams:
    """The datagrams on one medium. `arrived` are the receivers by client, `losses` what is counted; `news`
    says whom announcements of ways concern.

    Fragments of one station follow each other, and only one is in its queue: a long datagram leaves room for
    others, and each receiver has at most one of each sender that is not complete.
    """

    def __init__(
        self,
        queue: FrameQueue,
        clock: VirtualClock,
        arrived: list[Arrived],
        losses: Losses,
        codec: Codec,
        monitor: Monitor,
        news: RouteNews,
    ) -> None:
        self._news = news
        self._queue = queue
        self._clock = clock
        self._arrived = arrived
        self._losses = losses
        self._codec = codec
        self._analyzer = monitor.get(DatagramAnalyzer)
        self._room = longest_frame(queue.medium.model) - queue.medium.model.header
        self._long: dict[int, deque[SentDatagram]] = {}  # by station; the first one is under way
        self._progress: dict[int, dict[int, _Progress]] = {}  # by receiver and sender

    def transmit(self, station: int, datagram: Datagram, neighbour: int | None, failed: Failed) -> None:
        """Send to a client, or to all in reach. Raises MalformedMessage, FrameTooLong."""
        if neighbour is not None and not 0 <= neighbour < len(self._arrived):
            self._losses[station, DatagramLoss.UNKNOWN] += 1
            self._clock.at(self._clock.now_us, failed, DatagramLoss.UNKNOWN)
            return
        size = datagram_size(datagram, self._codec)
        self._analyzer.datagram_sent(station, datagram, neighbour)
        sent = SentDatagram(datagram, station, NOBODY if neighbour is None else neighbour, failed, size)
        if size <= self._room:
            self._queue.launch(sent, size, WHOLE)
        else:
            self._transmit_long(sent)

    def found(self, sent: SentDatagram, what: int, stations: list[int]) -> None:
        """A frame of a datagram arrived at stations, is over, or was given up."""
        if what == ARRIVED:
            if sent.parts > 1:
                stations = [station for station in stations if self._is_complete(station, sent)]
                if sent.target == NOBODY:
                    self._go_on(sent)
            datagram, arrived = sent.datagram, self._arrived
            self._analyzer.datagram_received(datagram, stations)
            for station in self._news.concerned(datagram, stations):
                arrived[station](datagram)
        elif what == OVER:
            self._go_on(sent)
        else:
            on = self._queue.medium.air.stations.item(sent.station, S.ON)
            reason = DatagramLoss.NO_ROOM if on else DatagramLoss.SWITCHED_OFF
            self._lose(sent, DatagramLoss.UNACKNOWLEDGED if what == GIVEN_UP else reason)
            self._next_long(sent)

    def switching_off(self, station: int) -> None:
        """A station's radio is about to be turned off: nothing that it has waits any longer."""
        for sent in [*self._queue.datagrams_of(station), *self._long.pop(station, ())]:
            self._lose(sent, DatagramLoss.SWITCHED_OFF)
        for _ in self._progress.pop(station, ()):
            self._losses[station, DatagramLoss.INCOMPLETE] += 1

    # -- fragments ----------------------------------------------------------------------------------------

    def _transmit_long(self, sent: SentDatagram) -> None:
        sent.parts = -(-sent.size // (self._room - FRAGMENT_HEADER))
        long = self._long.setdefault(sent.station, deque())
        if len(long) >= MOST_LONG:
            self._lose(sent, DatagramLoss.NO_ROOM)
            return
        long.append(sent)
        if len(long) == 1:
            self._launch_fragment(sent)

    def _launch_fragment(self, sent: SentDatagram) -> None:
        room = self._room - FRAGMENT_HEADER
        rest = min(room, sent.size - sent.index * room)
        self._queue.launch(sent, rest + FRAGMENT_HEADER, FRAGMENT)

    def _go_on(self, sent: SentDatagram) -> None:
        """A fragment is over: the next one follows, or the next datagram."""
        if sent.lost:
            return
        sent.index += 1
        if sent.index < sent.parts:
            self._launch_fragment(sent)
        else:
            self._next_long(sent)

    def _next_long(self, sent: SentDatagram) -> None:
        """Begin with the datagram behind this one, if this one is long and its turn is over."""
        long = self._long.get(sent.station)
        if long and long[0] is sent:
            long.popleft()
            if long:
                self._launch_fragment(long[0])

    def _is_complete(self, station: int, sent: SentDatagram) -> bool:
        """Note that a fragment has arrived; say whether the datagram is complete with it."""
        known = self._progress.setdefault(station, {})
        before, now_us = known.get(sent.station), self._clock.now_us
        if before is not None and not before.leads_to(sent, now_us):
            del known[sent.station]
            self._losses[station, DatagramLoss.INCOMPLETE] += 1
            before = None
        if sent.index == sent.parts - 1:
            return known.pop(sent.station, None) is not None
        if before is not None or sent.index == 0:
            known[sent.station] = _Progress(sent, sent.index + 1, now_us)
        return False

    # -- losses -------------------------------------------------------------------------------------------

    def _lose(self, sent: SentDatagram, reason: DatagramLoss) -> None:
        if not sent.lost:
            sent.lost = True
            self._losses[sent.station, reason] += 1
            if sent.target != NOBODY:
                # Later, because this may be a call of the mechanism that is to be told.
                self._clock.at(self._clock.now_us, sent.failed, reason)


class _Progress:
    """A datagram of which all fragments before number `index` have arrived, the last one `at_us`."""

    __slots__ = ("at_us", "index", "sent")

    def __init__(self, sent: SentDatagram, index: int, at_us: int) -> None:
        self.sent = sent
        self.index = index
        self.at_us = at_us

    def leads_to(self, sent: SentDatagram, now_us: int) -> bool:
        """Say whether the fragment that arrives now is the next one."""
        same = self.sent is sent and self.index == sent.index
        return same and now_us - self.at_us <= LONGEST_PAUSE_US
