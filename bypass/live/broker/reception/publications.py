"""PendingPublications of clients: those that come in a row are processed together.

Together they do what they do one by one. So those that were taken are processed before anything else is
done, or said to anybody.
"""

from __future__ import annotations

import logging
from collections import Counter

from bypass.core.broker import Broker
from bypass.errors import BypassError
from bypass.live.broker.config import Limits
from bypass.live.broker.delivery.deliveries import Deliveries
from bypass.live.broker.reception.presence import ClientPresence
from bypass.live.broker.reception.refusals import COUNT, NotTaken, refuse
from bypass.live.broker.sessions.sessions import Session
from bypass.protocol.messages import Publish
from bypass.transitions import TransitionError

log = logging.getLogger(__name__)

MOST_TOGETHER = 128
MOST_BYTES_TOGETHER = 1 << 17
"""So many publications, or bytes of them as they came, are processed at once: they take many times as much
memory while they wait, decoded."""


class PendingPublications:
    """Takes publications, and has the broker process them. Between two turns there are none that wait."""

    def __init__(
        self,
        limits: Limits,
        broker: Broker,
        deliveries: Deliveries,
        counters: Counter[str],
        presence: ClientPresence,
    ) -> None:
        self._limits = limits
        self._broker = broker
        self._deliveries = deliveries
        self._counters = counters
        self._presence = presence
        self._sessions: list[Session] = []  # whose publications wait, in their order
        self._waiting: list[Publish] = []
        self._bytes = 0  # of these

    def take(self, session: Session, message: Publish, raw: bytes) -> None:
        """Take a publication, or acknowledge it again. Raises NotTaken, when those before are processed."""
        number = message.id
        if number >> 32 != session.number:
            self.process()
            raise NotTaken(f"event {number}: expected an id of client {session.number}")
        assert session.route is not None
        count = number & COUNT
        repeated = count in session.refused
        if count <= session.published and not repeated:
            self.process()
            if count not in session.refused:  # it may have been among those that were processed just now
                self._deliveries.turn.confirm(session.route, publication=number)
                self._counters["understood"] += 1
            return
        self._check_stored(session)
        session.published = max(count, session.published)
        session.refused.discard(count)
        self._deliveries.turn.took(number)
        if message.piggyback is not None:
            self._presence.moved.add(session.number)
        self._counters["publications"] += 1
        if not session.takes_part:
            self.process()
            session.takes_part = True
            self._broker.join(session.number, message.scheme)
        message.raw, message.repeated = raw, repeated
        self._sessions.append(session)
        self._waiting.append(message)
        self._bytes += len(raw)
        if self._bytes >= MOST_BYTES_TOGETHER or len(self._waiting) >= MOST_TOGETHER:
            self.process()

    def process(self) -> None:
        """Process all that wait: acknowledge them, or refuse those that cannot be."""
        if not self._waiting:
            return
        waiting, sessions = self._waiting, self._sessions
        self._waiting, self._sessions, self._bytes = [], [], 0
        while waiting:
            done, error = self._broker.receive_until_error(waiting)
            for session, message in zip(sessions[:done], waiting, strict=False):
                self._confirm(session, message)
            if error is None:
                return
            self._fail(sessions[done], waiting[done], error)
            waiting, sessions = waiting[done + 1 :], sessions[done + 1 :]

    def _confirm(self, session: Session, message: Publish) -> None:
        assert session.route is not None
        if session.durable:
            self._presence.published.add(session)
        self._deliveries.turn.confirm(session.route, publication=message.id)
        self._counters["understood"] += 1

    def _fail(self, session: Session, message: Publish, error: Exception) -> None:
        """Refuse a publication that cannot be processed. An error that nobody has foreseen is logged, and
        others are served."""
        session.refuse(
            message.id & COUNT
        )  # neither a welcome nor an acknowledgement may say that it was taken
        if isinstance(error, BypassError | TransitionError):
            self._counters["malformed"] += 1
            log.debug("from %s: Publish: %s", session.name, error)
            reason = str(error)
        else:
            log.error(
                "%s: event %d: the broker goes on after an error", session.name, message.id, exc_info=error
            )
            reason = "the broker failed to process it"
        refuse(self._deliveries, session, reason, message.id, None)

    def _check_stored(self, session: Session) -> None:
        account, most = session.account, self._limits.stored_bytes_per_key
        if account.stored + self._bytes >= most:  # it may depend on those that wait
            self.process()
        if account.stored >= most:
            self._counters["over_stored"] += 1
            raise NotTaken(
                f"{account.stored} bytes of events of {account.name} are waited for: expected at most {most}"
            )
