"""What the exchangeable parts besides the filter schemes can be asked to do.

Together with the filter scheme these are the mechanism proxies of a client (`transport`, `direct`,
`gateway-logic`, `gateway`, `filter`) and of a broker (`filter`, `gateway-selection`). Where no mechanism
runs, the proxy's stub does nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from bypass.messages import Publish


class EventListener(Protocol):
    """Wants to hear of events that came from nearby."""

    def event_arrived(self, publication: Publish) -> None:
        """An event was received."""


class LocalTransport(Protocol):
    """Carries bytes to devices nearby (`transport`)."""

    def send(self, data: bytes, port: int, target: int | None = None) -> None:
        """Send to one device, or to all in reach."""


class Dissemination(Protocol):
    """Spreads events nearby (`direct` for a client's own events, `gateway` for relayed ones)."""

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        """Send an event to clients nearby; `targets` where the mechanism addresses them one by one."""

    def add_listener(self, listener: EventListener) -> None:
        """Tell the listener of every event received."""

    def remove_listener(self, listener: EventListener) -> None:
        """Tell it no more."""


class GatewayLogic(Protocol):
    """Relays what the broker sends to a client that serves as gateway (`gateway-logic`)."""

    def relay(self, publication: Publish, clients: Collection[int]) -> None:
        """Pass an event on to clients nearby."""


class GatewaySelection(Protocol):
    """Chooses which clients relay events to which others (`gateway-selection`)."""

    def get_gateways(self, out_of: Collection[int], k: int) -> Mapping[int, frozenset[int]]:
        """About `k` gateways out of these clients, each with the clients it serves."""
