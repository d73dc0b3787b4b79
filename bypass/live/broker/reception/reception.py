"""The reception of a live broker: it takes messages of clients that were greeted, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from bypass.core.areas.arguments import LARGEST_RADIUS
from bypass.core.broker import Broker
from bypass.errors import BypassError, FollowingRefused, InvalidArea, InvalidWatch
from bypass.live.broker.config import BrokerConfig, Limits
from bypass.live.broker.delivery.deliveries import Deliveries
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.objects.object_service import ObjectService
from bypass.live.broker.reception.presence import ADMIN, ClientPresence
from bypass.live.broker.reception.publications import PendingPublications
from bypass.live.broker.reception.refusals import COUNT, NotTaken, refuse
from bypass.live.broker.sessions.quotas import BURST_S
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.protocol.borders import BorderTask
from bypass.protocol.messages import (
    AllowFollowing,
    ContextMessage,
    FollowedPlace,
    Message,
    OutcomeMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.session import Ack, Bye, Control, Hello, Ping
from bypass.protocol.storage import StorageMessage
from bypass.protocol.wire import MalformedMessage, outline
from bypass.transitions import TransitionError

TAKEN_OVER_QUOTA = ("ack", "bye", "context_update", "assignment_request", "scheme_context", "followed_place")
"""Messages that are taken as long as they can be answered, whatever else their client has sent."""

SAME_END_S = 1.0
"""Two ends of a subscription that differ by less are the same."""


class Reception:
    """Takes what clients send that are in `attendance`."""

    def __init__(
        self,
        config: BrokerConfig,
        broker: Broker,
        sessions: Sessions,
        deliveries: Deliveries,
        counters: Counter[str],
        attendance: ClientPresence,
        publications: PendingPublications,
        objects: ObjectService,
    ) -> None:
        self.on_control: Callable[[Session, Control], None] = _ignore
        self._config = config
        self._broker = broker
        self._sessions = sessions
        self._deliveries = deliveries
        self._counters = counters
        self._attendance = attendance
        self._publications = publications
        self._objects = objects
        self._codec = broker.registry.codec
        self._contexts = broker.registry.contexts()

    # -- messages -----------------------------------------------------------------------------------------

    def receive(self, session: Session, data: bytes) -> None:
        """Take one message of a client that was greeted. Raises MalformedMessage.

        A publication is processed with those after it.
        """
        message, raw = self._codec.decode_raw(data, self._contexts)
        session.scheme = message.scheme
        kind = type(message)
        if kind is not Publish:
            self._publications.process()
        if kind is Ack:
            self._deliveries.acknowledge(session, message.ids)  # type: ignore[attr-defined]
            self._counters["understood"] += 1
            return
        if kind is Hello:
            self._counters["hello_repeated"] += 1
            return
        message.client = session.number
        try:
            if isinstance(message, Publish):
                self._publications.take(session, message, raw)
                return
            self._other(session, message)
        except NotTaken as refusal:
            self._counters["refused"] += 1
            self._not_taken(session, message, str(refusal))
        except (BypassError, TransitionError) as error:
            self._not_taken(session, message, str(error))
            raise MalformedMessage(f"{kind.__name__}: {error}") from error
        else:
            self._counters["understood"] += kind is not Control or ADMIN in session.rights

    def refuse(self, session: Session, data: bytes, over: str, reason: str) -> None:
        """One message that is over a quota, and counted as that. Raises MalformedMessage.

        It is read no further than it takes to answer it. What the client would have to repeat for ever if it
        were dropped is taken: that it has got events, or leaves, or what an operator asks; and, because a
        client takes it for known, where it is. An event that was taken before is not refused when it comes
        again.
        """
        about = outline(data)
        if about.body in TAKEN_OVER_QUOTA or (about.body == "control" and ADMIN in session.rights):
            self.receive(session, data)
            return
        self._publications.process()
        self._counters[over] += 1
        if about.body == "storage":
            message = self._codec.decode(data, self._contexts)
            assert isinstance(message, StorageMessage)
            self._objects.refuse(session, message, reason)
            return
        if about.id is not None and session.knows(about.id) and session.route is not None:
            self._deliveries.turn.confirm(session.route, publication=about.id)
        else:
            refuse(self._deliveries, session, reason, about.id, about.handle, BURST_S)
        if about.rides:
            self._take_riding(session, data)

    def _take_riding(self, session: Session, data: bytes) -> None:
        """Take what rides on a message that is refused. Raises MalformedMessage."""
        message = self._codec.decode(data, self._contexts)
        if isinstance(message, Publish | Subscribe) and message.piggyback is not None:
            context = message.piggyback
            context.client, context.scheme, context.address = session.number, message.scheme, message.address
            try:
                self._other(session, context)
            except (BypassError, TransitionError) as error:
                raise MalformedMessage(f"{type(context).__name__}: {error}") from error

    def _other(self, session: Session, message: Message) -> None:
        assert session.route is not None
        if isinstance(message, FollowedPlace | AllowFollowing):
            self._broker.receive(message)
        elif isinstance(message, ContextMessage) and not isinstance(message, BorderTask):
            self._broker.receive(message)
            self._attendance.moved.add(session.number)
        elif isinstance(message, Subscribe):
            self._subscribe(session, message)
        elif isinstance(message, Unsubscribe):
            self._broker.receive(message)
            self._attendance.withdraw(session, message.handle)
            self._deliveries.turn.confirm(session.route, handle=message.handle)
        elif isinstance(message, OutcomeMessage):
            self._broker.receive(message)
        elif isinstance(message, Ping):
            if message.asks:
                self._deliveries.to_route(session.route, Ping())
        elif isinstance(message, Bye):
            self._bye(session, message)
        elif isinstance(message, Control):
            self.on_control(session, message)
        elif isinstance(message, StorageMessage):
            self._objects.take(session, message)
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
        wanted = (message.subscription, message.radius, message.interest is None, message.watch is None)
        if known is not None and wanted != (
            known.subscription, known.radius, known.interest is None, known.watch is None
        ):  # fmt: skip
            raise NotTaken(f"handle {handle}: it is subscribed with {known.subscription}")
        message.until = None  # of a store, not of a client
        kept = self._as_kept(message, known)
        message.watch = kept.watch
        data = self._codec.encode(kept)
        changed = known is not None and (known.interest, known.until, known.watch) != (
            kept.interest, kept.until, kept.watch
        )  # fmt: skip
        if known is None or changed:
            self._check_room(session, kept, len(data))
            try:
                self._broker.check(message)
            except (InvalidArea, InvalidWatch, FollowingRefused) as error:
                raise NotTaken(str(error)) from None
        if message.piggyback is not None:
            self._attendance.moved.add(session.number)
        self._broker.receive(message)
        session.own.add(handle)
        self._deliveries.claimed(session)
        if known is None or changed:
            session.subscribe(handle, kept, len(data))
            self._deliveries.turn.subscribed(session, handle, data, known)
        if known is None and session.durable:
            # Without a place, a broker that is started again would not know what concerns it.
            self._note_place(session)
        self._deliveries.turn.confirm(session.route, handle=handle)

    def _as_kept(self, message: Subscribe, known: Subscribe | None) -> Subscribe:
        """A subscription as the store has it: when it ends, it says by the broker's clock. A client that says
        again what is `known` says so a little later, which is no other end."""
        until = self._broker.ends.until(message)
        if known is not None and known.until is not None and until is not None:
            is_over = message.expires == 0.0 and known.until <= until
            until = known.until if is_over or abs(known.until - until) < SAME_END_S else until
        watch = message.watch
        if watch is not None and until is not None:
            watch = replace(watch, until=until)
        return replace(message, piggyback=None, expires=None, until=until, watch=watch)

    def _check_room(self, session: Session, kept: Subscribe, size: int) -> None:
        """Raises NotTaken for a subscription that is over a limit of its session or key."""
        limits, handle, account = self._config.limits, kept.handle, session.account
        before = session.handles.get(handle)
        more = kept.subscription.size - (0 if before is None else before.subscription.size)
        longer = size - session.sizes.get(handle, 0)
        much = excess(limits, kept, size, sum(session.sizes.values()) + longer)
        if not much and account.excess(limits, more, longer):
            self._attendance.make_room(account)
            much = account.excess(limits, more, longer)
        if much:
            raise NotTaken(much)

    def _bye(self, session: Session, message: Bye) -> None:
        assert session.route is not None
        self._deliveries.to_route(session.route, Bye())
        if message.forget:
            self._attendance.forget(session)
        else:
            self._attendance.lost(session, "left")

    def oversized(self, session: Session, data: bytes) -> None:
        """Refuse a message that is too large, whatever it is."""
        self._publications.process()
        reason = f"{len(data)} bytes: expected at most {self._config.limits.message_bytes}"
        try:
            self._not_taken(session, self._codec.decode(data, self._contexts), reason)
        except MalformedMessage as error:
            refuse(self._deliveries, session, reason, error.id, error.handle)

    def unreadable(self, session: Session, error: MalformedMessage) -> None:
        """Refuse a message of which no more could be read than what it is about."""
        self._publications.process()
        refuse(self._deliveries, session, str(error), error.id, error.handle)

    def _not_taken(self, session: Session, message: Message, reason: str) -> None:
        if isinstance(message, Publish):
            refuse(self._deliveries, session, reason, message.id, None)
        elif isinstance(message, Subscribe | Unsubscribe):
            refuse(self._deliveries, session, reason, None, message.handle)

    # -- the store ----------------------------------------------------------------------------------------

    def note_places(self) -> None:
        """Have the store know where clients have moved to."""
        for number in self._attendance.moved:
            session = self._sessions.by_number.get(number)
            if session is not None and session.durable:
                self._note_place(session)
        self._attendance.moved.clear()

    def _note_place(self, session: Session) -> None:
        place = self._broker.table.whereabouts(session.number)
        if place is not None:
            self._deliveries.turn.located(session, place)

    def undo(self, turn: Turn) -> None:
        """Undo a turn that could not be stored: its events were not taken, subscriptions are as before.

        A client that has connected again meanwhile would be told otherwise: it has to do so once more.
        """
        misled: set[Session] = set()
        for route, number in turn.taken():
            publisher = self._sessions.by_number.get(number >> 32)
            if publisher is not None:
                publisher.refuse(number & COUNT)
                if publisher.route != route:
                    misled.add(publisher)
        for session, handle, before, own in reversed(turn.changes):
            if session.number not in self._sessions.by_number:
                continue
            if session.route is None or not turn.confirms(session.route, handle):
                misled.add(session)
            if before is None:
                session.unsubscribe(handle)
                session.own.discard(handle)
                self._broker.withdraw(session.number, handle)
            else:
                session.subscribe(handle, before, len(self._codec.encode(before)))
                if own:
                    session.own.add(handle)
                self._broker.admit(session.number, (before,), None)
        for session in misled:
            if session.route is not None:
                for each in (turn, self._deliveries.turn):
                    each.retract(session.route)
                self._deliveries.to_route(session.route, Bye())
                self._attendance.lost(session, "misled")


def excess(limits: Limits, message: Subscribe, size: int, together: int) -> str:
    """Say what a subscription of `size` bytes, which has so many `together` with the others of the same
    client, has too much of; empty if nothing."""
    filters = message.subscription.size
    if filters > limits.filters_per_subscription:
        return f"{filters} filters: expected at most {limits.filters_per_subscription} in a subscription"
    if size > limits.subscription_bytes:
        return f"a subscription of {size} bytes: expected at most {limits.subscription_bytes}"
    if together > limits.session_bytes:
        return f"subscriptions of {together} bytes: expected at most {limits.session_bytes} of one client"
    return ""


def _ignore(*_: object) -> None:
    """Do nothing: nobody is there for it."""
