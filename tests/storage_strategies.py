"""Messages of stores and datagrams, as hypothesis draws them."""

from __future__ import annotations

from hypothesis import strategies as st

from bypass.objects.metadata import ObjectKey, Replica, StoredObject, Tombstone
from bypass.objects.query import ObjectQuery, PageCursor
from bypass.protocol.datagrams import (
    Beacon,
    Datagram,
    DatagramScope,
    Fragment,
    NodeAddress,
    Recovery,
    RouteEntry,
    RouteTable,
    Search,
    Undeliverable,
)
from bypass.protocol.messages import Message
from bypass.protocol.storage import (
    Acknowledge,
    AddReplica,
    Ask,
    CellUpdate,
    Chunk,
    CopyObject,
    CountsRequest,
    Decision,
    Delete,
    DigestKind,
    FoundObjects,
    Insert,
    JoinRequest,
    MoveNode,
    NodeCounts,
    NodeState,
    OperationStatus,
    PlanCopy,
    PlanRequest,
    QueryRecord,
    Remove,
    Retrieve,
    Retrieved,
    StateDigest,
    StorageMessage,
    Withdraw,
)
from tests.edge_strategies import edge_routing
from tests.object_strategies import make_metadata, objects, queries, tags

u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
i64 = st.integers(-(2**63), 2**63 - 1)
cells = st.none() | st.integers(0, 300) | u32
printable = st.characters(codec="utf-8").filter(str.isprintable)
keys = st.builds(ObjectKey, u32, st.text(printable, min_size=1, max_size=9))
cursors = st.none() | st.builds(PageCursor, i64, keys)
openings = st.binary(min_size=1, max_size=64)
data = st.binary(max_size=40)
tag_sets = st.frozensets(tags, max_size=4)
numbers = st.lists(u64, max_size=4).map(tuple)
some_cells = st.lists(u32, max_size=4).map(tuple)
stored = data.map(lambda content: StoredObject(make_metadata(data=content), content))


@st.composite
def numbered(draw: st.DrawFn) -> tuple[ObjectQuery, int | None]:
    """A query, and at times the number of one of its conjunctions."""
    query = draw(queries)
    known = len(query.formula.conjunctions())
    return query, draw(st.none() | st.integers(0, known - 1)) if known else None


@st.composite
def asks(draw: st.DrawFn, /, **stamp: st.SearchStrategy[int]) -> Ask:
    query, conjunction = draw(numbered())
    ask = Ask(
        draw(u64), query, conjunction, draw(cells), draw(cursors), draw(st.integers(0, 64)),
        draw(st.none() | i64), draw(st.booleans()), draw(u64),
    )  # fmt: skip
    for name, numbers in stamp.items():
        setattr(ask, name, draw(numbers))
    return ask


records = st.tuples(numbered(), cells, u64).map(lambda drawn: QueryRecord(*drawn[0], *drawn[1:]))


@st.composite
def parts(draw: st.DrawFn) -> tuple[int, int]:
    count = draw(st.integers(1, 65_536))
    return draw(st.integers(0, count - 1)), count


