"""The choice of the items that an edge sends ahead to another one: by the subscriptions there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated

from bypass.mechanisms.caches.quotas import tag_quotas
from bypass.ports.caches import PeerRequest
from bypass.protocol.edge import Item, ItemKey
from bypass.transitions import Mechanism, TransferState

Chosen = dict[ItemKey, Item]


class ProvisioningMechanism(Mechanism, ABC):
    """Chooses the items for another edge; see `bypass.ports.caches.PeerProvisioning`.

    Which edges were given items that had to leave this one is known to all mechanisms, and moves.
    """

    holders: Annotated[dict[ItemKey, int], TransferState("holders", optional=True)]

    @abstractmethod
    def choose(self, request: PeerRequest) -> Sequence[Item]:
        """Choose items for a peer, none twice, no more than it has room for."""

    def displaced(self, item: Item) -> None:
        """Learn that an item had to leave the full cache for the own area. By default it is gone."""

    def discard(self, is_meant: Callable[[Item], bool]) -> None:
        """Forget the items that are meant, as far as any are kept here."""

    def holder(self, key: ItemKey) -> int | None:
        """The edge that was given an item that had to leave this one; None if none was."""
        return self.holders.get(key)


class ByNeeds(ProvisioningMechanism):
    """A tag has as large a share of the peer's room as it has of all subscriptions there, and of each tag the
    most popular items are chosen."""

    name = "needs"

    def choose(self, request: PeerRequest) -> Sequence[Item]:
        return list(by_needs(request, request.capacity).values())


def by_needs(request: PeerRequest, room: int) -> Chosen:
    """Choose at most so many items by the subscriptions at a peer."""
    quotas = tag_quotas(
        room,
        request.subscriptions,
        {tag: len(items) for tag, items in request.candidates.items()},
        request.total,
    )
    return {
        item.key: item
        for tag, items in sorted(request.candidates.items())
        for item in items[: quotas.get(tag, 0)]
    }
