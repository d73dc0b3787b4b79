"""The presence of clients: they leave a live broker, are not heard any more, are expelled or forgotten."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping

from bypass.core.broker import Broker
from bypass.live.allow_list import AllowList
from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.delivery.deliveries import Deliveries
from bypass.live.broker.delivery.missed import UNCLAIMED, WITHDRAWN
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.sessions.quotas import Account
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.protocol.session import Ping, Refused

log = logging.getLogger(__name__)

ADMIN = "admin"
"""The right to look at a broker and to change it."""

SILENT_HEARTBEATS = 3
SILENT = "silent"
RETURN_S = 60.0  # for which a session that keeps nothing, and was silent, counts what would have been for it

WARN_S = 60.0
"""How long subscriptions of earlier lives may be unclaimed before the broker says so."""

EXPELLED_RETRY_S = 5.0
"""After so long an expelled client may see whether its key is listed again: lists change by mistake, too."""


class ClientPresence:
    """Gives up clients that are silent or expelled, and forgets those that are long gone.

    An open broker has no `allow_list`. `served` is for how many seconds brokers have served the store.
    The store does not know yet who the `unsaved` sessions are, what the `published` ones have published, and
    where those with the numbers `moved` are.
    """

    def __init__(
        self,
        config: BrokerConfig,
        broker: Broker,
        sessions: Sessions,
        deliveries: Deliveries,
        counters: Counter[str],
        now: Callable[[], float],
        served: Callable[[], float],
        allow_list: AllowList | None,
    ) -> None:
        self.unsaved: set[Session] = set()
        self.published: set[Session] = set()
        self.moved: set[int] = set()
        self._config = config
        self._broker = broker
        self._sessions = sessions
        self._deliveries = deliveries
        self._counters = counters
        self._now = now
        self._served = served
        self._warned: set[Session] = set()  # of what nobody claims
        self._allow_list = allow_list
        self._changes = 0  # of the list, as far as those who are connected have been checked

    def note(self, turn: Turn) -> None:
        """Have a turn store who clients are, and what they have published, as far as the store does not know:
        by now it is known what of earlier turns was refused."""
        for session in self.unsaved:
            turn.met(session)
        self.unsaved.clear()
        for session in self.published:
            turn.published(session)
        self.published.clear()

    def not_stored(self) -> None:
        """A turn was not stored: who clients are is noted again."""
        self.unsaved.update(session for session in self._sessions if session.durable)

    def lost(self, session: Session, why: str) -> None:
        """A session's connection is gone, or of no use any more."""
        log.info("%s: %s", session.name, why)
        self._counters[why] += 1
        self._sessions.disconnect(session, self._served())
        self._deliveries.delays.left(session.number, self._now())
        if session.durable:
            self.unsaved.add(session)
            self._deliveries.kept.lanes.note(session)
        elif why != SILENT:
            self.forget(session)
            return
        self._broker.addresses.pop(session.number, None)  # who is away passes nothing on
        self._broker.rollout.tracker.cut_off(session.number)

    def lost_on(self, routes: Mapping[bytes, str]) -> None:
        """Give up the sessions that are connected on these routes, each for a reason."""
        for route, why in routes.items():
            session = self._sessions.by_route.get(route)
            if session is not None:
                self.lost(session, why)

    def make_room(self, account: Account | None = None) -> None:
        """Forget the sessions, of one key or of all, that are silent and not durable: they only count what
        they miss, and must not take the place of others."""
        for session in list(self._sessions):
            if session.route is None and not session.durable and account in (None, session.account):
                self.forget(session)

    def forget(self, session: Session) -> None:
        """End a session for good."""
        self._broker.disconnect(session.number)
        self._deliveries.kept.forget(session)
        self._deliveries.delays.forget(session.number)
        self._sessions.forget(session)
        self.unsaved.discard(session)
        self._warned.discard(session)
        self.published.discard(session)
        self.moved.discard(session.number)
        self._deliveries.turn.forgot(session)

    def look_after(self) -> None:
        """Every second or more often: ask who is silent, give up who stays so or is expelled, forget who is
        long gone."""
        now, beat = self._now(), self._config.heartbeat
        oldest = self._served() - self._config.limits.session_age
        self._expel()
        self._sessions.quotas.tidy()
        for session in list(self._sessions):
            if session.route is None:
                if session.seen < (oldest if session.durable else self._served() - RETURN_S):
                    self.forget(session)
            elif now - session.heard > SILENT_HEARTBEATS * beat:
                self.lost(session, SILENT)
            elif now - session.heard > beat:
                self._deliveries.to_route(session.route, Ping(asks=True))
            if session.unclaimed_since is not None and session.route is not None:
                self._look_after_unclaimed(session, session.unclaimed_since)

    def _look_after_unclaimed(self, session: Session, since: float) -> None:
        """Warn of subscriptions of earlier lives that nobody claims, and withdraw them after a while."""
        # A version that could not be told of some cannot claim them either.
        unclaimed, age = sorted(session.unclaimed - session.untold), self._served() - since
        if not unclaimed:
            session.unclaimed_since = None
            self._warned.discard(session)
            return
        if age > self._config.limits.unclaimed_age:
            reason = f"not claimed within {self._config.limits.unclaimed_age:g} s: withdrawn"
            log.warning("%s: kept subscriptions %s: %s", session.name, unclaimed, reason)
            self._counters["kept_withdrawn"] += len(unclaimed)
            for handle in unclaimed:
                self.withdraw(session, handle, UNCLAIMED)
                if session.route is not None:
                    self._deliveries.to_route(session.route, Refused(reason, handle=handle))
        elif session not in self._warned and age > min(WARN_S, self._config.limits.unclaimed_age / 2):
            self._warned.add(session)
            self._deliveries.kept.lanes.set_apart(session)
            log.warning("%s: kept subscriptions %s: not claimed in %.0f s", session.name, unclaimed, age)

    def _expel(self) -> None:
        """If the allow-list has changed, cut off who is not in it any more; others get the rights it says."""
        if self._allow_list is None:
            return
        self._allow_list.refresh()
        if self._allow_list.changes == self._changes:
            return
        self._changes = self._allow_list.changes
        for session in list(self._sessions.by_route.values()):
            admitted = self._allow_list.find(session.sender.user)
            if admitted is not None:
                session.rights = admitted.rights
            elif session.route is not None:
                refused = Refused("the key is not admitted here any more", retry=EXPELLED_RETRY_S)
                self._deliveries.to_route(session.route, refused)
                self.lost(session, "expelled")

    def listens_again(self) -> None:
        """Nobody was heard for a while, and that was not the clients' fault."""
        now = self._now()
        for session in self._sessions.by_route.values():
            session.heard = now

    def withdraw(self, session: Session, handle: int, why: str = WITHDRAWN) -> None:
        """End a subscription; no effect if there is none. What was not sent for it is missed: `why`."""
        own = handle in session.own
        session.own.discard(handle)
        known = session.unsubscribe(handle)
        if known is None:
            return
        self._broker.withdraw(session.number, handle)
        self._deliveries.turn.withdrew(session, handle, known, own)
        self._deliveries.kept.lanes.withdrawn(session, handle, why, own or session.restored)
        if session.lanes:  # what may have arrived before, and what others have waited for because of it
            self._deliveries.feed(session)
