"""The items that an edge sends ahead to others, by the subscriptions in their areas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from bypass.mechanisms.storage.infra.edge.item_cache import ItemCache
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.objects.metadata import ObjectKey
from bypass.ports.caches import PeerProvisioning, PeerRequest
from bypass.protocol.edge import Item, ItemKey, Provision, SubscriptionNeeds, TagNeed
from bypass.protocol.storage import LONGEST_DATA, MOST_ITEMS
from bypass.transitions.recent import Recent


class _Suppressed(Recent[ItemKey, int]):
    """Items that a peer has used, and for how many more times they are left out."""

    LIMIT = 16_384


class Provisioning:
    """Gives each peer items of the cache for the own area, which the `provisioning` mechanism chooses.

    It chooses among the items of each tag that is subscribed to there, those with the most downloads first,
    of equally many the latest, and none that lies outside the windows. With `suppression`, an item that the
    peer has used is left out the next `ignored` times. The nearest of the `peers`, whose distances are in any
    unit, come first. `migration` gives the share of the own area's clients that went to a peer's.
    """

    def __init__(
        self,
        local: ItemCache,
        popularity: PopularityTable,
        mechanism: PeerProvisioning,
        peers: Iterable[int],
        ignored: int = 5,
        suppression: bool = True,
        *,
        migration: Callable[[int], float] = lambda _: 0.0,
    ) -> None:
        self.suppression = suppression
        self._mechanism = mechanism
        self._migration = migration
        self._distances: dict[int, float] = {}
        self._local = local
        self._popularity = popularity
        self._ignored = ignored
        self._needs: dict[int, SubscriptionNeeds | None] = dict.fromkeys(peers)
        self._suppressed: dict[int, _Suppressed] = {peer: _Suppressed() for peer in self._needs}
        local.add_listener(mechanism.displaced)

    @property
    def peers(self) -> tuple[int, ...]:
        """The other edges, the nearest first, of equally near ones that with the lowest number."""
        return tuple(sorted(self._needs, key=lambda peer: (self._distances.get(peer, 0.0), peer)))

    def set_distance(self, peer: int, distance: float) -> None:
        """Know how far away an edge is; harmless if that is not known otherwise."""
        if peer in self._needs:
            self._distances[peer] = distance

    def add_peer(self, peer: int) -> None:
        """Know another edge; harmless if it is known."""
        self._needs.setdefault(peer, None)
        self._suppressed.setdefault(peer, _Suppressed())

    def remove_peer(self, peer: int) -> None:
        """Forget an edge and its needs; harmless if it is not known."""
        self._needs.pop(peer, None)
        self._suppressed.pop(peer, None)
        self._distances.pop(peer, None)

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
        request = PeerRequest(
            peer,
            needs.capacity,
            needs.total,
            {(need.world, need.tag): need.subscriptions for need in needs.needs},
            {(need.world, need.tag): self._candidates(need, needs, suppressed) for need in needs.needs},
            lambda: self._popular(suppressed),
            self._migration(peer),
            self._local.__contains__,
        )
        chosen = list(self._mechanism.choose(request))
        for key, times in list(suppressed.items()):
            if times > 1:
                suppressed[key] = times - 1
            else:
                del suppressed[key]
        return chosen

    def holder(self, key: ItemKey) -> int | None:
        """The edge that may have an item of the own area that had to leave the full cache; None if none was
        given it."""
        return self._mechanism.holder(key)

    def discard(self, is_meant: Callable[[Item], bool]) -> None:
        """Send nobody the items that are meant: they were deleted."""
        self._mechanism.discard(is_meant)

    def _popular(self, suppressed: Mapping[ItemKey, int]) -> list[Item]:
        used = [item for item in self._local if self._popularity.downloads(item.key)]
        return self._popularity.order(item for item in used if item.key not in suppressed)

    def _candidates(self, need: TagNeed, needs: SubscriptionNeeds, suppressed: _Suppressed) -> list[Item]:
        return self._popularity.order(
            item
            for item in self._local.tagged(need.world, need.tag)
            if item.key not in suppressed
            and need.window.holds(item.metadata.published_us)
            and needs.window.holds(item.metadata.published_us)
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
