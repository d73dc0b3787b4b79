"""The bytes of messages of stores and of datagrams, fixed once and for all."""

from __future__ import annotations

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.objects.metadata import Metadata, ObjectKey, Replica, StoredObject, Tombstone, content_hash
from bypass.objects.query import ObjectQuery, PageCursor
from bypass.objects.tags import TagFormula
from bypass.objects.window import TimeWindow
from bypass.protocol.datagrams import (
    Beacon,
    Datagram,
    DatagramScope,
    Fragment,
    NodeAddress,
    Recovery,
    RouteEntry,
    RouteTable,
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
    Withdraw,
)

KEY = ObjectKey(7, "tree.jpg")
OP = 7 << 32 | 5
QUERY = 9 << 32 | 2
METADATA = Metadata(
    KEY,
    frozenset({"tree", "green"}),
    1_000_000,
    4,
    content_hash(b"data"),
    content_hash(b"secret"),
    b"small",
    (1.5, -2.0),
    Event(level=3),
    (Replica(None, 3), Replica(8, 200)),
    "gallery",
)
BARE = Metadata(KEY, frozenset({"tree"}), -1, 4, content_hash(b"data"), content_hash(b"secret"))
WANTED = ObjectQuery(
    QUERY,
    9,
    TagFormula.parse('tree & (green | ~"dead wood")'),
    TimeWindow(-5, 1_000_001),
    (1.0, 2.0, 50.0),
    Subscription([attr("level") >= 2]),
    "gallery",
)
PLAIN = ObjectQuery(QUERY, 9, TagFormula.parse("tree"))


def sent(body: Insert | Beacon | RouteTable | Undeliverable | Fragment) -> Datagram:
    """A datagram on its way from 7 to 9, over 8."""
    return Datagram(
        7 << 32 | 1,
        NodeAddress(7, 4),
        (NodeAddress(9, 12), NodeAddress(None, 13)),
        DatagramScope.ROUTED,
        body,
        1,
        Recovery(4, (4, 5), 3, (5, 6)),
        6,
        "gallery",
        client=8,
        scheme=2,
        epoch=9,
    )


