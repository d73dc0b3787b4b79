"""What waits in the log for clients that are connected, as much of it as may be on its way at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable

from bypass.live.broker.batch import Logged, unpack_recipients
from bypass.live.broker.sessions import Session, Sessions
from bypass.live.broker.store import Store, StoreFailed
from bypass.wire import Forwarding, recipient

log = logging.getLogger(__name__)

FEED = 200
"""Events that are read from the log at a time."""


class Feeding:
    """Reads the log for clients that were away, or slow. It is `durable` up to a place.

    `send(route, messages)` sends them with the present turn, `give_up` is called with what is not in the log.
    """

    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        send: Callable[[bytes, list[bytes]], None],
        give_up: Callable[[Session, int], None],
        last_seq: int,
    ) -> None:
        self.durable = last_seq
        self.hungry: set[Session] = set()  # connected, and something waits for them in the log
        self.unreadable = False  # the log, when it was read last
        self._store = store
        self._sessions = sessions
        self._awaited = sessions.awaited
        self._send = send
        self._give_up = give_up

    def feed_hungry(self) -> None:
        """Go on where there was nothing durable to read, or no room."""
        hungry, self.hungry = self.hungry, set()
        for session in hungry:
            self.feed(session)

    def feed(self, session: Session) -> None:
        """Send a connected client what waits for it in the log, as much as may be on its way at a time."""
        awaited, slot = self._awaited, session.slot
        while session.route is not None and (room := awaited.room(slot)):
            first = awaited.first_unsent(slot, min(FEED, room))
            some = [(number, seq) for number, seq in first if seq <= self.durable]
            if not some:
                break
            try:
                known = {logged.seq: logged for logged in self._store.read([seq for _, seq in some])}
            except StoreFailed as error:
                if not self.unreadable:
                    log.error("%s; what waits there is sent when it can be read", error)
                self.unreadable = True
                break
            self.unreadable = False
            for number, seq in some:
                if not awaited.room(slot):
                    break
                if seq not in known:
                    self._give_up(session, number)
                    continue
                messages = self._from_log(known[seq], session)
                awaited.was_sent(slot, sum(map(len, messages)))
                # They are durable whatever becomes of this turn.
                self._send(session.route, messages)
        if awaited.unsent(slot) and session.route is not None:
            self.hungry.add(session)

    def _from_log(self, logged: Logged, session: Session) -> list[bytes]:
        name = self._sessions.name(logged.publisher)
        forwarding = Forwarding(logged.raw, logged.publisher, logged.scheme, logged.epoch, 0, name)
        head = recipient(session.number)
        return [
            head + forwarding.rest(each.handles, each.unfiltered, session.rich)
            for each in unpack_recipients(logged.recipients)
            if each.client == session.number
        ]
