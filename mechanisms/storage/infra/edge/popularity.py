"""How often items were downloaded in an edge's area, and who there has copies."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from bypass.objects.metadata import Replica
from bypass.ports.caches import RECENT_CYCLES, Popularity
from bypass.protocol.edge import DownloadCount, Item, ItemKey

MOST_ITEMS = 65_536


class PopularityTable:
    """The popularity of items: downloads only ever add up. At most `most_items` are known, of which the one
    that was reported the longest time ago goes first, each with at most `most_replicas` copies."""

    def __init__(self, most_replicas: int = 10, most_items: int = MOST_ITEMS) -> None:
        self._most_replicas = most_replicas
        self._most_items = most_items
        self._items: OrderedDict[ItemKey, Popularity] = OrderedDict()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[tuple[ItemKey, Popularity]]:
        return iter(self._items.items())

    def get(self, key: ItemKey) -> Popularity | None:
        """The popularity of an item; None if it is not known."""
        return self._items.get(key)

    def downloads(self, key: ItemKey) -> int:
        """How often an item was downloaded, as far as is known."""
        found = self._items.get(key)
        return 0 if found is None else found.downloads

    def order(self, items: Iterable[Item]) -> list[Item]:
        """Sort items: those with the most downloads first, of equally many the latest."""
        return sorted(
            items,
            key=lambda each: (
                -self.downloads(each.key),
                -each.metadata.published_us,
                each.metadata.key,
                -1 if each.metadata.source is None else each.metadata.source,
            ),
        )

    def add(self, world: str, counted: DownloadCount, cycle: int) -> None:
        """Add downloads that were reported in a retrieval cycle."""
        key = ItemKey(world, counted.object, counted.source)
        found = self._items.pop(key, None) or Popularity(0, cycle)
        found.downloads += counted.downloads
        found.recent = _reported(found, counted.downloads, cycle)
        found.cycle = cycle
        found.replicas = tuple(dict.fromkeys((*counted.replicas, *found.replicas)))[: self._most_replicas]
        self._items[key] = found
        if len(self._items) > self._most_items:
            self._items.popitem(last=False)

    def lose_replica(self, key: ItemKey, replica: Replica) -> None:
        """Forget a copy that was not there."""
        found = self._items.get(key)
        if found is not None:
            found.replicas = tuple(each for each in found.replicas if each != replica)

    def forget(self, key: ItemKey) -> None:
        """Forget an item."""
        self._items.pop(key, None)


def _reported(found: Popularity, downloads: int, cycle: int) -> tuple[int, ...]:
    """The downloads of the latest cycles, after some more were reported."""
    if cycle == found.cycle:
        first, *others = found.recent or (0,)
        return first + downloads, *others
    between = min(max(0, cycle - found.cycle - 1), RECENT_CYCLES)
    return (downloads, *[0] * between, *found.recent)[:RECENT_CYCLES]
