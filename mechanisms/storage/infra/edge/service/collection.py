"""The popular items of an edge's area: fetched from clients, cached, and told to the cells that index
them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from bypass.mechanisms.storage.infra.edge.caches import ContentChange, EdgeCaches
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.edge.retrieval_cycle import (
    RetrievalCycle,
    RetrievalHost,
    RetrievalSettings,
)
from bypass.mechanisms.storage.infra.edge.service.area_contact import AreaContact
from bypass.mechanisms.storage.infra.edge.service.fetches import ItemFetches, ItemWish, clients
from bypass.mechanisms.storage.infra.edge.service.worlds import EdgeWorlds
from bypass.objects.metadata import Metadata, Replica
from bypass.ports.caches import Insertion, Ranking
from bypass.protocol.datagrams import WorldMap
from bypass.protocol.edge import Item, ItemKey, StorageChange

MOST_CHANGES = 256
"""Items in one notice."""


class PopularItems:
    """Fetches what the retrieval cycle chooses, keeps it in the cache for the own area, and tells each cell
    which of the objects that it indexes are at the edge now, or are not any more."""

    def __init__(
        self,
        host: RetrievalHost,
        caches: EdgeCaches,
        popularity: PopularityTable,
        ranking: Ranking,
        insertion: Insertion,
        fetches: ItemFetches,
        area: AreaContact,
        worlds: EdgeWorlds,
        is_hidden: Callable[[Metadata], bool],
        settings: RetrievalSettings,
    ) -> None:
        self.retrieval = RetrievalCycle(host, popularity, ranking, insertion, self, settings)
        self._caches = caches
        self._fetches = fetches
        self._area = area
        self._worlds = worlds
        self._is_hidden = is_hidden
        self._told: dict[ItemKey, frozenset[str]] = {}
        """Tags of the items that cells were told to be here."""
        worlds.on_map(self._tell_anew)

    # -- of the retrieval cycle ---------------------------------------------------------------------------

    def ask(self, key: ItemKey, replica: Replica, cycle: int) -> None:
        """Ask a client for an item."""
        if replica.node is None:
            self.retrieval.failed(key, cycle)
            return

        def done(item: Item | None, came: int) -> None:
            if item is None:
                self.retrieval.failed(key, cycle)
            else:
                self.retrieval.arrived(item, came)

        self._fetches.want(
            ItemWish(key, clients([replica.node]), done, cycle, lambda: self.retrieval.cycle == cycle)
        )

    def is_cached(self, key: ItemKey) -> bool:
        """Whether an item is in the cache for the own area."""
        return key in self._caches.local

    def has_room(self) -> bool:
        """Whether the cache for the own area has room for more items."""
        return len(self._caches.local) < self._caches.local.capacity

    def is_deleted(self, item: Item) -> bool:
        """Whether the owner has deleted an item."""
        return self._is_hidden(item.metadata)

    def insert(self, items: Collection[Item], batch: bool) -> None:
        """Insert items into the cache for the own area."""
        self.tell(self._caches.insert_local(items, batch))

    # -- notices ------------------------------------------------------------------------------------------

    def tell(self, change: ContentChange) -> None:
        """Tell cells of a change of the cache for the own area."""
        gone = {key: self._told.pop(key) for key in change.gone if key in self._told}
        self._send(gone, False)
        found = (self._caches.local.find(key) for key in change.stored)
        stored = {item.key: item.metadata.tags for item in found if item is not None}
        self._told.update(stored)
        self._send(stored, True)

    def forget(self, keys: Iterable[ItemKey]) -> None:
        """Forget items that were deleted: cells hear of that otherwise."""
        for key in keys:
            self._told.pop(key, None)

    def _send(self, items: dict[ItemKey, frozenset[str]], stored: bool) -> None:
        by_cell: defaultdict[tuple[str, int], list[ItemKey]] = defaultdict(list)
        for key, tags in items.items():
            if key.world in self._worlds:
                for cell in self._worlds.cells_of(key.world, tags):
                    by_cell[key.world, cell].append(key)
        for (world, cell), keys in sorted(by_cell.items()):
            for first in range(0, len(keys), MOST_CHANGES):
                body = StorageChange(tuple(keys[first : first + MOST_CHANGES]), stored)
                self._area.cells.to_cell(world, cell, body)

    def _tell_anew(self, world: WorldMap) -> None:
        """Tell the cells of a new map of all that is here."""
        self._send({key: tags for key, tags in self._told.items() if key.world == world.world}, True)
