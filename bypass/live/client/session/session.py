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
from bypass.events.filters import Filter, Subscription
from bypass.live.adhoc.neighbours import Neighbours
from bypass.live.client.errors import NotConnected, SubscriptionRefused, Unsupported
from bypass.live.client.live_node import LiveNode
from bypass.live.client.session.client_factory import ClientFactory
from bypass.live.client.session.inbound_events import InboundEvents
from bypass.live.client.session.missed_counts import MissedCounts
from bypass.live.client.session.pending_replies import PendingReplies
from bypass.live.client.session.receipts import Receipts
from bypass.live.client.session.resubscriptions import Resubscriptions, warn_of_kept
from bypass.live.client.session.session_objects import SessionObjects
from bypass.live.client.session.uplink import Uplink
from bypass.live.client.sources.sensor import LiveSensor
from bypass.live.client.subscription import LiveSubscription
from bypass.live.host import Clock
from bypass.mechanisms import Registry
from bypass.places.sensor import LocationRequest
from bypass.ports.subscriptions import Callback, SubHandle
from bypass.protocol.messages import Message, Notify, StorageMessage, Subscribe
from bypass.protocol.session import CAPABILITIES, OBSOLETE, TEMPORARY, Ack, Hello, Missed, Refused, Welcome
from bypass.protocol.wire import NO_CONTEXTS, Contexts, MalformedMessage

log = logging.getLogger(__name__)

Answer = asyncio.Future[None]

CLAIMED_WITHIN_S = 10.0
"""How long after a welcome subscriptions of earlier lives may be unclaimed without a warning."""


