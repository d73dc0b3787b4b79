"""The three caches of an edge: items popular in its area, items that others sent ahead, and items of other
areas that were used in its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from bypass.mechanisms.storage.infra.edge.item_cache import CacheWorkshop, ItemCache
from bypass.objects.catalogue import ObjectCatalogue
from bypass.objects.metadata import Metadata
from bypass.objects.query import ObjectQuery, Page, PageCursor
from bypass.protocol.edge import Item, ItemKey


class SplitCache:
    """Keeps the metadata of items and their data apart, each with an eviction of its own: an item whose data
    are gone can still be found, and is fetched from where it comes."""

    def __init__(self, metadata: ItemCache, data: ItemCache) -> None:
        self.metadata = metadata
        self.data = data

    def put(self, item: Item) -> None:
        """Insert what there is of an item."""
        self.metadata.put(item._replace(data=None))
        if item.data is not None:
            self.data.put(item)

    def use(self, key: ItemKey) -> Item | None:
        """Use an item, with its data if these are here; None if nothing of it is."""
        found = self.metadata.use(key)
        whole = self.data.use(key)
        return whole or found

    def remove(self, key: ItemKey) -> bool:
        """Remove all of an item. Gives whether there was any."""
        parts = self.metadata.remove(key), self.data.remove(key)
        return any(parts)

    def __contains__(self, key: ItemKey) -> bool:
        return key in self.metadata or key in self.data


class CacheSizes(NamedTuple):
    """The capacities of an edge's caches, in entries."""

    local: int = 100
    prefetch_metadata: int = 100
    prefetch_data: int = 100
    global_metadata: int = 100
    global_data: int = 100
    most_puts: int = 10
    """Puts into a full container of the full global cache after which it is divided anew."""


class ContentChange(NamedTuple):
    """Items that came into a cache, and items that are not in it any more."""

    stored: tuple[ItemKey, ...]
    gone: tuple[ItemKey, ...]


class ItemDelivery(NamedTuple):
    """An item for a client, None if there is none; and whether it was `promoted`: a client here has used an
    item that another edge had sent ahead, which that edge may be told."""

    item: Item | None
    promoted: bool = False


