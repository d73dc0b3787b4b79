"""Connections as the system knows them, so that a live broker can end one: ZeroMQ offers no way to do so."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress

import zmq

from bypass.live.broker.loop.memory import Memory
from bypass.live.broker.loop.sender import Sender
from bypass.live.unfinished import Identity, bytes_received, identity_of

GREETING_S = 10.0
"""A connection that has no session for so long is ended."""

GROWTH_BYTES = 1 << 26
"""Each time that the process has grown by so much, connections are looked at."""

HELD_BYTES, HELD_BYTES_IN_ALL = 1 << 22, 1 << 26
"""Bytes of one connection, and of all, that ZeroMQ may hold then, because nobody has read them yet or can."""

DROPPED_BYTES, DROPPED_PACKET_BYTES = 1 << 22, 1 << 15
"""Bytes that may be on their way when something on a connection is not read; each packet counts for more.
A client that sends more than that is flooding."""

REST = 10
"""That takes at most one part of the time in so many."""


class PeerConnection:
    """A connection on which something has come, behind a descriptor that was looked up in this turn."""

    __slots__ = (
        "attended",
        "broken",
        "descriptor",
        "dropped",
        "ended",
        "identity",
        "sender",
        "taken",
        "turn",
    )

    def __init__(self, descriptor: int, identity: Identity | None, turn: int) -> None:
        self.descriptor = descriptor
        self.identity = identity
        self.turn = turn
        self.sender: Sender | None = None  # as long as nobody has asked
        self.attended = time.monotonic()  # when it last had a session; at first, when it came
        self.taken = 0  # bytes that were read
        self.broken = False  # something was not read, of which whoever is there has not been told yet
        self.dropped = 0  # bytes that have come since
        self.ended = False  # by us: what comes is the rest of what was on its way

    def floods(self, size: int) -> bool:
        """A packet of so many bytes is dropped; gives whether that is far too much."""
        self.dropped += size + DROPPED_PACKET_BYTES
        return self.dropped > DROPPED_BYTES


class Connections:
    """All connections; by route those on which something has come. `is_open` says whether something can be
    sent on a route now. Those that were ended are counted by reason.

    A descriptor may be another connection's by the time that it is looked at. Hence a connection is ended
    only if it is still open in a later turn than the one in which its socket was looked up: then that was its
    own, and is ended if it is still the one behind the descriptor. Of those on which nothing has come no more
    is known than that they were accepted: such a one is ended if it is at an address of ours.
    """

    def __init__(self, is_open: Callable[[bytes], bool]) -> None:
        self.turn = 0
        """Number of the turn; before each, ZeroMQ has noted which connections are gone."""
        self.by_route: dict[bytes, PeerConnection] = {}
        self.ours: Container[int | str] = ()
        """Ports and paths at which connections are accepted."""
        self.ungreeted = 0
        self.swollen = 0
        self._is_open = is_open
        self._accepted: dict[Identity, tuple[int, float]] = {}  # descriptors, and when
        self._memory = Memory()
        self._least = self._memory.resident()  # since connections were looked at
        self._rests_until = 0.0
        # Who ends connections because there is no descriptor left must not need one for that.
        self._nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._spare = os.dup(self._nothing)

    def accepted(self, descriptor: int) -> None:
        """Somebody has connected."""
        if identity := identity_of(descriptor):
            self._accepted.setdefault(identity, (descriptor, time.monotonic()))

    def meet(self, route: bytes, frame: zmq.Frame) -> PeerConnection:
        """Something came by this route: gives what is known of the connection."""
        connection = self.by_route.get(route)
        if connection is None:
            try:
                descriptor = int(frame.get(zmq.SRCFD))
            except zmq.ZMQError:  # it is gone already
                descriptor = -1
            connection = PeerConnection(descriptor, identity_of(descriptor), self.turn)
            self.by_route[route] = connection
        return connection

    def end(self, route: bytes) -> bool:
        """End a connection; gives whether that could be done, else it may be gone, or be too new."""
        connection = self.by_route.get(route)
        if connection is None or connection.turn == self.turn or not self._is_open(route):
            return False
        connection.ended = self._shut(connection.descriptor, connection.identity)
        return connection.ended

    def look_after(self, attended: Container[bytes]) -> None:
        """Every second or so: end connections that have had no session for a while, and forget those that are
        gone. `attended` are the routes of sessions."""
        self.turn += 1
        now = time.monotonic()
        late = [identity for identity, (_, since) in self._accepted.items() if now - since > GREETING_S]
        met = {connection.identity for connection in self.by_route.values()} if late else set()
        for route, connection in [*self.by_route.items()]:
            if route in attended:
                connection.attended = now
            elif now - connection.attended > GREETING_S:
                self.ungreeted += self.end(route)
                del self.by_route[route]
        for identity in late:
            descriptor, _ = self._accepted.pop(identity)
            if identity not in met and self._is_ours(descriptor):
                self.ungreeted += self._shut(descriptor, identity)

    def listens_again(self) -> None:
        """Nobody was heard for a while, and that was not the peers' fault."""
        now = time.monotonic()
        for connection in self.by_route.values():
            connection.attended = now
        self._accepted = {identity: (each, now) for identity, (each, _) in self._accepted.items()}

    def watch(self) -> None:
        """Several times a second: if the process has grown much, end the connections of which ZeroMQ holds
        too much.

        It reads whether we do or not. It keeps a message until the last of its parts has come, and for ever
        what comes from a peer that calls itself as another does: nobody sees either.
        """
        now, resident = time.monotonic(), self._memory.resident()
        self._least = min(self._least, resident)
        if resident - self._least < GROWTH_BYTES or now < self._rests_until:
            return
        self._least = resident
        known = {each.identity: (each.descriptor, each.taken) for each in self.by_route.values()}
        others = {identity: (each, 0) for identity, (each, _) in self._accepted.items()}
        held = [
            (self._received(descriptor) - taken, descriptor, identity)
            for identity, (descriptor, taken) in (others | known).items()
            if identity is not None
        ]
        held = sorted((each for each in held if each[0] > 0), reverse=True)
        total = sum(size for size, _, _ in held)
        for size, descriptor, identity in held:
            if size <= HELD_BYTES and total <= HELD_BYTES_IN_ALL:
                break
            if self._is_ours(descriptor):
                total -= size
                self.swollen += self._shut(descriptor, identity)
        self._rests_until = now + REST * (time.monotonic() - now)

    def close(self) -> None:
        """Give back what was needed to end connections."""
        os.close(self._spare)
        os.close(self._nothing)
        self._memory.close()

    def _is_ours(self, descriptor: int) -> bool:
        with suppress(OSError), self._opened(descriptor) as peer:
            name = peer.getsockname()
            return (name[1] if isinstance(name, tuple) else name) in self.ours
        return False

    def _shut(self, descriptor: int, identity: Identity | None) -> bool:
        """End a connection; gives whether it was still the one behind its descriptor."""
        with suppress(OSError), self._opened(descriptor) as peer:  # from here on nobody else can get it
            if identity_of(peer.fileno()) == identity:
                peer.shutdown(socket.SHUT_RDWR)
                return True
        return False

    def _received(self, descriptor: int) -> int:
        """How many bytes have come on a connection, as far as the system tells."""
        with suppress(OSError), self._opened(descriptor) as peer:
            return bytes_received(peer)
        return 0

    @contextmanager
    def _opened(self, descriptor: int) -> Iterator[socket.socket]:
        """The socket behind a descriptor, which stays open. Raises OSError."""
        os.dup2(descriptor, self._spare, inheritable=False)
        try:
            peer = socket.socket(fileno=self._spare)
            try:
                yield peer
            finally:
                peer.detach()
        finally:
            os.dup2(self._nothing, self._spare, inheritable=False)
