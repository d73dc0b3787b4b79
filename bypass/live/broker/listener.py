"""Where clients reach a live broker: its sockets, and the guard over who is let in there."""

from __future__ import annotations

from math import ceil

import zmq

from bypass.errors import BypassError
from bypass.live.broker.authentication import PUBLIC_KEY, Authenticator
from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.descriptors import reserved
from bypass.live.broker.loop import Loop
from bypass.live.keys import AllowList, load_broker_keys

HIGH_WATER = 1000
"""Packets that wait for one client in its socket."""

QUEUE_BYTES = 1 << 24
"""Bytes that wait for the broker on one connection at most, as packets of the largest size, beside what the
system holds."""

NOW, NOW_AND_MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)
"""Flags as plain numbers: joining them anew for each packet would cost more than sending it."""

HANDSHAKE_MS = 5000
"""Who has connected and does not say who it is in this time is disconnected. Clients wait no longer, too."""

GONE_HEARTBEATS = 12
"""After so long, the system gives up a connection whose peer acknowledges nothing. Sessions are given up
earlier, by pings of our own: this is about the descriptor that a peer without power leaves behind."""

LONGEST_PROBE_S = 3600
"""However long a heartbeat is: the system takes no more than some hours."""

LINGER_MS = 500
DOMAIN = "bypass"


class Listener:
    """A socket that is bound to all addresses of a configuration, and who is admitted there.

    `loop` answers what ZeroMQ asks about keys; whoever makes this serves `socket`. An open broker has neither
    `allow_list` nor `authenticator`. Raises InvalidKeys, and BypassError for an address that cannot be had;
    nothing is left open then.
    """

    def __init__(self, config: BrokerConfig, loop: Loop) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._context.set(zmq.MAX_SOCKETS, 1 << 16)
        self.allow_list: AllowList | None = None
        self.authenticator: Authenticator | None = None
        try:
            self.socket = self._make_socket(config)
            if not config.open:
                self._admit_only_listed(config, loop)
            self.endpoints = [self._bind(address) for address in config.listen]
        except BaseException:
            self._context.destroy(0)
            raise
        # What `Socket.send` ends in: the options that it looks for first cost as much as sending does.
        self._send_part = super(zmq.Socket, self.socket).send

    def send(self, route: bytes, packet: bytes | memoryview) -> None:
        """Send a packet without waiting. Raises ZMQError: EHOSTUNREACH if the client is gone, EAGAIN if it
        takes nothing."""
        self._send_part(route, NOW_AND_MORE)
        self._send_part(packet, NOW)

    def close(self) -> None:
        """Let go of all sockets; what was sent last may take a moment to get out."""
        self.socket.close()
        if self.authenticator is not None:
            self.authenticator.close()
        self._context.term()

    def _make_socket(self, config: BrokerConfig) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.ROUTER)
        socket.set(zmq.ROUTER_MANDATORY, 1)
        socket.set(zmq.SNDHWM, HIGH_WATER)
        socket.set(zmq.RCVHWM, max(QUEUE_BYTES // config.limits.packet_bytes, 1))
        socket.set(zmq.LINGER, LINGER_MS)
        socket.set(zmq.MAXMSGSIZE, config.limits.packet_bytes)
        socket.set(zmq.BACKLOG, 4096)
        socket.set(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        # No heartbeats of ZeroMQ's: it aborts the process if one is due on a connection that broke while its
        # queue was full.
        seconds = min(ceil(config.heartbeat), LONGEST_PROBE_S)
        socket.set(zmq.TCP_KEEPALIVE, 1)
        socket.set(zmq.TCP_KEEPALIVE_IDLE, seconds)
        socket.set(zmq.TCP_KEEPALIVE_INTVL, seconds)
        socket.set(zmq.TCP_KEEPALIVE_CNT, GONE_HEARTBEATS - 1)
        socket.set(zmq.TCP_MAXRT, GONE_HEARTBEATS * seconds * 1000)
        return socket

    def _admit_only_listed(self, config: BrokerConfig, loop: Loop) -> None:
        keys = load_broker_keys(config.keys)
        self.allow_list = AllowList(config.clients, reserved)
        self.authenticator = Authenticator(self._context, self.allow_list, DOMAIN)
        loop.serve(self.authenticator.socket, self.authenticator.handle)
        self.authenticator.guard(self.socket, keys)

    def _bind(self, address: str) -> str:
        """Bind to an address; gives the one that clients can connect to."""
        self.socket.set(zmq.IPV6, "[" in address)
        try:
            self.socket.bind(address)
        except zmq.ZMQError as error:
            raise BypassError(f"listen {address!r}: {error.strerror}: expected a free address") from None
        return str(self.socket.get_string(zmq.LAST_ENDPOINT))


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
