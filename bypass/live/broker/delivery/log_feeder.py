"""Feeds connected clients from the log: as many events at a time as may be on their way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from bypass.live.broker.delivery.missed import EXPIRED, LOST, NOT_READ, MissedEvents
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.delivery.unclaimed_queues import UnclaimedQueues
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.live.broker.sessions.unacknowledged_kernels import CONNECTION
from bypass.live.broker.store.batch import Logged
from bypass.live.broker.store.reader import FoundPublications, Reader
from bypass.live.broker.store.recipients import Recipient
from bypass.live.broker.store.store import StoreFailed
from bypass.protocol.session import AREAS
from bypass.protocol.wire import Forwarding, recipient, scope_of

log = logging.getLogger(__name__)

FEED = 200
"""Events that are read from the log at a time."""

RETRY_S = 0.5
"""How long a log that could not be read is left alone."""


class LogFeeder:
    """Reads the log for clients that were away or slow, and for lanes. The log is `durable` up to a place.

    The log is read in a thread of its own, once at a time for each slot: what was asked for on a connection
    that is gone since, or was given up meanwhile, is not sent; nor is what has expired. `turn` gives the
    present turn, `after` calls something some seconds later, `now` is the time by which the log says when it
    was written.
    """

    def __init__(
        self,
        reader: Reader,
        sessions: Sessions,
        lanes: UnclaimedQueues,
        missing: MissedEvents,
        turn: Callable[[], Turn],
        after: Callable[..., Any],
        last_seq: int,
        now: Callable[[], float],
    ) -> None:
        self.durable = last_seq
        self.hungry: set[Session] = set()  # connected, and what waits for them is not durable yet
        self._reader = reader
        self._sessions = sessions
        self._awaited = sessions.awaited
        self._lanes = lanes
        self._missing = missing
        self._turn = turn
        self._after = after
        self._now = now
        self._reading: set[int] = set()  # slots
        self._closing = False
        self.unreadable = False  # the log, when it was read last

    def feed_hungry(self) -> None:
        """Go on where nothing was durable yet."""
        hungry, self.hungry = self.hungry, set()
        for session in hungry:
            self.feed(session)

    def feed(self, session: Session) -> None:
        """Begin to send a connected client what waits for it; no effect if nothing does or it has no room."""
        if session.route is None or self._closing:
            return
        self._ask(session, session.slot)
        for lane in self._lanes.claimed(session).values():
            if not self._lanes.is_blocked(session, lane):
                self._ask(session, lane)

    def stop(self) -> None:
        """Send nothing any more."""
        self._closing = True

    def close(self) -> None:
        """Read nothing any more."""
        self._reader.close()

    def _ask(self, session: Session, slot: int) -> None:
        awaited = self._awaited
        if slot in self._reading or not awaited.unsent(slot):
            return
        room = awaited.room(slot)
        if not room:
            return
        seqs = [seq for _, seq in awaited.first_unsent(slot, min(FEED, room)) if seq <= self.durable]
        if not seqs:
            self.hungry.add(session)
            return
        self._reading.add(slot)
        connection = int(awaited.slots[slot, CONNECTION])
        self._reader.read(seqs, session.number, partial(self._read, session, slot, connection, set(seqs)))

    def _read(
        self,
        session: Session,
        slot: int,
        connection: int,
        asked: set[int],
        found: FoundPublications | StoreFailed,
    ) -> None:
        self._reading.discard(slot)
        if isinstance(found, StoreFailed):
            if not self.unreadable:
                log.error("%s; what waits there is sent when it can be read", found)
            self.unreadable = True
            self._after(RETRY_S, self.feed, session)
            return
        self.unreadable = False
        awaited = self._awaited
        if awaited.slots[slot, CONNECTION] == connection and not self._closing:
            handle = self._lanes.handle_of(session, slot)
            while (first := awaited.first_unsent(slot, 1)) and first[0][1] in asked and awaited.room(slot):
                number, seq = first[0]
                reason = LOST if seq not in found else self._in_vain(session, slot, found[seq][0])
                if reason:
                    self._missing.give_up(session, slot, reason, awaited.withdraw(slot, number, seq))
                elif handle is None:
                    self._send_or_divide(session, *found[seq])
                elif self._lanes.is_blocked(session, slot):
                    break
                else:
                    self._send_on_lanes(session, number, *found[seq])
        self.feed(session)
        owner = self._sessions.by_slot.get(slot)
        if owner is not None and owner is not session:  # it has the slot since, and could not ask
            self.feed(owner)

    def _in_vain(self, session: Session, slot: int, logged: Logged) -> str:
        """Why a client is not sent an event, empty if it is: what it may have had already is sent again."""
        scope = scope_of(logged.raw)
        if scope.area and AREAS not in session.capabilities:
            return NOT_READ
        if scope.lifetime is not None and self._now() > logged.at + scope.lifetime / 1e6:
            return EXPIRED if logged.seq >= self._awaited.first_fresh(slot) else ""
        return ""

    def _send_or_divide(self, session: Session, logged: Logged, own: list[Recipient]) -> None:
        """Send the first unsent event of a client's main slot for the subscriptions that have no lane."""
        if session.divided:
            own = [each._replace(handles=self._lanes.divide(session, each.handles)) for each in own]
            own = [each for each in own if each.handles]
            if not own:  # all of it waits in lanes now
                self._lanes.only_in_lanes(session)
                return
        self._send_on(session, [session.slot], logged, own)

    def _send_on_lanes(self, session: Session, number: int, logged: Logged, own: list[Recipient]) -> None:
        """Send an event for all subscriptions whose lanes have come to it."""
        lanes = self._lanes.next_there(session, number)
        own = [each._replace(handles=tuple(h for h in each.handles if h in lanes)) for each in own]
        self._send_on(session, lanes.values(), logged, [each for each in own if each.handles])

    def _send_on(self, session: Session, slots: Iterable[int], logged: Logged, own: list[Recipient]) -> None:
        assert session.route is not None
        name = self._sessions.name(logged.publisher)
        forwarding = Forwarding(logged.raw, logged.publisher, logged.scheme, logged.epoch, 0, name)
        head = recipient(session.number)
        messages = [head + forwarding.rest(each.handles, each.unfiltered, session.rich) for each in own]
        for slot in slots:
            self._awaited.was_sent(slot, sum(map(len, messages)))
        self._turn().send(session.route, *messages)  # they are durable whatever becomes of this turn
