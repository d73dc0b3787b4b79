"""Datagrams: what one node sends to others over one hop or several, and the messages of routing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from bypass.protocol.messages import Message
from bypass.protocol.storage import Decision, StorageMessage

MOST_TARGETS = 64
MOST_ROUTES = 256
MOST_FRAGMENTS = 4096
MOST_MEMBERS = 4096
"""Clients in the area of an edge."""
SIGNATURE_BYTES = 64
"""Of an edge's signature (Ed25519)."""

MOST_GAP = 2
"""Hops over which nodes tell each other of a gap between populated cells."""

MOST_SEARCHED = 100
"""Nodes that a search visits at most."""


class NodeAddress(NamedTuple):
    """A node, and the cell that it is in where cells are used. `node` None: any node of that cell, or of the
    populated cell nearest to it. Both None: nobody in particular."""

    node: int | None = None
    cell: int | None = None


class DatagramScope(IntEnum):
    """The nodes that a datagram is for."""

    HOP = 0
    """Everybody in reach."""
    CELL = 1
    """Everybody in reach that is in the cell of its origin."""
    NETWORK = 2
    """Everybody: each node passes it on once."""
    ROUTED = 3
    """Its targets."""


class Recovery(NamedTuple):
    """A datagram's way around a void: the cell where greedy forwarding ended, the first edge of the way
    (from, to), the cell that it comes from, the edge where it came to this face, None on the first; and
    whether a node on the way knows of a gap."""

    entered: int
    first: tuple[int, int]
    previous: int
    crossed: tuple[int, int] | None = None
    gap: bool = False


class Search(NamedTuple):
    """A datagram's search through the whole network for a cell nearer to its target than `entered`, depth
    first: the nodes that it has visited, with their cells, and the way back, the last node last."""

    entered: int
    visited: tuple[NodeAddress, ...] = ()
    trail: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RoutingMessage:
    """Base of the messages that routing mechanisms send each other, in datagrams alone."""


@dataclass(frozen=True, slots=True)
class Beacon(RoutingMessage):
    """The sender is there: in this cell of a grid that has so many `cells`, moving between cells or not.

    `around` has a bit for each of the eight cells around that it knows to be populated, counter-clockwise
    from east. `island` is the smallest number of a cell to which touching cells lead, with a count that
    grows while it is so; 0: it is not told. `gap` says how near a gap between populated cells is: MOST_GAP if
    the sender sees one itself, less by one with each hop, 0: none is known.
    """

    cell: int | None = None
    moving: bool = False
    cells: int = 0
    around: int = 0
    island: int = 0
    count: int = 0
    gap: int = 0


class RouteEntry(NamedTuple):
    """A way to a node: its length in hops, and the number that the node gave this announcement."""

    destination: int
    metric: int
    sequence: int


@dataclass(frozen=True, slots=True)
class RouteTable(RoutingMessage):
    """The ways that the sender knows, or those that have changed."""

    entries: tuple[RouteEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Undeliverable(RoutingMessage):
    """To the origin of a datagram: this target was not reached."""

    datagram: int
    target: NodeAddress


class WorldMap(NamedTuple):
    """A world, its name for people, and its cell map: how many cells it has, and the epoch of that."""

    world: str
    name: str
    cells: int
    epoch: int


@dataclass(frozen=True, slots=True)
class EdgeProbe(RoutingMessage):
    """Client to all in reach: is there an edge? The answer repeats the number."""

    nonce: int


@dataclass(frozen=True, slots=True)
class EdgeAnswer(RoutingMessage):
    """Edge to a client: it is there, with these worlds. It signs what it says if clients ask for that."""

    nonce: int
    edge: int
    worlds: tuple[WorldMap, ...] = ()
    signature: bytes = b""


@dataclass(frozen=True, slots=True)
class EdgeBeacon(RoutingMessage):
    """Edge to the clients of a world in its area: the cell map, and the clients that are there. Of these the
    `visitors` are soon gone, and keep nothing.

    Of two beacons of an edge the one with the larger `sequence` holds.
    """

    edge: int
    sequence: int
    world: WorldMap
    members: tuple[int, ...] = ()
    signature: bytes = b""
    visitors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AreaHello(RoutingMessage):
    """Client to its edge: it is in the edge's area, and in this world, `visiting` it, or `leaving` it."""

    world: str
    leaving: bool = False
    visiting: bool = False


@dataclass(frozen=True, slots=True)
class Fragment:
    """Some bytes of a datagram that is too long for one frame: number `part` of `parts`, counted from 0."""

    part: int
    parts: int
    data: bytes


@dataclass(slots=True)
class Datagram(Message):
    """The unit of one hop. `id` is unique in the system, its upper 32 bits are the origin's number.

    `client` is the sender of this hop, `scheme` the flag of its storage mechanism, `epoch` the number of the
    decision about it, and `initiator` the node that made that. `hops` counts those behind it. `recovery` is
    the state of a way around a void, or of a search across gaps. Nodes take those of their own `namespace`
    alone.
    """

    id: int
    origin: NodeAddress
    targets: tuple[NodeAddress, ...]
    scope: DatagramScope
    body: StorageMessage | RoutingMessage | Fragment
    hops: int = 0
    recovery: Recovery | Search | None = None
    initiator: int = 0
    namespace: str = ""
    body_size: int = field(default=0, kw_only=True, repr=False, compare=False)
    """The bytes of the encoded body once somebody has counted them, else 0. It does not travel; copies for
    further hops keep it."""

    @property
    def decision(self) -> Decision:
        """The decision that the sender of this hop follows."""
        return Decision(self.epoch, self.scheme, self.initiator)