STORAGE_GOLDEN: list[tuple[Message, str]] = [
    (
        Insert(OP, METADATA, b"data", client=7, scheme=3, epoch=9),
        (
            "08011507000000180325090000008202bf010abc0109050000000700000012aa010a0f0d070000001208747265652e6a"
            "70671205677265656e1204747265651940420f000000000020042a20a035872d6af8639ede962dfe7536b0c150b590f3"
            "234a922fb7064cd11971b58e3220ae4aafb3c7d8616b739f05a30d06b4e2236fdea712168159f346e8a3efd57d9e3a05"
            "736d616c6c41000000000000f83f4900000000000000c0520b0a090a056c6576656c10065a0210035a080d0800000010"
            "c801620767616c6c6572791a0464617461"
        ),
    ),
    (
        Insert(OP, BARE),
        (
            "08011500000000180025000000008202730a7109050000000700000012660a0f0d070000001208747265652e6a706712"
            "047472656519ffffffffffffffff20042a20a035872d6af8639ede962dfe7536b0c150b590f3234a922fb7064cd11971"
            "b58e3220ae4aafb3c7d8616b739f05a30d06b4e2236fdea712168159f346e8a3efd57d9e"
        ),
    ),
    (
        Chunk(OP, KEY, 65_536, b"data"),
        (
            "08011500000000180025000000008202261224090500000007000000120f0d070000001208747265652e6a7067188080"
            "04220464617461"
        ),
    ),
    (
        CopyObject(BARE, b"data"),
        (
            "08011500000000180025000000008202701a6e0a660a0f0d070000001208747265652e6a706712047472656519ffffff"
            "ffffffffff20042a20a035872d6af8639ede962dfe7536b0c150b590f3234a922fb7064cd11971b58e3220ae4aafb3c7"
            "d8616b739f05a30d06b4e2236fdea712168159f346e8a3efd57d9e120464617461"
        ),
    ),
    (
        Delete(OP, KEY, b"secret", frozenset({"tree", "green"})),
        (
            "0801150000000018002500000000820231222f090500000007000000120f0d070000001208747265652e6a70671a0673"
            "65637265742205677265656e220474726565"
        ),
    ),
    (
        Remove(KEY, b"secret"),
        "080115000000001800250000000082021b2a190a0f0d070000001208747265652e6a70671206736563726574",
    ),
    (
        Ask(OP, WANTED, 1, 12, PageCursor(1_000_000, KEY), 20, -7, True, 5),
        (
            "08011500000000180025000000008202bb0132b8010905000000070000001277090200000009000000121d7472656520"
            "262028677265656e207c207e226465616420776f6f64222919fbffffffffffffff2141420f00000000002a1800000000"
            "0000f03f0000000000000040000000000000494032180a090a056c6576656c100412023e3d1a07696e74656765723a07"
            "67616c6c6572791801200c2a1a0940420f0000000000120f0d070000001208747265652e6a7067301439f9ffffffffff"
            "ffff4001490500000000000000"
        ),
    ),
    (
        Ask(OP, PLAIN, limit=0, live=False),
        "080115000000001800250000000082021c321a090500000007000000120f090200000009000000120474726565",
    ),
    (
        Withdraw(OP, QUERY, ("tree", "green")),
        (
            "08011500000000180025000000008202213a1f0905000000070000001102000000090000001a04747265651a05677265"
            "656e"
        ),
    ),
    (
        FoundObjects(0, QUERY, (BARE,), PageCursor(-1, KEY), True, 1),
        (
            "080115000000001800250000000082029d01429a010900000000000000001102000000090000001a660a0f0d07000000"
            "1208747265652e6a706712047472656519ffffffffffffffff20042a20a035872d6af8639ede962dfe7536b0c150b590"
            "f3234a922fb7064cd11971b58e3220ae4aafb3c7d8616b739f05a30d06b4e2236fdea712168159f346e8a3efd57d9e22"
            "1a09ffffffffffffffff120f0d070000001208747265652e6a706728013001"
        ),
    ),
    (
        Retrieve(OP, KEY),
        "080115000000001800250000000082021c4a1a090500000007000000120f0d070000001208747265652e6a7067",
    ),
    (
        Retrieve(OP, KEY, 65_536, 4096),
        (
            "08011500000000180025000000008202234a21090500000007000000120f0d070000001208747265652e6a7067188080"
            "04208020"
        ),
    ),
    (
        Retrieved(OP, KEY, b"", 65_536),
        (
            "08011500000000180025000000008202225220090500000007000000120f0d070000001208747265652e6a70671a0020"
            "808004"
        ),
    ),
    (
        Retrieved(OP, KEY),
        "080115000000001800250000000082021c521a090500000007000000120f0d070000001208747265652e6a7067",
    ),
    (Acknowledge(OP), "080115000000001800250000000082020b5a09090500000007000000"),
    (
        Acknowledge(OP, OperationStatus.QUOTA, "no room", (3, 300)),
        "080115000000001800250000000082021b5a1909050000000700000010051a076e6f20726f6f6d220303ac02",
    ),
    (
        AddReplica(OP, KEY, Replica(9, 12), frozenset({"tree"})),
        (
            "080115000000001800250000000082022b6229090500000007000000120f0d070000001208747265652e6a70671a070d"
            "09000000100c220474726565"
        ),
    ),
    (
        MoveNode(9, 12, (QUERY,), (KEY,), 1_000_000),
        (
            "080115000000001800250000000082022d6a2b0d09000000100c1a080200000009000000220f0d070000001208747265"
            "652e6a70672940420f0000000000"
        ),
    ),
    (JoinRequest(), "08011500000000180025000000008202027200"),
    (JoinRequest(12, (13, 14)), "08011500000000180025000000008202087206080c12020d0e"),
    (
        NodeState(
            12,
            (BARE,),
            (QueryRecord(PLAIN, 0, 4, 5),),
            (Tombstone(KEY, b"secret"),),
            (QUERY,),
            (StoredObject(BARE, b"data"),),
            1,
            3,
        ),
        (
            "08011500000000180025000000008202a6027aa302080c12660a0f0d070000001208747265652e6a7067120474726565"
            "19ffffffffffffffff20042a20a035872d6af8639ede962dfe7536b0c150b590f3234a922fb7064cd11971b58e3220ae"
            "4aafb3c7d8616b739f05a30d06b4e2236fdea712168159f346e8a3efd57d9e1a1e0a0f09020000000900000012047472"
            "65651000180421050000000000000022190a0f0d070000001208747265652e6a706712067365637265742a0802000000"
            "09000000326e0a660a0f0d070000001208747265652e6a706712047472656519ffffffffffffffff20042a20a035872d"
            "6af8639ede962dfe7536b0c150b590f3234a922fb7064cd11971b58e3220ae4aafb3c7d8616b739f05a30d06b4e2236f"
            "dea712168159f346e8a3efd57d9e12046461746138014003"
        ),
    ),
    (
        StateDigest(12, (1, 2**64 - 1), DigestKind.WANTED),
        "0801150000000018002500000000820219820116080c12100100000000000000ffffffffffffffff1803",
    ),
    (
        CellUpdate(Insert(OP, BARE), OP, 9),
        (
            "0801150000000018002500000000820287018a0183010a730a7109050000000700000012660a0f0d0700000012087472"
            "65652e6a706712047472656519ffffffffffffffff20042a20a035872d6af8639ede962dfe7536b0c150b590f3234a92"
            "2fb7064cd11971b58e3220ae4aafb3c7d8616b739f05a30d06b4e2236fdea712168159f346e8a3efd57d9e1105000000"
            "070000001d09000000"
        ),
    ),
    (PlanRequest(Decision(9, 2, 7)), "080115000000001800250000000082020f92010c0d0900000010021d07000000"),
    (PlanCopy(b"plan"), "08011500000000180025000000008202099a01060a04706c616e"),
    (CountsRequest(), "0801150000000018002500000000820203a20100"),
    (
        NodeCounts(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19),
        (
            "080115000000001800250000000082022daa012a080110021803200428053006380740084809500a580b600c680d700e"
            "780f800110880111900112980113"
        ),
    ),
    (
        sent(Insert(OP, BARE)),
        (
            "0801150800000018022509000000fa01ad0109010000000700000010041a070d09000000100c1a02100d20032801320c"
            "08041004180520032a0205063d0600000042730a7109050000000700000012660a0f0d070000001208747265652e6a70"
            "6712047472656519ffffffffffffffff20042a20a035872d6af8639ede962dfe7536b0c150b590f3234a922fb7064cd1"
            "1971b58e3220ae4aafb3c7d8616b739f05a30d06b4e2236fdea712168159f346e8a3efd57d9e6a0767616c6c657279"
        ),
    ),
    (
        sent(Beacon(4, True, 2)),
        (
            "0801150800000018022509000000fa014009010000000700000010041a070d09000000100c1a02100d20032801320c08"
            "041004180520032a0205063d060000004a060804100118026a0767616c6c657279"
        ),
    ),
    (
        sent(RouteTable((RouteEntry(9, 2, 100),))),
        (
            "0801150800000018022509000000fa014809010000000700000010041a070d09000000100c1a02100d20032801320c08"
            "041004180520032a0205063d06000000520e0a0c0d0900000010021d640000006a0767616c6c657279"
        ),
    ),
    (
        sent(Undeliverable(OP, NodeAddress(9, 12))),
        (
            "0801150800000018022509000000fa014c09010000000700000010041a070d09000000100c1a02100d20032801320c08"
            "041004180520032a0205063d060000005a1209050000000700000012070d09000000100c6a0767616c6c657279"
        ),
    ),
    (
        sent(Fragment(1, 2, b"half")),
        (
            "0801150800000018022509000000fa014409010000000700000010041a070d09000000100c1a02100d20032801320c08"
            "041004180520032a0205063d06000000620a080110021a0468616c666a0767616c6c657279"
        ),
    ),
    (
        Datagram(7 << 32, NodeAddress(7), (), DatagramScope.HOP, Beacon()),
        "0801150000000018002500000000fa011209000000000700000028003d000000004a00",
    ),
]
"""Messages and their bytes."""
