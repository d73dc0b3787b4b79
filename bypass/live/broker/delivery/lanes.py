"""Lanes: subscriptions of a session that nobody has claimed must not take the place of others.

A durable session may have subscriptions of an earlier life of its client. What arrives for these waits apart,
in a lane for each, and is not sent before the client has claimed them. An event that is for others as well
goes to these at once: it then waits once for them and once in every lane.
"""

from __future__ import annotations

from collections.abc import Callable

from bypass.live.broker.delivery.missed import TOO_MANY, Missing
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.live.broker.sessions.unacknowledged import Awaited


class Lanes:
    """All lanes. A lane is a slot of its session; it has `pending` events at most, and ends when it is empty
    and its subscription claimed or withdrawn. `turn` gives the present turn, `added` is told how many
    deliveries wait in lanes that did not, `last` gives the latest place in the log.
    """

    def __init__(
        self,
        sessions: Sessions,
        missing: Missing,
        pending: int,
        turn: Callable[[], Turn],
        added: Callable[[int], None],
        last: Callable[[], int],
    ) -> None:
        self._sessions = sessions
        self._awaited: Awaited = sessions.awaited
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
        event = self._awaited.add(event, number, seq, lane, None)
        session.reached[handle] = seq
        self._bound(session, lane)
        return event, 1

    def divide(self, session: Session, handles: tuple[int, ...]) -> tuple[int, ...]:
        """Have the first unsent event of the main slot wait in those lanes that it is for; gives the handles
        without one. Lanes that have had it, when it was sent on an earlier connection, do not get it again.
        """
        _, seq = self._awaited.first_unsent(session.slot, 1)[0]
        rest = []
        unclaimed = session.unclaimed
        for handle in handles:
            if handle not in session.lanes and handle not in unclaimed:
                rest.append(handle)
                continue
            lane = self._lane(session, handle, seq)
            if session.reached[handle] < seq:
                session.reached[handle] = seq
                self._awaited.divide(session.slot, lane)
                self._added(1)
                self._bound(session, lane)
        return tuple(rest)

    def only_in_lanes(self, session: Session) -> None:
        """The first unsent event of the main slot does not wait there any more."""
        number, seq = self._awaited.first_unsent(session.slot, 1)[0]
        self._awaited.withdraw(session.slot, number, seq)
        self._added(-1)

    def elsewhere(self, session: Session, slot: int, number: int) -> bool:
        """Whether an event is waited for in the main slot, or is on its way from another lane."""
        return self._awaited.waits(session.slot, number, True) or any(
            self._awaited.is_on_its_way(lane, number) for lane in session.lanes.values() if lane != slot
        )

    def withdrawn(self, session: Session, handle: int, reason: str, claimed: bool) -> None:
        """A subscription is withdrawn: what was not sent for it is given up; that is all if nobody had
        `claimed` it."""
        lane = session.lanes.get(handle)
        if lane is not None:
            self._missing.give_up(session, reason, *self._awaited.give_up(lane, fresh=claimed))
        self.tidy(session)

    def tidy(self, session: Session) -> None:
        """End lanes that are empty and not needed; a session without any is like others."""
        unclaimed = session.unclaimed
        for handle, lane in [*session.lanes.items()]:
            if not self._awaited.count(lane) and handle not in unclaimed:
                self._sessions.remove_lane(session, handle)
                self._turn().batch.lane(session.number, handle, None)
        session.divided = bool(session.lanes or unclaimed)
        self._awaited.divided(session.slot, session.divided)

    def set_apart(self, session: Session) -> None:
        """Have the store know, too, which subscriptions nobody has claimed."""
        unsent = self._awaited.first_unsent(session.slot, 1)  # what is to be divided yet
        for handle in session.unclaimed:
            self._lane(session, handle, unsent[0][1] if unsent else self._last() + 1)

    def restore(self, session: Session, handle: int) -> int:
        """The lane of a subscription, as the store had it: all of the log that is for it waits there."""
        return self._sessions.add_lane(session, handle, self._last())

    def _lane(self, session: Session, handle: int, seq: int) -> int:
        lane = session.lanes.get(handle)
        if lane is None:
            lane = self._sessions.add_lane(session, handle, seq - 1)
            self._turn().batch.lane(session.number, handle, seq - 1)
        return lane

    def _bound(self, session: Session, lane: int) -> None:
        excess = self._awaited.fresh(lane) - self._pending
        if excess > 0:
            gone = self._awaited.give_up(lane, most=excess, fresh=True)
            self._missing.give_up(session, TOO_MANY, *gone)
