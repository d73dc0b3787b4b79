"""The client's part of gateways: it passes on events that the broker has sent to a gateway."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection

from bypass.protocol.messages import Publish
from bypass.transitions import Mechanism


class RelayLogic(Mechanism):
    """The base of mechanisms behind `gateway-logic`. The link is the gateway dissemination."""

    @abstractmethod
    def relay(self, publication: Publish, targets: Collection[int]) -> None:
        """Pass an event on to the clients at these addresses, or to all nearby if there are none."""


class Relay(RelayLogic):
    """Passes events on by the client's gateway dissemination, which is its link.

    It keeps no state: the broker decides who is gateway next, and exchanging this mechanism costs nothing.
    """

    def relay(self, publication: Publish, targets: Collection[int]) -> None:
        """Disseminate to the clients at these addresses; to all nearby where none are given."""
        self.host.link.disseminate_locally(publication, targets or None)
