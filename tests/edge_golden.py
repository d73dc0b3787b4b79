"""The bytes of messages of infrastructure nodes, fixed once and for all."""

from __future__ import annotations

from dataclasses import replace

from bypass.objects.metadata import Replica
from bypass.objects.window import TimeWindow
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
    Downloaded,
    DownloadKind,
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
from bypass.protocol.storage import FoundObjects, JoinRequest
from tests.storage_golden import BARE, KEY, METADATA, OP, QUERY

ITEM = ItemKey("gallery", KEY, 3)
PLACED = replace(METADATA, source=3)

EDGE_GOLDEN: list[tuple[Message, str]] = [
    (
        CellHello("gallery", 2, 5, 77, (8, 9), client=7, scheme=2, epoch=9),
        "0801150700000018022509000000820216f201130a0767616c6c65727910021805204d2a020809",
    ),
    (
        CellData(
            OP,
            "gallery",
            2,
            5,
            (
                CellCycle(8, (DownloadCount(KEY, 3, 4, (Replica(8, 5),)), DownloadCount(KEY, None, 1))),
                CellCycle(9),
            ),
            (CellNeed("tree", 2, TimeWindow(-5, 1_000_001)), CellNeed("green", 1)),
        ),
        (
            "080115000000001800250000000082028201fa017f090500000007000000120767616c6c657279180220052a3a080812"
            "210a0f0d070000001208747265652e6a70671503000000180422070d08000000100512130a0f0d070000001208747265"
            "652e6a706718012a020809321c0a047472656510021a1209fbffffffffffffff1141420f000000000032090a05677265"
            "656e1001"
        ),
    ),
    (
        SubscriptionNeeds(
            100,
            50,
            (TagNeed("gallery", "goal", 70, TimeWindow(5)), TagNeed("", "tree", 1)),
            TimeWindow(None, 9),
        ),
        (
            "080115000000001800250000000082023a820237086410321a1c0a0767616c6c6572791204676f616c18462209090500"
            "0000000000001a0812047472656518012209110900000000000000"
        ),
    ),
    (
        Provision((Item(PLACED, b"data"), Item(BARE))),
        (
            "08011500000000180025000000008202a9028a02a5020ab8010aaf010a0f0d070000001208747265652e6a7067120567"
            "7265656e1204747265651940420f000000000020042a20a035872d6af8639ede962dfe7536b0c150b590f3234a922fb7"
            "064cd11971b58e3220ae4aafb3c7d8616b739f05a30d06b4e2236fdea712168159f346e8a3efd57d9e3a05736d616c6c"
            "41000000000000f83f4900000000000000c0520b0a090a056c6576656c10065a0210035a080d0800000010c801620767"
            "616c6c6572796d030000001a04646174610a680a660a0f0d070000001208747265652e6a706712047472656519ffffff"
            "ffffffffff20042a20a035872d6af8639ede962dfe7536b0c150b590f3234a922fb7064cd11971b58e3220ae4aafb3c7"
            "d8616b739f05a30d06b4e2236fdea712168159f346e8a3efd57d9e"
        ),
    ),
    (
        EdgeNotification((Item(PLACED),)),
        (
            "08011500000000180025000000008202b9019202b5010ab2010aaf010a0f0d070000001208747265652e6a7067120567"
            "7265656e1204747265651940420f000000000020042a20a035872d6af8639ede962dfe7536b0c150b590f3234a922fb7"
            "064cd11971b58e3220ae4aafb3c7d8616b739f05a30d06b4e2236fdea712168159f346e8a3efd57d9e3a05736d616c6c"
            "41000000000000f83f4900000000000000c0520b0a090a056c6576656c10065a0210035a080d0800000010c801620767"
            "616c6c6572796d03000000"
        ),
    ),
    (
        ItemConsumed(ITEM),
        (
            "08011500000000180025000000008202249a02210a1f0a0767616c6c657279120f0d070000001208747265652e6a7067"
            "1d03000000"
        ),
    ),
    (
        StorageChange((ITEM, ItemKey("", KEY)), True),
        (
            "0801150000000018002500000000820239a202360a1f0a0767616c6c657279120f0d070000001208747265652e6a7067"
            "1d030000000a11120f0d070000001208747265652e6a70671001"
        ),
    ),
    (
        Download(OP, ITEM, DownloadKind.FORCED, 10, 5, 65_536),
        (
            "0801150000000018002500000000820237aa0234090500000007000000121f0a0767616c6c657279120f0d0700000012"
            "08747265652e6a70671d030000001801200a280530808004"
        ),
    ),
    (
        Download(OP, ItemKey("", KEY)),
        "080115000000001800250000000082021faa021c0905000000070000001211120f0d070000001208747265652e6a7067",
    ),
    (
        Downloaded(OP, Item(replace(BARE, source=3), b"data"), 10, 5),
        (
            "080115000000001800250000000082028601b202820109050000000700000012730a6b0a0f0d07000000120874726565"
            "2e6a706712047472656519ffffffffffffffff20042a20a035872d6af8639ede962dfe7536b0c150b590f3234a922fb7"
            "064cd11971b58e3220ae4aafb3c7d8616b739f05a30d06b4e2236fdea712168159f346e8a3efd57d9e6d030000001a04"
            "64617461180a2005"
        ),
    ),
    (
        Downloaded(OP),
        "080115000000001800250000000082020cb20209090500000007000000",
    ),
    (
        CreateWorld(OP, "gallery"),
        "0801150000000018002500000000820215c20212090500000007000000120767616c6c657279",
    ),
    (
        WorldList(OP, (WorldMap("gallery~3~1", "gallery", 16, 1),)),
        (
            "0801150000000018002500000000820228ca0225090500000007000000121a0a0b67616c6c6572797e337e3112076761"
            "6c6c65727918102001"
        ),
    ),
    (
        Describe(OP, QUERY, 1, (KEY,)),
        (
            "0801150000000018002500000000820228d202250905000000070000001102000000090000001801220f0d0700000012"
            "08747265652e6a7067"
        ),
    ),
    (
        FoundObjects(OP, QUERY, (), held=(KEY,)),
        (
            "080115000000001800250000000082022542230905000000070000001102000000090000003a0f0d0700000012087472"
            "65652e6a7067"
        ),
    ),
    (
        EdgeRelay(NodeAddress(9, 5), JoinRequest(3)),
        "0801150000000018002500000000820212ba020f0a070d090000001005120472020803",
    ),
    (
        EdgeRelay(NodeAddress(None, 5), ItemConsumed(ITEM)),
        (
            "080115000000001800250000000082022dba022a0a02100512249a02210a1f0a0767616c6c657279120f0d0700000012"
            "08747265652e6a70671d03000000"
        ),
    ),
]
"""Messages and their bytes."""