class ClientSession:
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
        self._events = InboundEvents(name, clock, self._receipts, lambda: self._read_on(), self.unsubscribe)
        self.unread = self._events.unread
        self._subscribing, self._withdrawing = PendingReplies(), PendingReplies()  # by handle
        self._claims: set[int] = set()  # handles of `_subscribing` that the broker has kept
        self.again = Resubscriptions(clock.after, self._ask_again)
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
        for kept in welcome.kept:
            if kept.handle not in registered and kept.handle not in self._withdrawing:
                client.subscriptions.keep(SubHandle(kept.handle, kept.subscription, kept.radius))
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
            handle = each.handle
            if lacking := self._uplink.lacking(
                Subscribe(handle.id, handle.subscription)
            ):  # the one before had it
                self._refused_for_good(client, handle.id, lacking)
            else:
                again.append(handle.id)
        named = {*self._named}
        for number in self._withdrawing:
            if number in named:  # it was withdrawn while the greeting was on its way
                again.append(number)
            else:
                self._withdrawing.give(number)
        self.again.begin(again)
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
        self._answered.set()
        self._events.end(None if ours else why)
        self.objects.end(why, ours)
        self.sensor.close()
        self._clients.close()

    def _begin(self, welcome: Welcome) -> Client:
        """A client as the broker knows it, instead of the one before, if there was one."""
        before = self.client
        self.client = client = self._clients.begin(welcome, before)
        if before is not None and before.host.id != client.host.id:
            for handle in [*client.subscriptions.kept]:
                del client.subscriptions.kept[handle]
                self._events.hand_over_early(client, handle)
            self._outbox.renumber(partial(_next_number, client))
        return client

    # -- what the application wants -----------------------------------------------------------------------

    def subscribe(
        self,
        wanted: Subscription | Filter,
        radius: int | None,
        location_request: LocationRequest | None,
        callback: Callback | None,
        exact: bool = False,
    ) -> tuple[LiveSubscription, Answer]:
        """Subscribe, and the broker's answer. Raises as `Client.subscribe` does, MalformedMessage for what
        cannot travel, and Unsupported."""
        client = self.usable()
        wanted = Subscription.of(wanted)
        message = Subscribe(0, wanted)
        self._codec.encode(message)
        if lacking := self._uplink.lacking(message):
            raise Unsupported(f"subscription to {wanted}: {lacking}")
        subscription = LiveSubscription(self._events, callback)
        last = client.subscriptions.last_number
        handle = client.subscribe(
            wanted, subscription.callback, radius=radius, exact=exact, location_request=location_request
        )
        subscription.handle = handle
        self._events.add(client, subscription)
        if handle.id <= last:  # the number of one that was kept
            self._claims.add(handle.id)
        return subscription, self._ask(client, self._subscribing, handle.id)

    def unsubscribe(self, handle: SubHandle) -> Answer:
        """Withdraw a subscription or a kept one, and the broker's answer. Raises UnknownHandle."""
        client = self.usable()
        if isinstance(handle, SubHandle):
            self.again.forget(handle.id)
        if isinstance(handle, SubHandle) and client.subscriptions.kept.get(handle.id) == handle:
            del client.subscriptions.kept[handle.id]
            client.filter.unsubscribe(handle.id)
        else:
            client.unsubscribe(handle)
        self._events.remove(client, handle.id)
        return self._ask(client, self._withdrawing, handle.id)

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
    def unanswered(self) -> bool:
        """Say whether something that the application has asked for was not answered yet."""
        return bool(self._outbox or self._subscribing or self._withdrawing)

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

    def _ask(self, client: Client, answers: PendingReplies, handle: int) -> Answer:
        """Give the future that will have the broker's answer about a handle."""
        answer = answers.ask(handle)
        if client.network.silent:
            answers.give(handle)  # the broker is not told of anything
        self._read_on()
        return answer

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

    def _confirmed(self, handle: int) -> None:
        """The broker has a subscription, or it has not any more."""
        stale = self.again.answered(handle)
        self._claims.discard(handle)
        # Subscribed and withdrawn at once: the first answer is about the former.
        if not self._subscribing.give(handle) and not stale:
            self._withdrawing.give(handle)

    def _refused(self, client: Client, message: Refused) -> None:
        handle, retry = message.handle, message.retry
        if message.id is not None:
            self._outbox.refused(message.id, message.reason, retry)
        elif handle is not None:
            stated = TEMPORARY in self._uplink.capabilities
            wanted = client.subscriptions.get(handle) is not None or handle in self._withdrawing
            first = handle in self._subscribing and handle not in self._claims
            if wanted and not first and (retry or not stated):
                # The application was granted it before, or cannot withdraw it once more.
                self.again.refused(handle, retry, message.reason)
            elif not self.again.answered(handle):
                self._refused_for_good(client, handle, message.reason, retry)

    def _refused_for_good(self, client: Client, handle: int, reason: str, retry: float = 0.0) -> None:
        """A subscription ends, which whoever waits for it is told, or all others see."""
        error = SubscriptionRefused(f"handle {handle}: {reason}")
        error.retry = retry
        registered = client.subscriptions.get(handle)
        client.subscriptions.kept.pop(handle, None)
        self._claims.discard(handle)
        if registered is not None:
            client.subscriptions.remove(registered.handle)
        self._events.remove(client, handle, error)
        if not (self._subscribing.refuse(handle, error) or self._withdrawing.refuse(handle, error)):
            self.subscriptions_lost += registered is not None
            log.warning("refused by the broker, though nobody waits for it: %s", error)

    def _ask_again(self, handle: int) -> bool:
        """Tell the broker of a subscription, or of its withdrawal; gives whether there is any to tell."""
        client = self.client
        assert client is not None
        registered = client.subscriptions.get(handle)
        if client.network.silent:
            self._withdrawing.give(handle)
            return False
        if registered is not None:
            client.filter.subscribe(registered)
        elif handle in self._withdrawing:
            client.filter.unsubscribe(handle)
        else:
            return False
        return True

    @property
    def resubscribing(self) -> int:
        """Subscriptions that the broker has not confirmed since it was told of them again."""
        client = self.client
        return 0 if client is None else sum(client.subscriptions.get(each) is not None for each in self.again)

    def _acknowledge(self, events: tuple[int, ...]) -> None:
        if self.client is not None:
            self._uplink.acknowledge(self.client.host.id, events)


def _next_number(client: Client) -> int:
    client.published += 1
    return client.host.id << 32 | client.published


def _nothing() -> None:
    """Nobody reads."""
