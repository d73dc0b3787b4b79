"""A client's side of its session with a live broker, on whatever connection there is at the moment.

What the application has asked for is kept here until the broker has answered, and said again on the next
connection; what the broker has sent is acknowledged once the application has it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Callable
from functools import partial

from bypass.core.client import Client
from bypass.events.filters import Filter, Subscription
from bypass.live.adhoc.udp import Neighbours
from bypass.live.client.errors import NotConnected, SubscriptionRefused, Unsupported
from bypass.live.client.session.client_factory import ClientFactory
from bypass.live.client.session.inbound_events import InboundEvents
from bypass.live.client.session.outbox import Outbox
from bypass.live.client.session.pending_replies import PendingReplies
from bypass.live.client.session.receipts import Receipts
from bypass.live.client.sources.sensor import LiveSensor
from bypass.live.client.subscription import LiveSubscription
from bypass.live.host import Clock
from bypass.mechanisms import Registry
from bypass.places.geo import PlanarLocation
from bypass.places.sensor import LocationRequest
from bypass.ports.monitor import Monitor
from bypass.ports.subscriptions import Callback, SubHandle
from bypass.protocol.messages import Kind, Message, Notify, Publish, Subscribe
from bypass.protocol.session import CAPABILITIES, OBSOLETE, Ack, Hello, Missed, Refused, Welcome, needed
from bypass.protocol.wire import NO_CONTEXTS, Contexts, MalformedMessage, encode

log = logging.getLogger(__name__)

Answer = asyncio.Future[None]

CLAIMED_WITHIN_S = 10.0
"""How long after a welcome subscriptions of earlier lives may be unclaimed without a warning."""

NOT_SAID = "not said"
"""Why events were missed, at a broker that only counts them."""


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
    ) -> None:
        self.client: Client | None = None
        self.missed: Counter[str] = Counter()  # by reason, in this session at the broker
        self._missed_before: Counter[str] = Counter()  # in sessions that the broker has forgotten
        self.events_unreadable = 0
        self.capabilities: frozenset[str] = frozenset()  # of the broker that has answered last
        self.resume: Callable[[], None] = _nothing
        """Called when `may_read` may have changed."""
        self._name, self._durable = name, durable
        self._drop_kept = drop_kept
        self._clock = clock
        self._life = 0
        self.sensor = sensor
        self._named: tuple[int, ...] = ()  # handles in the latest greeting
        self._send: Callable[[bytes], None] | None = None  # None: not connected
        self._over: Exception | None = None
        self._outbox = Outbox()
        self._added: asyncio.Future[int] | None = None  # what is being published
        self._receipts = Receipts(self._acknowledge, clock.after)
        monitor = Monitor()
        monitor.register(self._receipts)
        self._registry = registry or Registry()
        self._contexts: Contexts = NO_CONTEXTS
        self._incarnations = ClientFactory(clock, sensor, monitor, self._uplink, neighbours, self._registry)
        self._arrivals = InboundEvents(name, clock, self._receipts, self._resume, self.withdraw)
        self.unread = self._arrivals.unread
        self._subscribing, self._withdrawing = PendingReplies(), PendingReplies()  # by handle
        self._answered = asyncio.Event()  # something was

    # -- connections --------------------------------------------------------------------------------------

    def hello(self) -> Hello:
        """What to say first on a new connection."""
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

    def welcomed(self, welcome: Welcome, send: Callable[[bytes], None]) -> None:
        """The broker has answered: say again, by `send`, whatever it may not know.

        Raises ConnectionRefused if the client cannot work with this broker.
        """
        client = self.client
        if client is not None and client.host.id != welcome.client:
            self._missed_before += self.missed
        self.missed = Counter({each.reason: each.count for each in welcome.missed_by})
        if not self.missed and welcome.missed:
            self.missed[NOT_SAID] = welcome.missed
        self.capabilities = frozenset(welcome.capabilities)
        self._registry.flags.given = dict(welcome.schemes)
        self._contexts = self._registry.contexts()
        if client is None or not self._incarnations.is_same(client, welcome):
            client = self._begin(welcome)
        else:
            self._outbox.known_up_to(client.host.id << 32 | welcome.published)
        client.says_obsolete = OBSOLETE in self.capabilities
        registered = {each.handle.id for each in client.subscriptions}
        for number in self._subscribing:
            if number not in registered:  # withdrawn meanwhile: the broker will never hear of it
                self._subscribing.give(number)
        for kept in welcome.kept:
            if kept.handle not in registered and kept.handle not in self._withdrawing:
                client.subscriptions.keep(SubHandle(kept.handle, kept.subscription, kept.radius))
        self._send = send
        if client.subscriptions.kept:
            if self._drop_kept:
                for kept_handle in [*client.subscriptions.kept.values()]:
                    self.withdraw(kept_handle)
            else:
                self._clock.after(CLAIMED_WITHIN_S, self._warn_of_kept)
        for each in list(client.subscriptions):
            handle = each.handle
            if lacking := self._lacking(Subscribe(handle.id, handle.subscription)):  # the one before had it
                self._refused(client, Refused(lacking, handle=handle.id))
            else:
                client.filter.subscribe(each)
        for number in self._withdrawing:
            if number in self._named:  # it was withdrawn while the greeting was on its way
                client.filter.unsubscribe(number)
            else:
                self._withdrawing.give(number)
        for publication in self._outbox:
            # Where the publisher was then, and which channels there were, is of no interest any more.
            publication.piggyback = publication.channel = None
            if lacking := self._lacking(publication):
                self._outbox.refused(publication.id, lacking)
            else:
                client.network.send(publication)
        self._answered.set()

    @property
    def missed_by(self) -> dict[str, int]:
        """Events that were given up since the beginning, by reason."""
        return dict(self._missed_before + self.missed)

    def _warn_of_kept(self) -> None:
        kept = [] if self.client is None or self._over else [*self.client.subscriptions.kept.values()]
        if kept:
            log.warning(
                "%s: %d subscriptions of an earlier life are not claimed, events wait for them: %s; "
                "subscribe to them, unsubscribe what is in `kept`, or connect with kept='drop'",
                self._name or "this session",
                len(kept),
                ", ".join(str(each.subscription) for each in kept[:5]),
            )

    def disconnected(self) -> None:
        """The connection is gone."""
        self._send = None
        self._receipts.disconnected()
        self._arrivals.disconnected()

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
        self._arrivals.end(None if ours else why)
        self.sensor.close()
        self._incarnations.close()

    def _begin(self, welcome: Welcome) -> Client:
        """A client as the broker knows it, instead of the one before, if there was one."""
        before = self.client
        self.client = client = self._incarnations.begin(welcome, before)
        if before is not None and before.host.id != client.host.id:
            for handle in [*client.subscriptions.kept]:
                del client.subscriptions.kept[handle]
                self._arrivals.hand_over_early(client, handle)
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
        self._registry.codec.encode(message)
        if lacking := self._lacking(message):
            raise Unsupported(f"subscription to {wanted}: {lacking}")
        subscription = LiveSubscription(self._arrivals, callback)
        handle = client.subscribe(
            wanted, subscription.callback, radius=radius, exact=exact, location_request=location_request
        )
        subscription.handle = handle
        self._arrivals.add(client, subscription)
        return subscription, self._ask(client, self._subscribing, handle.id)

    def unsubscribe(self, handle: SubHandle) -> Answer:
        """Withdraw a subscription or a kept one, and the broker's answer. Raises UnknownHandle."""
        client = self.usable()
        if isinstance(handle, SubHandle) and client.subscriptions.kept.get(handle.id) == handle:
            del client.subscriptions.kept[handle.id]
            client.filter.unsubscribe(handle.id)
        else:
            client.unsubscribe(handle)
        self._arrivals.remove(client, handle.id)
        return self._ask(client, self._withdrawing, handle.id)

    def withdraw(self, handle: SubHandle) -> None:
        """Withdraw a subscription whatever the broker answers. Raises UnknownHandle."""
        self.unsubscribe(handle)

    async def place_for_publication(self) -> None:
        """Wait until one more publication may be unacknowledged. Raises NotConnected after the end."""
        self.usable()
        await self._outbox.wait_for_place()

    def publish(self, publish: Callable[[Client], int], place_taken: bool) -> asyncio.Future[int]:
        """Have the client publish something. Raises what that raises, OutboxFull, and Unsupported."""
        client = self.usable()
        if not place_taken:
            self._outbox.take_place()
        self._added = None
        try:
            number = publish(client)
        except BaseException:
            if self._added is None:
                self._outbox.give_back()
            raise
        added, self._added = self._added, None
        if added is None:  # it is not for the broker
            self._outbox.give_back()
            added = asyncio.get_running_loop().create_future()
            added.set_result(number)
        self.resume()
        return added

    def _lacking(self, message: Publish | Subscribe) -> str:
        """What the broker lacks to read a message; empty if that is nothing."""
        lacking = needed(message) - self.capabilities
        return f"the broker's version does not know {', '.join(sorted(lacking))}" if lacking else ""

    @property
    def unanswered(self) -> bool:
        """Whether something that the application has asked for was not answered yet."""
        return bool(self._outbox or self._subscribing or self._withdrawing)

    async def all_answered(self) -> None:
        """Wait until the broker has answered everything."""
        while self.unanswered:
            self._answered.clear()
            await self._answered.wait()

    def flush_receipts(self, done: bool) -> None:
        """Acknowledge what the application has; `done`: with what it was busy with last as well."""
        if done:
            self._arrivals.done()
        self._receipts.flush()

    def _ask(self, client: Client, answers: PendingReplies, handle: int) -> Answer:
        """What will have the broker's answer about a handle."""
        answer = answers.ask(handle)
        if client.network.silent:
            answers.give(handle)  # the broker is not told of anything
        self.resume()
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
        return self._registry.codec.decode(data, self._contexts)

    def may_read(self) -> bool:
        """Whether more may be read: not if events cannot be taken, unless an answer is on its way too."""
        return not self._arrivals.full or self.unanswered

    def receive(self, message: Message, size: int) -> None:
        """Anything but what is about the connection itself; it has so many bytes."""
        assert self.client is not None
        if isinstance(message, Notify):
            self._arrivals.notified(self.client, message, size)
            return
        if isinstance(message, Ack):
            for number in message.ids:
                self._outbox.acknowledged(number)
            for handle in message.handles:
                # Subscribed and withdrawn at once: the first answer is about the former.
                if not self._subscribing.give(handle):
                    self._withdrawing.give(handle)
        elif isinstance(message, Missed):
            self.missed[message.reason] = message.count
        elif isinstance(message, Refused):
            self._refused(self.client, message)
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

    def _refused(self, client: Client, message: Refused) -> None:
        handle = message.handle
        if message.id is not None:
            self._outbox.refused(message.id, message.reason)
        elif handle is not None:
            error = SubscriptionRefused(f"handle {handle}: {message.reason}")
            registered = client.subscriptions.get(handle)
            client.subscriptions.kept.pop(handle, None)
            if registered is not None:
                client.subscriptions.remove(registered.handle)
            self._arrivals.remove(client, handle, error)
            if not (self._subscribing.refuse(handle, error) or self._withdrawing.refuse(handle, error)):
                log.warning("refused by the broker, though nobody waits for it: %s", error)

    # -- to the broker ------------------------------------------------------------------------------------

    def _resume(self) -> None:
        self.resume()

    def _uplink(self, message: Message) -> None:
        data = self._registry.codec.encode(message)
        if isinstance(message, Publish) and message.id not in self._outbox:
            if lacking := self._lacking(message):
                raise Unsupported(f"{message.event}: {lacking}")
            self._added = self._outbox.add(message)
            if message.kind is Kind.PLACED and message.location is not None:
                where = PlanarLocation(*message.location)
                self.sensor.check(where, where)
        if self._send is not None:
            self._send(data)

    def _acknowledge(self, events: tuple[int, ...]) -> None:
        if self._send is not None and self.client is not None:
            self._send(encode(Ack(events, client=self.client.host.id)))


def _next_number(client: Client) -> int:
    client.published += 1
    return client.host.id << 32 | client.published


def _nothing() -> None:
    """Nobody reads."""
