"""From packets to messages: what arrives is charged to whoever has sent it, and read at once or later.

ZeroMQ must not hold back a connection: it would abort if that broke. So everything is taken out of the socket
as it comes, however long it has to wait here, and what there is no room for is dropped.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

import zmq

from bypass.live.broker.config import Limits
from bypass.live.broker.delivery.deliveries import Deliveries
from bypass.live.broker.loop.connections import DROPPED_BYTES, PeerConnection
from bypass.live.broker.loop.listener import NOW, Listener, address_of, key_of
from bypass.live.broker.loop.sender import Sender
from bypass.live.broker.reception.backlog import Backlog, Packet, room_of
from bypass.live.broker.reception.greeting import Greeting
from bypass.live.broker.reception.presence import ClientPresence
from bypass.live.broker.reception.publications import PendingPublications
from bypass.live.broker.reception.reception import Reception
from bypass.live.broker.sessions.quotas import BURST_S, Account, Charge
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.protocol.session import RETRY, Bye, Refused
from bypass.protocol.wire import MalformedMessage, UnknownVersion, unpack

log = logging.getLogger(__name__)

MOST_PER_TURN = 500
"""Messages that are read, to the end of a packet, before what they led to is stored and sent."""

BYTES_A_MESSAGE = 2048
"""So many bytes count as a message there: what is large takes longer."""

MOST_TAKEN = 5000
"""Parts that are taken out of the socket before that."""

OVER, OVER_BYTES = "limited", "limited_bytes"


class Intake:
    """Takes and reads what has arrived at a `listener`, a turn at a time. `again` asks for another turn.

    While it is `paused`, nothing is read: what arrives waits. Once it is `closed`, what arrives is lost. It
    is `behind` if more has come than could be taken.
    """

    def __init__(
        self,
        listener: Listener,
        limits: Limits,
        sessions: Sessions,
        deliveries: Deliveries,
        attendance: ClientPresence,
        greeting: Greeting,
        reception: Reception,
        publications: PendingPublications,
        counters: Counter[str],
        now: Callable[[], float],
        again: Callable[[], None],
    ) -> None:
        self.paused = False
        self.closed = False
        self.behind = False
        self._listener = listener
        self._limits = limits
        self._sessions = sessions
        self._deliveries = deliveries
        self._attendance = attendance
        self._greeting = greeting
        self._reception = reception
        self._publications = publications
        self._counters = counters
        self._now = now
        self._again = again
        self._connections = listener.connections
        self._backlog = Backlog()
        self._reasons = {
            OVER: f"more than {limits.client_rate:g} messages a second",
            OVER_BYTES: f"more than {limits.client_byte_rate:g} bytes a second",
        }

    def read(self) -> None:
        """Take what has arrived, and read as much of what waits as is good for others."""
        if self.closed:
            self._lose()
            return
        try:
            left = self._take(0 if self.paused else MOST_PER_TURN)
            while left > 0 and self._backlog:
                left -= self._read(self._backlog.take())
        finally:  # whatever was wrong with a packet, those that wait are read
            self._publications.process()
            if self.behind or (self._backlog and not self.paused):
                self._again()

    def resume(self) -> None:
        """Be paused no more."""
        self.paused = False
        self._again()

    # -- what arrives -------------------------------------------------------------------------------------

    def _take(self, left: int) -> int:
        """Take what has arrived out of the socket: it is charged, and read if nothing waits, up to so many
        messages; the rest waits. Gives how many more could have been read."""
        receive, wire_bytes = self._listener.socket.recv, self._listener.wire_bytes
        by_route, connections = self._sessions.by_route, self._connections
        nothing_waits = not self._backlog
        now = self._now()
        connections.turn += 1
        parts = self._skip_rest(MOST_TAKEN)
        while parts > 0:
            try:
                route = receive(NOW)
            except zmq.Again:
                self.behind = False
                return left
            frame = receive(copy=False)
            parts = self._skip_rest(parts - 1) if frame.more else parts - 1
            size = len(frame)
            connection = connections.by_route.get(route) or connections.meet(route, frame)
            connection.taken += wire_bytes(size)
            if connection.broken:
                self._counters["bytes_in"] += size
                self._counters["unread"] += 1
                self._drop(connection, route, size)
                continue
            session = by_route.get(route)
            if session is None:
                sender = connection.sender
                if sender is None:
                    sender = connection.sender = Sender(route, key_of(frame), address_of(frame))
                account = self._greeting.account(sender)
            else:
                sender, account = session.sender, session.account
                session.heard = now
            packet = self._charged(sender, account, frame, now)
            if packet is None or packet.unread:
                connection.broken = True
                account.bar(now)
            if packet is None:
                self._drop(connection, route, DROPPED_BYTES)
            elif nothing_waits and left > 0:
                left -= self._read(packet)
            else:
                self._backlog.put(packet)
        self.behind = True
        return left

    def _lose(self) -> None:
        """Take what has arrived out of the socket; who said it is told that the broker ends."""
        with suppress(zmq.Again):
            for _ in range(MOST_TAKEN):
                self._listener.socket.recv(NOW, copy=False)

    def _skip_rest(self, most: int) -> int:
        """Skip the rest of a packet of several parts, which must not be taken for the next one, but no more
        than so many parts: gives how many more could have been."""
        while most and self._listener.socket.get(zmq.RCVMORE):
            self._listener.socket.recv()
            most -= 1
        return most

    def _charged(self, sender: Sender, account: Account, frame: zmq.Frame, now: float) -> Packet | None:
        """A packet with as much of it as is read; None if it cannot even wait."""
        size = len(frame)
        charge = account.charge_bytes(now, size)
        if charge is Charge.UNREAD:
            return self._unread(sender, account, size, OVER_BYTES, 1)
        messages: Sequence[bytes] = ()
        error = None
        try:
            if frame.more:
                raise MalformedMessage("a packet of several parts: expected one")
            messages = unpack(frame.bytes)
        except MalformedMessage as malformed:
            error = malformed
        total = len(messages) or 1
        taken = account.charge_messages(now, total) if charge is Charge.TAKEN else 0
        over = OVER if charge is Charge.TAKEN else OVER_BYTES
        answered = total if taken == total else taken + account.charge_refusals(now, total - taken)
        if not answered:
            return self._unread(sender, account, size, over, total)
        room = room_of(size, total)
        if not self._backlog.has(account, room):
            self._counters["bytes_in"] += size
            self._counters["overflowed"] += total
            return None
        if answered < total:
            self._counters["unread"] += total - answered
            messages = messages[:answered]
        return Packet(sender, account, size, room, messages, taken, over, total - answered, error)

    def _unread(self, sender: Sender, account: Account, size: int, over: str, count: int) -> Packet:
        """Give what is left of a packet of which nothing is read: that there was one."""
        self._counters["bytes_in"] += size
        self._counters["unread"] += count
        return Packet(sender, account, 0, 0, (), 0, over, count, None)

    def _drop(self, connection: PeerConnection, route: bytes, size: int) -> None:
        """Drop a packet that comes after something that was not read, until its client is told. A client that
        sends much meanwhile is disconnected."""
        if not connection.ended and connection.floods(size):
            self._counters["disconnected"] += self._connections.end(route)

    # -- what is read -------------------------------------------------------------------------------------

    def _read(self, packet: Packet) -> int:
        """Read a packet; gives for how many messages it counts."""
        sender, _, size, _, messages, taken, over, unread, error = packet
        self._counters["bytes_in"] += size
        session = self._sessions.by_route.get(sender.route)
        if error is not None:
            self._malformed(sender, session, error)
        for data in messages[:taken]:
            session = self._receive(sender, session, data)
        for data in messages[taken:]:
            session = self._receive(sender, session, data, over)
        if unread:
            self._offended(packet, session)
        return max(len(messages), size // BYTES_A_MESSAGE, 1)

    def _receive(
        self, sender: Sender, session: Session | None, data: bytes, over: str = ""
    ) -> Session | None:
        """One message, which is refused if it is `over` a quota: gives whose the next one is."""
        if session is not None and session.route is None:  # it has left in this packet
            session = None
        try:
            if len(data) > self._limits.message_bytes:
                self._too_large(session, data)
            elif session is None:
                self._publications.process()
                return self._greeting.greet(sender, data)
            elif over:
                self._reception.refuse(session, data, over, self._reasons[over])
            else:
                self._reception.receive(session, data)
        except UnknownVersion as error:
            self._publications.process()
            self._counters["refused"] += 1
            self._deliveries.to_route(sender.route, Refused(str(error)))
        except MalformedMessage as error:
            self._malformed(sender, session, error)
        return session

    def _malformed(self, sender: Sender, session: Session | None, error: MalformedMessage) -> None:
        self._counters["malformed"] += 1
        log.debug("from %s: %s", session.name if session else sender.user or "a stranger", error)
        if session is not None:
            self._reception.unreadable(session, error)

    def _too_large(self, session: Session | None, data: bytes) -> None:
        self._counters["oversized"] += 1
        if session is not None:
            self._reception.oversized(session, data)

    def _offended(self, packet: Packet, session: Session | None) -> None:
        """Something was not read: its connection must not go on as if it had been.

        A client that means well makes another one, and says there what was not answered here. Whoever goes on
        in spite of the farewell is disconnected.
        """
        self._publications.process()
        route, reason = packet.sender.route, self._reasons[packet.over]
        connection = self._connections.by_route.get(route)
        if connection is not None and not connection.ended:
            connection.broken, connection.dropped = False, 0
        if session is not None and session.route is not None:
            log.warning("%s: %s: it has to connect again", session.name, reason)
            later = RETRY in session.capabilities
            answer = Refused(f"{session.name}: {reason}", retry=BURST_S) if later else Bye()
            self._deliveries.to_route(session.route, answer)
            self._attendance.lost(session, "offended")
        elif self._connections.end(route):
            self._counters["disconnected"] += 1
