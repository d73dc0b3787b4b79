"""The bytes of one message of each kind: whoever changes the format by accident sees it here.

A deliberate change that old readers cannot skip needs a new PROTOCOL_VERSION beside the new bytes.
"""

from __future__ import annotations

from typing import TypeVar

import pytest

from bypass.events.attributes import SET
from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.protocol.messages import (
    Assignment,
    AssignmentRequest,
    Circle,
    ContextUpdate,
    Frame,
    Kind,
    Message,
    Notify,
    OutcomeMessage,
    PlanMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.session import Ack, Bye, Control, Hello, Kept, Missed, Ping, Refused, Reply, Welcome
from bypass.protocol.wire import decode, encode
from bypass.protocol.wire.bodies import READERS, all_writers
from tests.area_golden import AREA_GOLDEN
from tests.edge_golden import EDGE_GOLDEN
from tests.storage_golden import STORAGE_GOLDEN

M = TypeVar("M", bound=Message)


def stamped(message: M) -> M:
    message.client, message.scheme, message.epoch = 7, 2, 9
    return message


EVENT = Event([("kind", "monster"), ("level", -42), ("speed", 1.5), ("tags", {"a", 1})], payload=b"\x00\xff")
PUBLISH = stamped(Publish(77, EVENT, Kind.PLACED, 1_000_000, (650.25, -700.5), "g3:4:7"))
BARE = stamped(Publish(77, Event()))
UPDATE = stamped(ContextUpdate((1.0, 2.0)))
SUBSCRIPTION = Subscription(
    [attr("level") >= 12, attr("kind").in_(["a", "b"]), attr("tags", SET).contains("x")]
)

GOLDEN: list[tuple[Message, str]] = [
    (
        PUBLISH,
        (
            "08011507000000180225090000004273094d000000000000001140420f00000000001802210000000000528440290000"
            "000000e485c0320667333a343a373a0f0a046b696e6422076d6f6e737465723a090a056c6576656c10533a100a057370"
            "65656419000000000000f83f3a110a04746167732a090a0210020a03220161420200ff"
        ),
    ),
    (
        stamped(Publish(77, Event(), piggyback=UPDATE)),
        (
            "08011507000000180225090000002a1209000000000000f03f1100000000000000404212094d00000000000000110000"
            "000000000000"
        ),
    ),
    (
        Notify(PUBLISH, (1, 2), True, client=8, scheme=2, epoch=9),
        (
            "08011508000000180225090000004a8d010a73094d000000000000001140420f00000000001802210000000000528440"
            "290000000000e485c0320667333a343a373a0f0a046b696e6422076d6f6e737465723a090a056c6576656c10533a100a"
            "05737065656419000000000000f83f3a110a04746167732a090a0210020a03220161420200ff12080100000002000000"
            "1801250700000028023509000000"
        ),
    ),
    (
        stamped(ContextUpdate((650.25, -700.5))),
        "08011507000000180225090000005212090000000000528440110000000000e485c0",
    ),
    (
        stamped(ContextUpdate((650.25, -700.5), (1.5, -0.25))),
        "0801150700000018022509000000521c090000000000528440110000000000e485c01d0000c03f25000080be",
    ),
    (
        stamped(AssignmentRequest((650.25, -700.5))),
        "08011507000000180225090000005a12090000000000528440110000000000e485c0",
    ),
    (
        stamped(
            Assignment(
                3,
                "g3:4:7",
                ("g3:4:7", "g3:4:8"),
                (0.0, 1.0, 2.0, 3.0),
                (0.0, 1.0, 2.0, 4.0),
                (Circle("park", 10.0, 20.0, 100.0),),
            )
        ),
        (
            "08011507000000180225090000006281010803120667333a343a371a0667333a343a371a0667333a343a382220000000"
            "0000000000000000000000f03f000000000000004000000000000008402a200000000000000000000000000000f03f00"
            "00000000000040000000000000104032210a047061726b11000000000000244019000000000000344021000000000000"
            "5940"
        ),
    ),
    (
        stamped(Subscribe(5, SUBSCRIPTION, 125)),
        (
            "08011507000000180225090000006a5f0d0500000012180a090a056c6576656c101812023e3d1a07696e746567657212"
            "200a120a046b696e642a0a0a032201610a032201621202696e1a06737472696e67121a0a090a04746167732201781208"
            "636f6e7461696e731a03736574187d"
        ),
    ),
    (
        stamped(Publish(77, Event(open=True, shut=False))),
        (
            "08011507000000180225090000004226094d000000000000001100000000000000003a080a046f70656e38013a080a04"
            "736875743800"
        ),
    ),
    (
        stamped(Subscribe(5, ((attr("a") == True) & (attr("b") > 1)) | ~attr("c").exists())),  # noqa: E712
        (
            "08011507000000180225090000006a520d05000000124b12026f72222f1203616e6422130a050a0161380112013d1a07"
            "626f6f6c65616e22130a050a0162100212013e1a07696e7465676572221412036e6f74220d0a030a0163120665786973"
            "7473"
        ),
    ),
    (
        Notify(stamped(Publish(77, Event(), publisher="ann/phone")), (1,), client=8, scheme=2, epoch=9),
        (
            "08011508000000180225090000004a310a12094d00000000000000110000000000000000120401000000250700000028"
            "0235090000004a09616e6e2f70686f6e65"
        ),
    ),
    (stamped(Unsubscribe(5)), "080115070000001802250900000072050d05000000"),
    (stamped(PlanMessage(b"plan")), "08011507000000180225090000007a060a04706c616e"),
    (stamped(OutcomeMessage(b"done")), "08011507000000180225090000008201060a04646f6e65"),
    (
        stamped(Unsubscribe(5, address=0x0102030405060708)),
        "89010807060504030201080115070000001802250900000072050d05000000",
    ),
    (
        Notify(BARE, (1,), relay=True, targets=(3, 2**40), client=8, scheme=2, epoch=9),
        (
            "08011508000000180225090000004a3a0a12094d00000000000000110000000000000000120401000000250700000028"
            "0235090000003801421003000000000000000000000000010000"
        ),
    ),
    (stamped(Frame(1)), "080115070000001802250900000092010708011500000000"),
    (
        stamped(Frame(1, 6, (1.5, -0.25), (BARE, Publish(78, Event(kind="a"), Kind.LOCAL)))),
        (
            "0801150700000018022509000000920162080115060000001d0000c03f25000080be2a200a12094d0000000000000011"
            "00000000000000001507000000180225090000002a2d0a1f094e0000000000000011000000000000000018013a090a04"
            "6b696e64220161150000000018002500000000"
        ),
    ),
    (
        stamped(Frame(0, ids=(3, 2**40))),
        "080115070000001802250900000092011b0800150000000032120a1003000000000000000000000000010000",
    ),
    (stamped(Frame(0, ids=())), "0801150700000018022509000000920109080015000000003200"),
    (
        stamped(Hello("phone", 2**40, (1, 2))),
        "08011507000000180225090000009a011c0a0570686f6e651100000000000100001a0801000000020000002001",
    ),
    (stamped(Hello("", 1, durable=False)), "08011507000000180225090000009a0109110100000000000000"),
    (
        stamped(Hello("", 1, capabilities=("parts", "more"))),
        "08011507000000180225090000009a011811010000000000000020012a0570617274732a046d6f7265",
    ),
    (
        stamped(Welcome(3, 5.0, (0.0, 1.0, 2.0, 4.0))),
        (
            "0801150700000018022509000000a201300d030000001100000000000014401a200000000000000000000000000000f0"
            "3f00000000000000400000000000001040"
        ),
    ),
    (
        stamped(Welcome(3, 0.5, (0, 1, 2, 4), (49.875, 8.65), (Subscribe(5, SUBSCRIPTION, 125),), 300)),
        (
            "0801150700000018022509000000a201a6010d0300000011000000000000e03f1a200000000000000000000000000000"
            "f03f0000000000000040000000000000104022100000000000f04840cdcccccccc4c21402a5f0d0500000012180a090a"
            "056c6576656c101812023e3d1a07696e746567657212200a120a046b696e642a0a0a032201610a032201621202696e1a"
            "06737472696e67121a0a090a04746167732201781208636f6e7461696e731a03736574187d30ac02"
        ),
    ),
    (
        stamped(Welcome(3, 5.0, (0, 1, 2, 4), capabilities=("parts",), kept_parts=300)),
        (
            "0801150700000018022509000000a2013a0d030000001100000000000014401a200000000000000000000000000000f0"
            "3f000000000000004000000000000010404205706172747348ac02"
        ),
    ),
    (
        stamped(Kept((Subscribe(5, SUBSCRIPTION, 125),))),
        (
            "0801150700000018022509000000da01610a5f0d0500000012180a090a056c6576656c101812023e3d1a07696e746567"
            "657212200a120a046b696e642a0a0a032201610a032201621202696e1a06737472696e67121a0a090a04746167732201"
            "781208636f6e7461696e731a03736574187d"
        ),
    ),
    (
        stamped(Welcome(3, 5.0, (0, 1, 2, 4), missed=300, missed_by=(Missed("too old", 300),))),
        (
            "0801150700000018022509000000a201410d030000001100000000000014401a200000000000000000000000000000f0"
            "3f0000000000000040000000000000104030ac02520c0a07746f6f206f6c6410ac02"
        ),
    ),
    (stamped(Missed("too old", 300)), "0801150700000018022509000000e2010c0a07746f6f206f6c6410ac02"),
    (stamped(Kept(())), ("0801150700000018022509000000da0100")),
    (
        stamped(Ack((3, 2**40), (1, 2))),
        "0801150700000018022509000000aa011c0a100300000000000000000000000001000012080100000002000000",
    ),
    (stamped(Ack()), "0801150700000018022509000000aa0100"),
    (
        stamped(Refused("too long", id=2**40)),
        "0801150700000018022509000000b201130a08746f6f206c6f6e67110000000000010000",
    ),
    (
        stamped(Refused("too many", handle=5)),
        "0801150700000018022509000000b2010f0a08746f6f206d616e791d05000000",
    ),
    (stamped(Refused("who?")), "0801150700000018022509000000b201080a0477686f3f2001"),
    (
        stamped(Refused("not now", retry=2.5)),
        "0801150700000018022509000000b201140a076e6f74206e6f772001290000000000000440",
    ),
    (stamped(Ping()), "0801150700000018022509000000ba0100"),
    (stamped(Ping(True)), "0801150700000018022509000000ba01020801"),
    (stamped(Bye()), "0801150700000018022509000000c20100"),
    (stamped(Bye(True)), "0801150700000018022509000000c201020801"),
    (
        stamped(Control(4, "status", b"{}")),
        "0801150700000018022509000000ca01110d0400000012067374617475731a027b7d",
    ),
    (stamped(Reply(4, True, b"[]")), "0801150700000018022509000000d2010b0d0400000010011a025b5d"),
    (stamped(Reply(4, False, b"no")), "0801150700000018022509000000d201090d040000001a026e6f"),
    *AREA_GOLDEN,
    *STORAGE_GOLDEN,
    *EDGE_GOLDEN,
]


@pytest.mark.parametrize(("message", "golden"), GOLDEN)
def test_bytes_are_those_of_this_protocol_version(message: Message, golden: str) -> None:
    assert encode(message).hex() == golden
    assert decode(bytes.fromhex(golden)) == message


def test_every_kind_of_message_has_its_bytes_here() -> None:
    assert {type(message) for message, _ in GOLDEN} == set(all_writers())
    assert {field for field, _ in all_writers().values()} == set(READERS)
