"""Messages of infrastructure nodes survive the wire; their bounds hold for senders and for receivers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from bypass.objects.metadata import ObjectKey, Replica
from bypass.protocol.datagrams import NodeAddress, WorldMap
from bypass.protocol.edge import (
    CellCycle,
    CellData,
    CellHello,
    CellNeed,
    CreateWorld,
    Describe,
    Download,
    DownloadCount,
    EdgeNotification,
    EdgeRelay,
    Item,
    ItemConsumed,
    ItemKey,
    Provision,
    StorageChange,
    SubscriptionNeeds,
    TagNeed,
    WorldList,
)
from bypass.protocol.messages import Message
from bypass.protocol.storage import CellUpdate, FoundObjects, JoinRequest, StorageMessage
from bypass.protocol.wire import MalformedMessage, decode, encode, encoded_size
from bypass.protocol.wire import bypass_pb2 as pb
from tests.edge_strategies import edge_messages, u32
from tests.object_strategies import make_metadata

OBJECT = ObjectKey(1, "tree.jpg")
ITEM = ItemKey("gallery", OBJECT, 3)
COUNT = DownloadCount(OBJECT, None, 1)
NEED = CellNeed("tree", 1)
WORLD = WorldMap("gallery", "Gallery", 16, 1)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(edge_messages(client=u32, scheme=u32, epoch=u32))
def test_messages_survive(message: StorageMessage) -> None:
    data = encode(message)
    assert decode(data) == message
    assert encoded_size(message) == len(data)


TOO_MUCH: list[Message] = [
    CellHello("x" * 129, 1, 1, 50),
    CellHello("", 1, 1, 101),
    CellHello("", 1, 1, 50, tuple(range(65))),
    CellData(1, "", 1, 1, (CellCycle(1),) * 65),
    CellData(1, "", 1, 1, (CellCycle(1, (COUNT,) * 600), CellCycle(2, (COUNT,) * 600))),
    CellData(1, "", 1, 1, (), (NEED,) * 1025),
    CellData(1, "", 1, 1, (CellCycle(1, (DownloadCount(OBJECT, None, 1, (Replica(1),) * 17),)),)),
    CellData(1, "", 1, 1, (), (CellNeed("", 1),)),
    SubscriptionNeeds(1, 1, (TagNeed("", "tree", 1),) * 1025),
    SubscriptionNeeds(1, 1, (TagNeed("", "", 1),)),
    SubscriptionNeeds(-1, 1, ()),
    Provision((Item(make_metadata()),) * 65),
    Provision((Item(make_metadata(), b"x" * ((512 << 10) + 1)),)),
    EdgeNotification((Item(make_metadata()),) * 65),
    ItemConsumed(ItemKey("x" * 129, OBJECT)),
    StorageChange((ITEM,) * 1025, True),
    Download(1, ITEM, length=0),
    Download(1, ITEM, offset=(64 << 20) + 1),
    CreateWorld(1, ""),
    CreateWorld(1, "x" * 129),
    WorldList(1, (WORLD,) * 65),
    WorldList(1, (WORLD._replace(cells=0),)),
    WorldList(1, (WORLD._replace(cells=4097),)),
    Describe(1, 2, None, (OBJECT,) * 1025),
    Describe(1, 2, 10_000, (OBJECT,)),
    FoundObjects(1, 2, (), held=(OBJECT,) * 1025),
    EdgeRelay(NodeAddress(1), EdgeRelay(NodeAddress(1), JoinRequest())),
    EdgeRelay(NodeAddress(1), CellUpdate(JoinRequest())),
    CellUpdate(EdgeRelay(NodeAddress(1), JoinRequest())),
]


@pytest.mark.parametrize("message", TOO_MUCH, ids=lambda message: type(message).__name__)
def test_what_is_beyond_a_bound_is_not_sent(message: Message) -> None:
    with pytest.raises(MalformedMessage) as caught:
        encode(message)
    assert len(str(caught.value).splitlines()) == 1


def refusal(envelope: pb.Envelope) -> str:
    with pytest.raises(MalformedMessage) as caught:
        decode(envelope.SerializeToString())
    return str(caught.value)


def test_what_is_beyond_a_bound_is_not_taken() -> None:
    """As somebody else may write it."""
    data = pb.Envelope.FromString(encode(CellData(1, "", 1, 1, (CellCycle(1, (COUNT,) * 600),))))
    data.storage.cell_data.cycles.append(data.storage.cell_data.cycles[0])
    assert "1200 downloads: expected at most 1024" in refusal(data)
    hello = pb.Envelope.FromString(encode(CellHello("", 1, 1, 50)))
    hello.storage.cell_hello.stability = 101
    assert "101 stability: expected at most 100" in refusal(hello)
    relay = pb.Envelope.FromString(encode(EdgeRelay(NodeAddress(1), JoinRequest())))
    relay.storage.relay.body.relay.SetInParent()
    assert "relay in a relay: expected another message" in refusal(relay)
    update = pb.Envelope.FromString(encode(CellUpdate(JoinRequest())))
    update.storage.cell_update.body.relay.SetInParent()
    assert "relay in a cell_update: expected another message" in refusal(update)
    download = pb.Envelope.FromString(encode(Download(1, ITEM)))
    download.storage.download.kind = 3
    assert "3 is not a valid DownloadKind" in refusal(download)


def test_a_notice_of_consumption_is_short() -> None:
    """The source has 80 bytes on average, and prints 125,000 notices for a file of 1 MB, where 80 bytes give
    12,500. Ours for an object whose name is a UUID has 81, envelope included."""
    notice = ItemConsumed(ItemKey("gallery", ObjectKey(1, "123e4567-e89b-12d3-a456-426655440000"), 3))
    assert encoded_size(notice) == 81
    assert (1_000_000 // 80, 1_000_000 // encoded_size(notice)) == (12_500, 12_345)
