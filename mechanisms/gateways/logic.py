"""What a client does that the broker has made a gateway for an event."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from bypass.protocol.messages import Publish
from bypass.transitions import Mechanism


class Relay(Mechanism):
    """Passes events on by the client's gateway dissemination, which is its link.

    It remembers nothing: who is gateway next is the broker's business, and changing it costs nothing here.
    """

    name: ClassVar[str] = "relay"

    def relay(self, publication: Publish, targets: Collection[int]) -> None:
        """Disseminate to the clients at these addresses; to all nearby where none are given."""
        self.host.link.disseminate_locally(publication, targets or None)
