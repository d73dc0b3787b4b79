"""Events that were for a client and that it will never get: how many, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from bypass.live.broker.sessions.sessions import Session
from bypass.protocol.messages import Message
from bypass.protocol.session import MISSED, Missed

TOO_MANY = "too many waiting"
TOO_OLD = "too old"
NOT_TAKEN = "not durable and not taken"
UNCLAIMED = "unclaimed"
WITHDRAWN = "withdrawn"
LOST = "lost by the store"
ENDED = "session ended"
REASONS = (TOO_MANY, TOO_OLD, NOT_TAKEN, UNCLAIMED, WITHDRAWN, LOST, ENDED)


class Missing:
    """Counts what is given up, for each session and for all together by reason.

    `release(count, done)` is told how many deliveries are not waited for any more, and which places in the
    log nobody needs. Clients that understand it hear of changes when they have said something themselves
    since they were told last: who does not listen is not told more and more.
    """

    def __init__(
        self, release: Callable[[int, list[int]], None], tell: Callable[[bytes, Message], None]
    ) -> None:
        self.by_reason: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        self._release = release
        self._tell = tell
        self._unsaved: dict[Session, set[str]] = {}
        self._untold: dict[Session, set[str]] = {}
        self._told: dict[Session, float] = {}  # when it had said something last

    @property
    def total(self) -> int:
        return self.by_reason.total()

    def give_up(self, session: Session, reason: str, count: int, done: list[int]) -> None:
        """So many deliveries that a session waited for are given up."""
        self.count(session, reason, count)
        self._release(count, done)

    def count(self, session: Session, reason: str, count: int) -> None:
        """A session has missed so many events that it did not wait for."""
        if count:
            self.by_reason[reason] += count
            session.missed[reason] += count
            self._unsaved.setdefault(session, set()).add(reason)
            self._untold.setdefault(session, set()).add(reason)

    def unsaved(self) -> Iterable[tuple[Session, str, int]]:
        """What the store does not know: sessions, reasons and how many; from now on it does."""
        changed, self._unsaved = self._unsaved, {}
        for session, reasons in changed.items():
            for reason in reasons if session.durable else ():
                yield session, reason, session.missed[reason]

    def lost(self, sessions: Iterable[Session]) -> None:
        """What was given by `unsaved` could not be stored."""
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
