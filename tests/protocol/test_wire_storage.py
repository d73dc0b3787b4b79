"""Datagrams have the sizes that are foretold at every hop; bounds hold for senders and for receivers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.objects.metadata import ObjectKey, Replica
from bypass.objects.query import ObjectQuery
from bypass.objects.tags import TagFormula
from bypass.protocol.datagrams import (
    MOST_TARGETS,
    AreaHello,
    Beacon,
    Datagram,
    DatagramScope,
    EdgeAnswer,
    EdgeBeacon,
    Fragment,
    NodeAddress,
    Recovery,
    RouteEntry,
    RouteTable,
    WorldMap,
)
from bypass.protocol.messages import Message
from bypass.protocol.storage import (
    Acknowledge,
    AddReplica,
    Ask,
    CellUpdate,
    Chunk,
    Delete,
    FoundObjects,
    JoinRequest,
    MoveNode,
    NodeState,
    OperationStatus,
    Remove,
    Retrieve,
    StateDigest,
    Withdraw,
)
from bypass.protocol.wire import MalformedMessage, datagram_size, decode, encode
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.object_fields import metadata_from_bytes, metadata_to_bytes
from tests.object_strategies import make_metadata, objects
from tests.storage_strategies import addresses as node_addresses
from tests.storage_strategies import cells, datagrams, recoveries, u32

repeatable = settings(derandomize=True, deadline=None, max_examples=150)

KEY = ObjectKey(1, "x")
QUERY = ObjectQuery(1 << 32, 1, TagFormula.parse("a | b"))
BEACON = Datagram(1 << 32, NodeAddress(1), (), DatagramScope.HOP, Beacon(3))


@repeatable
@given(
    datagrams(client=u32, scheme=u32, epoch=u32),
    st.lists(node_addresses, max_size=3).map(tuple),
    recoveries,
    cells,
    st.integers(0, 2**32 - 1),
)
def test_sizes_are_those_of_the_encoding_at_every_hop(
    datagram: Datagram,
    targets: tuple[NodeAddress, ...],
    recovery: Recovery | None,
    cell: int | None,
    hops: int,
) -> None:
    assert datagram_size(datagram) == len(encode(datagram))
    assert datagram.body_size > 0
    origin = NodeAddress(datagram.origin.node, cell)
    later = replace(
        datagram, targets=targets, recovery=recovery, origin=origin, hops=hops, client=9, address=7
    )
    assert later.body_size == datagram.body_size
    assert datagram_size(later) == len(encode(later))


@pytest.mark.parametrize(
    "wrong",
    [
        {"client": 2**32},
        {"epoch": -1},
        {"hops": 2**32},
        {"initiator": 2**32},
        {"origin": NodeAddress(2)},
        {"origin": NodeAddress(1, -1)},
        {"targets": (NodeAddress(2**32),)},
        {"targets": (NodeAddress(1),) * (MOST_TARGETS + 1)},
        {"namespace": "ä" * 65},
        {"body": Retrieve(2**64, KEY)},
    ],
)
def test_the_first_hop_refuses_what_cannot_be_encoded(wrong: dict[str, Any]) -> None:
    datagram = replace(BEACON, **({"body": Retrieve(1, KEY)} | wrong))
    with pytest.raises(MalformedMessage) as refused:
        encode(datagram)
    with pytest.raises(MalformedMessage) as counted:
        datagram_size(datagram)
    assert str(counted.value) == str(refused.value)


@pytest.mark.parametrize("metric", [0, 127, 128, 255, 16_383, 16_384, 2**32 - 1])
def test_the_size_of_a_table_counts_every_byte_of_its_metrics(metric: int) -> None:
    table = RouteTable((RouteEntry(1, 0, 2), RouteEntry(3, metric, 4), RouteEntry(5, metric, 6)))
    datagram = replace(BEACON, body=table)
    assert datagram_size(datagram) == len(encode(datagram))


def test_a_later_hop_does_not_encode_the_body_again() -> None:
    datagram = replace(BEACON, body_size=1000)
    assert datagram_size(datagram) > 1000


@repeatable
@given(objects)
def test_metadata_alone_survives(metadata: Any) -> None:
    assert metadata_from_bytes(metadata_to_bytes(metadata)) == metadata


@pytest.mark.parametrize("data", [b"", b"\xff", b"\x0a\x00"])
def test_bytes_that_are_no_metadata(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^metadata b'.*': "):
        metadata_from_bytes(data)


CELLS = tuple(range(65))
TAGS = frozenset(f"t{i}" for i in range(33))
WORLD = WorldMap("", "", 1, 1)
TOO_MUCH: list[Message] = [
    Chunk(1, KEY, (64 << 20) + 1, b""),
    Chunk(1, KEY, 0, b"x" * ((512 << 10) + 1)),
    Delete(1, KEY, b"", frozenset()),
    Delete(1, KEY, b"x" * 65, frozenset()),
    Delete(1, KEY, b"x", TAGS),
    Delete(1, KEY, b"x", frozenset({""})),
    Remove(ObjectKey(1, ""), b"x"),
    Ask(1, QUERY, limit=65),
    Ask(1, QUERY, conjunction=64),
    Withdraw(1, 1, tuple(f"t{i}" for i in range(65))),
    FoundObjects(0, 1, (make_metadata(),) * 65),
    FoundObjects(0, 1, (), conjunction=64),
    Retrieve(1, KEY, 0, 0),
    Retrieve(1, KEY, 0, (512 << 10) + 1),
    Acknowledge(1, OperationStatus.OK, "", CELLS),
    AddReplica(1, KEY, Replica(1), TAGS),
    MoveNode(1, 1, tuple(range(1025))),
    MoveNode(1, 1, (), (KEY,) * 1025),
    JoinRequest(1, tuple(range(1025))),
    NodeState(1, part=1, parts=1),
    NodeState(1, part=0, parts=65_537),
    NodeState(1, withdrawn=tuple(range(1025))),
    StateDigest(1, tuple(range(1025))),
    CellUpdate(CellUpdate(JoinRequest())),
    replace(BEACON, targets=(NodeAddress(1),) * 65),
    replace(BEACON, origin=NodeAddress(2)),
    replace(BEACON, namespace="x" * 129),
    replace(BEACON, body=RouteTable((RouteEntry(1, 1, 1),) * 257)),
    replace(BEACON, body=Fragment(1, 1, b"")),
    replace(BEACON, body=Fragment(0, 4097, b"")),
    replace(BEACON, body=EdgeAnswer(1, 2, (WORLD,) * 65)),
    replace(BEACON, body=EdgeAnswer(1, 2, (), b"x" * 63)),
    replace(BEACON, body=EdgeBeacon(1, 2, WORLD, (1,) * 4097)),
    replace(BEACON, body=EdgeBeacon(1, 2, WORLD._replace(cells=0))),
    replace(BEACON, body=AreaHello("x" * 129)),
    replace(BEACON, body="text"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("message", TOO_MUCH, ids=lambda message: type(message).__name__)
def test_what_is_beyond_a_bound_is_not_sent(message: Message) -> None:
    with pytest.raises(MalformedMessage) as caught:
        encode(message)
    assert len(str(caught.value).splitlines()) == 1


def envelope(message: Message) -> pb.Envelope:
    return pb.Envelope.FromString(encode(message))


def test_what_is_beyond_a_bound_is_not_taken() -> None:
    """As somebody else may write it."""
    ask = envelope(Ask(1, QUERY, conjunction=1))
    ask.storage.ask.limit = 65
    chunk = envelope(Chunk(1, KEY, 0, b"x"))
    chunk.storage.chunk.data = b"x" * ((512 << 10) + 1)
    other = envelope(Ask(1, QUERY, conjunction=1))
    other.storage.ask.conjunction = 64
    formula = envelope(Ask(1, QUERY))
    formula.storage.ask.query.formula = "a & (b"
    delete = envelope(Delete(1, KEY, b"x", frozenset()))
    delete.storage.delete.tags.extend(TAGS)
    found = envelope(FoundObjects(0, 1, (make_metadata(),)))
    found.storage.found.items.extend([found.storage.found.items[0]] * 64)
    digest = envelope(StateDigest(1))
    digest.storage.state_digest.entries.extend(range(1025))
    kind = envelope(StateDigest(1))
    kind.storage.state_digest.kind = 9
    status = envelope(Acknowledge(1))
    status.storage.acknowledge.status = 99
    parts = envelope(NodeState(1))
    parts.storage.node_state.parts = 0
    nested = envelope(CellUpdate(JoinRequest()))
    nested.storage.cell_update.body.cell_update.body.join_request.SetInParent()
    scope = envelope(BEACON)
    scope.datagram.scope = 9
    targets = envelope(BEACON)
    targets.datagram.targets.extend([pb.NodeAddress(node=1)] * 65)
    crossed = envelope(replace(BEACON, recovery=Recovery(1, (1, 2), 1)))
    crossed.datagram.recovery.crossed.append(1)
    empty = envelope(BEACON)
    empty.datagram.ClearField("beacon")
    nothing = envelope(JoinRequest())
    nothing.storage.ClearField("join_request")
    attributes = envelope(FoundObjects(0, 1, (make_metadata(),)))
    attributes.storage.found.items[0].attributes.values.add(name="a", text="x" * 9000)
    bad = (
        ask, chunk, other, formula, delete, found, digest, kind, status, parts, nested, scope, targets,
        crossed, empty, nothing, attributes,
    )  # fmt: skip
    for each in bad:
        with pytest.raises(MalformedMessage) as caught:
            decode(each.SerializeToString())
        assert len(str(caught.value).splitlines()) == 1


def test_an_explanation_is_one_line_and_not_long() -> None:
    sent = decode(encode(Acknowledge(1, OperationStatus.REFUSED, "two\nlines " + "x" * 300)))
    assert isinstance(sent, Acknowledge)
    assert sent.detail == ("two lines " + "x" * 300)[:256]
