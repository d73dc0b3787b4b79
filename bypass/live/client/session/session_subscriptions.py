"""The subscriptions of a session: what the application asks for, and what the broker answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from bypass.core.borders.client.watching import wanted_kinds
from bypass.core.client import Client
from bypass.events.filters import Filter, Subscription
from bypass.live.client.errors import SubscriptionRefused, Unsupported
from bypass.live.client.session.inbound_events import InboundEvents
from bypass.live.client.session.outbox import Outbox
from bypass.live.client.session.pending_replies import PendingReplies
from bypass.live.client.session.resubscriptions import Resubscriptions
from bypass.live.client.session.subscription_changes import SubscriptionChanges
from bypass.live.client.session.uplink import Uplink
from bypass.live.client.subscription import LiveSubscription
from bypass.live.host import Clock
from bypass.places.sensor import LocationRequest
from bypass.ports.subscriptions import Callback, Registered, SubHandle
from bypass.protocol.borders import BorderWatch
from bypass.protocol.messages import Subscribe
from bypass.protocol.session import AREAS, TEMPORARY, Refused
from bypass.protocol.wire import Codec

log = logging.getLogger(__name__)

Answer = asyncio.Future[None]


class SessionSubscriptions:
    """The part of a session that subscribes, changes and withdraws, until the broker has answered."""

    client: Client | None
    again: Resubscriptions
    subscriptions_lost: int
    _clock: Clock
    _codec: Codec
    _uplink: Uplink
    _outbox: Outbox
    _events: InboundEvents
    _subscribing: PendingReplies
    _withdrawing: PendingReplies
    _changes: SubscriptionChanges
    _claims: set[int]
    _read_on: Callable[[], None]

    def usable(self) -> Client:
        """The client. Raises why there is none, or none any more."""
        raise NotImplementedError

    # -- what the application wants -----------------------------------------------------------------------

    def subscribe(
        self,
        wanted: Subscription | Filter,
        radius: int | None,
        location_request: LocationRequest | None,
        callback: Callback | None,
        exact: bool = False,
        **areas: Any,
    ) -> tuple[LiveSubscription, Answer]:
        """Subscribe, and the broker's answer. Raises as `Client.subscribe` does, MalformedMessage for what
        cannot travel, and Unsupported."""
        client = self.usable()
        wanted = Subscription.of(wanted)
        scope = client.scope(radius=radius, exact=exact, **areas)
        self._check_message(
            Subscribe(0, wanted, scope.radius, interest=scope.interest, expires=scope.expires)
        )
        subscription = LiveSubscription(self._events, callback)
        last = client.subscriptions.last_number
        handle = client.subscribe_within(scope, wanted, subscription.callback, location_request)
        subscription.handle = handle
        self._events.add(client, subscription)
        if handle.id <= last:  # the number of one that was kept
            self._claims.add(handle.id)
        return subscription, self._ask(client, self._subscribing, handle.id)

    def watch(self, terms: BorderWatch, callback: Callback | None) -> tuple[LiveSubscription, Answer]:
        """Have the broker watch borders; and its answer. Raises MalformedMessage and Unsupported."""
        client = self.usable()
        self._check_message(Subscribe(0, wanted_kinds(terms), watch=terms))
        subscription = LiveSubscription(self._events, callback)
        last = client.subscriptions.last_number
        subscription.handle = client.watch_others(terms, subscription.callback)
        self._events.add(client, subscription)
        if subscription.handle.id <= last:  # the number of one that was kept
            self._claims.add(subscription.handle.id)
        return subscription, self._ask(client, self._subscribing, subscription.handle.id)

    async def change_watch(self, handle: SubHandle, terms: BorderWatch) -> None:
        """Give a watch other areas; returns when the broker has that. Raises UnknownHandle,
        SubscriptionRefused, MalformedMessage and Unsupported: then it is as it was."""
        await self._changes.ready(handle)
        client = self.usable()
        answer = self._changes.begin(client, replace(client.registered(handle), watch=terms))
        self._read_on()
        await answer

    async def change(self, handle: SubHandle, **areas: Any) -> None:
        """Give a subscription other areas, or another end; returns when the broker has that. Raises as
        `Client.change` does, SubscriptionRefused, MalformedMessage and Unsupported: then it is as it was."""
        self.usable().changed(handle, **areas)
        await self._changes.ready(handle)
        client = self.usable()
        answer = self._changes.begin(client, client.changed(handle, **areas))
        self._read_on()
        await answer

    def _check(self, registered: Registered) -> None:
        self._check_message(registered.message(self._clock.now()))

    def _check_message(self, message: Subscribe) -> None:
        self._codec.encode(message)
        if lacking := self._uplink.lacking(message):
            raise Unsupported(f"subscription to {message.subscription}: {lacking}")

    def allow_following(
        self, names: Collection[str], everybody: bool, location_request: LocationRequest | None
    ) -> None:
        """Let others follow this client. Raises as `Client.allow_following` does, and Unsupported."""
        client = self.usable()
        if not client.network.silent and AREAS not in self._uplink.capabilities:
            raise Unsupported(f"following: the broker's version does not know {AREAS}")
        client.allow_following(names, everybody=everybody, location_request=location_request)

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

    def _ask(self, client: Client, answers: PendingReplies, handle: int) -> Answer:
        """Give the future that will have the broker's answer about a handle."""
        answer = answers.ask(handle)
        if client.network.silent:
            answers.give(handle)  # the broker is not told of anything
        self._read_on()
        return answer

    # -- what the broker says -----------------------------------------------------------------------------

    def _confirmed(self, handle: int) -> None:
        """The broker has a subscription, or it has not any more."""
        stale = self.again.answered(handle)
        self._claims.discard(handle)
        # Subscribed and withdrawn at once: the first answer is about the former.
        if not (self._subscribing.give(handle) or stale or self._changes.given(handle)):
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
            elif self._changes.refused(
                client, handle, SubscriptionRefused(f"handle {handle}: {message.reason}")
            ):
                self.again.answered(handle)
            elif not self.again.answered(handle):
                self._refused_for_good(client, handle, message.reason, retry)

    def _refused_for_good(self, client: Client, handle: int, reason: str, retry: float = 0.0) -> None:
        """A subscription ends, which whoever waits for it is told, or all others see."""
        error = SubscriptionRefused(f"handle {handle}: {reason}")
        error.retry = retry
        registered = client.subscriptions.get(handle)
        client.subscriptions.kept.pop(handle, None)
        self._claims.discard(handle)
        self._changes.refused(client, handle, error)
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
