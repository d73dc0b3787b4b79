"""The broker's way to its clients, which each runtime provides."""

from __future__ import annotations

from typing import Protocol

from bypass.protocol.messages import Message, Publish
from bypass.support.arrays import Ints

Handles = list[tuple[int, ...]]
"""The handles of the subscriptions that an event is for, of each of some clients."""


class Downlink(Protocol):
    """Reaches clients, reliably, and in order for each of them."""

    def send(self, client: int, message: Message) -> None:
        """Send one message to one client."""

    def multicast(self, publication: Publish, clients: Ints, handles: Handles, unfiltered: bool) -> None:
        """Notify many distinct clients of one event, each with its own handles."""

    def relay(
        self,
        publication: Publish,
        clients: list[int],
        handles: Handles,
        targets: list[tuple[int, ...]],
    ) -> None:
        """Notify gateways of one event, each with its own handles and the addresses that it serves."""
