"""The items that an edge sends ahead to others, by the subscriptions in their areas."""

from __future__ import annotations

from collections.abc import Iterable

from bypass.mechanisms.caches.quotas import tag_quotas
from bypass.mechanisms.storage.infra.edge.item_cache import ItemCache
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.objects.metadata import ObjectKey
from bypass.protocol.edge import Item, ItemKey, Provision, SubscriptionNeeds, TagNeed
from bypass.protocol.storage import LONGEST_DATA, MOST_ITEMS
from bypass.transitions.recent import Recent


class _Suppressed(Recent[ItemKey, int]):
    """Items that a peer has used, and for how many more times they are left out."""

    LIMIT = 16_384


class Provisioning:
    """Chooses items of the cache for the own area by the needs of each peer.

    A tag has as large a share of the peer's room as it has of all subscriptions there, and the items of it
    with the most downloads are chosen, of equally many the latest; none twice, none that lies outside the
    windows. With `suppression`, an item that the peer has used is left out the next `ignored` times.
    """

    def __init__(
        self,
        local: ItemCache,
        popularity: PopularityTable,
        peers: Iterable[int],
        ignored: int = 5,
        suppression: bool = True,
    ) -> None:
        self.suppression = suppression
        self._local = local
        self._popularity = popularity
        self._ignored = ignored
        self._needs: dict[int, SubscriptionNeeds | None] = dict.fromkeys(peers)
        self._suppressed: dict[int, _Suppressed] = {peer: _Suppressed() for peer in self._needs}

    @property
    def peers(self) -> tuple[int, ...]:
        """The other edges."""
        return tuple(self._needs)

    def add_peer(self, peer: int) -> None:
        """Know another edge; harmless if it is known."""
        self._needs.setdefault(peer, None)
        self._suppressed.setdefault(peer, _Suppressed())

    def remove_peer(self, peer: int) -> None:
        """Forget an edge and its needs; harmless if it is not known."""
        self._needs.pop(peer, None)
        self._suppressed.pop(peer, None)

    def take_needs(self, peer: int, needs: SubscriptionNeeds) -> bool:
        """Keep the latest needs of a peer. Gives whether it is known."""
        known = peer in self._needs
        if known:
            self._needs[peer] = needs
        return known

    def consumed(self, peer: int, item: ItemKey) -> bool:
        """Leave an item out the next times, because the peer has used it. Gives whether the peer is known."""
        suppressed = self._suppressed.get(peer)
        if suppressed is None:
            return False
        if self.suppression and self._ignored:
            suppressed.pop(item, None)
            suppressed[item] = self._ignored
        return True

    def forget(self, key: ObjectKey) -> None:
        """Forget that an object is to be left out, for good: it was deleted."""
        for suppressed in self._suppressed.values():
            for item in [item for item in suppressed if item.object == key]:
                del suppressed[item]

    def provide(self, peer: int) -> list[Item]:
        """Choose the items for a peer, once a provisioning cycle: what it has used is left out one time less
        after that. Empty if it has told of no needs."""
        needs = self._needs.get(peer)
        if needs is None:
            return []
        suppressed = self._suppressed[peer]
        candidates = {
            (need.world, need.tag): self._candidates(need, needs, suppressed) for need in needs.needs
        }
        quotas = tag_quotas(
            needs.capacity,
            {(need.world, need.tag): need.subscriptions for need in needs.needs},
            {of: len(items) for of, items in candidates.items()},
            needs.total,
        )
        chosen: dict[ItemKey, Item] = {}
        for of, items in sorted(candidates.items()):
            for item in items[: quotas.get(of, 0)]:
                chosen[item.key] = item
        for key, times in list(suppressed.items()):
            if times > 1:
                suppressed[key] = times - 1
            else:
                del suppressed[key]
        return list(chosen.values())

    def _candidates(self, need: TagNeed, needs: SubscriptionNeeds, suppressed: _Suppressed) -> list[Item]:
        found = [
            item
            for item in self._local.tagged(need.world, need.tag)
            if item.key not in suppressed
            and need.window.holds(item.metadata.published_us)
            and needs.window.holds(item.metadata.published_us)
        ]
        return sorted(
            found,
            key=lambda each: (
                -self._popularity.downloads(each.key),
                -each.metadata.published_us,
                each.metadata.key,
                -1 if each.source is None else each.source,
            ),
        )


def provisions(items: Iterable[Item]) -> list[Provision]:
    """Divide items into messages. Data that are longer than a message may be stay here: only their metadata
    are sent."""
    messages: list[Provision] = []
    part: list[Item] = []
    size = 0
    for item in items:
        length = len(item.data or b"") + item.metadata.told_bytes
        each = item
        if length > LONGEST_DATA:
            each, length = item._replace(data=None), item.metadata.told_bytes
        if part and (len(part) == MOST_ITEMS or size + length > LONGEST_DATA):
            messages.append(Provision(tuple(part)))
            part, size = [], 0
        part.append(each)
        size += length
    if part:
        messages.append(Provision(tuple(part)))
    return messages
