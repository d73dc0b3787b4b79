"""The worlds that an edge knows, and the cell maps of their parts in its area."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from bypass.errors import shown
from bypass.mechanisms.caches.partition import InvalidCount
from bypass.objects.metadata import Metadata
from bypass.places.logical_cells import cell_of_node, logical_grid
from bypass.ports.edge import CellMapping
from bypass.protocol.datagrams import NodeAddress, WorldMap
from bypass.protocol.edge import MOST_CELLS, MOST_WORLDS
from bypass.support.database import DatabaseUnavailable
from bypass.transitions.recent import Recent

_log = logging.getLogger(__name__)

COMMON = ""
"""The world that is always there."""
MOST_WORLDS_EACH = 8
"""Worlds that one client can create."""
LONGEST_WORLD_NAME = 90
"""Bytes of a world's name: its id, which is longer, names a namespace together with an edge."""

MapListener = Callable[[WorldMap], None]


class KeptWorld(NamedTuple):
    """A world, its name, and the last epoch of its cell map."""

    world: str
    name: str
    epoch: int


class WorldStore(Protocol):
    """Keeps the worlds that an edge knows, so that they outlive it."""

    def load(self) -> Iterable[KeptWorld]:
        """All worlds, in the order in which they came."""

    def keep(self, world: KeptWorld) -> None:
        """Keep a world, or its new epoch. Raises DatabaseUnavailable."""

    def close(self) -> None:
        """Close the files."""


class MemoryWorldStore:
    """Keeps worlds as long as this object lives."""

    def __init__(self) -> None:
        self._worlds: dict[str, KeptWorld] = {}

    def load(self) -> Iterable[KeptWorld]:
        """All worlds, in the order in which they came."""
        return list(self._worlds.values())

    def keep(self, world: KeptWorld) -> None:
        """Keep a world, or its new epoch."""
        self._worlds[world.world] = world

    def close(self) -> None:
        """Do nothing: there are no files."""


class EdgeWorlds:
    """Knows at most MOST_WORLDS worlds, each with a cell map of its own at this edge.

    Worlds are the same at all edges, cell maps are not: cells are groups of the clients of one area. `cells`
    gives the number of cells of a new world. An epoch is the time in seconds at which the map was made, or
    the next number after the last one, which is kept: an edge that begins again does not use one twice.
    """

    def __init__(
        self, edge: int, now: Callable[[], float], cells: Callable[[], int], store: WorldStore
    ) -> None:
        self._edge = edge
        self._now = now
        self._cells = cells
        self._store = store
        self._maps: dict[str, WorldMap] = {}
        self._since: dict[str, float] = {}
        self._created: Recent[tuple[int, int], WorldMap] = Recent()  # by client and operation
        self._creators: Recent[int, int] = Recent()
        self._listeners: list[MapListener] = []
        self._number = 0
        kept = {each.world: each for each in store.load()}
        for each in {COMMON: KeptWorld(COMMON, COMMON, 0), **kept}.values():
            self._put(WorldMap(each.world, each.name, cells(), self._epoch(each.epoch)))

    def on_map(self, listener: MapListener) -> None:
        """Have a function told of each cell map, at once of those that there are."""
        self._listeners.append(listener)
        for each in self._maps.values():
            listener(each)

    def all(self) -> list[WorldMap]:
        """All worlds, the one that is always there first."""
        return list(self._maps.values())

    def __contains__(self, world: str) -> bool:
        return world in self._maps

    def __getitem__(self, world: str) -> WorldMap:
        return self._maps[world]

    # -- cells --------------------------------------------------------------------------------------------

    def address(self, world: str, node: int) -> NodeAddress:
        """The address of a client in a world: it belongs to a cell by a hash."""
        return NodeAddress(node, cell_of_node(node, self._maps[world].cells))

    def cells_of(self, world: str, tags: Iterable[str]) -> list[int]:
        """The cells of a world where objects with these tags are indexed."""
        grid = logical_grid(self._maps[world].cells)
        return sorted({grid.cell_of_tag(world, tag) for tag in tags})

    def cells_of_object(self, metadata: Metadata) -> list[int]:
        """The cells where an object is indexed; none in a world that is not known."""
        if metadata.namespace not in self._maps:
            return []
        return self.cells_of(metadata.namespace, metadata.tags)

    def age_s(self, world: str) -> float:
        """The time for which the present cell map of a world holds (s)."""
        return self._now() - self._since[world]

    def set_cells(self, world: str, cells: int) -> None:
        """Give a world another number of cells, under a new epoch."""
        known = self._maps[world]
        if known.cells != cells:
            self._put(known._replace(cells=cells, epoch=self._epoch(known.epoch)))

    # -- worlds -------------------------------------------------------------------------------------------

    def create(self, client: int, op: int, name: str) -> WorldMap | None:
        """Create a world for a client, once for each of its operations. None if it has created too many,
        there are too many, or the name is too long."""
        done = self._created.get((client, op))
        if done is not None:
            return done
        count = self._creators.pop(client, 0)
        self._creators[client] = count
        if count >= MOST_WORLDS_EACH or not 0 < len(name.encode()) <= LONGEST_WORLD_NAME:
            return None
        world = self._new_id(name)
        if not self.add(world, name):
            return None
        self._creators[client] = count + 1
        self._created[client, op] = self._maps[world]
        return self._maps[world]

    def add(self, world: str, name: str) -> bool:
        """Know a world that was created elsewhere, or here. Whether it is known then."""
        if world not in self._maps:
            if len(self._maps) >= MOST_WORLDS:
                return False
            self._put(WorldMap(world, name, self._cells(), self._epoch(0)))
        return True

    def _new_id(self, name: str) -> str:
        """The id of a new world, which differs from those that were made before, also by an earlier life of
        this edge."""
        self._number = self._epoch(self._number)
        while f"{name}~{self._edge}~{self._number}" in self._maps:
            self._number += 1
        return f"{name}~{self._edge}~{self._number}"

    def _put(self, world: WorldMap) -> None:
        self._maps[world.world] = world
        self._since[world.world] = self._now()
        try:
            self._store.keep(KeptWorld(world.world, world.name, world.epoch))
        except DatabaseUnavailable as error:
            _log.warning("a world is known until this edge ends: %s", error)
        for listener in tuple(self._listeners):
            listener(world)

    def _epoch(self, last: int) -> int:
        return max(last + 1, int(self._now()))


class NumbersOfCells:
    """Gives worlds as many cells as the mechanism says, by their `clients`, unless another number was
    given."""

    def __init__(
        self, worlds: EdgeWorlds, mapping: CellMapping, clients: Callable[[str], Sequence[int]]
    ) -> None:
        self._worlds = worlds
        self._mapping = mapping
        self._clients = clients
        self._given: dict[str, int] = {}

    def give(self, world: str, cells: int) -> None:
        """Give a world a number of cells. Raises InvalidCount unless there is such a world, and it can have
        so many."""
        if world not in self._worlds or not 1 <= cells <= MOST_CELLS:
            raise InvalidCount(f"{shown(cells)} cells of world {shown(world)}: expected 1 to {MOST_CELLS}")
        self._given[world] = cells
        self._worlds.set_cells(world, cells)

    def forget_given(self) -> None:
        """Go by the mechanism in all worlds."""
        self._given.clear()

    def adapt(self) -> None:
        """Look at all worlds."""
        for each in self._worlds.all():
            clients, age_s = len(self._clients(each.world)), self._worlds.age_s(each.world)
            wanted = self._mapping.cells(each.cells, clients, age_s)
            self._worlds.set_cells(each.world, self._given.get(each.world, wanted))
