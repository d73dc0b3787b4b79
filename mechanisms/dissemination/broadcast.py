"""BROADCAST: an event reaches the devices in reach, and nobody passes it on."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from bypass.mechanisms.dissemination.disseminator import Disseminator
from bypass.protocol.messages import Publish


class Broadcast(Disseminator):
    """Sends an event once; receivers do not pass it on."""

    flag: ClassVar[int] = 2

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:  # noqa: ARG002
        self.host.link.broadcast(publication)

    def heard(self, publication: Publish, sender: int, distance: float) -> None:  # noqa: ARG002
        self.tell(publication)
