"""The sending side of the link to neighbours: packets to one are repeated until it acknowledges them."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from random import Random

from bypass.live.adhoc.link_packets import LinkPacket, LinkPacketKind, pieces
from bypass.ports.datagrams import DatagramLoss, Failed
from bypass.ports.host import Timer

RETRIES = 6
FIRST_WAIT_S = 0.03  # for an acknowledgement; twice as long after each failure
LONGEST_WAIT_S = 0.4
JITTER = 0.5  # a wait is longer by up to this share of it
MOST_WAITING = 256  # datagrams for one neighbour, or long ones for all
BYTES_OF_NEIGHBOUR = 4 << 20  # that wait to be sent
MOST_BYTES = 64 << 20  # ... to all of them
MOST_NEIGHBOURS = 1024
PACE_S, PIECES_AT_ONCE = 0.004, 4  # of long broadcasts: more would be lost at slow receivers

After = Callable[..., Timer]
SendContent = Callable[[bytes, int | None], None]


class _Outgoing:
    """A datagram in pieces, of which number `index` is next; the packet of the first one has number `first`.

    `neighbour` is None for all in reach.
    """

    __slots__ = ("failed", "first", "index", "neighbour", "pieces", "size")

    def __init__(self, data: bytes, neighbour: int | None, failed: Failed, first: int) -> None:
        self.pieces = pieces(data)
        self.size = len(data)
        self.neighbour = neighbour
        self.failed = failed
        self.first = first
        self.index = 0


class _Lane:
    """The datagrams that wait for one neighbour, or for all in reach; a piece of the first is under way."""

    __slots__ = ("size", "timer", "tries", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[_Outgoing] = deque()
        self.size = 0
        self.tries = 0
        self.timer: Timer | None = None


class LinkSender:
    """Sends datagrams of one device. `send(content, address)` sends a packet, to all if the address is None.

    A neighbour gets one packet at a time: the next one follows when this one is acknowledged, or given up
    with its whole datagram. So datagrams arrive in the order in which they were handed over, and a receiver
    knows that nothing older will come. Addresses are those from which neighbours were `heard` last.

    `losses` counts datagrams by reason, `retransmitted` packets.
    """

    def __init__(self, send: SendContent, after: After, random: Random) -> None:
        self.losses: Counter[DatagramLoss] = Counter()
        self.retransmitted = 0
        self._send = send
        self._after = after
        self._random = random
        self._session = time.time_ns() // 1000
        self._number = 0  # of the latest packet
        self._size = 0  # bytes in all lanes
        self._addresses: dict[int, int] = {}  # by neighbour, who was heard last is last
        self._lanes: dict[int, _Lane] = {}  # by neighbour, while there is something to send
        self._everybody = _Lane()

    def heard(self, neighbour: int, address: int) -> None:
        """Note where a neighbour is."""
        self._addresses.pop(neighbour, None)
        if len(self._addresses) == MOST_NEIGHBOURS:
            del self._addresses[next(iter(self._addresses))]
        self._addresses[neighbour] = address

    def transmit(self, data: bytes, neighbour: int | None, failed: Failed) -> None:
        """Send a datagram to a neighbour, or to all in reach.

        `failed` is called if a unicast is given up, once, and never before this method has returned.
        """
        outgoing = _Outgoing(data, neighbour, failed, self._number + 1)
        self._number += len(outgoing.pieces)
        if neighbour is not None and neighbour not in self._addresses:
            self._lose(outgoing, DatagramLoss.UNKNOWN)
        elif neighbour is not None:
            lane = self._lanes.setdefault(neighbour, _Lane())
            if self._admit(lane, outgoing) and len(lane.waiting) == 1:
                self._send_first(lane)
        elif len(outgoing.pieces) == 1:
            self._send_piece(outgoing)
        elif self._admit(self._everybody, outgoing) and self._everybody.timer is None:
            self._send_some()

    def packet_for_all(self, data: bytes) -> bytes:
        """Give the one packet of a short datagram for all, which is sent in another way than this link's."""
        self._number += 1
        return LinkPacket(LinkPacketKind.BROADCAST, 0, self._session, self._number, piece=data).pack()

    def refuse(self, neighbour: int | None, failed: Failed) -> None:
        """Count a datagram that was to be sent while the radio is off; of a unicast the sender is told."""
        self._lose(_Outgoing(b"", neighbour, failed, 0), DatagramLoss.SWITCHED_OFF)

    def acknowledged(self, neighbour: int, packet: LinkPacket) -> bool:
        """Go on with what follows an acknowledged packet; false if that was not under way."""
        lane = self._lanes.get(neighbour)
        if lane is None or packet.session != self._session:
            return False
        outgoing = lane.waiting[0]
        if packet.number != outgoing.first + outgoing.index:
            return False
        outgoing.index += 1
        if outgoing.index == len(outgoing.pieces):
            self._leave(lane)
        self._go_on(neighbour, lane)
        return True

    def acknowledge(self, neighbour: int, packet: LinkPacket) -> None:
        """Tell a neighbour that its packet has arrived."""
        ack = LinkPacket(LinkPacketKind.ACK, neighbour, packet.session, packet.number)
        self._send(ack.pack(), self._addresses[neighbour])

    def clear(self) -> None:
        """Forget what waits, and who is in reach: the radio was turned off."""
        for lane in (*self._lanes.values(), self._everybody):
            if lane.timer is not None:
                lane.timer.cancel()
            for outgoing in lane.waiting:
                self._lose(outgoing, DatagramLoss.SWITCHED_OFF)
        self._lanes.clear()
        self._everybody = _Lane()
        self._size = 0
        self._addresses.clear()

    # -- one neighbour ------------------------------------------------------------------------------------

    def _send_first(self, lane: _Lane) -> None:
        """Send the piece whose turn it is, and wait for its acknowledgement."""
        self._send_piece(lane.waiting[0])
        wait = min(FIRST_WAIT_S * 2**lane.tries, LONGEST_WAIT_S)
        lane.timer = self._after(wait * (1.0 + JITTER * self._random.random()), self._time_out, lane)

    def _time_out(self, lane: _Lane) -> None:
        neighbour = lane.waiting[0].neighbour
        assert neighbour is not None
        lane.tries += 1
        if neighbour not in self._addresses:  # many others have been heard since
            self._lose(self._leave(lane), DatagramLoss.UNKNOWN)
        elif lane.tries > RETRIES:
            self._lose(self._leave(lane), DatagramLoss.UNACKNOWLEDGED)
        else:
            self.retransmitted += 1
            self._send_first(lane)
            return
        self._go_on(neighbour, lane)

    def _go_on(self, neighbour: int, lane: _Lane) -> None:
        if lane.timer is not None:
            lane.timer.cancel()
        lane.tries = 0
        while lane.waiting and neighbour not in self._addresses:
            self._lose(self._leave(lane), DatagramLoss.UNKNOWN)
        if lane.waiting:
            self._send_first(lane)
        else:
            del self._lanes[neighbour]

    # -- everybody ----------------------------------------------------------------------------------------

    def _send_some(self) -> None:
        """Send the next pieces of long broadcasts; others wait until a moment after them."""
        lane = self._everybody
        lane.timer = None
        for _ in range(PIECES_AT_ONCE):
            if not lane.waiting:
                break
            outgoing = lane.waiting[0]
            self._send_piece(outgoing)
            outgoing.index += 1
            if outgoing.index == len(outgoing.pieces):
                self._leave(lane)
            lane.timer = lane.timer or self._after(PACE_S, self._send_some)

    # -- both ---------------------------------------------------------------------------------------------

    def _send_piece(self, outgoing: _Outgoing) -> None:
        kind, target, address = LinkPacketKind.BROADCAST, 0, None
        if outgoing.neighbour is not None:
            kind, target = LinkPacketKind.UNICAST, outgoing.neighbour
            address = self._addresses[target]
        index, parts = outgoing.index, len(outgoing.pieces)
        number, piece = outgoing.first + index, outgoing.pieces[index]
        self._send(LinkPacket(kind, target, self._session, number, index, parts, piece).pack(), address)

    def _admit(self, lane: _Lane, outgoing: _Outgoing) -> bool:
        if (
            len(lane.waiting) >= MOST_WAITING
            or lane.size + outgoing.size > BYTES_OF_NEIGHBOUR
            or self._size + outgoing.size > MOST_BYTES
        ):
            self._lose(outgoing, DatagramLoss.NO_ROOM)
            return False
        lane.waiting.append(outgoing)
        lane.size += outgoing.size
        self._size += outgoing.size
        return True

    def _leave(self, lane: _Lane) -> _Outgoing:
        outgoing = lane.waiting.popleft()
        lane.size -= outgoing.size
        self._size -= outgoing.size
        return outgoing

    def _lose(self, outgoing: _Outgoing, reason: DatagramLoss) -> None:
        self.losses[reason] += 1
        if outgoing.neighbour is not None:
            self._after(0.0, outgoing.failed, reason)  # later: this may be a call of whoever is to be told
