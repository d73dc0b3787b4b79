"""FLOODING: every receiver passes an event on once."""

from __future__ import annotations

from typing import ClassVar

from bypass.mechanisms.dissemination.gossip import Forwarder
from bypass.protocol.messages import Publish


class Flooding(Forwarder):
    """Passes each event on once."""

    flag: ClassVar[int] = 3

    def heard(self, publication: Publish, sender: int, distance: float) -> None:  # noqa: ARG002
        self.tell(publication)
        if self.admits(publication):
            self.pass_on(publication)
