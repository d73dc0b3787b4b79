"""What a client does that the broker has made a gateway for an event."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection

from bypass.protocol.messages import Publish
from bypass.transitions import Mechanism


class RelayLogic(Mechanism):
    """Does something with events that the broker has sent to a gateway; its link is the gateway
    dissemination."""

    @abstractmethod
    def relay(self, publication: Publish, targets: Collection[int]) -> None:
        """An event is to be passed on to the clients at these addresses, or to all nearby if there are
        none."""


class Relay(RelayLogic):
    """Passes events on by the client's gateway dissemination, which is its link.

    It remembers nothing: who is gateway next is the broker's business, and changing it costs nothing here.
    """

    def relay(self, publication: Publish, targets: Collection[int]) -> None:
        """Disseminate to the clients at these addresses; to all nearby where none are given."""
        self.host.link.disseminate_locally(publication, targets or None)
