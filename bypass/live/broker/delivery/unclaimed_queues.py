"""Lanes: subscriptions of a session that nobody has claimed must not take the place of others.

A durable session may have subscriptions of an earlier life of its client. What arrives for these waits apart,
in a lane for each, and is not sent before the client has claimed them. An event that is for others as well
goes to these at once: it then waits once for them and once in every lane.
"""

from __future__ import annotations

from collections.abc import Callable

from bypass.live.broker.delivery.missed import TOO_MANY, MissedEvents
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.live.broker.sessions.unacknowledged import Unacknowledged
from bypass.live.broker.store.batch import Mark


class UnclaimedQueues:
    """All lanes. A lane is a slot of its session; it has `pending` events at most, and ends when it is empty
    and its subscription claimed or withdrawn. `turn` gives the present turn, `added` is told how many
    deliveries wait in lanes that did not, `last` gives the latest place in the log.
    """

    def __init__(
        self,
        sessions: Sessions,
        missing: MissedEvents,
        pending: int,
        turn: Callable[[], Turn],
        added: Callable[[int], None],
        last: Callable[[], int],
    ) -> None:
        self._sessions = sessions
        self._awaited: Unacknowledged = sessions.awaited
        self._missing = missing
        self._pending = pending
        self._turn = turn
        self._added = added
        self._last = last

    def handle_of(self, session: Session, slot: int) -> int | None:
        """The subscription whose lane a slot is; None if it is the session's main slot."""
        return next((handle for handle, lane in session.lanes.items() if lane == slot), None)

    def hold(
        self, session: Session, handle: int, event: int, number: int, seq: int, again: bool
    ) -> tuple[int, int]:
        """Have an event wait in a subscription's lane; gives the event, and how often it waits that did not.

        `again`: it may wait there already.
        """
        lane = self._lane(session, handle, seq)
        if self._awaited.waits(lane, number, again):
            return event, 0
        others = 0 if number in session.spread else self._awaited.waits(session.slot, number, again)
        session.spread.waits(number, int(others))
        self._pass_over(session, lane, seq)
        event = self._awaited.add(event, number, seq, lane, None)
        self._bound(session, lane)
        return event, 1

    def divide(self, session: Session, handles: tuple[int, ...]) -> tuple[int, ...]:
        """Have the first unsent event of the main slot wait in those lanes that it is for; gives the handles
        without one. Lanes that have had it, when it was sent on an earlier connection, do not get it again.
        """
        number, seq = self._awaited.first_unsent(session.slot, 1)[0]
        rest = []
        unclaimed = session.unclaimed
        for handle in handles:
            if handle not in session.lanes and handle not in unclaimed:
                rest.append(handle)
                continue
            lane = self._lane(session, handle, seq)
            if self._awaited.reached(lane) < seq:
                self._pass_over(session, lane, seq)
                session.spread.waits(number, others=1)
                self._awaited.divide(session.slot, lane)
                self._added(1)
                self._bound(session, lane)
        return tuple(rest)

    def only_in_lanes(self, session: Session) -> None:
        """The first unsent event of the main slot does not wait there any more."""
        number, seq = self._awaited.first_unsent(session.slot, 1)[0]
        session.spread.withdrawn(self._awaited.withdraw(session.slot, number, seq).numbers)
        self._added(-1)

    def claimed(self, session: Session) -> dict[int, int]:
        """The lanes whose events may be sent, by handle."""
        unclaimed = session.unclaimed if session.lanes else ()
        return {handle: lane for handle, lane in session.lanes.items() if handle not in unclaimed}

    def is_blocked(self, session: Session, lane: int) -> bool:
        """Whether the next event of a lane is waited for in the main slot, or is on its way from another
        lane: one acknowledgement would be taken for that of the other. It goes on then."""
        unsent = self._awaited.first_unsent(lane, 1)
        if not unsent or session.spread.places(unsent[0][0]) < 2:
            return False
        number = unsent[0][0]
        return self._awaited.waits(session.slot, number, True) or any(
            self._awaited.is_on_its_way(other, number) for other in session.lanes.values() if other != lane
        )

    def next_there(self, session: Session, number: int) -> dict[int, int]:
        """The lanes where an event is to be sent next and may be."""
        return {
            handle: lane
            for handle, lane in self.claimed(session).items()
            if [each for each, _ in self._awaited.first_unsent(lane, 1)] == [number]
            and self._awaited.room(lane)
        }

    def withdrawn(self, session: Session, handle: int, reason: str, claimed: bool) -> None:
        """A subscription is withdrawn: what was not sent for it is given up; that is all if nobody had
        `claimed` it."""
        lane = session.lanes.get(handle)
        if lane is not None:
            self._missing.give_up(session, lane, reason, self._awaited.give_up(lane, fresh=claimed))
        self.tidy(session)

    def tidy(self, session: Session) -> None:
        """End lanes that are empty and not needed; a session without any is like others."""
        unclaimed, turn = session.unclaimed, self._turn()
        for handle, lane in [*session.lanes.items()]:
            if not self._awaited.count(lane) and handle not in unclaimed:
                # What it has had would be taken for something that waits with the others.
                self._awaited.pass_over(session.slot, self._awaited.reached(lane))
                self._sessions.remove_lane(session, handle)
                turn.reached_in_lane(session, handle, None)
                self.note(session)
        session.divided = bool(session.lanes or unclaimed)
        self._awaited.divided(session.slot, session.divided)

    def note(self, session: Session, closing: bool = False) -> None:
        """Have the store know how far a client has got, and that it may be sent more if it is connected,
        unless the broker is `closing`. What was put into lanes has to be known with what is left."""
        turn = self._turn()
        turn.reached(session, self._awaited.mark(session.slot, closing))
        for handle, lane in session.lanes.items():
            turn.reached_in_lane(session, handle, self._awaited.mark(lane, closing))

    def set_apart(self, session: Session) -> None:
        """Have the store know, too, which subscriptions nobody has claimed."""
        unsent = self._awaited.first_unsent(session.slot, 1)  # what is to be divided yet
        for handle in session.unclaimed:
            self._lane(session, handle, unsent[0][1] if unsent else self._last() + 1)

    def _lane(self, session: Session, handle: int, seq: int) -> int:
        lane = session.lanes.get(handle)
        if lane is None:
            lane = self._sessions.add_lane(session, handle, seq - 1)
            self._turn().reached_in_lane(session, handle, Mark(seq - 1, seq - 1, (), seq - 1))
        return lane

    def _pass_over(self, session: Session, lane: int, seq: int) -> None:
        """Have a lane that gets to a place in the log wait for nothing before it that was done with when this
        connection began, or is now: what is left before it was divided."""
        done = min(max(session.torn, self._awaited.done(session.slot)), seq - 1)
        if done > self._awaited.reached(lane):
            self._awaited.pass_over(lane, done)

    def _bound(self, session: Session, lane: int) -> None:
        excess = self._awaited.fresh(lane) - self._pending
        if excess > 0:
            gone = self._awaited.give_up(lane, most=excess, fresh=True)
            self._missing.give_up(session, lane, TOO_MANY, gone)
