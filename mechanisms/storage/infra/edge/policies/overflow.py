"""Items that have no room at an edge any more go to the nearest one that has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field

from bypass.mechanisms.storage.infra.edge.policies.peer_provisioning import ProvisioningMechanism, by_needs
from bypass.ports.caches import PeerRequest
from bypass.protocol.edge import Item, ItemKey
from bypass.transitions import MechanismState, TransferState

MOST_HOLDERS = 16_384
MOST_WAITING_BYTES = 64 << 20


class Overflow(ProvisioningMechanism):
    """As `needs`, and the room that is left at a peer is for items that had to leave the full cache for the
    own area, those that left last first. Peers are asked about in the order of their distance, so that the
    nearest one is given them, and the next one those for which that has no room.

    At most `waiting` items wait, of 64 MiB together; those that have waited longest are given up.
    """

    waiting: Annotated[int, MechanismState(), Field(ge=1, le=4096)] = 64
    left: Annotated[dict[ItemKey, Item], TransferState("displaced items", optional=True)]

    def start(self) -> None:
        self._fit()

    def set_waiting(self, waiting: int) -> None:
        """Change how many items wait."""
        self.waiting = waiting
        self._fit()

    def choose(self, request: PeerRequest) -> Sequence[Item]:
        chosen = by_needs(request, request.capacity)
        for key in reversed([*self.left]):
            if request.is_here(key):
                del self.left[key]  # it came back
            elif len(chosen) < request.capacity:
                chosen[key] = self.left.pop(key)
                self.holders.pop(key, None)
                self.holders[key] = request.peer
        for key in [*self.holders][: max(0, len(self.holders) - MOST_HOLDERS)]:
            del self.holders[key]
        return list(chosen.values())

    def displaced(self, item: Item) -> None:
        self.left.pop(item.key, None)
        self.left[item.key] = item
        self._fit()

    def discard(self, is_meant: Callable[[Item], bool]) -> None:
        self.left = {key: item for key, item in self.left.items() if not is_meant(item)}

    def _fit(self) -> None:
        """Give up the items that have waited longest."""
        size = sum(len(item.data or b"") for item in self.left.values())
        for key in [*self.left]:
            if len(self.left) <= self.waiting and size <= MOST_WAITING_BYTES:
                return
            size -= len(self.left.pop(key).data or b"")
