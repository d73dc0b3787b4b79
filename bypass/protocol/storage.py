"""The messages of stores: between nodes, in datagrams, and between a client and a broker, alone.

An operation's number `op` is unique in the system, its upper 32 bits are the node that asks for it; 0 where
nobody waits for an answer. Messages inside others have no stamp of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, NamedTuple

from bypass.objects.metadata import Metadata, ObjectKey, Replica, StoredObject, Tombstone
from bypass.objects.query import USUAL_PAGE, ObjectQuery, PageCursor
from bypass.protocol.messages import StorageMessage as StorageMessage

MOST_ITEMS = 64
"""Objects in one page, and of each kind of things in one part of a state."""
MOST_NAMED = 1024
"""Keys, numbers of queries or entries that one message can name."""
LONGEST_DATA = 512 << 10
"""Bytes of objects in one message; larger ones travel in chunks."""
MOST_PARTS = 65_536
"""Parts of one state."""
LONGEST_DETAIL = 256
"""Characters of an answer's explanation."""


class OperationStatus(IntEnum):
    """The end of an operation."""

    OK = 0
    TIMEOUT = 1
    REFUSED = 2
    NOT_FOUND = 3
    NOT_OWNER = 4
    QUOTA = 5
    TOO_LARGE = 6
    UNSUPPORTED = 7


@dataclass(slots=True)
class Insert(StorageMessage):
    """Store an object's metadata; `data`, its bytes, are for a server alone, None if they stay or follow in
    chunks."""

    measured: ClassVar[bool] = True

    op: int
    metadata: Metadata
    data: bytes | None = None


@dataclass(slots=True)
class Chunk(StorageMessage):
    """Bytes of an object whose Insert came without them, from `offset` on."""

    op: int
    key: ObjectKey
    offset: int
    data: bytes


@dataclass(slots=True)
class CopyObject(StorageMessage):
    """A whole object, for a replica."""

    metadata: Metadata
    data: bytes


@dataclass(slots=True)
class Delete(StorageMessage):
    """Delete an object; `opening` is the secret to which its metadata is committed, `tags` say where it is
    indexed."""

    measured: ClassVar[bool] = True

    op: int
    key: ObjectKey
    opening: bytes
    tags: frozenset[str] = frozenset()


@dataclass(slots=True)
class Remove(StorageMessage):
    """Forget the replica of a deleted object."""

    key: ObjectKey
    opening: bytes


@dataclass(slots=True)
class Ask(StorageMessage):
    """Ask for a page of the past, keep the query for what comes (`live`), or both.

    `conjunction` is the number of the one that this message is about, of the subscriber's formula in
    disjunctive normal form, None: all; the `query` may be that conjunction alone. `cell` is where the
    subscriber is since `at_us`. The page begins after the position `after`, None: with the latest; it has at
    most `limit` items, 0 for no page, none published before `since_us`.
    `arrived` is for a broker: its number of arrival up to which the subscriber has all, None: it has all that
    was there before. Of what is not `live`, nothing that arrived later is on the page.
    """

    measured: ClassVar[bool] = True

    op: int
    query: ObjectQuery
    conjunction: int | None = None
    cell: int | None = None
    after: PageCursor | None = None
    limit: int = USUAL_PAGE
    since_us: int | None = None
    live: bool = True
    at_us: int = 0
    arrived: int | None = None


@dataclass(slots=True)
class Withdraw(StorageMessage):
    """Forget a query; `tags` are the keys of its conjunctions."""

    measured: ClassVar[bool] = True

    op: int
    query: int
    tags: tuple[str, ...] = ()


@dataclass(slots=True)
class FoundObjects(StorageMessage):
    """Matches of a query: a page, in answer to `op`, or a notification (op 0).

    `next` is the position of the last item that was looked at; `more` says that there are matches behind it.
    `conjunction` is that of the question. `arrived` is a broker's number of arrival, up to which the
    subscriber has all that came as notifications; 0 if it does not say. `held` are matches beside the items,
    which the subscriber is expected to have from an edge.
    """

    measured: ClassVar[bool] = True

    op: int
    query: int
    items: tuple[Metadata, ...]
    next: PageCursor | None = None
    more: bool = False
    conjunction: int | None = None
    arrived: int = 0
    held: tuple[ObjectKey, ...] = ()


@dataclass(slots=True)
class Retrieve(StorageMessage):
    """Ask for an object's bytes: `length` of them from `offset` on, None: as many as there are."""

    measured: ClassVar[bool] = True

    op: int
    key: ObjectKey
    offset: int = 0
    length: int | None = None


@dataclass(slots=True)
class Retrieved(StorageMessage):
    """An object's bytes, from `offset` on; None if they are not here."""

    measured: ClassVar[bool] = True

    op: int
    key: ObjectKey
    data: bytes | None = None
    offset: int = 0


@dataclass(slots=True)
class Acknowledge(StorageMessage):
    """The end of an operation. `detail` explains a refusal, in one line. `cells` are those for which it ends,
    where several take part."""

    op: int
    status: OperationStatus = OperationStatus.OK
    detail: str = ""
    cells: tuple[int, ...] = ()


