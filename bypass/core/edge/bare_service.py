"""The service of an edge that stores nothing: its clients store among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bypass.protocol.datagrams import WorldMap

if TYPE_CHECKING:
    from bypass.objects.node_store import NodeStore
    from bypass.ports.edge import EdgeLink
    from bypass.ports.host import Host
    from bypass.protocol.datagrams import NodeAddress
    from bypass.protocol.storage import StorageMessage

USUAL_CELLS = 9


class BareService:
    """The worlds of an area and their cell maps, at first the one without a name, with `cells` cells; what is
    sent to the edge is dropped, and counted."""

    def __init__(
        self,
        host: Host,
        link: EdgeLink,
        store: NodeStore | None = None,  # noqa: ARG002 - it has nothing to keep
        *,
        cells: int = USUAL_CELLS,
    ) -> None:
        self.dropped = 0
        self._link = link
        self._maps = {"": WorldMap("", "", cells, max(1, int(host.now())))}

    def worlds(self) -> Sequence[WorldMap]:
        return tuple(self._maps.values())

    def set_cells(self, world: str, cells: int) -> None:
        before = self._maps[world]
        self._maps[world] = before._replace(cells=cells, epoch=before.epoch + 1)
        self._link.maps_changed()

    def add(self, world: str, name: str, cells: int = USUAL_CELLS) -> None:
        """Have one more world."""
        self._maps[world] = WorldMap(world, name, cells, 1)
        self._link.maps_changed()

    def remove(self, world: str) -> None:
        """Have a world no more."""
        del self._maps[world]
        self._link.maps_changed()

    def start(self) -> None:
        """Do nothing: there is nothing to do of its own accord."""

    stop = start

    def received(self, world: str, body: StorageMessage, origin: NodeAddress) -> None:  # noqa: ARG002
        self.dropped += 1

    def undeliverable(self, world: str, body: StorageMessage, target: NodeAddress) -> None:
        """Do nothing: it has sent nothing."""

    def from_edge(self, edge: int, body: StorageMessage) -> None:  # noqa: ARG002
        self.dropped += 1

    def connected(self, edge: int) -> None:
        """Do nothing: there is nothing to exchange."""

    def disconnected(self, edge: int) -> None:
        """Do nothing."""

    def joined(self, world: str, client: int) -> None:
        """Do nothing: it does not care who is there."""

    def left(self, world: str, client: int) -> None:
        """Do nothing."""
