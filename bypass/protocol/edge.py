"""The messages of infrastructure nodes, which are called edges: with the clients in their area, with other
edges, and between the clients of a cell.

A world is a namespace of objects. Numbers of cells are those of a world's cell map, which has a `map_epoch`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from bypass.objects.metadata import Metadata, ObjectKey, Replica
from bypass.objects.window import ALWAYS, TimeWindow
from bypass.protocol.datagrams import NodeAddress, WorldMap
from bypass.protocol.storage import StorageMessage

MOST_STABLE = 100
"""The highest stability."""
MOST_CONFIRMED = 64
"""Cycles that one hello or cell data can name."""
MOST_WORLDS = 64
"""Worlds that one edge has."""
MOST_CELLS = 4096
"""Cells of one world."""


class ItemKey(NamedTuple):
    """The identity of an object among edges, which never changes: its world, its key, and the edge in whose
    area it was published, None if there was none."""

    world: str
    object: ObjectKey
    source: int | None = None


class Item(NamedTuple):
    """An object that edges hold or tell of. `data` None: its metadata alone."""

    metadata: Metadata
    data: bytes | None = None

    @property
    def key(self) -> ItemKey:
        """The object's identity."""
        return item_key(self.metadata)


def item_key(metadata: Metadata) -> ItemKey:
    """The identity of an object."""
    return ItemKey(metadata.namespace, metadata.key, metadata.source)


@dataclass(slots=True)
class CellHello(StorageMessage):
    """Client to the clients of its cell: its stability, 0 to MOST_STABLE, and cycles whose data an edge has
    confirmed, as far as the sender knows."""

    world: str
    map_epoch: int
    cell: int
    stability: int
    confirmed: tuple[int, ...] = ()


class DownloadCount(NamedTuple):
    """Downloads of an object in one cycle, and nodes that have copies."""

    object: ObjectKey
    source: int | None
    downloads: int
    replicas: tuple[Replica, ...] = ()


class CellCycle(NamedTuple):
    """The downloads that one cell counted in one cycle, a number of periods since time 0."""

    cycle: int
    downloads: tuple[DownloadCount, ...] = ()


class CellNeed(NamedTuple):
    """Subscriptions to a tag in one cell, and the window that holds theirs."""

    tag: str
    subscriptions: int
    window: TimeWindow = ALWAYS


@dataclass(slots=True)
class CellData(StorageMessage):
    """The stable client of a cell to its edge: cycles of which no confirmation is known, the oldest first,
    and all subscriptions as they are after the last one."""

    op: int
    world: str
    map_epoch: int
    cell: int
    cycles: tuple[CellCycle, ...]
    needs: tuple[CellNeed, ...] = ()


class TagNeed(NamedTuple):
    """Subscriptions to a tag in one area, and the window that holds theirs."""

    world: str
    tag: str
    subscriptions: int
    window: TimeWindow = ALWAYS


@dataclass(slots=True)
class SubscriptionNeeds(StorageMessage):
    """Edge to edge: subscriptions in the sender's area, `total` in all worlds; the window that holds all of
    theirs; and how many items it has room for."""

    total: int
    capacity: int
    needs: tuple[TagNeed, ...]
    window: TimeWindow = ALWAYS


@dataclass(slots=True)
class Provision(StorageMessage):
    """Edge to edge: items for the subscriptions there."""

    items: tuple[Item, ...]


@dataclass(slots=True)
class EdgeNotification(StorageMessage):
    """Edge to the clients of a cell: metadata of items of other areas, to be matched there."""

    items: tuple[Item, ...]


@dataclass(slots=True)
class ItemConsumed(StorageMessage):
    """Edge to the edge where an item comes from: a client has downloaded it."""

    item: ItemKey


@dataclass(slots=True)
class StorageChange(StorageMessage):
    """Edge to the clients of a cell: these items are now at the edge (`stored`), or are not any more."""

    items: tuple[ItemKey, ...]
    stored: bool


class DownloadKind(IntEnum):
    """The places where an edge looks for an item."""

    REGULAR = 0
    """Its own caches."""
    FORCED = 1
    """Its own caches, then the edge where the item comes from, which may ask the clients there."""
    POPULAR = 2
    """None: an edge asks a client for an item that it wants to offer."""


@dataclass(slots=True)
class Download(StorageMessage):
    """Ask for an item: `length` of its bytes from `offset` on, None: as many as there are. `cycle` is the
    retrieval cycle of an edge, and comes back with the answer."""

    op: int
    item: ItemKey
    kind: DownloadKind = DownloadKind.REGULAR
    cycle: int = 0
    offset: int = 0
    length: int | None = None


@dataclass(slots=True)
class Downloaded(StorageMessage):
    """An item, or a part of its bytes, from `offset` on; `item` None if it is not here."""

    op: int
    item: Item | None = None
    cycle: int = 0
    offset: int = 0


@dataclass(slots=True)
class CreateWorld(StorageMessage):
    """Client to edge: make a world of this name; a WorldList with it alone is the answer."""

    op: int
    name: str


@dataclass(slots=True)
class WorldList(StorageMessage):
    """Worlds that there are: in answer to `op`, or edge to edge (op 0)."""

    op: int
    worlds: tuple[WorldMap, ...]


@dataclass(slots=True)
class Describe(StorageMessage):
    """Subscriber to a cell that named objects by their keys alone: send the metadata of these, as a
    FoundObjects with the same `op`, `query` and `conjunction`."""

    op: int
    query: int
    conjunction: int | None
    keys: tuple[ObjectKey, ...]


@dataclass(slots=True)
class EdgeRelay(StorageMessage):
    """Edge to a client: pass a body on to another client, or to all of a cell if the target names no node.
    The body is neither a EdgeRelay nor a CellUpdate."""

    target: NodeAddress
    body: StorageMessage
