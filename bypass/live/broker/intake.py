"""From packets to messages: what arrives is charged to whoever has sent it, and then read."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

import zmq

from bypass.live.broker.attendance import Attendance
from bypass.live.broker.config import Limits
from bypass.live.broker.connections import Connections
from bypass.live.broker.deliveries import Deliveries
from bypass.live.broker.listener import NOW, Listener, address_of, key_of
from bypass.live.broker.quotas import BURST_S, Account, Charge
from bypass.live.broker.reception import Reception
from bypass.live.broker.sessions import Sender, Session, Sessions
from bypass.session import RETRY, Bye, Refused
from bypass.wire import MalformedMessage, UnknownVersion, encode, unpack

log = logging.getLogger(__name__)

MOST_PER_TURN = 500
"""Messages that are read, to the end of a packet, before what they led to is stored and sent."""

BYTES_A_MESSAGE = 2048
"""So many bytes count as a message there: what is large takes longer."""


class Intake:
    """Reads what has arrived at a `listener`, a turn at a time."""

    def __init__(
        self,
        listener: Listener,
        limits: Limits,
        sessions: Sessions,
        deliveries: Deliveries,
        attendance: Attendance,
        reception: Reception,
        counters: Counter[str],
        now: Callable[[], float],
    ) -> None:
        self._listener = listener
        self._limits = limits
        self._sessions = sessions
        self._deliveries = deliveries
        self._attendance = attendance
        self._reception = reception
        self._counters = counters
        self._now = now
        self._connections = Connections(self._is_open)
        self._farewell = encode(Bye())

    def read(self) -> None:
        """Read what has arrived, but no more than is good for others."""
        receive, by_route, counters = self._listener.socket.recv, self._sessions.by_route, self._counters
        now = self._now()
        self._connections.turn += 1
        left = MOST_PER_TURN
        while left > 0:
            try:
                route = receive(NOW)
            except zmq.Again:
                return
            frame = receive(copy=False)
            if frame.more:
                self._skip_rest()
                left -= 1
                continue
            size = len(frame)
            counters["bytes_in"] += size
            session = by_route.get(route)
            if session is None:
                sender = Sender(route, key_of(frame), address_of(frame))
                self._connections.meet(route, frame)
                account = self._attendance.account(sender)
            else:
                sender, account = session.sender, session.account
            left -= max(self._take(sender, session, account, frame, now), size // BYTES_A_MESSAGE)

    def _skip_rest(self) -> None:
        """A packet of several parts is none of ours; its rest must not be taken for the next one."""
        self._counters["malformed"] += 1
        while self._listener.socket.get(zmq.RCVMORE):
            self._listener.socket.recv()

    def _take(
        self, sender: Sender, session: Session | None, account: Account, frame: zmq.Frame, now: float
    ) -> int:
        """How many messages there were."""
        charge = account.charge_bytes(now, len(frame))
        if charge is Charge.UNREAD:
            self._counters["unread"] += 1
            self._offended(sender, session, f"more than {self._limits.client_byte_rate:g} bytes a second")
            return 1
        try:
            messages = unpack(frame.bytes)
        except MalformedMessage as error:
            account.charge_messages(now, 1)
            self._malformed(sender, session, error)
            return 1
        total, taken = len(messages), 0
        if charge is Charge.TAKEN:
            taken = account.charge_messages(now, total)
            over, reason = "limited", f"more than {self._limits.client_rate:g} messages a second"
        else:
            over, reason = "limited_bytes", f"more than {self._limits.client_byte_rate:g} bytes a second"
        for data in messages[:taken]:
            session = self._receive(sender, session, data)
        if taken < total:
            answered = taken + account.charge_refusals(now, total - taken)
            for data in messages[taken:answered]:
                session = self._receive(sender, session, data, over, reason)
            if answered < total:
                self._counters["unread"] += total - answered
                self._offended(sender, session, reason)
        return total

    def _receive(
        self, sender: Sender, session: Session | None, data: bytes, over: str = "", reason: str = ""
    ) -> Session | None:
        """One message, which is refused if it is `over` a quota: gives whose the next one is."""
        if session is not None and session.route is None:  # it has left in this packet
            session = None
        try:
            if len(data) > self._limits.message_bytes:
                self._too_large(session, data)
            elif session is None:
                return self._attendance.greet(sender, data)
            elif over:
                self._reception.refuse(session, data, over, reason)
            else:
                self._reception.receive(session, data)
        except UnknownVersion as error:
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

    # -- too much -----------------------------------------------------------------------------------------

    def _offended(self, sender: Sender, session: Session | None, reason: str) -> None:
        """Something was not read: its connection must not go on as if it had been.

        A client that means well makes another one, and says there what was not answered here. Whoever goes on
        in spite of the farewell is disconnected.
        """
        if session is not None and session.route is not None:
            log.warning("%s: %s: it has to connect again", session.name, reason)
            later = RETRY in session.capabilities
            answer = Refused(f"{session.name}: {reason}", retry=BURST_S) if later else Bye()
            self._deliveries.to_route(session.route, answer)
            self._attendance.lost(session, "offended")
        elif self._connections.end(sender.route):
            self._counters["disconnected"] += 1

    def _is_open(self, route: bytes) -> bool:
        try:
            self._listener.send(route, self._farewell)
        except zmq.ZMQError as error:
            return error.errno == zmq.EAGAIN  # it is open and takes nothing
        return True
