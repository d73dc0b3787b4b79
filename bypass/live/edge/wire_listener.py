"""The socket at which an edge hears other edges: encrypted, and open to those alone whose keys are known."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

import zmq
from zmq.utils.monitor import recv_monitor_message

from bypass.errors import BypassError
from bypass.live.allow_list import Admitted
from bypass.live.broker.loop.authentication import Authenticator
from bypass.live.edge.keys import EdgeKeys
from bypass.live.keys import BrokerKeys, raw_key
from bypass.protocol.datagrams import Datagram
from bypass.protocol.session import Ping
from bypass.protocol.storage import StorageMessage
from bypass.protocol.wire import MAX_PACKET_BYTES, Codec, MalformedMessage, encode, unpack

log = logging.getLogger(__name__)

PACKETS_A_TURN = 64
HANDSHAKE_MS = 5000
"""A peer that does not say who it is in this time is disconnected."""

RATE, BURST = 32 << 20, 64 << 20
"""Bytes that are taken of an edge in a second, and at once."""

MOST_ANSWERS_WAITING = 64
DOMAIN = "edges"

_USER = "User-Id"
_WATCHED = zmq.Event.ACCEPTED | zmq.Event.HANDSHAKE_SUCCEEDED
_PONG = encode(Ping())


class _KnownKeys:
    """The keys of other edges, by their numbers."""

    def __init__(self, numbers: Mapping[bytes, int]) -> None:
        self._numbers = {raw_key(key): number for key, number in numbers.items()}

    def find(self, public_key: bytes | str, /) -> Admitted | None:
        """Give whose key this is; None if it is that of no edge that is known."""
        raw = raw_key(public_key.encode() if isinstance(public_key, str) else public_key)
        number = None if raw is None else self._numbers.get(raw)
        return None if number is None else Admitted(str(number), frozenset())


class _Allowance:
    """The bytes that are still taken of one edge."""

    def __init__(self, now: float) -> None:
        self._left, self._at = float(BURST), now

    def takes(self, size: int, now: float) -> bool:
        self._left = min(float(BURST), self._left + RATE * (now - self._at))
        self._at = now
        if self._left < size:
            return False
        self._left -= size
        return True


class WireListener:
    """Hears the edges whose public keys in Z85 are in `numbers`, and hands bodies over to `receive`.

    Counted are `malformed` packets and messages, those `unexpected` that are no business of edges, packets
    `over_rate`, and connections. Belongs to the running loop. Raises BypassError for an address that cannot
    be had.
    """

    def __init__(
        self,
        endpoint: str,
        keys: EdgeKeys,
        numbers: Mapping[bytes, int],
        receive: Callable[[int, StorageMessage], None],
        codec: Codec,
    ) -> None:
        self.malformed = self.unexpected = self.over_rate = 0
        self._accepted = self._admitted = 0
        self._loop = asyncio.get_running_loop()
        self._receive = receive
        self._codec = codec
        self._allowances = {number: _Allowance(self._loop.time()) for number in numbers.values()}
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._closed = False
        try:
            self._guard = Authenticator(self._context, _KnownKeys(numbers), DOMAIN)
            self._socket = _socket(self._context, endpoint)
            self._guard.guard(self._socket, BrokerKeys(keys.public, keys.secret))
            self._monitor: zmq.Socket[bytes] = self._socket.get_monitor_socket(_WATCHED)
            self._socket.bind(endpoint)
        except zmq.ZMQError as error:
            self._context.destroy(0)
            raise BypassError(
                f"edges at {endpoint!r}: {error.strerror}: expected a free address of this machine"
            ) from None
        self._served = (
            (self._guard.socket, self._guard.handle),
            (self._socket, self._read),
            (self._monitor, self._note_connections),
        )
        for socket, action in self._served:
            self._loop.add_reader(socket.FD, action)
            self._loop.call_soon(self._look, action)  # descriptors tell of what happens after a first look

    @property
    def refused(self) -> int:
        """The connections of peers that have not shown to be an edge that is known; they are ended after five
        seconds at the latest."""
        return self._accepted - self._admitted

    @property
    def unknown(self) -> int:
        """The connections, among those, of peers with a key that is not known."""
        return self._guard.refused

    def close(self) -> None:
        """Hear nobody any more."""
        self._closed = True
        for socket, _ in self._served:
            self._loop.remove_reader(socket.FD)
        self._socket.disable_monitor()
        self._context.destroy(0)

    def _look(self, action: Callable[[], None]) -> None:
        if not self._closed:
            action()

    def _read(self) -> None:
        for _ in range(PACKETS_A_TURN):
            if self._closed:
                return
            try:
                route, *parts = self._socket.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            if len(parts) == 1:
                self._take(route.bytes, int(parts[0].get(_USER)), parts[0].bytes)
            else:
                self.malformed += 1
        self._loop.call_soon(self._look, self._read)

    def _take(self, route: bytes, edge: int, packet: bytes) -> None:
        if not self._allowances[edge].takes(len(packet), self._loop.time()):
            self.over_rate += 1
            return
        try:
            messages = [self._codec.decode(data) for data in unpack(packet)]
        except MalformedMessage as error:
            self.malformed += 1
            log.warning("from edge %d: %s", edge, error)
            return
        for message in messages:
            if isinstance(message, Ping):
                if message.asks:
                    self._answer(route)
            elif isinstance(message, Datagram) and isinstance(message.body, StorageMessage):
                self._hand_over(edge, message.body)
            else:
                self.unexpected += 1

    def _answer(self, route: bytes) -> None:
        try:
            self._socket.send_multipart((route, _PONG), zmq.NOBLOCK)
        except zmq.ZMQError:
            return  # it is gone, or takes nothing: it will find out

    def _hand_over(self, edge: int, body: StorageMessage) -> None:
        try:
            self._receive(edge, body)
        except Exception:
            log.exception("%s from edge %d: an edge goes on after an error", type(body).__name__, edge)

    def _note_connections(self) -> None:
        while not self._closed:
            try:
                noted = recv_monitor_message(self._monitor, zmq.NOBLOCK)
            except zmq.Again:
                return
            if noted["event"] == zmq.Event.ACCEPTED:
                self._accepted += 1
            else:
                self._admitted += 1


def _socket(context: zmq.Context[zmq.Socket[bytes]], endpoint: str) -> zmq.Socket[bytes]:
    socket = context.socket(zmq.ROUTER)
    socket.set(zmq.ROUTER_MANDATORY, 1)
    socket.set(zmq.SNDHWM, MOST_ANSWERS_WAITING)
    # Where there is a limit, ZeroMQ stops to read a connection whose queue is full. If that breaks then, and
    # a ping of the peer's is found there when the queue is read, libzmq aborts the process.
    socket.set(zmq.RCVHWM, 0)
    socket.set(zmq.LINGER, 0)
    socket.set(zmq.MAXMSGSIZE, MAX_PACKET_BYTES)
    socket.set(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
    socket.set(zmq.TCP_KEEPALIVE, 1)
    socket.set(zmq.IPV6, "[" in endpoint)
    return socket
