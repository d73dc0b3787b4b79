"""Deliveries that wait for an acknowledgement: how many, for how long, and what the store knows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from bypass.live.broker.delivery.missed import ENDED, EXPIRED, TOO_OLD, MissedEvents
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.delivery.unclaimed_queues import UnclaimedQueues
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.live.broker.sessions.unacknowledged import Gone
from bypass.live.broker.sessions.unacknowledged_kernels import NONE
from bypass.live.broker.store.batch import LAST_PLACE
from bypass.live.broker.store.recipients import unpack_recipients
from bypass.live.broker.store.store import StoredClient, Waiting
from bypass.protocol.messages import Message
from bypass.protocol.session import WINDOW


class RetentionLimits(NamedTuple):
    """The largest number of events that are kept for a client, and the longest time in seconds."""

    pending_events: int
    pending_age: float


class Retention:
    """All that waits. So many `deliveries` there were: those that were acknowledged, those that are `missing`
    and those that are `waiting`. `last` is the latest place in the log.

    Only what a client cannot have is given up: what it may have is sent again until it is acknowledged.
    `turn` gives the present turn, `tell` sends a message with it; `now` is in seconds for which brokers have
    served the store.
    """

    def __init__(
        self,
        sessions: Sessions,
        limits: RetentionLimits,
        last_seq: int,
        turn: Callable[[], Turn],
        tell: Callable[[bytes, Message], None],
        now: Callable[[], float],
    ) -> None:
        self.deliveries = 0  # events that were for somebody, counted for each of them
        self.waiting = 0
        self.last = last_seq
        self.missing = MissedEvents(sessions.awaited, turn, self._given_up, tell)
        self.lanes = UnclaimedQueues(
            sessions, self.missing, limits.pending_events, turn, self.added, lambda: self.last
        )
        self._sessions = sessions
        self._awaited = sessions.awaited
        self._awaited.window = min(WINDOW, limits.pending_events)
        self._limits = limits
        self._turn = turn
        self._now = now
        self._logged_at: dict[int, float] = {}  # of events that are waited for, in the order of the log
        self._mortal: list[tuple[float, int, int, list[int]]] = []  # until when, place, number, whom
        self._expired = 0  # up to here in the log, what cannot have arrived was given up as too old

    def logged(self, waiting: int) -> float:
        """The next place in the log is that of an event that so many wait for; gives when that is."""
        self.last += 1
        self.waiting += waiting
        at = self._logged_at[self.last] = self._now()
        return at

    def limited(self, seq: int, number: int, until: float, clients: list[int]) -> None:
        """The event at a place in the log is for nobody any more after a time."""
        heappush(self._mortal, (until, seq, number, clients))

    def unlogged(self, seq: int) -> None:
        """Nobody waits for what is at a place in the log, or it could not be stored."""
        self._logged_at.pop(seq, None)
        self._sessions.quotas.released(seq)

    def renewed(self, session: Session) -> None:
        """A client has a new life, which claims or withdraws what an earlier one had. What that was sent and
        did not acknowledge it may have had: it is sent again, and not given up."""
        session.unclaimed_since = self._now() if session.unclaimed else None

    def forget(self, session: Session) -> None:
        """A session has ended: nothing waits for it any more."""
        for slot in (session.slot, *session.lanes.values()):
            self.missing.give_up(session, slot, ENDED, self._awaited.give_up(slot))
        self.missing.forget(session)

    def restore(self, clients: Iterable[StoredClient], waiting: Iterable[Waiting]) -> None:
        """Events of the log wait for clients who are away, in the order of the log."""
        owed = {client.number: client.owed for client in clients if client.owed}
        seen: set[int] = set()
        for each in waiting:
            self._restore(each, each.id in seen, owed)
            seen.add(each.id)
        for client in clients:
            session = self._sessions.by_number[client.number]
            self._awaited.doubt(session.slot, client.mark.sent)
            connected = client.mark.sent == LAST_PLACE  # it may have been sent anything
            for handle, mark in client.lanes.items():
                lane = session.lanes[handle]
                self._awaited.doubt(lane, LAST_PLACE if connected else mark.sent)
                if self._awaited.reached(lane) > mark.reached:  # it has got there now, but for what is done
                    self._awaited.pass_over(lane, client.mark.cursor)

    def _restore(self, waiting: Waiting, again: bool, owed: Mapping[int, Container[int]]) -> None:
        # A client that it is for in several ways waits for it once.
        main = [*{each.client for each in waiting.recipients}]
        event, added, known = self._awaited.deliver(
            NONE,
            waiting.id,
            waiting.seq,
            np.array(main, np.int64),
            LAST_PLACE,
            0,
            again,
            self._turn().notifications,
        )
        places = Counter({client: 1 for i, client in enumerate(main) if i not in known})
        apart = {client for client, _ in waiting.lanes}.union(waiting.partly)
        for client, handle in waiting.lanes:
            lane = self._sessions.by_number[client].lanes[handle]
            if not (again and self._awaited.waits(lane, waiting.id, again)):
                event = self._awaited.add(event, waiting.id, waiting.seq, lane, None)
                added += 1
                places[client] += 1
        for client, count in places.items():
            is_owed = waiting.id in owed.get(client, ())
            if client in apart or is_owed:
                spread = self._sessions.by_number[client].spread
                spread.restore(waiting.id, count, client in waiting.partly, is_owed)
        if added:
            self._logged_at[waiting.seq] = waiting.at
            publisher = self._sessions.by_number.get(waiting.publisher)
            if waiting.owner:
                self._sessions.quotas.restored(waiting.seq, waiting.owner, waiting.size)
            elif publisher is not None:
                self._sessions.quotas.stored(waiting.seq, publisher.account, waiting.size)
            self.added(added)

    def note_cursors(self, part: int = 0, parts: int = 1) -> None:
        """Have the store know how far clients have got, one of so many parts of them, and give up what has
        become too old; clients are told what they have missed."""
        if not part:  # often enough
            self._expire()
            self._outlive()
        for session in {self._sessions.by_slot[slot] for slot in self._awaited.moved(part, parts)}:
            self.lanes.note(session)
        self.missing.tell()

    def note_missed(self) -> None:
        """Have the store know, with the very turn that releases it, what was given up: a broker that is
        killed afterwards has neither forgotten to count it nor counts it once more."""
        turn = self._turn()
        for session, reasons in self.missing.unsaved():
            for reason in reasons:
                turn.counted(session, reason)
            for number, owed in session.spread.changed.items():
                turn.owes(session, number, owed)
            session.spread.changed.clear()
            self.lanes.note(session)

    def added(self, count: int) -> None:
        """So many deliveries are waited for that were not."""
        self.deliveries += count
        self.waiting += count

    def _given_up(self, count: int, missed: int, done: list[int]) -> None:
        self.deliveries -= count - missed  # those that are not missed have another, or had
        self.release(count, done)

    def received(self, session: Session, gone: Gone) -> None:
        """A session has got events that it waited for, in one slot."""
        if session.spread:
            self.missing.received(session, gone.numbers)
        self.release(len(gone.numbers), gone.done)

    def refused(self, turn: Turn) -> None:
        """Undo a turn that was refused: nobody waits for its events, or has missed one of them."""
        for logged in turn.logged:
            self.unlogged(logged.seq)
            for client in {each.client for each in unpack_recipients(logged.recipients)}:
                session = self._sessions.by_number.get(client)
                if session is not None and session.durable:
                    for slot in (session.slot, *session.lanes.values()):
                        gone = self._awaited.withdraw(slot, logged.id, logged.seq)
                        session.spread.withdrawn(gone.numbers)
                        self.added(-len(gone.numbers))
        for session, number in turn.unlogged:
            if self._sessions.by_slot.get(session.slot) is session:
                self.added(-len(self._awaited.withdraw(session.slot, number).numbers))
        for each in (turn, self._turn()):
            for session, reason in each.take_back_missed(turn):
                self.deliveries -= 1
                ended = self._sessions.by_number.get(session.number) is not session
                self.missing.take_back(session, reason, ended)
        self.missing.lost(self._sessions)

    def release(self, count: int, done: list[int]) -> None:
        """So many deliveries are not waited for any more, and nobody waits for those places in the log."""
        self.waiting -= count
        if done:
            for seq in done:
                self.unlogged(seq)
            self._turn().release(done)

    def _expire(self) -> None:
        oldest = self._now() - self._limits.pending_age
        last = self._expired
        for seq, at in self._logged_at.items():
            if at >= oldest:
                break
            last = max(last, seq)
        if last == self._expired:
            return
        self._expired = last
        for session in self._sessions:
            for slot in (session.slot, *session.lanes.values()) if session.durable else ():
                gone = self._awaited.give_up(slot, last, fresh=True)
                self.missing.give_up(session, slot, TOO_OLD, gone)

    def _outlive(self) -> None:
        """Give up events whose lifetime has passed, where a client cannot have them."""
        now, awaited = self._now(), self._awaited
        while self._mortal and self._mortal[0][0] < now:
            _, seq, number, clients = heappop(self._mortal)
            for client in clients if seq in self._logged_at else ():
                session = self._sessions.by_number.get(client)
                if session is None or not session.durable:
                    continue
                for slot in (session.slot, *session.lanes.values()):
                    if seq >= awaited.first_fresh(slot):
                        self.missing.give_up(session, slot, EXPIRED, awaited.withdraw(slot, number, seq))
