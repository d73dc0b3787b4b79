"""A client's side of its session with a live broker, on whatever connection there is at the moment.

What the application has asked for is kept here until the broker has answered, and said again on the next
connection; what the broker has sent is acknowledged once the application has it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from functools import partial

from bypass.core.client import Client
from bypass.live.adhoc.neighbours import Neighbours
from bypass.live.client.errors import NotConnected
from bypass.live.client.live_node import LiveNode
from bypass.live.client.session.client_factory import ClientFactory
from bypass.live.client.session.inbound_events import InboundEvents
from bypass.live.client.session.missed_counts import MissedCounts
from bypass.live.client.session.pending_replies import PendingReplies
from bypass.live.client.session.receipts import Receipts
from bypass.live.client.session.resubscriptions import Resubscriptions, warn_of_kept
from bypass.live.client.session.session_objects import SessionObjects
from bypass.live.client.session.session_subscriptions import SessionSubscriptions
from bypass.live.client.session.subscription_changes import SubscriptionChanges
from bypass.live.client.session.uplink import Uplink
from bypass.live.client.sources.sensor import LiveSensor
from bypass.live.host import Clock
from bypass.mechanisms import Registry
from bypass.ports.subscriptions import SubHandle
from bypass.protocol.messages import Message, Notify, StorageMessage
from bypass.protocol.session import (
    CAPABILITIES,
    OBSOLETE,
    Ack,
    Hello,
    Missed,
    Refused,
    Welcome,
)
from bypass.protocol.wire import NO_CONTEXTS, Contexts, MalformedMessage

log = logging.getLogger(__name__)

CLAIMED_WITHIN_S = 10.0
"""How long after a welcome subscriptions of earlier lives may be unclaimed without a warning."""


class ClientSession(SessionSubscriptions):
    """The session `name` of one process, from the first welcome on.

    A broker that has forgotten the client, or what it told it, welcomes it like a new one. Subscriptions then
    go on under their handles, and publications that were not acknowledged are sent again, with new numbers if
    the client has another number: none is lost, but one that the broker had before it forgot everything may
    come twice to others.
    """

    def __init__(
        self,
        name: str,
        durable: bool,
        clock: Clock,
        sensor: LiveSensor,
        neighbours: Neighbours | None,
        drop_kept: bool = False,
        registry: Registry | None = None,
        secret: bytes = b"",
        node: LiveNode | None = None,
    ) -> None:
        self.client: Client | None = None
        self.missed = MissedCounts()
        self.events_unreadable = 0
        self._name, self._durable = name, durable
        self._drop_kept, self._clock = drop_kept, clock
        self._life, self.sensor = 0, sensor
        self._named: tuple[int, ...] = ()  # handles in the latest greeting
        self._over: Exception | None = None
        self._read_on: Callable[[], None] = _nothing
        self._receipts = Receipts(self._acknowledge, clock.after)
        self._registry = registry or Registry()
        self._codec = self._registry.codec
        self._uplink = Uplink(self._codec, sensor)
        self._outbox = self._uplink.outbox
        self._contexts: Contexts = NO_CONTEXTS
        self.objects = SessionObjects(self.usable, self._uplink, None if node is not None else secret)
        self._clients = ClientFactory(clock, sensor, self.objects.send, neighbours, self._registry, node)
        self._events = InboundEvents(
            name, clock, self._receipts, lambda: self._read_on(), self.unsubscribe, self.change
        )
        self.unread = self._events.unread
        self._subscribing, self._withdrawing = PendingReplies(), PendingReplies()  # by handle
        self._claims: set[int] = set()  # handles of `_subscribing` that the broker has kept
        self.again = Resubscriptions(clock.after, self._ask_again)
        self._changes = SubscriptionChanges(self._subscribing, self.again, self._check)
        self.subscriptions_lost = 0
        self._answered = asyncio.Event()  # something was

    # -- connections --------------------------------------------------------------------------------------

    def hello(self) -> Hello:
        """Give the first message on a new connection."""
        client = self.client
        if client is None:
            # An answer that never came must not let the broker take us for somebody who knows it.
            self._life = secrets.randbits(63)
        schemes = self._registry.own_schemes()
        hello = Hello(self._name, self._life, (), self._durable, CAPABILITIES, schemes)
        if client is not None:
            network = client.network
            handles = [] if network.silent else [each.handle.id for each in client.subscriptions]
            hello.handles = self._named = (*handles, *client.subscriptions.kept)
            hello.client, hello.scheme, hello.epoch = client.host.id, network.flag, network.epoch
        return hello

    def welcomed(self, welcome: Welcome, send: Callable[[bytes], None], read_on: Callable[[], None]) -> None:
        """Say again, by `send`, what the broker that has answered may not know.

        `read_on` is called when `may_read` may have changed. Raises ConnectionRefused if the client cannot
        work with this broker.
        """
        client = self.client
        self._uplink.capabilities = frozenset(welcome.capabilities)
        self._registry.flags.given = dict(welcome.schemes)
        self._contexts = self._registry.contexts()
        renewed = client is not None and client.host.id != welcome.client
        self.missed.welcomed(welcome, renewed)
        if client is None or not self._clients.is_same(client, welcome):
            client = self._begin(welcome)
        else:
            self._outbox.known_up_to(client.host.id << 32 | welcome.published)
        client.says_obsolete = OBSOLETE in self._uplink.capabilities
        registered = {each.handle.id for each in client.subscriptions}
        for number in self._subscribing:
            if number not in registered:  # withdrawn meanwhile: the broker will never hear of it
                self._subscribing.give(number)
        for number in self._changes.pending:
            if number not in registered:
                self._changes.given(number)
        for kept in welcome.kept:
            if kept.handle not in registered and kept.handle not in self._withdrawing:
                client.subscriptions.keep(
                    SubHandle(kept.handle, kept.subscription, kept.radius, kept.interest, kept.watch)
                )
        self._uplink.connected(send)
        self._read_on = read_on
        if client.subscriptions.kept:
            if self._drop_kept:
                self._named = (*self._named, *client.subscriptions.kept)
                for number in [*client.subscriptions.kept]:
                    del client.subscriptions.kept[number]
                    self._events.remove(client, number)
                    self._withdrawing.ask(number)
            else:
                self._clock.after(CLAIMED_WITHIN_S, self._warn_of_kept)
        again: list[int] = []
        for each in list(client.subscriptions):
            number = each.handle.id
            if lacking := self._uplink.lacking(each.message(self._clock.now())):  # the one before had it
                self._refused_for_good(client, number, lacking)
            else:
                again.append(number)
        named = {*self._named}
        for number in self._withdrawing:
            if number in named:  # it was withdrawn while the greeting was on its way
                again.append(number)
            else:
                self._withdrawing.give(number)
        self.again.begin(again)
        client.followed.tell()
        self._uplink.publish_again(client)
        self.objects.connected(client, renewed)
        self._answered.set()

    def _warn_of_kept(self) -> None:
        if self.client is not None and not self._over:
            warn_of_kept(self._name, self.client.subscriptions.kept.values())

    def disconnected(self) -> None:
        """The connection is gone."""
        self.again.disconnected()
        self._uplink.disconnected()
        self._read_on = _nothing
        self._receipts.disconnected()
        self._events.disconnected()

    def end(self, why: Exception, ours: bool) -> None:
        """There will be no other connection: whoever waits for something is told why.

        `ours`: as the application wished, so that those who iterate just come to the end.
        """
        self._over = why
        self.disconnected()
        if self.client is not None:
            self.client.close()
        self._outbox.fail(why)
        self._subscribing.refuse_all(why)
        self._withdrawing.refuse_all(why)
        self._changes.end(why)
        self._answered.set()
        self._events.end(None if ours else why)
        self.objects.end(why, ours)
        self.sensor.close()
        self._clients.close()

    def _begin(self, welcome: Welcome) -> Client:
        """A client as the broker knows it, instead of the one before, if there was one."""
        before = self.client
        self.client = client = self._clients.begin(welcome, before)
        client.subscriptions.on_expired = self.unsubscribe
        if before is not None and before.host.id != client.host.id:
            for handle in [*client.subscriptions.kept]:
                del client.subscriptions.kept[handle]
                self._events.hand_over_early(client, handle)
            self._outbox.renumber(partial(_next_number, client))
        return client

    # -- what the application wants -----------------------------------------------------------------------

    async def place_for_publication(self) -> None:
        """Wait until one more publication may be unacknowledged. Raises NotConnected after the end."""
        self.usable()
        await self._outbox.wait_for_place()

    def publish(self, publish: Callable[[Client], int], place_taken: bool) -> asyncio.Future[int]:
        """Have the client publish something. Raises what that raises, OutboxFull, and Unsupported."""
        settled = self._uplink.publish(self.usable(), publish, place_taken)
        self._read_on()
        return settled

    @property
    def reports_dropped(self) -> int:
        """Reports of border events that the broker will not get."""
        unsent = 0 if self.client is None else self.client.reports_unsent
        return self._uplink.reports_dropped + unsent

    @property
    def unanswered(self) -> bool:
        """Say whether something that the application has asked for was not answered yet."""
        return bool(self._outbox or self._subscribing or self._withdrawing or self._changes.pending)

    async def all_answered(self) -> None:
        """Wait until the broker has answered everything."""
        while self.unanswered:
            self._answered.clear()
            await self._answered.wait()

    def flush_receipts(self, done: bool) -> None:
        """Acknowledge what the application has; `done`: with what it was busy with last as well."""
        if done:
            self._events.done()
        self._receipts.flush()

    def usable(self) -> Client:
        """The client. Raises why there is none, or none any more."""
        if self._over is not None:
            raise self._over
        if self.client is None:
            raise NotConnected("the connection was never opened")
        return self.client

    # -- what the broker says -----------------------------------------------------------------------------

    def read(self, data: bytes) -> Message:
        """The message in these bytes. Raises MalformedMessage."""
        return self._codec.decode(data, self._contexts)

    def may_read(self) -> bool:
        """Say whether more may be read: not if events cannot be taken, unless an answer is on its way too."""
        awaited = self.unanswered or self.again.asked or self.objects.waiting > 0
        return not self._events.full or awaited

    def receive(self, message: Message, size: int) -> None:
        """Anything but what is about the connection itself; it has so many bytes."""
        assert self.client is not None
        if isinstance(message, Notify):
            self._events.notified(self.client, message, size)
            return
        if isinstance(message, Ack):
            for number in message.ids:
                self._outbox.acknowledged(number)
            for handle in message.handles:
                self._confirmed(handle)
        elif isinstance(message, Missed):
            self.missed.say(message)
        elif isinstance(message, Refused):
            self._refused(self.client, message)
        elif isinstance(message, StorageMessage):
            self.objects.load().received(message)
        else:
            self.client.network.receive(message)
            return
        self._answered.set()

    def unreadable(self, error: MalformedMessage) -> None:
        """An event that cannot be read never will be: the broker is not to send it again, nor to wait for
        it to be taken."""
        if error.id is not None:
            self.events_unreadable += 1
            self._receipts.handed_over(error.id)

    def _acknowledge(self, events: tuple[int, ...]) -> None:
        if self.client is not None:
            self._uplink.acknowledge(self.client.host.id, events)


def _next_number(client: Client) -> int:
    client.published += 1
    return client.host.id << 32 | client.published


def _nothing() -> None:
    """Nobody reads."""
