"""One connection to a broker: a DEALER socket on asyncio's loop, from the first packet until it is lost.

A link never connects again. Whoever wants another connection makes another link, so that nothing that was
meant for one connection can get into the next.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import zmq
from zmq.utils.monitor import recv_monitor_message

from bypass.live.client.errors import InvalidEndpoint
from bypass.live.keys import ClientKeys
from bypass.live.unfinished import LOOK_S, UnfinishedMessage
from bypass.protocol.messages import Message
from bypass.protocol.session import Ping
from bypass.protocol.wire import MAX_PACKET_BYTES, MalformedMessage, encode, pack, unpack

log = logging.getLogger(__name__)

PACKETS_A_TURN = 64
"""Packets that are read before others on the loop get a turn."""

MESSAGES_A_PACKET = 256
BYTES_A_PACKET = 65_536

LINGER_MS = 1000
"""How long what was said last may take to get out after a link was closed."""

MOST_UNREAD_BYTES = 16_777_216
"""So much may wait here while reading is not allowed, as it takes memory: no broker sends more without a word
of the client's."""

MESSAGE_BYTES = 64  # that a message takes besides its own

HEARTBEATS = 3
"""So many heartbeats in a row without a word, and the connection counts as lost."""

MOST_SOCKETS = 60_000  # a link takes three, and libzmq's own limit is 1023

HIGH_WATER = 1000
"""Packets that wait in ZeroMQ to be sent; more wait here."""

_HANDSHAKE_FAILURES = {
    zmq.Event.HANDSHAKE_FAILED_AUTH: "{} does not admit this key",
    zmq.Event.HANDSHAKE_FAILED_PROTOCOL: "only one of the two sides has keys, or it is not {}",
    zmq.Event.HANDSHAKE_FAILED_NO_DETAIL: "the handshake failed: {} has not the key that is expected",
}
_ENDS = zmq.Event.CLOSED | zmq.Event.DISCONNECTED
_WATCHED = _ENDS | zmq.Event.CONNECTED
for _event in _HANDSHAKE_FAILURES:
    _WATCHED |= _event


class Loss(NamedTuple):
    """Why a link was lost; `unwanted`: the broker does not admit the client's key."""

    reason: str
    unwanted: bool = False