@dataclass(slots=True)
class AddReplica(StorageMessage):
    """Register a copy in an object's metadata; `tags` say where that is indexed."""

    op: int
    key: ObjectKey
    replica: Replica
    tags: frozenset[str] = frozenset()


@dataclass(slots=True)
class MoveNode(StorageMessage):
    """A node is now in another cell: it has these queries and copies of these objects. Of two, the one with
    the later `at_us` holds."""

    node: int
    cell: int | None
    queries: tuple[int, ...] = ()
    keys: tuple[ObjectKey, ...] = ()
    at_us: int = 0


@dataclass(slots=True)
class JoinRequest(StorageMessage):
    """Ask for the state of a cell, None: for what neighbours know. Who hears that `cells` have lost theirs
    offers them what it has."""

    cell: int | None = None
    cells: tuple[int, ...] = ()


class QueryRecord(NamedTuple):
    """A query as a node keeps it: the conjunction that the record is about, None for all; the subscriber's
    cell, and when the subscriber has said so."""

    query: ObjectQuery
    conjunction: int | None = None
    cell: int | None = None
    at_us: int = 0


@dataclass(slots=True)
class NodeState(StorageMessage):
    """A part of the state of a cell or node: number `part` of `parts`, counted from 0.

    `withdrawn` are numbers of queries that must not come back.
    """

    cell: int | None = None
    metadata: tuple[Metadata, ...] = ()
    queries: tuple[QueryRecord, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    withdrawn: tuple[int, ...] = ()
    objects: tuple[StoredObject, ...] = ()
    part: int = 0
    parts: int = 1


class DigestKind(IntEnum):
    """The meaning of a digest's entries."""

    SUMMARY = 0
    """One for each cell of which the sender keeps the state: those who have others compare."""
    COMPARE = 1
    """All of a cell's state: who lacks some says so, and offers what is not among them."""
    OFFER = 2
    """Some that the sender keeps for others: who lacks some says so, and who has them all, too."""
    WANTED = 3
    """Those of an offer that are wanted; none, if nothing is lacking."""
    SHARED = 4
    """One for each part of what all nodes are to know, of no cell: neighbours tell the parts that differ."""
    NEIGHBOURS = 5
    """The numbers of neighbours that the sender has long heard, told to one that is new to it."""
    REGISTER = 6
    """Those of own objects, copies and queries of the sender: who lacks some says so."""


@dataclass(slots=True)
class StateDigest(StorageMessage):
    """Hashes, of 64 bits, of a cell's state."""

    cell: int
    entries: tuple[int, ...] = ()
    kind: DigestKind = DigestKind.OFFER


@dataclass(slots=True)
class CellUpdate(StorageMessage):
    """An operation that a node of a cell has done and the others are to do; never a CellUpdate.

    The node `confirmer` acknowledges the operation `op` to the sender, None: nobody does.
    """

    body: StorageMessage
    op: int = 0
    confirmer: int | None = None


class Decision(NamedTuple):
    """A decision about the mechanisms of a system; the larger one holds: the later, of equal ones that of the
    larger flag, then of the larger initiator."""

    epoch: int
    scheme: int
    initiator: int


@dataclass(slots=True)
class PlanRequest(StorageMessage):
    """Ask for the plan of a decision."""

    decision: Decision


@dataclass(slots=True)
class CountsRequest(StorageMessage):
    """Ask whoever hears this for its NodeCounts."""


@dataclass(slots=True)
class NodeCounts(StorageMessage):
    """All that the application of a node has done with objects since the node began, and what there is now.

    Insertions and their `tags`, retrievals of what is elsewhere, subscriptions and their conjunctions
    (`keys`), further `pages`, deletions and withdrawals; `notifications` that came, and `answers` to pages,
    counted by the owners of what was on them. Of routing: `ways` to this node had so many `hops`, those to
    its cell are apart; `control` messages were sent for routing itself. Now there are `objects` of its own
    and live `queries`; `neighbours` are in reach, `mates` of them in the same cell.
    """

    inserts: int = 0
    tags: int = 0
    retrieves: int = 0
    subscriptions: int = 0
    keys: int = 0
    pages: int = 0
    notifications: int = 0
    answers: int = 0
    deletes: int = 0
    withdrawals: int = 0
    ways: int = 0
    hops: int = 0
    cell_ways: int = 0
    cell_hops: int = 0
    control: int = 0
    objects: int = 0
    queries: int = 0
    neighbours: int = 0
    mates: int = 0

    def inserted(self, tags: int) -> None:
        """Count an insertion of an object with so many tags."""
        self.inserts += 1
        self.tags += tags

    def subscribed(self, keys: int) -> None:
        """Count a subscription whose formula has so many conjunctions."""
        self.subscriptions += 1
        self.keys += keys

    def told(self, found: FoundObjects) -> None:
        """Count what was found: a notification, or the answers of a page."""
        if found.op:
            self.answers += len({metadata.key.owner for metadata in found.items})
        else:
            self.notifications += 1


@dataclass(slots=True)
class PlanCopy(StorageMessage):
    """A plan in its wire form."""

    plan: bytes
