"""The broker's way to its clients, which each runtime provides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from bypass.protocol.messages import Message, Publish
from bypass.support.arrays import Ints

Handles = list[tuple[int, ...]]
"""The handles of the subscriptions that an event is for, of each of some clients."""


class Gateways(NamedTuple):
    """Distinct clients that pass an event on, each with its own handles and the addresses that it serves."""

    clients: list[int]
    handles: Handles
    targets: list[tuple[int, ...]]


class Recipients(NamedTuple):
    """Distinct clients, at least one, that an event is for, each with its own handles.

    `unfiltered`: nobody knows where they are, they have to test the place themselves.
    """

    clients: Ints
    handles: Handles
    unfiltered: bool


class Delivery(NamedTuple):
    """An event and those to be told of it, gateways first; a client may be in several of the `groups`.

    `late`: it has waited for a client's place, and others were told before.
    """

    publication: Publish
    gateways: Gateways | None
    groups: Sequence[Recipients]
    late: bool = False


class Downlink(Protocol):
    """Reaches clients, reliably, and in order for each of them."""

    def send(self, client: int, message: Message) -> None:
        """Send one message to one client."""

    def notify(self, deliveries: Iterable[Delivery]) -> None:
        """Notify clients of events, of one after the other: each is taken when those before it are done.

        If one raises, no further one is taken.
        """