class Link:
    """A connection to the broker at `endpoint`, or to another `peer`; encrypted if there are `keys`.

    `read` makes a message of bytes, `receive` gets it and its length, `unreadable` why that failed; as long
    as `may_read` says no, messages wait here, and `resume` is to be called when that may have changed. If
    far too many wait, the link is lost. `lost` is called once, unless the link is closed first. Nothing that
    `receive` raises ends the link. Raises InvalidEndpoint.
    """

    def __init__(
        self,
        endpoint: str,
        keys: ClientKeys | None,
        may_read: Callable[[], bool],
        read: Callable[[bytes], Message],
        receive: Callable[[Message, int], None],
        unreadable: Callable[[MalformedMessage], None],
        lost: Callable[[Loss], None],
        peer: str = "the broker",
        high_water: int = HIGH_WATER,
    ) -> None:
        self.backlog = 0  # bytes of messages that are to be sent, and are not in ZeroMQ yet
        self.malformed = 0  # messages that were none, or did not end
        self._loop = asyncio.get_running_loop()
        self._may_read = may_read
        self._read = read
        self._receive = receive
        self._unreadable = unreadable
        self._lost = lost
        self._peer = peer
        self._closed = False
        self._waiting: deque[bytes] = deque()  # messages that are to be sent in this turn
        self._packet: bytes | None = None  # did not fit into the socket
        self._flushing = False
        self._arrived: deque[bytes] = deque()  # messages of packets that were read already
        self._unread = 0  # bytes that they take
        self._draining = False
        self._stalled = False  # may not read
        self._heartbeat = 0.0
        self._silent = 0  # heartbeats since something was heard
        self._beat: asyncio.TimerHandle | None = None
        self._heard = self._sent = self._loop.time()
        self._why = ""
        self._unwanted = False
        self._packets = 0  # that were read
        self._look: asyncio.TimerHandle | None = None
        self._socket = _socket(endpoint, keys, high_water)
        self._monitor: zmq.Socket[bytes] = self._socket.get_monitor_socket(_WATCHED)
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            self._close_sockets(0)
            raise InvalidEndpoint(
                f"endpoint {endpoint!r}: {error.strerror}: expected tcp://host:port or ipc://path"
            ) from None
        self._fds = (self._socket.FD, self._monitor.FD)
        self._loop.add_reader(self._fds[0], self._ready)
        self._loop.add_reader(self._fds[1], self._look_at_monitor)
        self._loop.call_soon(self._look_at_monitor)  # descriptors tell of what happens after a first look

    # -- sending ------------------------------------------------------------------------------------------

    def send(self, message: bytes) -> None:
        """Send an encoded message, in one packet with others of this turn. No effect after the end."""
        if self._closed:
            return
        self._waiting.append(message)
        self.backlog += len(message)
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        if self._closed:
            return
        while self._packet is not None or self._waiting:
            if self._packet is None:
                self._packet = self._next_packet()
            try:
                self._socket.send(self._packet, zmq.NOBLOCK)
            except zmq.Again:
                break  # the socket says when it takes more
            self._packet = None
            self._sent = self._loop.time()
        # The descriptor tells of changes alone, and sending may have taken note of one for reading.
        if self._can(zmq.POLLIN):
            self._drain_soon()

    def _can(self, event: int) -> bool:
        return bool(int(self._socket.get(zmq.EVENTS)) & event)

    def _next_packet(self) -> bytes:
        messages = [self._waiting.popleft()]
        size = len(messages[0])
        while self._waiting and len(messages) < MESSAGES_A_PACKET:
            size += len(self._waiting[0])
            if size > BYTES_A_PACKET:
                break
            messages.append(self._waiting.popleft())
        self.backlog -= sum(map(len, messages))
        return pack(messages)

    # -- receiving ----------------------------------------------------------------------------------------

    def resume(self) -> None:
        """Look again whether reading is allowed."""
        if self._stalled and not self._closed and self._may_read():
            self._stalled = False
            self._heard = self._loop.time()  # nobody has listened
            self._drain_soon()

    def _ready(self) -> None:
        if self._packet is not None:
            self._flush()
        self._drain()

    def _drain_soon(self) -> None:
        if not self._draining:
            self._draining = True
            self._loop.call_soon(self._drain_again)

    def _drain_again(self) -> None:
        self._draining = False
        self._drain()

    def _drain(self) -> None:
        """Read all there is, a number of packets at a time.

        ZeroMQ must not hold back a connection: it would abort if that broke. So everything is taken out of
        the socket, whether it may be looked at or not.
        """
        for _ in range(PACKETS_A_TURN):
            self._take_arrived()
            if self._closed:
                return
            if self._unread > MOST_UNREAD_BYTES:
                self.lose(f"{self._unread} bytes wait to be read: expected at most {MOST_UNREAD_BYTES}")
                return
            try:
                packet = self._socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                if self._packet is not None and self._can(zmq.POLLOUT):
                    self._loop.call_soon(self._flush)
                return
            self._heard = self._loop.time()
            self._packets += 1
            try:
                messages = unpack(packet)
            except MalformedMessage as error:
                self._count_malformed(error)
            else:
                self._arrived.extend(messages)
                self._unread += sum(map(len, messages)) + MESSAGE_BYTES * len(messages)
        self._drain_soon()

    def _take_arrived(self) -> None:
        """Take the messages that wait here, as far as that is allowed."""
        while not self._closed:
            self._stalled = not self._may_read()
            if self._stalled or not self._arrived:
                return
            data = self._arrived.popleft()
            self._unread -= len(data) + MESSAGE_BYTES
            self._take(data)

    def _take(self, data: bytes) -> None:
        try:
            message = self._read(data)
        except MalformedMessage as error:
            self._count_malformed(error)
            self._unreadable(error)
            return
        try:
            self._receive(message, len(data))
        except Exception:
            log.exception(
                "%s from %s: the connection goes on after an error", type(message).__name__, self._peer
            )

    def _count_malformed(self, error: MalformedMessage) -> None:
        self.malformed += 1
        log.warning("from %s: %s", self._peer, error)

    # -- life and death -----------------------------------------------------------------------------------

    def keep_alive(self, heartbeat: float) -> None:
        """Say something at least every `heartbeat` seconds, and expect as much of the broker."""
        self._heartbeat = heartbeat
        self._beat = self._loop.call_later(heartbeat, self._tick, self._loop.time())

    def _tick(self, before: float) -> None:
        self._drain()  # what has arrived while the loop was busy with something else counts
        if self._closed:
            return
        now = self._loop.time()
        # Heartbeats are counted, not seconds: a process that got no time has not listened, and asks first.
        self._silent = self._silent + 1 if self._heard < before and not self._stalled else 0
        if self._silent == HEARTBEATS:
            self.lose(f"heard nothing for {now - self._heard:.1f} s")
            return
        if self._sent < before or self._heard < before:
            self.send(encode(Ping(asks=True)))
        self._beat = self._loop.call_later(self._heartbeat, self._tick, now)

    def _look_at_monitor(self) -> None:
        while not self._closed:
            try:
                noted = recv_monitor_message(self._monitor, zmq.NOBLOCK)
            except zmq.Again:
                return
            event = zmq.Event(noted["event"])
            if event in _HANDSHAKE_FAILURES:
                self._why = _HANDSHAKE_FAILURES[event].format(self._peer)
                self._unwanted = event is zmq.Event.HANDSHAKE_FAILED_AUTH
            elif event is zmq.Event.CONNECTED:
                self._why = "the connection broke"
                unfinished = UnfinishedMessage(noted["value"])
                self._look = self._loop.call_later(LOOK_S, self._look_at_message, unfinished)
            elif event & _ENDS:
                self._drain_rest()
                self.lose(self._why or "nobody listens there")

    def _look_at_message(self, unfinished: UnfinishedMessage) -> None:
        """End a connection on which a message comes that does not end."""
        self._drain()
        if self._closed:
            return
        if wrong := unfinished.too_large(self._packets):
            self._count_malformed(MalformedMessage(wrong))
            self.lose(wrong)
            return
        self._look = self._loop.call_later(LOOK_S, self._look_at_message, unfinished)

    def _drain_rest(self) -> None:
        """Read what arrived before the connection broke, as far as that is allowed now."""
        while not self._closed and not self._stalled and self._can(zmq.POLLIN):
            self._drain()

    def lose(self, reason: str) -> None:
        """The connection is no good any more."""
        if not self._closed:
            self._end(0)
            self._lost(Loss(reason, self._unwanted))

    def close(self) -> None:
        """End the connection; what was said before still goes out, if it can within a second."""
        if not self._closed:
            self._flush()
            self._end(LINGER_MS)

    def _end(self, linger: int) -> None:
        self._closed = True
        for timer in (self._beat, self._look):
            if timer is not None:
                timer.cancel()
        for fd in self._fds:
            self._loop.remove_reader(fd)
        self._close_sockets(linger)

    def _close_sockets(self, linger: int) -> None:
        with suppress(zmq.ZMQError):
            self._socket.disable_monitor()
        self._monitor.close(0)
        self._socket.close(linger)


def _socket(endpoint: str, keys: ClientKeys | None, high_water: int) -> zmq.Socket[bytes]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
    context.MAX_SOCKETS = min(MOST_SOCKETS, context.SOCKET_LIMIT)
    socket = context.socket(zmq.DEALER)
    socket.set(zmq.RECONNECT_IVL, -1)
    socket.set(zmq.MAXMSGSIZE, MAX_PACKET_BYTES)
    # Where there is a limit, ZeroMQ stops to read a connection whose queue is full. If that breaks then, and
    # a ping of the peer's is found there when the queue is read, libzmq aborts the process.
    socket.set(zmq.RCVHWM, 0)
    socket.set(zmq.SNDHWM, high_water)
    socket.set(zmq.IPV6, "[" in endpoint)
    if keys is not None:
        socket.curve_publickey = keys.public
        socket.curve_secretkey = keys.secret
        socket.curve_serverkey = keys.broker
    return socket
