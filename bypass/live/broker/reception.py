"""What clients say to a live broker, message by message."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from bypass.broker import Broker
from bypass.client import LARGEST_RADIUS
from bypass.errors import BypassError
from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.deliveries import Deliveries, Turn
from bypass.live.broker.sessions import Session, Sessions
from bypass.live.keys import AllowList
from bypass.messages import ContextMessage, Message, OutcomeMessage, Publish, Subscribe, Unsubscribe
from bypass.session import CAPABILITIES, Ack, Bye, Control, Hello, Ping, Refused, Welcome
from bypass.transitions import TransitionError
from bypass.wire import MalformedMessage, decode, decode_raw, encode

log = logging.getLogger(__name__)

ADMIN = "admin"
"""The right to look at a broker and to change it."""

COUNT = (1 << 32) - 1
ROUTE_BYTES = 5  # of a routing id that is ZeroMQ's own; the first is 0
SILENT_HEARTBEATS = 3
LOCAL = ("ipc://", "tcp://127.", "tcp://localhost:", "tcp://[::1]:")


class NotTaken(BypassError):
    """Why a publication or a subscription is refused."""


class Reception:
    """Greets clients and takes what they send.

    An open broker has no `allow_list`.
    """

    def __init__(
        self,
        config: BrokerConfig,
        broker: Broker,
        sessions: Sessions,
        deliveries: Deliveries,
        counters: Counter[str],
        now: Callable[[], float],
        allow_list: AllowList | None,
    ) -> None:
        self.on_control: Callable[[Session, Control], None] = _ignore
        self.on_outcome: Callable[[int, bytes], None] = _ignore
        self.on_departure: Callable[[Session], None] = _ignore
        self.unsaved: set[Session] = set()  # the store does not know yet who they are
        self.published: set[Session] = set()  # nor what they have published
        self._config = config
        self._broker = broker
        self._sessions = sessions
        self._deliveries = deliveries
        self._counters = counters
        self._now = now
        self._rate = config.limits.client_rate
        self._settings = json.dumps(config.set).encode() if config.set else b""
        self._allow_list = allow_list
        self._changes = 0  # of the list, as far as those who are connected have been checked
        # Everybody on this machine may be an operator of an open broker that nobody else can reach.
        self._trusting = all(address.startswith(LOCAL) for address in config.listen)
        self._moved: set[int] = set()

    # -- coming and going ---------------------------------------------------------------------------------

    def greet(self, route: bytes, user: str, data: bytes) -> Session | None:
        """The first message on a connection: the session it belongs to, None if it is not admitted.

        Raises MalformedMessage.
        """
        message = decode(data)
        if not isinstance(message, Hello):
            # A connection that we have given up, or that was another broker's: it has to be made anew.
            self._counters["strangers"] += 1
            self._deliveries.to_route(route, Bye())
            return None
        name, rights, reason = self._identify(user, message.name)
        if route[0] or len(route) != ROUTE_BYTES:
            # Who chooses the same one later would be taken for this client.
            reason = "a routing id of its own: expected none"
        session = None if reason else self._sessions.by_name.get(name)
        if session is not None and session.durable != message.durable:
            self.forget(session)
            session = None
        if session is None and len(self._sessions) >= self._config.limits.clients:
            reason = reason or f"this broker has {len(self._sessions)} sessions: expected no more"
        if reason:
            self._counters["unauthorised"] += 1
            log.warning("%s: refused: %s", name or "a client", reason)
            self._deliveries.to_route(route, Refused(reason))
            return None
        if session is None:
            session = self._sessions.create(name, message.life, message.durable)
        self._counters["understood"] += 1
        session.user, session.rights = user, rights
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
            return name, frozenset(), "the key is not admitted here"
        return (f"{admitted.name}/{name}" if name else admitted.name), admitted.rights, ""

    def _connect(self, session: Session, route: bytes, hello: Hello) -> None:
        if session.route is not None and session.route != route:
            if session.life != hello.life:  # else it has given up that connection itself
                self._deliveries.to_route(session.route, Refused(f"{session.name} is connected elsewhere"))
            self._sessions.disconnect(session, self._now())
        self._sessions.connect(session, route, self._now())
        self._deliveries.delays.joined(session.number, self._now())
        if session.life != hello.life:
            session.life = hello.life
            session.own = set()
            session.refused = set()  # nobody waits for an answer any more
        else:  # it knows of all that was kept for it, and names what it wants
            for handle in session.handles.keys() - set(hello.handles):
                self._unsubscribe(session, handle)
        if session.durable:
            self.unsaved.add(session)
        broker = self._broker
        serving = [scheme for scheme in broker.filter_schemes if session.number in scheme.clients]
        flag = (*serving, *broker.filter_schemes)[0].flag
        region = self._config.region
        self._deliveries.to_route(
            route,
            Welcome(
                session.known_up_to,
                self._config.heartbeat,
                region.area,
                region.origin,
                tuple(each for handle, each in session.handles.items() if handle not in session.own),
                session.missed,
                self._settings,
                CAPABILITIES if hello.capabilities else (),
                client=session.number,
                scheme=flag,
                epoch=broker.epoch,
            ),
        )
        broker.reconnect(session.number, hello.scheme or flag, hello.epoch)
        self._deliveries.feed(session)

    def lost(self, session: Session, why: str) -> None:
        """A session's connection is gone, or of no use any more."""
        log.info("%s: %s", session.name, why)
        self._counters[why] += 1
        self._sessions.disconnect(session, self._now())
        self._deliveries.delays.left(session.number, self._now())
        if session.durable:
            self.unsaved.add(session)
            self.on_departure(session)
        else:
            self.forget(session)

    def forget(self, session: Session) -> None:
        """End a session for good."""
        self.on_departure(session)
        self._broker.disconnect(session.number)
        self._deliveries.forget(session)
        self._deliveries.delays.forget(session.number)
        self._sessions.forget(session)
        self.unsaved.discard(session)
        self.published.discard(session)
        self._moved.discard(session.number)
        if session.durable:
            self._deliveries.turn.batch.forgotten(session.number)

    def look_after(self) -> None:
        """Every second or more often: ask who is silent, give up who stays so or is expelled, forget who is
        long gone."""
        now, beat = self._now(), self._config.heartbeat
        oldest = now - self._config.limits.session_age
        self._expel()
        for session in list(self._sessions):
            if session.route is None:
                if session.seen < oldest:
                    self.forget(session)
            elif now - session.heard > SILENT_HEARTBEATS * beat:
                self.lost(session, "silent")
            elif now - session.heard > beat:
                self._deliveries.to_route(session.route, Ping(asks=True))

    def _expel(self) -> None:
        """If the allow-list has changed, cut off who is not in it any more; others get the rights it says."""
        if self._allow_list is None:
            return
        self._allow_list.refresh()
        if self._allow_list.changes == self._changes:
            return
        self._changes = self._allow_list.changes
        for session in list(self._sessions.by_route.values()):
            admitted = self._allow_list.find(session.user)
            if admitted is not None:
                session.rights = admitted.rights
            elif session.route is not None:
                self._deliveries.to_route(session.route, Refused("the key is not admitted here any more"))
                self.lost(session, "expelled")

    def listens_again(self) -> None:
        """Nobody was heard for a while, and that was not the clients' fault."""
        now = self._now()
        for session in self._sessions.by_route.values():
            session.heard = now

    # -- messages -----------------------------------------------------------------------------------------

    def receive(self, session: Session, data: bytes) -> None:
        """One message of a client that was greeted. Raises MalformedMessage."""
        message, raw = decode_raw(data)
        now = session.heard = self._now()
        session.scheme = message.scheme
        kind = type(message)
        rate = self._rate
        if kind is Ack:
            # As many as there are events, but no more than that.
            taken = self._deliveries.acknowledge(session, message.ids) or session.may_send(now, rate)  # type: ignore[attr-defined]
            self._counters["understood" if taken else "limited"] += 1
            return
        if not session.may_send(now, rate) and not session.knows(message):
            self._counters["limited"] += 1
            self._not_taken(session, message, f"more than {rate:g} messages a second")
            return
        message.client = session.number
        try:
            if kind is Publish:
                self._publish(session, message, raw)  # type: ignore[arg-type]
            else:
                self._other(session, message)
        except NotTaken as refusal:
            self._counters["refused"] += 1
            self._not_taken(session, message, str(refusal))
        except (BypassError, TransitionError) as error:
            raise MalformedMessage(f"{kind.__name__}: {error}") from error
        else:
            self._counters["understood"] += kind is not Control or ADMIN in session.rights

    def _publish(self, session: Session, message: Publish, raw: bytes) -> None:
        number = message.id
        if number >> 32 != session.number:
            raise NotTaken(f"event {number}: expected an id of client {session.number}")
        assert session.route is not None
        count = number & COUNT
        repeated = count in session.refused
        if count > session.published or repeated:
            session.published = max(count, session.published)
            session.refused.discard(count)
            self._deliveries.turn.taken.add(number)
            if message.piggyback is not None:
                self._moved.add(session.number)
            self._counters["publications"] += 1
            if not session.takes_part:
                session.takes_part = True
                self._broker.join(session.number, message.scheme)
            deliveries = self._deliveries
            deliveries.publishing(message, raw, repeated)
            try:
                self._broker.receive(message)
            finally:
                deliveries.published(message)
            if session.durable:
                self.published.add(session)
        self._deliveries.confirm(session.route, publication=number)

    def _other(self, session: Session, message: Message) -> None:
        assert session.route is not None
        if isinstance(message, ContextMessage):
            self._broker.receive(message)
            self._moved.add(session.number)
        elif isinstance(message, Subscribe):
            self._subscribe(session, message)
        elif isinstance(message, Unsubscribe):
            self._unsubscribe(session, message.handle)
            self._deliveries.confirm(session.route, handle=message.handle)
        elif isinstance(message, OutcomeMessage):
            self._broker.receive(message)
            self.on_outcome(session.number, message.outcome)
        elif isinstance(message, Ping):
            if message.asks:
                self._deliveries.to_route(session.route, Ping())
        elif isinstance(message, Hello):
            self._connect(session, session.route, message)
        elif isinstance(message, Bye):
            self._bye(session, message)
        elif isinstance(message, Control):
            self.on_control(session, message)
        else:
            raise MalformedMessage(f"{type(message).__name__}: expected what clients say")

    def _subscribe(self, session: Session, message: Subscribe) -> None:
        assert session.route is not None
        handle = message.handle
        known = session.handles.get(handle)
        most = self._config.limits.subscriptions_per_client
        if known is None and len(session.handles) >= most:
            raise NotTaken(f"{most} subscriptions: expected no more of one client")
        if message.radius is not None and not 0 < message.radius <= LARGEST_RADIUS:
            raise NotTaken(f"radius {message.radius}: expected metres from 1 to {LARGEST_RADIUS}")
        if known is not None and (known.subscription, known.radius) != (message.subscription, message.radius):
            raise NotTaken(f"handle {handle}: it is subscribed with {known.subscription}")
        if message.piggyback is not None:
            self._moved.add(session.number)
        self._broker.receive(message)
        session.own.add(handle)
        if known is None:
            kept = session.handles[handle] = replace(message, piggyback=None)
            turn = self._deliveries.turn
            turn.changes.append((session, handle, None))
            if session.durable:
                turn.batch.subscribed(session.number, handle, encode(kept))
                # Without a place, a broker that is started again would not know what concerns it.
                self._note_place(session)
        self._deliveries.confirm(session.route, handle=handle)

    def _unsubscribe(self, session: Session, handle: int) -> None:
        session.own.discard(handle)
        known = session.handles.pop(handle, None)
        if known is None:
            return
        self._broker.receive(Unsubscribe(handle, client=session.number))
        turn = self._deliveries.turn
        turn.changes.append((session, handle, known))
        if session.durable:
            turn.batch.unsubscribed(session.number, handle)

    def _bye(self, session: Session, message: Bye) -> None:
        assert session.route is not None
        self._deliveries.to_route(session.route, Bye())
        if message.forget:
            self.forget(session)
        else:
            self.lost(session, "left")

    def oversized(self, session: Session, data: bytes) -> None:
        """A message that is too large is not taken, whatever it is."""
        most = self._config.limits.message_bytes
        with suppress(MalformedMessage):
            self._not_taken(session, decode(data), f"{len(data)} bytes: expected at most {most}")

    def _not_taken(self, session: Session, message: Message, reason: str) -> None:
        """Say why, to whoever waits for an answer."""
        if isinstance(message, Publish):
            if message.id >> 32 == session.number and message.id & COUNT > session.published:
                session.refuse(message.id & COUNT)
            refused = Refused(reason, id=message.id)
        elif isinstance(message, Subscribe | Unsubscribe):
            refused = Refused(reason, handle=message.handle)
        else:
            return
        assert session.route is not None
        self._deliveries.to_route(session.route, refused)

    # -- the store ----------------------------------------------------------------------------------------

    def note_places(self) -> None:
        """Have the store know where clients have moved to."""
        for number in self._moved:
            session = self._sessions.by_number.get(number)
            if session is not None and session.durable:
                self._note_place(session)
        self._moved.clear()

    def _note_place(self, session: Session) -> None:
        place = self._broker.table.whereabouts(session.number)
        if place is not None:
            self._deliveries.turn.batch.located(session.number, *place)

    def undo(self, turn: Turn) -> None:
        """What could not be stored did not happen: events were not taken, subscriptions are as before.

        A client that has connected again meanwhile would be told otherwise: it has to do so once more.
        """
        misled: set[Session] = set()
        for route, (ids, _) in turn.acknowledged.items():
            for number in turn.taken.intersection(ids):
                session = self._sessions.by_number.get(number >> 32)
                if session is not None:
                    session.refuse(number & COUNT)
                    if session.route != route:
                        misled.add(session)
        for session, handle, before in reversed(turn.changes):
            if session.number not in self._sessions.by_number:
                continue
            if session.route is None or handle not in turn.acknowledged.get(session.route, ((), ()))[1]:
                misled.add(session)
            if before is None:
                session.handles.pop(handle, None)
                session.own.discard(handle)
                self._broker.receive(Unsubscribe(handle, client=session.number))
            else:
                session.handles[handle] = before
                self._broker.admit(session.number, (before,), None)
        for session in misled:
            if session.route is not None:
                self._deliveries.retract(turn, session.route)
                self._deliveries.to_route(session.route, Bye())
                self.lost(session, "misled")


def _ignore(*_: object) -> None:
    """What happens to what nobody is there for."""
