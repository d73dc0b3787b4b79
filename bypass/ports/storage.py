"""The interfaces between a client, the mechanism that stores its objects, and the nodes of others.

An operation of the application has a number, which stays the same when it is tried again: whoever is asked
twice for the same answers twice, and does it once. The client gives an operation up, never a mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bypass.objects.metadata import Metadata, StoredObject
    from bypass.objects.query import ObjectQuery, PageCursor
    from bypass.places.cell_grid import CellGrid
    from bypass.ports.proxies import StabilityReading
    from bypass.ports.routing import Coverage, Neighbour
    from bypass.protocol.datagrams import NodeAddress
    from bypass.protocol.storage import FoundObjects, OperationStatus, StorageMessage

NODE = "node"
FLOOD = "flood"
CELL = "cell"
HOP = "hop"
EDGE = "edge"
BROKER = "broker"
SERVICES = frozenset((NODE, FLOOD, CELL, HOP, EDGE, BROKER))
"""The ways to others that a storage mechanism may need: to one node, to all nodes, to all nodes of a cell, to
those in reach, to an edge, to the broker. A routing mechanism says which of all but the last it offers."""


class Storage(Protocol):
    """Stores objects, and tells who asks for them (`storage`).

    Each call but `withdraw` of a query that nobody has ends with `StorageLink.done`, at once or later; or
    never, if something is lost: then the client calls again.
    """

    def insert(self, op: int, stored: StoredObject, active: bool | None) -> None:
        """Store an object of this node, or one that it has adopted, and tell those whose queries match it.

        The node has it in its own store already, and may have said the same before. `active` says whether
        others hold its bytes, too; None: as the mechanism is set.
        """

    def delete(self, op: int, metadata: Metadata, opening: bytes) -> None:
        """Remove an object of this node everywhere. The node has a tombstone of it already.

        `opening` opens the commitment of its metadata.
        """

    def ask(
        self,
        op: int,
        query: ObjectQuery,
        after: PageCursor | None,
        limit: int,
        since_us: int | None,
        live: bool,
    ) -> None:
        """Ask for a page of the past, and register the query for what comes if it is `live`.

        The page has the `limit` newest matches (0: none) that come after the cursor `after` in the order of
        pages, of what was published at `since_us` or later (None: whenever). The answers of several nodes are
        told by `StorageLink.matched` with the number of the operation, which is done when all have come that
        can be waited for.
        """

    def withdraw(self, op: int, query: ObjectQuery) -> None:
        """Forget a query of this node everywhere."""

    def retrieve(self, op: int, metadata: Metadata) -> None:
        """Fetch the bytes of an object; `done` has them, and the client checks them."""

    def received(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:
        """A message of another node, or of the broker, arrived; see `DatagramSink.received`."""

    def undeliverable(self, body: StorageMessage, target: NodeAddress) -> None:
        """A message of this node did not reach one of its targets."""

    def doubtful(self, body: StorageMessage, target: NodeAddress) -> None:
        """A message of this node may not have reached one of its targets: the way there broke."""

    def surroundings_changed(self) -> None:
        """The own cell, whether this node serves it, the populated cells in reach, or the edge are others
        now."""


class StorageLink(Protocol):
    """The `host.link` of a storage mechanism."""

    def send(self, body: StorageMessage, targets: Sequence[NodeAddress]) -> None:
        """Send to nodes, or to any node of cells. What is for this node itself arrives later as well."""

    def flood(self, body: StorageMessage) -> None:
        """Send to all nodes that can be reached, but this one."""

    def tell_cell(self, body: StorageMessage) -> None:
        """Send to the other nodes of this node's cell, unacknowledged."""

    def tell_neighbours(self, body: StorageMessage) -> None:
        """Send to all in reach, unacknowledged."""

    def neighbours(self) -> Sequence[Neighbour]:
        """The nodes in reach that were heard lately."""

    def grid(self) -> CellGrid | None:
        """The grid of cells, if the routing has one."""

    def own_cell(self) -> int | None:
        """The cell in which this node is; None without a grid, or while its place is unknown."""

    def serving(self) -> bool:
        """Whether this node works for its cell; one that moves between cells does not."""

    def coverage(self) -> Coverage | None:
        """The edge in whose area this node is, if the routing knows edges and one is in reach."""

    def stability(self, reading: StabilityReading) -> int:
        """How likely this node is to stay in its cell and to go on working, 0 to 100."""

    def to_broker(self, body: StorageMessage) -> None:
        """Send to the broker, reliably and in order."""

    def done(self, op: int, status: OperationStatus, detail: str = "", data: bytes | None = None) -> None:
        """An operation has ended; an unknown or ended one is ignored. `data` are the bytes of an object."""

    def matched(self, found: FoundObjects) -> None:
        """Objects match a query of this node: of a page if `found.op` is the number of an operation, else as
        they come (0). What was told before is left out by the client."""

    def recover(self, missing_us: int) -> None:
        """Announce own objects and ask again for all own queries, soon: others have lost what they knew, and
        nobody may have told this node of what was published since `missing_us`."""


class OwnQueries(Protocol):
    """The queries of a node's own application, as its mechanisms see them."""

    def live(self) -> Iterable[ObjectQuery]:
        """Give those that are neither withdrawn nor over."""

    def told_since_us(self, number: int) -> int:
        """The time of publication from which on a query is told of objects without being asked for pages, and
        somewhat before."""
