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
    (from, to), the cell that it comes from, and the edge where it came to this face, None on the first."""

    entered: int
    first: tuple[int, int]
    previous: int
    crossed: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class RoutingMessage:
    """Base of the messages that routing mechanisms send each other, in datagrams alone."""


@dataclass(frozen=True, slots=True)
class Beacon(RoutingMessage):
    """The sender is there: in this cell of a grid that has so many `cells`, moving between cells or not."""

    cell: int | None = None
    moving: bool = False
    cells: int = 0


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
    the state of a way around a void. Nodes take those of their own `namespace` alone.
    """

    id: int
    origin: NodeAddress
    targets: tuple[NodeAddress, ...]
    scope: DatagramScope
    body: StorageMessage | RoutingMessage | Fragment
    hops: int = 0
    recovery: Recovery | None = None
    initiator: int = 0
    namespace: str = ""
    body_size: int = field(default=0, kw_only=True, repr=False, compare=False)
    """The bytes of the encoded body once somebody has counted them, else 0. It does not travel; copies for
    further hops keep it."""

    @property
    def decision(self) -> Decision:
        """The decision that the sender of this hop follows."""
        return Decision(self.epoch, self.scheme, self.initiator)
