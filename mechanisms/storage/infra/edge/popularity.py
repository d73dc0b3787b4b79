"""How often items were downloaded in an edge's area, and who there has copies."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from bypass.objects.metadata import Replica
from bypass.protocol.edge import DownloadCount, ItemKey

MOST_ITEMS = 65_536


@dataclass(slots=True)
class Popularity:
    """The downloads of an item so far, the retrieval cycle in which the last one was reported, and copies,
    those reported last first."""

    downloads: int
    cycle: int
    replicas: tuple[Replica, ...] = ()


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

    def add(self, world: str, counted: DownloadCount, cycle: int) -> None:
        """Add downloads that were reported in a retrieval cycle."""
        key = ItemKey(world, counted.object, counted.source)
        found = self._items.pop(key, None) or Popularity(0, cycle)
        found.downloads += counted.downloads
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
