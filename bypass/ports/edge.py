"""The interfaces between an edge's service, which keeps and sends items, and the node that it runs on, which
knows the clients in its area and the ways to other edges; and of the mechanisms that say how much an edge
keeps, how its area is divided, and when it sends to others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from bypass.objects.node_store import NodeStore
    from bypass.ports.host import Host
    from bypass.protocol.datagrams import NodeAddress, WorldMap
    from bypass.protocol.storage import StorageMessage

Sent = Callable[[bool], None]
"""Learns whether a body got to its target, as far as the radio can tell."""


class EdgeLink(Protocol):
    """The ways of an edge to the clients in its area, and to other edges."""

    def send(self, world: str, body: StorageMessage, target: NodeAddress, sent: Sent | None = None) -> None:
        """Send a body to a client of a world, or to one client of a cell; `sent` is called once, later."""

    def tell(self, world: str, body: StorageMessage) -> None:
        """Send a body to all clients of a world in the area, unacknowledged."""

    def to_edge(self, edge: int, body: StorageMessage) -> bool:
        """Send a body to another edge, in order; False if there is no connection now: the body is dropped."""

    def members(self, world: str) -> Sequence[int]:
        """The clients of a world that were heard lately, by number."""

    def edges(self) -> Sequence[int]:
        """The other edges that are connected now, by number."""

    def maps_changed(self) -> None:
        """Tell the clients at once that there are other worlds, or other cells in one."""


class EdgeService(Protocol):
    """Takes what clients and other edges send to an edge."""

    def start(self) -> None:
        """Take up work: from now on the link can be used."""

    def stop(self) -> None:
        """Give up work: nothing is sent from now on, no timer fires."""

    def received(self, world: str, body: StorageMessage, origin: NodeAddress) -> None:
        """Take a body of a client in the area."""

    def undeliverable(self, world: str, body: StorageMessage, target: NodeAddress) -> None:
        """Learn that a client was not reached."""

    def from_edge(self, edge: int, body: StorageMessage) -> None:
        """Take a body of another edge."""

    def connected(self, edge: int) -> None:
        """Learn that the connection to another edge is there, or there again."""

    def disconnected(self, edge: int) -> None:
        """Learn that the connection to another edge is gone."""

    def joined(self, world: str, client: int) -> None:
        """Learn that a client came to the area, or to a world in it."""

    def left(self, world: str, client: int) -> None:
        """Learn that a client left, or was not heard for long."""

    def worlds(self) -> Sequence[WorldMap]:
        """The worlds that there are, with their cell maps, the one without a name first."""

    def set_cells(self, world: str, cells: int) -> None:
        """Give a world another number of cells, by a map of the next epoch; clients are told at once."""


class ServiceMaker(Protocol):
    """Makes the service of an edge, whose number is that of the host."""

    def __call__(self, host: Host, link: EdgeLink, store: NodeStore) -> EdgeService:
        """Make a service; what is in the store has outlived the one before."""


class BackhaulReceiver(Protocol):
    """The calls of a backhaul to an edge."""

    def from_edge(self, edge: int, body: StorageMessage) -> None:
        """Take a body of another edge."""

    def connected(self, edge: int) -> None:
        """Learn that there is a connection to another edge."""

    def disconnected(self, edge: int) -> None:
        """Learn that there is none any more."""


class Backhaul(Protocol):
    """The wire from one edge to others."""

    def open(self, receiver: BackhaulReceiver) -> None:
        """Begin to connect. What was connected before counts as gone."""

    def close(self) -> None:
        """Disconnect from all."""

    def send(self, edge: int, body: StorageMessage) -> bool:
        """Send a body, in order; False if there is no connection now: the body is dropped."""

    def edges(self) -> Sequence[int]:
        """The edges that are connected now, by number."""


class StoreSizes(NamedTuple):
    """The numbers of entries of an edge's caches, and of addresses of clients."""

    local: int
    prefetch_metadata: int
    prefetch_data: int
    global_metadata: int
    global_data: int
    addresses: int


class Capacities(Protocol):
    """Says how many entries each store of an edge has (`capacities`)."""

    def sizes(self) -> StoreSizes:
        """The sizes that hold now."""


class CellMapping(Protocol):
    """Says how many cells each world has in an edge's area (`cell-map`)."""

    def cells(self, present: int, clients: int, age_s: float) -> int:
        """The number of cells that a world with so many clients is to have. It has `present` now, since
        `age_s` seconds."""


class ProvisioningSlots(Protocol):
    """Divides time among edges that send items ahead (`slots`). Times are seconds, on a common clock."""

    def is_open(self, now: float, own: int, others: Collection[int]) -> bool:
        """Whether the edge `own` may send at a time."""

    def next_start(self, now: float, own: int, others: Collection[int]) -> float:
        """The first time after `now` at which the slot of the edge `own` opens."""
