"""The wires from a live edge to others: over ZeroMQ, encrypted and authenticated both ways by their keys."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import NamedTuple

from bypass.live.client.link.link import Link, Loss
from bypass.live.edge.keys import EdgeKeys, KnownEdge
from bypass.live.edge.wire_listener import WireListener
from bypass.live.keys import ClientKeys
from bypass.ports.edge import BackhaulReceiver
from bypass.protocol.datagrams import Datagram, DatagramScope, NodeAddress
from bypass.protocol.messages import Message
from bypass.protocol.session import Ping
from bypass.protocol.storage import StorageMessage
from bypass.protocol.wire import CODEC, Codec, MalformedMessage, encode

log = logging.getLogger(__name__)

ANSWER_S = 3.0
"""An edge that has not answered on a new connection after so long is tried anew."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0
"""Between two attempts to connect; twice as long after each."""

MOST_WAITING_BYTES = 8 << 20
"""Of bodies that wait for one edge, beside those that ZeroMQ has already; more are dropped."""

HIGH_WATER = 16
"""Packets that ZeroMQ has for one edge."""

_ASK = encode(Ping(asks=True))


class OtherEnd(NamedTuple):
    """Another edge: its number, where it listens, and its keys."""

    number: int
    endpoint: str
    known: KnownEdge


class _Way:
    """The connection to one other edge, over which this one sends; made anew whenever it breaks."""

    def __init__(self, wires: LiveWires, peer: OtherEnd) -> None:
        self.is_up = False
        self._wires = wires
        self._peer = peer
        self._loop = asyncio.get_running_loop()
        self._pause = FIRST_PAUSE_S
        self._link: Link | None = None
        self._timer: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Connect. Raises InvalidEndpoint."""
        own, peer = self._wires.keys, self._peer
        self._link = link = Link(
            peer.endpoint,
            ClientKeys(own.name, own.public, own.secret, peer.known.public),
            _always,
            self._wires.codec.decode,
            self._answered,
            _counted,
            self._lost,
            f"edge {peer.known.name}",
            HIGH_WATER,
        )
        link.send(_ASK)
        self._timer = self._loop.call_later(ANSWER_S, link.lose, f"no answer for {ANSWER_S:g} s")

    def close(self) -> None:
        self.is_up = False
        if self._timer is not None:
            self._timer.cancel()
        if self._link is not None:
            self._link.close()

    def send(self, data: bytes) -> bool:
        """Whether there was a connection with room."""
        if self._link is None or not self.is_up:
            return False
        if self._link.backlog + len(data) > MOST_WAITING_BYTES:
            self._wires.dropped += 1
            return False
        self._link.send(data)
        return True

    def _answered(self, message: Message, _: int) -> None:
        if not isinstance(message, Ping):
            self._wires.unexpected += 1
        elif not self.is_up:
            self.is_up, self._pause = True, FIRST_PAUSE_S
            assert self._timer is not None
            assert self._link is not None
            self._timer.cancel()
            self._link.keep_alive(self._wires.heartbeat_s)
            self._wires.changed(self._peer, True)

    def _lost(self, loss: Loss) -> None:
        was_up, self.is_up, self._link = self.is_up, False, None
        if self._timer is not None:
            self._timer.cancel()
        pause, self._pause = self._pause, min(2.0 * self._pause, LONGEST_PAUSE_S)
        self._timer = self._loop.call_later(pause * random.uniform(0.5, 1.0), self.open)
        if was_up:
            log.info("edge %s: disconnected: %s", self._peer.known.name, loss.reason)
            self._wires.changed(self._peer, False)
        else:
            log.debug("edge %s: not connected: %s", self._peer.known.name, loss.reason)


class LiveWires:
    """The `Backhaul` of a live edge. It connects to each other edge and sends over that connection, and takes
    what comes over those that others make to it at `endpoint`. Connections that break are made anew, for as
    long as it takes; an edge that is gone without a word is noticed after four `heartbeat_s`.

    Counted are bodies `dropped` for lack of room, those that are `oversized`, and messages `unexpected` of
    others that have nothing to say here; `listener` has the counts of what came in. Raises BypassError for an
    address that cannot be had, and InvalidEndpoint for one of another edge that is none.
    """

    def __init__(
        self,
        endpoint: str,
        keys: EdgeKeys,
        number: int,
        peers: Sequence[OtherEnd],
        heartbeat_s: float,
        codec: Codec = CODEC,
    ) -> None:
        self.dropped = self.oversized = self.unexpected = 0
        self.keys = keys
        self.codec = codec
        self.heartbeat_s = heartbeat_s
        self._number = number
        self._receiver: BackhaulReceiver | None = None
        self._closed = False
        numbers = {each.known.public: each.number for each in peers}
        self.listener = WireListener(endpoint, keys, numbers, self._arrived, codec)
        self._ways = {each.number: _Way(self, each) for each in peers}

    def open(self, receiver: BackhaulReceiver) -> None:
        """Begin to connect. Raises InvalidEndpoint."""
        self._receiver = receiver
        for way in self._ways.values():
            way.open()

    def close(self) -> None:
        """Disconnect from all, for good; a second time nothing happens."""
        if self._closed:
            return
        self._closed = True
        self._receiver = None
        for way in self._ways.values():
            way.close()
        self.listener.close()

    def send(self, edge: int, body: StorageMessage) -> bool:
        """Send a body, in order; False if it was dropped."""
        way = self._ways.get(edge)
        if way is None or not way.is_up:
            return False
        address = NodeAddress(self._number)
        datagram = Datagram(self._number << 32, address, (), DatagramScope.ROUTED, body, client=self._number)
        try:
            data = self.codec.encode(datagram)
        except MalformedMessage as error:
            self.oversized += 1
            log.warning("to edge %d: %s", edge, error)
            return False
        return way.send(data)

    def edges(self) -> Sequence[int]:
        """The edges that are connected now, by number."""
        return sorted(number for number, way in self._ways.items() if way.is_up)

    def changed(self, peer: OtherEnd, is_up: bool) -> None:
        """Have the edge told that there is a connection to another one, or none any more."""
        if is_up:
            log.info("edge %s, number %d: connected", peer.known.name, peer.number)
        if self._receiver is not None:
            (self._receiver.connected if is_up else self._receiver.disconnected)(peer.number)

    def _arrived(self, edge: int, body: StorageMessage) -> None:
        if self._receiver is not None:
            self._receiver.from_edge(edge, body)


def _always() -> bool:
    return True


def _counted(_: MalformedMessage) -> None:
    """Do nothing: the link has counted it."""
