"""Caches as their callers see them, and the world that a cache and a partition of caches see."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bypass.objects.metadata import Replica
from bypass.ports.host import Timer
from bypass.protocol.edge import Item, ItemKey

CacheKey = int | str | bytes | tuple["CacheKey", ...]
"""The name of an entry, of a tag, or of a part of a cache."""

EntryCounts = Mapping[Any, int]
"""Numbers of entries by part, container or tag; keys are a `CacheKey` each."""


@dataclass(slots=True, eq=False)
class CacheEntry:
    """An entry of a cache. `size` is in bytes.

    Times are numbers of calls: each insertion and each use of any entry counts one. `used` is the last use,
    `used_before` the one before that, 0 if there was none; the insertion is the first use.
    """

    key: CacheKey
    value: Any
    size: int
    tags: tuple[CacheKey, ...]
    inserted: int
    used: int
    used_before: int = 0
    uses: int = 1


EvictionListener = Callable[[CacheEntry], None]
"""Is told of an entry that was evicted, when the cache is without it. It must not raise."""


class CacheHost(Protocol):
    """The world of a cache. What it draws at random comes from the host, so that runs can be repeated."""

    def after(self, delay: float, action: Callable[..., None], *args: Any) -> Timer:
        """Call `action(*args)` in `delay` seconds, unless the mechanism has been stopped by then."""

    def random(self, purpose: str) -> random.Random:
        """The host's own stream of random numbers for one purpose."""


class Cache(Protocol):
    """Keeps entries as long as there is room (`cache`)."""

    @property
    def count(self) -> int:
        """The number of entries."""

    @property
    def bytes(self) -> int:
        """The sum of their sizes."""

    def get(self, key: CacheKey) -> Any:
        """Use an entry: gives its value, None if there is no such entry."""

    def find(self, key: CacheKey) -> CacheEntry | None:
        """Look at an entry, which does not count as a use."""

    def put(self, key: CacheKey, value: Any, size: int = 0, tags: Collection[CacheKey] = ()) -> bool:
        """Insert an entry, or replace it, which counts as a use. Others may be evicted for it.

        Gives whether the cache has it then: one that is larger than the whole cache is refused, and an older
        one of its key is removed; a mechanism may keep a new one out of a full cache. Raises
        InvalidCacheEntry.
        """

    def remove(self, key: CacheKey) -> bool:
        """Remove an entry, of which no listener is told. Gives whether it was there."""

    def keys(self) -> list[CacheKey]:
        """List the keys of all entries, the oldest insertion first."""

    def tagged(self, tag: CacheKey) -> list[CacheKey]:
        """List the keys of the entries that have a tag."""

    def add_listener(self, listener: EvictionListener) -> None:
        """Have a function told of all evictions from now on, whatever mechanism runs. Raises
        InvalidCallback."""

    def remove_listener(self, listener: EvictionListener) -> None:
        """Tell a function nothing any more; harmless if it was not told."""


class Partitioning(Protocol):
    """Divides the capacity of a cache among the containers of its parts (`partition`).

    Each part, such as a world, has its entries in a container; several parts may share one. A caller passes
    how many entries each container has, and gives it the capacity that is returned; one that is not among
    those returned has none.
    """

    def container(self, part: CacheKey) -> CacheKey:
        """The container of a part."""

    def divide(self, entries: EntryCounts, puts: EntryCounts) -> EntryCounts:
        """Divide the capacity before so many entries are put into each container together. Raises
        InvalidCount."""

    def grow(self, entries: EntryCounts, container: CacheKey) -> EntryCounts:
        """Divide the capacity before one entry is put into a container. Raises InvalidCount."""


class Insertion(Protocol):
    """Says when the items that an edge fetches for its area are inserted into its cache (`insertion`)."""

    def is_immediate(self) -> bool:
        """Whether an item is inserted by itself when it arrives."""

    def batches(self, period_s: float, slack_s: float) -> Sequence[float]:
        """The seconds after a decision at which all items that have arrived are inserted together, ascending,
        and at the latest `slack_s` before the next decision, `period_s` after the last one."""


RECENT_CYCLES = 6
"""Retrieval cycles whose downloads of an item are known one by one."""


@dataclass(slots=True)
class Popularity:
    """The downloads of an item so far, the retrieval cycle in which the last ones were reported, and copies,
    those reported last first. `recent` are the downloads that were reported in that cycle, in the one before
    it, and so on, for at most RECENT_CYCLES."""

    downloads: int
    cycle: int
    replicas: tuple[Replica, ...] = ()
    recent: tuple[int, ...] = ()


KnownItems = Iterable[tuple[ItemKey, Popularity]]
"""Items with their popularity, those that were reported the longest time ago first."""


class Ranking(Protocol):
    """Chooses the items that an edge fetches from the clients in its area (`ranking`)."""

    def choose(self, known: KnownItems, cycle: int, active_window: int, limit: int) -> Sequence[ItemKey]:
        """Choose items for a retrieval cycle, none twice; each cycle is asked about once, in order.

        Items are active if downloads of them were reported in the last `active_window` cycles, or in this
        one. At most `limit` are to be chosen.
        """


WorldTag = tuple[str, str]
"""A world, and a tag in it."""


@dataclass(frozen=True, slots=True)
class PeerRequest:
    """The needs in the area of another edge, `peer`, which has room for `capacity` items, and what there is
    for them.

    `subscriptions` are those there by world and tag, `total` in all; `candidates` the items for each, the
    most popular first. `popular` gives the items that were downloaded here, the most popular first. All are
    without those that the peer has used. `migration` is the share of this area's clients that went from here
    to the peer's, 0 to 1. `is_here` says whether an item is in the cache for the own area.
    """

    peer: int
    capacity: int
    total: int
    subscriptions: Mapping[WorldTag, int]
    candidates: Mapping[WorldTag, Sequence[Item]]
    popular: Callable[[], Sequence[Item]]
    migration: float
    is_here: Callable[[ItemKey], bool]


class PeerProvisioning(Protocol):
    """Chooses the items that an edge sends ahead to others (`provisioning`)."""

    def choose(self, request: PeerRequest) -> Sequence[Item]:
        """Choose items for a peer, none twice, no more than it has room for. Peers are asked about in turn,
        the nearest first."""

    def displaced(self, item: Item) -> None:
        """Learn that an item had to leave the full cache for the own area."""

    def discard(self, is_meant: Callable[[Item], bool]) -> None:
        """Forget the items that are meant, as far as any are kept: they were deleted."""

    def holder(self, key: ItemKey) -> int | None:
        """The edge that was given an item that had to leave this one; None if none was."""
