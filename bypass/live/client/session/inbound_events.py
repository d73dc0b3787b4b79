"""Events between the connection and the application, which has them, waits for them or wants no more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from bypass.core.client import Client
from bypass.live.client.session.backpressure import Backpressure
from bypass.live.client.session.receipts import Receipts
from bypass.live.client.subscription import LiveSubscription
from bypass.live.host import Clock
from bypass.ports.subscriptions import SubHandle
from bypass.protocol.messages import Notify


class InboundEvents:
    """Hands events to the application's subscriptions, each once, and has them acknowledged.

    Events for kept handles wait until these are claimed or withdrawn. `read_on` is called when more events
    can be taken again, `unsubscribe` if a subscription is not wanted any more, and `change` if it is wanted
    elsewhere. `name` is the session's.
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        receipts: Receipts,
        read_on: Callable[[], None],
        unsubscribe: Callable[[SubHandle], object],
        change: Callable[..., Awaitable[None]],
    ) -> None:
        self.unread = Backpressure(name, clock, self._waiting)
        self.full: set[LiveSubscription] = set()  # subscriptions that should not get more events
        self.unsubscribe = unsubscribe
        self.change = change
        self._receipts = receipts
        self._read_on = read_on
        self._subscriptions: dict[int, LiveSubscription] = {}
        self._early: list[Notify] = []  # for handles that nobody has claimed yet

    # -- from the connection ------------------------------------------------------------------------------

    def notified(self, client: Client, message: Notify, size: int) -> None:
        """An event has come from the broker, in so many bytes, maybe again."""
        number = message.publication.id
        handles = message.handles
        if not client.network.contradicts(message.publication):  # else something else waits under its number
            handles = self._receipts.unseen(number, handles)
        kept = client.subscriptions.kept
        early = tuple([handle for handle in handles if handle in kept]) if kept else ()
        if early:
            for handle in early:
                self._receipts.hold(number, handle)
            self._early.append(replace(message, handles=early, relay=False))
            handles = tuple([handle for handle in handles if handle not in early])
        if handles is not message.handles:
            message = replace(message, handles=handles)
        if handles or message.relay:
            self._hand_over(client, message, size)
        else:
            self._receipts.handed_over(number, size)
        self._look()

    def _hand_over(self, client: Client, message: Notify, size: int = 0) -> None:
        try:
            client.network.receive(message)
        finally:
            self._receipts.handed_over(message.publication.id, size)

    def disconnected(self) -> None:
        """There is no connection that events which are not taken could stop."""
        self.unread.look(False, 0, 0)

    # -- subscriptions ------------------------------------------------------------------------------------

    def add(self, client: Client, subscription: LiveSubscription) -> None:
        """A new subscription; what has waited for its handle is for it."""
        number = subscription.handle.id
        self._subscriptions[number] = subscription
        self.hand_over_early(client, number)

    def remove(self, client: Client, handle: int, why: Exception | None = None) -> None:
        """Events for a handle are not wanted any more, which the subscription's consumer is told."""
        subscription = self._subscriptions.pop(handle, None)
        if subscription is not None:
            self.taken(subscription, subscription.end(why))
        self.hand_over_early(client, handle)

    def hand_over_early(self, client: Client, handle: int) -> None:
        """A handle is not kept any more: what waited for it is the application's, or nobody's."""
        waiting, self._early = self._early, []
        for message in waiting:
            if handle not in message.handles:
                self._early.append(message)
                continue
            rest = tuple([each for each in message.handles if each != handle])
            if rest:
                self._early.append(replace(message, handles=rest))
            self._receipts.reopen(message.publication.id, handle)
            self._hand_over(client, replace(message, handles=(handle,)))

    def done(self) -> None:
        """All consumers have done with what they took last."""
        for subscription in self._subscriptions.values():
            subscription.done()

    def end(self, why: Exception | None) -> None:
        """There will be no more events; those that wait are not acknowledged."""
        for subscription in self._subscriptions.values():
            subscription.end(why)
        self._subscriptions.clear()

    # -- what subscriptions say ---------------------------------------------------------------------------

    def arrived(self, event: int, handle: SubHandle) -> None:
        self._receipts.hold(event, handle.id)

    def filled(self, subscription: LiveSubscription) -> None:
        self.full.add(subscription)

    def taken(self, subscription: LiveSubscription, events: list[int]) -> None:
        for number in events:
            self._receipts.release(number, subscription.handle.id)
        if subscription in self.full and subscription.has_room:
            self.full.discard(subscription)
            self._read_on()
        self._look()

    # -- what is not taken --------------------------------------------------------------------------------

    def _waiting(self) -> tuple[list[tuple[int, str]], int]:
        """Count the events that wait for each subscription, and the subscriptions that have none."""
        counts = [(len(each), repr(each)) for each in self._subscriptions.values() if len(each)]
        others = len(self._subscriptions) - len(counts)
        if self._early:
            counts.append((len(self._early), "subscriptions that were kept and are not claimed"))
        return counts, others

    def _look(self) -> None:
        self.unread.look(bool(self.full), self._receipts.held, self._receipts.held_bytes)
