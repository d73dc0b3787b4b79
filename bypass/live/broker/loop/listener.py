"""Where clients reach a live broker: its sockets, and the guard over who is let in there."""

from __future__ import annotations

import ctypes
import secrets
from math import ceil

import zmq
from zmq.utils.monitor import recv_monitor_message

from bypass.errors import BypassError
from bypass.live.allow_list import AllowList
from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.loop.authentication import PUBLIC_KEY, Authenticator
from bypass.live.broker.loop.connections import Connections
from bypass.live.broker.loop.descriptors import reserved
from bypass.live.broker.loop.loop import Loop
from bypass.live.keys import load_broker_keys
from bypass.protocol.session import Bye
from bypass.protocol.wire import encode

HIGH_WATER = 1000
"""Packets that wait for one client in its socket."""

NOW, NOW_AND_MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)
"""Flags as plain numbers: joining them anew for each packet would cost more than sending it."""

HANDSHAKE_MS = 5000
"""A peer that does not say who it is in this time is disconnected. Clients wait no longer, too."""

GONE_HEARTBEATS = 12
"""After so long, the system gives up a connection whose peer acknowledges nothing. Sessions are given up
earlier, by pings of our own: this is about the descriptor that a peer without power leaves behind."""

LONGEST_PROBE_S = 3600
"""However long a heartbeat is: the system takes no more than some hours."""

LINGER_MS = 500
DOMAIN = "bypass"

WATCH_S = 0.1
"""How often it is found out whether ZeroMQ holds too much."""

SEALED_BYTES = 33
"""Bytes that encryption adds to a packet."""

LONG_BYTES = 256
"""From so many bytes on, a packet has a header of nine bytes; of two before."""

_ACCEPTED = "inproc://accepted"
_FAREWELL = encode(Bye())


