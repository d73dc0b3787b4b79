"""UNICAST: one frame for each receiver, faster and acknowledged."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from bypass.mechanisms.dissemination.disseminator import Disseminator
from bypass.protocol.messages import Publish


class Unicast(Disseminator):
    """Sends an event to one target after the other; to all in reach if nobody says who they are."""

    flag: ClassVar[int] = 1

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        if targets is None:
            self.host.link.broadcast(publication)
        else:
            for address in targets:
                self.host.link.unicast(publication, address)

    def heard(self, publication: Publish, sender: int, distance: float) -> None:  # noqa: ARG002
        self.tell(publication)
