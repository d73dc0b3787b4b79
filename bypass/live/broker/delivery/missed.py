"""Events that were for a client and that it will never get: how many, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.sessions.sessions import Session
from bypass.live.broker.sessions.unacknowledged import Gone, Unacknowledged
from bypass.protocol.messages import Message
from bypass.protocol.session import MISSED, Missed

TOO_MANY = "too many waiting"
TOO_OLD = "too old"
NOT_TAKEN = "not durable and not taken"
UNCLAIMED = "unclaimed"
WITHDRAWN = "withdrawn"
LOST = "lost by the store"
ENDED = "session ended"
EXPIRED = "expired"
NOT_READ = "for an area, which the client's version does not know"
REASONS = (TOO_MANY, TOO_OLD, NOT_TAKEN, UNCLAIMED, WITHDRAWN, LOST, ENDED, EXPIRED, NOT_READ)


class MissedEvents:
    """Counts what is given up, for each session and for all together by reason.

    An event counts once for a session: when it is given up in the last place where it waits, if the client
    has it from none. `turn` gives the present turn; `release(count, missed, done)` is told how many
    deliveries are not waited for any more, how many of them are missed, and which places in the log nobody
    needs. Clients that understand it hear of changes when they have said something themselves since they were
    told last: who does not listen is not told more and more.
    """

    def __init__(
        self,
        awaited: Unacknowledged,
        turn: Callable[[], Turn],
        release: Callable[[int, int, list[int]], None],
        tell: Callable[[bytes, Message], None],
    ) -> None:
        self.by_reason: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        self._awaited = awaited
        self._turn = turn
        self._release = release
        self._tell = tell
        self._unsaved: dict[Session, set[str]] = {}
        self._untold: dict[Session, set[str]] = {}
        self._told: dict[Session, float] = {}  # when it had said something last

    @property
    def total(self) -> int:
        return self.by_reason.total()

    def give_up(self, session: Session, slot: int, reason: str, gone: Gone) -> None:
        """Count what is given up of what a session waited for in a slot."""
        if not gone.numbers:
            return
        missed = session.spread.given_up(gone.numbers) if session.spread else gone.numbers
        self._unsaved.setdefault(session, set())
        self.count(session, reason, missed)
        self._release(len(gone.numbers), len(missed), gone.done)
        if slot == session.slot and session.lanes:
            self._pass_over(session)

    def _pass_over(self, session: Session) -> None:
        """Have no lane wait for events that were given up before they were divided; those before them may
        have to be divided yet."""
        awaited, slot = self._awaited, session.slot
        done = min(awaited.done(slot), awaited.first(slot) - 1)
        for lane in session.lanes.values():
            if done > awaited.reached(lane):
                awaited.pass_over(lane, done)

    def count(self, session: Session, reason: str, numbers: Iterable[int]) -> None:
        """A session has missed these events."""
        missed = [*numbers]
        self._turn().missed(session, reason, missed)
        self._add(session, reason, len(missed))

    def take_back(self, session: Session, reason: str, ended: bool) -> None:
        """An event that a session has missed was refused: it was for nobody. The session may have `ended`."""
        self._add(session, reason, -1)
        if ended:
            self.forget(session)

    def _add(self, session: Session, reason: str, count: int) -> None:
        if count:
            self.by_reason[reason] += count
            session.missed[reason] += count
            self._unsaved.setdefault(session, set()).add(reason)
            self._untold.setdefault(session, set()).add(reason)

    def received(self, session: Session, numbers: Iterable[int]) -> None:
        """A session has got what it waited for, in one place each."""
        session.spread.received(numbers)
        if session.spread.changed:
            self._unsaved.setdefault(session, set())

    def unsaved(self) -> Iterable[tuple[Session, set[str]]]:
        """Durable sessions of which the store does not know all, and for which reasons they have missed more;
        from now on it does."""
        changed, self._unsaved = self._unsaved, {}
        return [(session, reasons) for session, reasons in changed.items() if session.durable]

    def lost(self, sessions: Iterable[Session]) -> None:
        """Give by `unsaved` once more what could not be stored."""
        for session in sessions:
            if session.missed:
                self._unsaved.setdefault(session, set()).update(session.missed)

    def tell(self) -> None:
        """Tell connected clients what has changed."""
        for session in [*self._untold]:
            if session.route is None:
                del self._untold[session]  # the next welcome has it all
            elif MISSED not in session.capabilities:
                del self._untold[session]
            elif self._told.get(session) != session.heard:
                self._told[session] = session.heard
                for reason in self._untold.pop(session):
                    self._tell(session.route, Missed(reason, session.missed[reason], client=session.number))

    def forget(self, session: Session) -> None:
        """A session has ended."""
        for each in (self._unsaved, self._untold, self._told):
            each.pop(session, None)
