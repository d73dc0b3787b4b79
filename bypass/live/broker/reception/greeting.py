"""The greeting of clients: who they are, whether they are admitted, and what they are told first."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from bypass.core.broker import Broker
from bypass.live.allow_list import Admitted, AllowList
from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.delivery.deliveries import Deliveries
from bypass.live.broker.delivery.missed import NOT_TAKEN
from bypass.live.broker.loop.sender import Sender
from bypass.live.broker.reception.presence import ADMIN, EXPELLED_RETRY_S, ClientPresence
from bypass.live.broker.sessions.quotas import Account
from bypass.live.broker.sessions.sessions import Numbers, Session, Sessions
from bypass.mechanisms.families import COMMON_SCHEME
from bypass.protocol.messages import Subscribe
from bypass.protocol.session import (
    CAPABILITIES,
    KEPT_PARTS,
    MISSED,
    SCHEMES,
    Bye,
    Hello,
    Kept,
    Missed,
    Refused,
    Welcome,
    needed,
)
from bypass.protocol.wire import MAX_MESSAGE_BYTES

log = logging.getLogger(__name__)

NOT_ADMITTED = "the key is not admitted here"

ROUTE_BYTES = 5  # of a routing id that is ZeroMQ's own; the first is 0

KEPT_BYTES = 65_536
"""Kept subscriptions that a client is told of in one message, unless a single one has more."""

WELCOME_BYTES = MAX_MESSAGE_BYTES // 2
"""Kept subscriptions that are in a welcome itself, for a client that takes them nowhere else."""

MOST_GREETED = 10_000
"""Connections of which it is remembered that they have greeted, though they have no session any more."""

LOCAL = ("ipc://", "tcp://127.", "tcp://localhost:", "tcp://[::1]:")


class Greeting:
    """Admits clients, and gives them their sessions.

    An open broker has no `allow_list`. `served` is for how many seconds brokers have served the store.
    """

    def __init__(
        self,
        config: BrokerConfig,
        broker: Broker,
        sessions: Sessions,
        deliveries: Deliveries,
        counters: Counter[str],
        presence: ClientPresence,
        now: Callable[[], float],
        served: Callable[[], float],
        allow_list: AllowList | None,
    ) -> None:
        self._config = config
        self._broker = broker
        self._sessions = sessions
        self._deliveries = deliveries
        self._counters = counters
        self._presence = presence
        self._now = now
        self._served = served
        self._allow_list = allow_list
        self._greeted: dict[bytes, None] = {}  # connections, in the order of their greetings
        self._settings = json.dumps(config.set).encode() if config.set else b""
        # Everybody on this machine may be an operator of an open broker that nobody else can reach.
        self._trusting = all(address.startswith(LOCAL) for address in config.listen)

    def account(self, sender: Sender) -> Account:
        """The account that is charged for what a stranger sends."""
        key = ""
        if self._allow_list is not None:
            admitted = self._allow_list.find(sender.user)
            key = f"key {sender.user}" if admitted is None else admitted.name
        return self._sessions.quotas.stranger(key, sender.route, sender.address)

    def may_connect(self, admitted: Admitted, address: str) -> bool:
        """Whether a key may have a connection more, from this address; operators always may."""
        if ADMIN in admitted.rights:
            return True
        account = self._sessions.quotas.newcomer(admitted.name, address)
        if account is None or account.charge_connection(self._now()):
            return True
        self._counters["over_connections"] += 1
        return False

    def greet(self, sender: Sender, data: bytes) -> Session | None:
        """Answer the first message on a connection: give its session, None if the client is not admitted.

        Raises MalformedMessage.
        """
        message, route = self._broker.registry.codec.decode(data), sender.route
        if not isinstance(message, Hello):
            # A connection that we have given up, or that was another broker's: it has to be made anew.
            self._counters["strangers"] += 1
            self._deliveries.to_route(route, Bye())
            return None
        if route in self._greeted:
            self._counters["hello_repeated"] += 1
            return None
        self._greeted[route] = None
        if len(self._greeted) > MOST_GREETED:
            del self._greeted[next(iter(self._greeted))]
        name, rights, reason = self._identify(sender.user, message.name)
        if route[0] or len(route) != ROUTE_BYTES:
            # A client that chooses the same one later would be taken for this one.
            reason = "a routing id of its own: expected none"
        session = None if reason else self._sessions.by_name.get(name)
        not_taken = 0
        if session is not None and session.durable and not message.durable:
            reason = f"{name} is a durable session: expected durable=True, or have it forgotten first"
        elif session is not None and not session.durable:
            # Nobody knows what of its events has arrived, and nothing is kept for it: it begins anew, and the
            # same life is told what would have been for it meanwhile.
            not_taken = session.missed[NOT_TAKEN] if session.life == message.life else 0
            if session.route is not None and session.life != message.life:
                self._deliveries.to_route(session.route, Refused(f"{name} is connected elsewhere"))
            self._presence.forget(session)
            session = None
        account = self._sessions.quotas.owner(name, sender.address)
        why = "unauthorised"
        if session is None and not reason:
            reason = self._no_place_for(account, rights)
            why = "over_sessions" if reason else why
        if reason:
            self._counters[why] += 1
            log.warning("%s: refused: %s", name or "a client", reason)
            retry = EXPELLED_RETRY_S if reason is NOT_ADMITTED else 0.0
            self._deliveries.to_route(route, Refused(reason, retry=retry))
            return None
        if session is None:
            session = self._sessions.create(name, message.life, message.durable, account)
            session.missed.update({NOT_TAKEN: not_taken} if not_taken else {})
        self._sessions.assign(session, account)
        self._counters["understood"] += 1
        session.sender, session.rights = sender, rights
        session.capabilities = frozenset(message.capabilities)
        self._connect(session, route, message)
        return session

    def _identify(self, user: str, name: str) -> tuple[str, frozenset[str], str]:
        """The name of a session, what its client may do, and why it is refused, if it is."""
        if self._allow_list is None:
            missing = "" if name else "a name is missing: expected one, the broker is open"
            return name, frozenset({ADMIN}) if self._trusting else frozenset(), missing
        admitted = self._allow_list.find(user)
        if admitted is None:
            return name, frozenset(), NOT_ADMITTED
        return (f"{admitted.name}/{name}" if name else admitted.name), admitted.rights, ""

    def _no_place_for(self, account: Account, rights: frozenset[str]) -> str:
        """Why there can be no further session of a key; empty if there can."""
        limits = self._config.limits
        if self._allow_list is not None and ADMIN in rights:
            return ""  # whoever is to mend a broker that is full must get in
        if account.sessions >= limits.sessions_per_key:
            self._presence.make_room(account)
        if len(self._sessions) >= limits.clients:
            self._presence.make_room()
        if account.sessions >= limits.sessions_per_key:
            return f"{account.name} has {account.sessions} sessions: expected no more of one key"
        if len(self._sessions) >= limits.clients:
            return f"this broker has {len(self._sessions)} sessions: expected no more"
        return ""

    def _connect(self, session: Session, route: bytes, hello: Hello) -> None:
        """Greet a client on the connection that it has now, and send it what has waited."""
        if session.route is not None and session.route != route:
            if session.life != hello.life:  # else it has given up that connection itself
                self._deliveries.to_route(session.route, Refused(f"{session.name} is connected elsewhere"))
            self._sessions.disconnect(session, self._served())
        self._sessions.connect(session, route, self._now(), self._served())
        self._deliveries.delays.joined(session.number, self._now())
        if session.life != hello.life:
            session.life = hello.life
            session.own = set()
            session.refused = Numbers()  # nobody waits for an answer any more
            self._deliveries.kept.renewed(session)
        else:  # it knows of all that was kept for it, and names what it wants
            for handle in session.handles.keys() - session.untold.union(hello.handles):
                self._presence.withdraw(session, handle)
            if session.restored:  # what has no lane was claimed, or nothing was to wait for that
                session.own = session.handles.keys() - session.untold - session.lanes.keys()
                session.unclaimed_since = self._served() if session.unclaimed else None
        session.restored = False
        if session.durable:
            self._presence.unsaved.add(session)
            self._deliveries.kept.lanes.note(session)
        broker = self._broker
        serving = [scheme for scheme in broker.filter_schemes if session.number in scheme.clients]
        scheme, flags = (*serving, *broker.filter_schemes)[0], broker.registry.flags
        # A client without the scheme begins with one that all have, and is asked to change like all others.
        lacking = scheme.name in flags.given and scheme.name not in hello.schemes
        flag = flags.of(COMMON_SCHEME) if lacking else broker.flag_of(scheme)
        region = self._config.region
        kept, parts = self._kept(session)
        self._deliveries.to_route(
            route,
            Welcome(
                session.known_up_to,
                self._config.heartbeat,
                region.area,
                region.origin,
                kept,
                session.missed.total(),
                self._settings,
                CAPABILITIES if hello.capabilities else (),
                len(parts),
                tuple(Missed(reason, count) for reason, count in session.missed.items() if count)
                if MISSED in session.capabilities
                else (),
                flags.given if SCHEMES in session.capabilities else {},
                client=session.number,
                scheme=flag,
                epoch=broker.rollout.epoch,
            ),
        )
        for part in parts:
            self._deliveries.to_route(route, Kept(part, client=session.number))
        broker.reconnect(session.number, hello.scheme or flag, hello.epoch)
        self._deliveries.kept.lanes.tidy(session)
        self._deliveries.feed(session)

    def _kept(self, session: Session) -> tuple[tuple[Subscribe, ...], list[tuple[Subscribe, ...]]]:
        """Subscriptions of earlier lives: those that a welcome has itself, and those in each of its parts.

        Who knows of no parts is told of as many as fit into the welcome: the latest, because it numbers its
        next ones from there.
        """
        kept = {handle: size for handle, size in session.sizes.items() if handle not in session.own}
        known = {h: size for h, size in kept.items() if needed(session.handles[h]) <= session.capabilities}
        if KEPT_PARTS in session.capabilities:
            parts = [*_portions(known, KEPT_BYTES)]
            told, first = {handle for part in parts for handle in part}, []
        else:
            parts, first = [], next(_portions(dict(sorted(known.items(), reverse=True)), WELCOME_BYTES), [])
            told = set(first)
        session.untold = frozenset(kept.keys() - told)
        if session.untold:
            self._counters["kept_untold"] += len(session.untold)
            log.warning(
                "%s: its version is not told of %d of %d kept subscriptions: they do not fit into %d bytes, "
                "or it cannot read them",
                session.name,
                len(session.untold),
                len(kept),
                WELCOME_BYTES,
            )
        handles = {handle: replace(session.handles[handle], until=None) for handle in told}
        return tuple(handles[each] for each in first), [tuple(handles[h] for h in part) for part in parts]


def _portions(sizes: Mapping[int, int], most: int) -> Iterator[list[int]]:
    """Divide things of these sizes into portions: as many in a row as `most` allows, and one at least."""
    portion: list[int] = []
    total = 0
    for each, size in sizes.items():
        if portion and total + size > most:
            yield portion
            portion, total = [], 0
        portion.append(each)
        total += size
    if portion:
        yield portion