class EdgeCaches:
    """The caches of an edge.

    `local` has whole items of the own area, divided by worlds before each batch. `prefetch` has what other
    edges sent, not divided, since its senders have shaped it. `global_` has items of other areas that a
    client here has used, divided by worlds while they come one by one. Nothing comes in that `is_deleted`.
    All begin with the mechanism `eviction`, those that are divided with `partition`.
    """

    def __init__(
        self,
        workshop: CacheWorkshop,
        is_deleted: Callable[[Metadata], bool],
        sizes: CacheSizes = CacheSizes(),  # noqa: B008 - it never changes
        eviction: str = "w-tiny-lfu",
        partition: str = "amc",
    ) -> None:
        def cache(name: str, capacity: int, partition: str) -> ItemCache:
            known = workshop.registry.find("edge", "partition", partition).parameters()
            values = {"limit": sizes.most_puts} if "limit" in known else {}
            return ItemCache(
                workshop, name, capacity, eviction=eviction, partition=partition, partition_values=values
            )

        self.local = cache("local", sizes.local, partition)
        self.prefetch = SplitCache(
            cache("prefetch metadata", sizes.prefetch_metadata, "flat"),
            cache("prefetch data", sizes.prefetch_data, "flat"),
        )
        self.global_ = SplitCache(
            cache("global metadata", sizes.global_metadata, partition),
            cache("global data", sizes.global_data, partition),
        )
        self._is_deleted = is_deleted
        self._evicted: list[ItemKey] = []
        self.local.add_listener(lambda item: self._evicted.append(item.key))

    def all(self) -> tuple[ItemCache, ...]:
        """Every cache of items."""
        split = (self.prefetch, self.global_)
        return (self.local, *(cache for each in split for cache in (each.metadata, each.data)))

    # -- coming in ----------------------------------------------------------------------------------------

    def insert_local(self, items: Iterable[Item], batch: bool = True) -> ContentChange:
        """Insert whole items of the own area, together or one by one."""
        admitted = [each for each in items if each.data is not None and not self._is_deleted(each.metadata)]
        new = [each.key for each in admitted if each.key not in self.local]
        self._evicted.clear()
        if batch:
            self.local.put_batch(admitted)
        else:
            for each in admitted:
                self.local.put(each)
        return self._change(new)

    def change_local(self, change: Callable[[ItemCache], object]) -> ContentChange:
        """Change the size or a mechanism of the cache for the own area, and tell what that has evicted.
        Raises as `change` does."""
        self._evicted.clear()
        change(self.local)
        return self._change([])

    def take_provision(self, items: Iterable[Item]) -> list[Item]:
        """Keep what another edge sent. Gives the items that were not deleted."""
        admitted = [each for each in items if not self._is_deleted(each.metadata)]
        for each in admitted:
            if each.key not in self.global_.data:
                self.prefetch.put(each)
        return admitted

    def take_remote(self, item: Item) -> ItemDelivery:
        """Keep an item that was fetched from another area for a client, who is given it unless it was
        deleted. It is promoted if its metadata were sent ahead."""
        if self._is_deleted(item.metadata):
            return ItemDelivery(None)
        promoted = self.prefetch.remove(item.key)
        self.global_.put(item)
        return ItemDelivery(item, promoted)

    # -- going out ----------------------------------------------------------------------------------------

    def download(self, key: ItemKey) -> ItemDelivery:
        """Use an item for a client, if its data are here. One that was sent ahead goes to the global
        cache."""
        for cache in (self.local, self.global_):
            found = cache.use(key)
            if found is not None and found.data is not None:
                return ItemDelivery(found)
        found = self.prefetch.use(key)
        if found is None or found.data is None:
            return ItemDelivery(None)
        self.prefetch.remove(key)
        self.global_.put(found)
        return ItemDelivery(found, True)

    def find(self, key: ItemKey) -> Item | None:
        """Look at what there is of an item, with its data if possible, which does not count as a use."""
        caches = (
            self.local,
            self.global_.data,
            self.prefetch.data,
            self.global_.metadata,
            self.prefetch.metadata,
        )
        return next((found for cache in caches if (found := cache.find(key)) is not None), None)

    def page(
        self, query: ObjectQuery, after: PageCursor | None, limit: int, since_us: int | None = None
    ) -> Page:
        """A page of what can be found here."""
        found = ObjectCatalogue()
        for item in self.matching(query):
            found.add(item.metadata)
        return found.page(query, after, limit, since_us)

    def matching(self, query: ObjectQuery) -> Iterator[Item]:
        """The items that a query matches, some of them several times, and some without their data."""
        return (item for item in self._candidates(query) if query.matches(item.metadata))

    def remove(self, is_meant: Callable[[Item], bool]) -> list[ItemKey]:
        """Remove the items that are meant from all caches. Gives those that were in any, each once."""
        removed: dict[ItemKey, None] = {}
        for cache in self.all():
            for key in [item.key for item in cache if is_meant(item)]:
                cache.remove(key)
                removed[key] = None
        return list(removed)

    def _candidates(self, query: ObjectQuery) -> Iterator[Item]:
        """All items that the query may match, some of them several times."""
        for cache in (self.local, self.prefetch.metadata, self.global_.metadata):
            for conjunction in query.formula.conjunctions():
                tags = conjunction.key_candidates
                yield from cache.tagged(query.namespace, tags[0]) if tags else cache

    def _change(self, new: Iterable[ItemKey]) -> ContentChange:
        """The difference that a change of the local cache made; `new` were put and not there before."""
        put = dict.fromkeys(new)
        stored = [key for key in put if key in self.local]
        gone = [key for key in dict.fromkeys(self._evicted) if key not in put and key not in self.local]
        return ContentChange(tuple(stored), tuple(gone))
