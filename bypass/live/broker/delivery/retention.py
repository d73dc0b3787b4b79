"""Deliveries that wait for an acknowledgement: how many, for how long, and what the store knows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from bypass.live.broker.delivery.lanes import Lanes
from bypass.live.broker.delivery.missed import ENDED, TOO_OLD, Missing
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.live.broker.sessions.unacknowledged import LAST_PLACE
from bypass.live.broker.sessions.unacknowledged_kernels import NONE
from bypass.live.broker.store.store import Waiting
from bypass.protocol.messages import Message
from bypass.protocol.session import WINDOW


class RetentionLimits(NamedTuple):
    """What is kept for a client at most: events, and seconds."""

    pending_events: int
    pending_age: float


class Keeping:
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
        self.missing = Missing(self.release, tell)
        self.lanes = Lanes(sessions, self.missing, limits.pending_events, turn, self.added, lambda: self.last)
        self._sessions = sessions
        self._awaited = sessions.awaited
        self._awaited.window = min(WINDOW, limits.pending_events)
        self._limits = limits
        self._turn = turn
        self._now = now
        self._logged_at: dict[int, float] = {}  # of events that are waited for, in the order of the log
        self._expired = 0  # up to here in the log, what cannot have arrived was given up as too old

    def logged(self, waiting: int) -> float:
        """The next place in the log is that of an event that so many wait for; gives when that is."""
        self.last += 1
        self.waiting += waiting
        at = self._logged_at[self.last] = self._now()
        return at

    def unlogged(self, seq: int) -> None:
        """Nobody waits for what is at a place in the log, or it could not be stored."""
        self._logged_at.pop(seq, None)
        self._sessions.quotas.released(seq)

    def renewed(self, session: Session) -> None:
        """A client has a new life: it has got nothing, and claims or withdraws what an earlier one had."""
        for slot in (session.slot, *session.lanes.values()):
            self._awaited.renew(slot)
            self.missing.give_up(session, TOO_OLD, *self._awaited.give_up(slot, self._expired, fresh=True))
        session.unclaimed_since = self._now() if session.unclaimed else None

    def forget(self, session: Session) -> None:
        """A session has ended: nothing waits for it any more."""
        for slot in (session.slot, *session.lanes.values()):
            self.missing.give_up(session, ENDED, *self._awaited.give_up(slot))
        self.missing.forget(session)

    def restore(self, waiting: Iterable[Waiting]) -> None:
        """Events of the log wait for clients who are away, in the order of the log. What of them was sent
        before the restart is not known."""
        seen: set[int] = set()
        for each in waiting:
            self._restore(each, each.id in seen)
            seen.add(each.id)
        for slot in self._sessions.by_slot:
            self._awaited.doubt(slot)

    def _restore(self, waiting: Waiting, again: bool) -> None:
        # A client that it is for in several ways waits for it once.
        clients = np.array([*{each.client for each in waiting.recipients}], np.int64)
        event, added, _ = self._awaited.deliver(
            NONE, waiting.id, waiting.seq, clients, LAST_PLACE, 0, again, self._turn().notifications
        )
        for client, handle in waiting.lanes:
            session = self._sessions.by_number[client]
            event = self._awaited.add(event, waiting.id, waiting.seq, session.lanes[handle], None)
            added += 1
        if added:
            self._logged_at[waiting.seq] = waiting.at
            publisher = self._sessions.by_number.get(waiting.id >> 32)
            if publisher is not None:
                self._sessions.quotas.stored(waiting.seq, publisher.account, waiting.size)
            self.added(added)

    def note_cursors(self, part: int = 0, parts: int = 1) -> None:
        """Have the store know how far clients have got, one of so many parts of them, and give up what has
        become too old; clients are told what they have missed."""
        if not part:  # often enough
            self._expire()
        for slot, before in self._awaited.moved(part, parts):
            session = self._sessions.by_slot[slot]
            self._note_cursor(session, self.lanes.handle_of(session, slot), before)
        self.missing.tell()

    def note_missed(self) -> None:
        """Have the store know, with the very batch that releases it, what was given up: a broker that is
        killed afterwards has neither forgotten to count it nor counts it once more."""
        for session, reason, count in self.missing.unsaved():
            self._turn().batch.misses(session.number, reason, count)
            self._note_cursor(session, None, self._awaited.first(session.slot))
            for handle, lane in session.lanes.items():
                self._note_cursor(session, handle, self._awaited.first(lane))

    def _note_cursor(self, session: Session, handle: int | None, before: int) -> None:
        """Note that nothing before a place in the log waits any more, nothing at all if that is 0: for a
        session, or for one of its subscriptions that has a lane."""
        batch = self._turn().batch
        if handle is None:
            batch.cursor(session.number, before - 1 if before else self.last)
        else:  # what is to be divided yet comes after what it has had
            batch.lane(session.number, handle, before - 1 if before else session.reached[handle])

    def added(self, count: int) -> None:
        """So many deliveries are waited for that were not."""
        self.deliveries += count
        self.waiting += count

    def release(self, count: int, done: list[int]) -> None:
        """So many deliveries are not waited for any more, and nobody waits for those places in the log."""
        self.waiting -= count
        if done:
            for seq in done:
                self.unlogged(seq)
            self._turn().batch.released(done)
            self._turn().released += done

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
                self.missing.give_up(session, TOO_OLD, *self._awaited.give_up(slot, last, fresh=True))