class Listener:
    """A socket that is bound to all addresses of a configuration, and who is admitted there.

    `loop` answers what ZeroMQ asks about clients, and watches over `connections`; whoever makes this serves
    `socket`, which must not be left unread: there is no end to what ZeroMQ keeps for it. An open broker has
    no `allow_list`. Raises InvalidKeys, and BypassError for an address that cannot be had; nothing is left
    open then.
    """

    def __init__(self, config: BrokerConfig, loop: Loop) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._context.set(zmq.MAX_SOCKETS, 1 << 16)
        self.allow_list: AllowList | None = None
        self.connections = Connections(self._is_open)
        self._seal = 0 if config.open else SEALED_BYTES
        try:
            self.socket = self._make_socket(config)
            self._accepted = self._monitor()
            self.authenticator = self._guard(config)
            self.endpoints = [self._bind(address) for address in config.listen]
        except BaseException:
            self._context.destroy(0)
            self.connections.close()
            raise
        self.connections.ours = {_local_name(endpoint) for endpoint in self.endpoints}
        self.serve(loop)
        # What `Socket.send` ends in: the options that it looks for first cost as much as sending does.
        self._send_part = super(zmq.Socket, self.socket).send

    def send(self, route: bytes, packet: bytes | memoryview) -> None:
        """Send a packet without waiting. Raises ZMQError: EHOSTUNREACH if the client is gone, EAGAIN if it
        takes nothing."""
        self._send_part(route, NOW_AND_MORE)
        self._send_part(packet, NOW)

    def serve(self, loop: Loop) -> None:
        """Have another loop do what the first one has done, which does not run any more."""
        loop.serve(self.authenticator.socket, self.authenticator.handle)
        loop.serve(self._accepted, self._note_accepted)
        self._watch(loop)

    def wire_bytes(self, size: int) -> int:
        """How many bytes a packet of this size has on its way."""
        size += self._seal
        return size + (2 if size < LONG_BYTES else 9)

    def close(self) -> None:
        """Let go of all sockets; what was sent last may take a moment to get out."""
        self.socket.disable_monitor()
        self._accepted.close()
        self.connections.close()
        self.socket.close()
        self.authenticator.close()
        self._context.term()

    def _make_socket(self, config: BrokerConfig) -> zmq.Socket[bytes]:
        # Routes are numbers from a random one on, which libzmq takes where nobody has made it random. It
        # aborts if a peer has called itself by the number that is next.
        ctypes.CDLL(None).srand(secrets.randbits(32))
        socket = self._context.socket(zmq.ROUTER)
        socket.set(zmq.ROUTER_MANDATORY, 1)
        socket.set(zmq.SNDHWM, HIGH_WATER)
        # With a limit, the input of a connection is stopped when its queue is full; if that breaks then, and
        # a ping of the peer's is found there when the queue is read, libzmq aborts the process.
        socket.set(zmq.RCVHWM, 0)
        socket.set(zmq.LINGER, LINGER_MS)
        socket.set(zmq.MAXMSGSIZE, config.limits.packet_bytes)
        socket.set(zmq.BACKLOG, 4096)
        socket.set(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        # Heartbeats of ZeroMQ's could do the same.
        seconds = min(ceil(config.heartbeat), LONGEST_PROBE_S)
        socket.set(zmq.TCP_KEEPALIVE, 1)
        socket.set(zmq.TCP_KEEPALIVE_IDLE, seconds)
        socket.set(zmq.TCP_KEEPALIVE_INTVL, seconds)
        socket.set(zmq.TCP_KEEPALIVE_CNT, GONE_HEARTBEATS - 1)
        socket.set(zmq.TCP_MAXRT, GONE_HEARTBEATS * seconds * 1000)
        return socket

    def _monitor(self) -> zmq.Socket[bytes]:
        """A socket that tells of every connection which is accepted."""
        told: zmq.Socket[bytes] = self._context.socket(zmq.PAIR)
        told.set(zmq.RCVHWM, 0)  # else ZeroMQ would wait until it is read
        self.socket.monitor(_ACCEPTED, zmq.EVENT_ACCEPTED)
        told.connect(_ACCEPTED)
        return told

    def _note_accepted(self) -> None:
        try:
            while True:
                self.connections.accepted(int(recv_monitor_message(self._accepted, NOW)["value"]))
        except zmq.Again:
            return

    def _watch(self, loop: Loop) -> None:
        self.connections.watch()
        loop.after(WATCH_S, self._watch, loop)

    def _is_open(self, route: bytes) -> bool:
        try:
            self.send(route, _FAREWELL)
        except zmq.ZMQError as error:
            return error.errno == zmq.EAGAIN  # it is open and takes nothing
        return True

    def _guard(self, config: BrokerConfig) -> Authenticator:
        """Have ZeroMQ ask about every client; nothing of one is kept before it is let in."""
        keys = None
        if not config.open:
            keys = load_broker_keys(config.keys)
            self.allow_list = AllowList(config.clients, reserved)
        authenticator = Authenticator(self._context, self.allow_list, DOMAIN)
        authenticator.guard(self.socket, keys)
        return authenticator

    def _bind(self, address: str) -> str:
        """Bind to an address; gives the one that clients can connect to."""
        self.socket.set(zmq.IPV6, "[" in address)
        try:
            self.socket.bind(address)
        except zmq.ZMQError as error:
            raise BypassError(f"listen {address!r}: {error.strerror}: expected a free address") from None
        return str(self.socket.get_string(zmq.LAST_ENDPOINT))


def _local_name(endpoint: str) -> int | str:
    """Give the part of an address that tells it from others of this machine: its port, or its path."""
    transport, _, address = endpoint.partition("://")
    return address if transport == "ipc" else int(address.rpartition(":")[2])


def address_of(frame: zmq.Frame) -> str:
    """Where whoever sent a frame is, as ZeroMQ says; empty if it does not."""
    try:
        return str(frame.get("Peer-Address"))
    except zmq.ZMQError:
        return ""


def key_of(frame: zmq.Frame) -> str:
    """The key of whoever sent a frame; empty if it has none."""
    try:
        return str(frame.get(PUBLIC_KEY))
    except zmq.ZMQError:
        return ""
