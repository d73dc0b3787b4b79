"""The interfaces of routing: bodies of storage messages on their way over several hops (`routing`).

A routing mechanism sends by its `host.link`, a `DatagramPort`, and hands what arrives to a `DatagramSink`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bypass.places.cell_grid import CellGrid

if TYPE_CHECKING:
    from bypass.protocol.datagrams import Datagram, NodeAddress
    from bypass.protocol.storage import StorageMessage


class Neighbour(NamedTuple):
    """A node in reach. `cell` is None where routing knows none; `heard_at` is when it was heard last (s)."""

    node: int
    cell: int | None
    moving: bool
    heard_at: float


class Coverage(NamedTuple):
    """The edge in whose area a node is, the world that it is in, and the cell map that holds there."""

    edge: int
    map_epoch: int
    cells: int
    world: str = ""


class Routing(Protocol):
    """Brings bodies to nodes and cells (`routing`). It does not repeat what is lost: callers do."""

    def send(self, body: StorageMessage, targets: Sequence[NodeAddress]) -> None:
        """Send a body to each of several targets, in one datagram as far as they have a common way.

        An address with a node names that node, which is expected in the cell, if one is given. An address
        without a node names any one node of the cell or, if the cell is empty, of the populated cell nearest
        to it. The own node and the own cell may be among the targets; they get the body later, not in this
        call. A target that cannot be reached is reported to the sink by `undeliverable`, if that is noticed.
        """

    def flood(self, body: StorageMessage) -> None:
        """Send a body to every other node of the network, unacknowledged."""

    def tell_cell(self, body: StorageMessage) -> None:
        """Send a body to the others that serve the own cell, unacknowledged."""

    def tell_neighbours(self, body: StorageMessage) -> None:
        """Send a body to all nodes in reach, unacknowledged."""

    def neighbours(self) -> Sequence[Neighbour]:
        """The nodes in reach, as far as they were heard lately, in the order of their numbers."""

    def grid(self) -> CellGrid | None:
        """The cells of the area; None where routing knows no cells."""

    def own_cell(self) -> int | None:
        """The cell in which this node is; None without a grid, or while its place is unknown."""

    def serving(self) -> bool:
        """Whether this node forwards and works for its cell. A node that moves between cells does not."""

    def coverage(self) -> Coverage | None:
        """The edge in whose area this node is; None without one, or where routing knows none."""

    def arrived(self, datagram: Datagram) -> None:
        """Take a datagram that the link received from a node in reach."""


class DatagramSink(Protocol):
    """The calls of a routing mechanism to whoever takes the bodies that arrive. The core binds it."""

    def received(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:
        """Take a body. `origin` sent it, from the cell in which it was then.

        `target` is the address that it was meant for, None if it was told to several. Its cell is another one
        than the own if that one is empty and this node stands in for it.
        """

    def undeliverable(self, body: StorageMessage, target: NodeAddress) -> None:
        """Learn that a body that was sent from here did not get to one of its targets."""

    def doubtful(self, body: StorageMessage, target: NodeAddress) -> None:
        """Learn that a body that was sent from here may not have got to one of its targets: the way there
        broke."""

    def surroundings_changed(self) -> None:
        """Learn that the own cell, whether this node serves it, the set of populated cells in reach, or
        the edge in whose area it is, is another one now."""
