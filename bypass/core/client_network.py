"""The network proxies: they mark every message with its sender's scheme and epoch, and sort what arrives.

Context messages go to the scheme they belong to. One that was meant for a scheme that its receiver has just
left is not understood there; whether it is translated or dropped is the receiver's decision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from bypass.ports.proxies import GatewayLogic
from bypass.protocol.borders import BorderTask
from bypass.protocol.messages import (
    ContextMessage,
    Message,
    Notify,
    OutcomeMessage,
    PlanMessage,
    Publish,
    Subscribe,
)
from bypass.protocol.scheme_context import SchemeContext

SEEN_EVENTS = 5_000  # at least this many events are remembered, at most twice as many


class ClientFilter(Protocol):
    """Takes messages from the client's network proxy: the proxy of the client's filter scheme."""

    def event_arrived(self, publication: Publish, handles: tuple[int, ...], unfiltered: bool) -> None: ...

    def context_arrived(self, message: ContextMessage) -> None: ...


class DeliveryAnalyzer(Protocol):
    """Is told what reaches clients."""

    def notified(self, client: int, publication: Publish) -> None:
        """An event reached a client's publish/subscribe layer for the first time."""


class ClientNetwork:
    """A client's side. `flag` and `epoch` are those of the client's active filter scheme.

    A context message waits for the end of the current instant: a subscription or event that is sent in the
    same instant carries it.
    """

    def __init__(
        self,
        client: int,
        uplink: Callable[[Message], None],
        after: Callable[..., Any],
        analyzer: DeliveryAnalyzer,
    ) -> None:
        self.on_border_task: Callable[[BorderTask], None] = lambda _: None
        self.flag = 0
        self.epoch = 0
        self.address = 0  # where devices nearby reach this client
        self.silent = False  # the broker is told nothing but what became of its plans
        self.strangers = 0  # context messages of schemes that are not active here
        self.duplicates = 0
        self.conflicts = 0  # events heard nearby of which the broker had others under the same number
        self._client = client
        self._uplink = uplink
        self._after = after
        self._analyzer = analyzer
        self._pending: ContextMessage | None = None
        self._seen: dict[int, tuple[int, ...]] = {}
        self._seen_before: dict[int, tuple[int, ...]] = {}
        self._heard: dict[int, Publish] = {}  # nearby, and not from the broker yet
        self._heard_before: dict[int, Publish] = {}
        self._filter: ClientFilter
        self._on_plan: Callable[[PlanMessage], None]
        self._gateway: GatewayLogic

    def bind(
        self, scheme: ClientFilter, on_plan: Callable[[PlanMessage], None], gateway: GatewayLogic
    ) -> None:
        """Say where arriving messages go; once, before any arrives."""
        self._filter = scheme
        self._on_plan = on_plan
        self._gateway = gateway

    def remember(self, before: ClientNetwork) -> None:
        """Take for seen what another one, whose place this one takes, has seen."""
        self._seen, self._seen_before = before._seen, before._seen_before
        self._heard, self._heard_before = before._heard, before._heard_before

    # -- sending ------------------------------------------------------------------------------------------

    def send(self, message: Message) -> None:
        """Mark a message and send it, with the waiting context message if it can carry one."""
        if self.silent and not isinstance(message, OutcomeMessage):
            return
        message.address = self.address
        message.client = self._client
        message.scheme = self.flag
        message.epoch = self.epoch
        if isinstance(message, (Publish, Subscribe)):
            if message.piggyback is None:
                message.piggyback = self._pending
            else:
                self._number(message.piggyback)  # its own is the newer one
            self._pending = None
        self._uplink(message)

    def send_context(self, message: ContextMessage) -> None:
        """Send a context message at the end of this instant at the latest; a newer one replaces it."""
        if self._pending is None:
            self._after(0.0, self._flush)
        self._number(message)
        self._pending = message

    def _number(self, message: ContextMessage) -> None:
        """Note whose message it is: by the time it is sent another scheme may be active."""
        if isinstance(message, SchemeContext):
            message.of_scheme = self.flag

    def _flush(self) -> None:
        message, self._pending = self._pending, None
        if message is not None:
            self.send(message)

    # -- receiving ----------------------------------------------------------------------------------------

    def notified(self, publication: Publish, handles: tuple[int, ...], unfiltered: bool = False) -> None:
        """An event arrived for some of the client's handles; copies for the same handle stop here.

        What the broker says is true: if something else was heard nearby under the event's number, that was
        somebody's invention, and the event is handed over all the same.
        """
        if self._heard or self._heard_before:
            number = publication.id
            if self.contradicts(publication):
                self.conflicts += 1
                self._seen.pop(number, None)
                self._seen_before.pop(number, None)
            self._heard.pop(number, None)
            self._heard_before.pop(number, None)
        self._take(publication, handles, unfiltered)

    def heard(self, publication: Publish, handles: tuple[int, ...]) -> None:
        """An event was heard from a device nearby, for some of the client's handles."""
        number = publication.id
        if number not in self._seen and number not in self._seen_before:
            self._heard[number] = publication
        self._take(publication, handles, False)

    def contradicts(self, publication: Publish) -> bool:
        """Say whether something else was heard nearby under the number of what the broker sends."""
        heard = self._heard.get(publication.id) or self._heard_before.get(publication.id)
        return heard is not None and (heard.event, heard.kind, heard.location) != (
            publication.event,
            publication.kind,
            publication.location,
        )

    def _take(self, publication: Publish, handles: tuple[int, ...], unfiltered: bool) -> None:
        number = publication.id
        seen = self._seen
        if number in seen or number in self._seen_before:
            handles = self._unseen(number, handles)
            if not handles:
                self.duplicates += 1
                return
        else:
            seen[number] = handles
            if len(seen) >= SEEN_EVENTS:
                self._seen, self._seen_before = {}, seen
                self._heard, self._heard_before = {}, self._heard
            self._analyzer.notified(self._client, publication)
            if not handles:
                return  # heard nearby, of no interest here
        self._filter.event_arrived(publication, handles, unfiltered)

    def relayed(self, publication: Publish, handles: tuple[int, ...], targets: tuple[int, ...]) -> None:
        """An event arrived for this client, which is also to pass it on to others nearby."""
        self.notified(publication, handles)
        self._gateway.relay(publication, targets)

    def _unseen(self, number: int, handles: tuple[int, ...]) -> tuple[int, ...]:
        """The handles that an event has not reached yet; from now on it has."""
        seen = self._seen if number in self._seen else self._seen_before
        new = tuple(handle for handle in handles if handle not in seen[number])
        seen[number] += new
        return new

    def receive(self, message: Message) -> None:
        """Anything else that arrived from the broker."""
        if isinstance(message, PlanMessage):
            self._on_plan(message)
        elif isinstance(message, Notify):
            if message.relay:
                self.relayed(message.publication, message.handles, message.targets)
            else:
                self.notified(message.publication, message.handles, message.unfiltered)
        elif isinstance(message, BorderTask):
            self.on_border_task(message)
        elif isinstance(message, ContextMessage):
            if message.scheme == self.flag and message.epoch >= self.epoch:
                self._filter.context_arrived(message)
            else:
                self.strangers += 1