def storage_messages(**stamp: st.SearchStrategy[int]) -> st.SearchStrategy[StorageMessage]:
    """Every kind of message of a store but those around others."""
    return st.one_of(
        st.builds(Insert, u64, objects, st.none() | data, **stamp),
        st.builds(Chunk, u64, keys, st.integers(0, 64 << 20), data, **stamp),
        st.builds(CopyObject, objects, data, **stamp),
        st.builds(Delete, u64, keys, openings, tag_sets, **stamp),
        st.builds(Remove, keys, openings, **stamp),
        asks(**stamp),
        st.builds(Withdraw, u64, u64, st.lists(tags, max_size=4).map(tuple), **stamp),
        st.builds(
            FoundObjects,
            u64,
            u64,
            st.lists(objects, max_size=3).map(tuple),
            cursors,
            st.booleans(),
            st.none() | st.integers(0, 63),
            **stamp,
        ),
        st.builds(
            Retrieve, u64, keys, st.integers(0, 64 << 20), st.none() | st.integers(1, 512 << 10), **stamp
        ),
        st.builds(Retrieved, u64, keys, st.none() | data, st.integers(0, 64 << 20), **stamp),
        st.builds(
            Acknowledge,
            u64,
            st.sampled_from(OperationStatus),
            st.sampled_from(("", "no room", "x" * 256)),
            some_cells,
            **stamp,
        ),
        st.builds(AddReplica, u64, keys, st.builds(Replica, st.none() | u32, cells), tag_sets, **stamp),
        st.builds(MoveNode, u32, cells, numbers, st.lists(keys, max_size=3).map(tuple), u64, **stamp),
        st.builds(JoinRequest, cells, some_cells, **stamp),
        st.builds(
            lambda part, **fields: NodeState(part=part[0], parts=part[1], **fields),
            parts(),
            cell=cells,
            metadata=st.lists(objects, max_size=2).map(tuple),
            queries=st.lists(records, max_size=2).map(tuple),
            tombstones=st.lists(st.builds(Tombstone, keys, openings), max_size=2).map(tuple),
            withdrawn=numbers,
            objects=st.lists(stored, max_size=2).map(tuple),
            **stamp,
        ),
        st.builds(StateDigest, u32, numbers, st.sampled_from(DigestKind), **stamp),
        st.builds(PlanRequest, st.builds(Decision, u32, u32, u32), **stamp),
        st.builds(PlanCopy, data, **stamp),
        st.builds(CountsRequest, **stamp),
        st.builds(NodeCounts, *[u64] * 17, u32, u32, **stamp),
    )


bodies = storage_messages() | st.builds(CellUpdate, storage_messages(), u64, st.none() | u32)


@st.composite
def fragments(draw: st.DrawFn) -> Fragment:
    count = draw(st.integers(1, 4096))
    return Fragment(draw(st.integers(0, count - 1)), count, draw(data))


addresses = st.builds(NodeAddress, st.none() | u32, cells)
routes = st.lists(st.builds(RouteEntry, u32, u32, u32), max_size=3).map(tuple)
small = st.integers(0, 300)
edges = st.tuples(small, small)
searches = st.builds(
    Search, small, st.lists(addresses, max_size=3).map(tuple), st.lists(u32, max_size=3).map(tuple)
)
recoveries = st.none() | st.builds(Recovery, small, edges, small, st.none() | edges, st.booleans()) | searches


@st.composite
def datagrams(draw: st.DrawFn, /, **stamp: st.SearchStrategy[int]) -> Datagram:
    number = draw(u64)
    body = draw(
        st.one_of(
            bodies,
            st.builds(
                Beacon, cells, st.booleans(), small, st.integers(0, 255), small, u32, st.integers(0, 2)
            ),
            st.builds(RouteTable, routes),
            st.builds(Undeliverable, u64, addresses),
            fragments(),
            edge_routing,
        )
    )
    datagram = Datagram(
        number, NodeAddress(number >> 32, draw(cells)), draw(st.lists(addresses, max_size=3).map(tuple)),
        draw(st.sampled_from(DatagramScope)), body, draw(small), draw(recoveries), draw(u32),
        draw(st.sampled_from(("", "gallery", "ä"))),
    )  # fmt: skip
    for name, numbers in stamp.items():
        setattr(datagram, name, draw(numbers))
    return datagram


def messages(**stamp: st.SearchStrategy[int]) -> st.SearchStrategy[Message]:
    """Messages of stores, those around others, and datagrams, with this stamp."""
    around = st.builds(CellUpdate, storage_messages(), u64, st.none() | u32, **stamp)
    return st.one_of(storage_messages(**stamp), around, datagrams(**stamp))
