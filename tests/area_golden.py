"""The bytes of messages about areas and borders, as those of others are in the test of golden bytes."""

from __future__ import annotations

from typing import TypeVar

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.places.area_of_interest import AreaOfInterest
from bypass.places.areas import Area
from bypass.places.borders import BorderOptions, PathPoint
from bypass.protocol.borders import BorderTask, BorderWatch, WatchedAreas
from bypass.protocol.messages import AllowFollowing, FollowedPlace, Kind, Message, Publish, Subscribe

M = TypeVar("M", bound=Message)


def stamped(message: M) -> M:
    message.client, message.scheme, message.epoch = 7, 2, 9
    return message


SUBSCRIPTION = Subscription([attr("kind") == "order"])
ZONE = Area.box((0, 0), (10, 20))
OPTIONS = BorderOptions(frozenset({"enter", "dwell"}), 30.0)
WATCHED = WatchedAreas(4, OPTIONS, (("zone", ZONE),), {"zone": [True, 1.5, False, True, None, None]})
WATCH = BorderWatch(OPTIONS, (("zone", ZONE), ("market", Area.of_place("market"))), False, ("alice",), 90.0)

AREA_GOLDEN: list[tuple[Message, str]] = [
    (
        stamped(AllowFollowing(("alice", "bus/7"))),
        ("08011507000000180225090000008a020e0a05616c6963650a056275732f37"),
    ),
    (
        stamped(AllowFollowing(everybody=True)),
        ("08011507000000180225090000008a02021001"),
    ),
    (
        stamped(FollowedPlace((650.25, -700.5), (1.5, 0.0))),
        ("0801150700000018022509000000920217090000000000528440110000000000e485c01d0000c03f"),
    ),
    (
        stamped(BorderTask(3, True, 2.5, (WATCHED,), PathPoint(1.0, 2.0, 3.0))),
        (
            "0801150700000018022509000000c202940109030000000000000010011900000000000004402264080412360a056477"
            "656c6c0a05656e746572110000000000003e403100000000000014403a140a047a6f6e65120c080212080000a09c01c0"
            "b8021a287b227a6f6e65223a5b747275652c312e352c66616c73652c747275652c6e756c6c2c6e756c6c5d7d2a180000"
            "00000000f03f00000000000000400000000000000840"
        ),
    ),
    (
        stamped(BorderTask(4, False, 0.0)),
        ("0801150700000018022509000000c20209090400000000000000"),
    ),
    (
        stamped(Publish(77, Event(payload=b"{}"), Kind.BORDER)),
        ("08011507000000180225090000004218094d00000000000000110000000000000000180342027b7d"),
    ),
    (
        stamped(Publish(77, Event(), area=Area.circle((1, 2), 3), lifetime=30_000_000)),
        (
            "08011507000000180225090000004227094d00000000000000110000000000000000520a08011206d00fa01ff02e5980"
            "c3c90100000000"
        ),
    ),
    (
        stamped(Publish(77, Event(), Kind.PLACED, 0, (1.0, 2.0), z=3.5)),
        (
            "0801150700000018022509000000422f094d00000000000000110000000000000000180221000000000000f03f290000"
            "000000000040490000000000000c40"
        ),
    ),
    (
        stamped(Subscribe(5, SUBSCRIPTION, interest=AreaOfInterest((ZONE,), relative=True), expires=60.0)),
        (
            "08011507000000180225090000006a3c0d05000000121a0a0d0a046b696e6422056f7264657212013d1a06737472696e"
            "6722100a0c080212080000a09c01c0b8021001290000000000004e40"
        ),
    ),
    (
        stamped(Subscribe(5, SUBSCRIPTION, watch=WATCH)),
        (
            "08011507000000180225090000006a7d0d05000000121a0a0d0a046b696e6422056f7264657212013d1a06737472696e"
            "677a5a0a056477656c6c0a05656e746572110000000000003e403100000000000014403a140a047a6f6e65120c080212"
            "080000a09c01c0b8023a120a066d61726b657412082a066d61726b65744a05616c696365590000000000805640"
        ),
    ),
]
