"""Several messages in one packet: all of them arrive, in order, and a packet is never taken for a message."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bypass.protocol.messages import Message, PlanMessage
from bypass.protocol.session import Ping
from bypass.protocol.wire import (
    MAX_MESSAGE_BYTES,
    MAX_PACKET_BYTES,
    MOST_MESSAGES,
    MalformedMessage,
    decode,
    encode,
    pack,
    unpack,
)
from bypass.protocol.wire import bypass_pb2 as pb
from tests.wire_strategies import messages

pytestmark = pytest.mark.slow

repeatable = settings(derandomize=True, deadline=None, max_examples=200)
thorough = settings(repeatable, max_examples=400)

several = st.lists(messages, min_size=1, max_size=5)
PING = encode(Ping())


def refused(packet: bytes) -> str:
    with pytest.raises(MalformedMessage) as caught:
        unpack(packet)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---- there and back


@repeatable
@given(several)
def test_unpacking_undoes_packing(together: list[Message]) -> None:
    encoded = [encode(each) for each in together]
    packet = pack(encoded)
    assert list(unpack(packet)) == encoded
    assert [decode(each) for each in unpack(packet)] == together


@repeatable
@given(st.lists(st.binary(max_size=300), min_size=2, max_size=5))
@example([b"", b""])
@example([b"x" * 127, b"x" * 128])
@example([b"x" * 16_383, b"x" * 16_384])
def test_a_packet_is_what_protobuf_makes_of_it(parts: list[bytes]) -> None:
    packet = pack(parts)
    assert packet == pb.Packet(messages=parts).SerializeToString()
    assert list(unpack(packet)) == parts


@repeatable
@given(messages)
def test_a_message_alone_is_its_own_packet(message: Message) -> None:
    data = encode(message)
    assert pack([data]) == data
    assert list(unpack(data)) == [data]
    assert list(unpack(pb.Packet(messages=[data]).SerializeToString())) == [data]  # as others may write it


@repeatable
@given(messages, several)
def test_a_packet_begins_as_no_message_does(message: Message, together: list[Message]) -> None:
    packet = pack([encode(each) for each in (message, *together)])
    assert packet[0] != encode(message)[0]
    assert packet[0] != pb.Envelope.FromString(encode(message)).SerializeToString()[0]  # address in its order
    with pytest.raises(MalformedMessage):
        decode(packet)


@repeatable
@given(several)
def test_fields_that_are_not_known_here_are_skipped(together: list[Message]) -> None:
    encoded = [encode(each) for each in together]
    packet = pb.Packet(messages=encoded).SerializeToString()
    assert list(unpack(packet + b"\x98\x06\x2a")) == encoded  # field 99, varint 42


def test_packets_do_not_nest() -> None:
    (inner, last) = unpack(pack([pack([PING, PING]), PING]))
    assert last == PING
    with pytest.raises(MalformedMessage):
        decode(inner)


# ---- limits


def test_packets_are_limited_in_size() -> None:
    half = encode(PlanMessage(bytes(MAX_MESSAGE_BYTES - 50)))
    room = MAX_PACKET_BYTES - 2 * (1 + 3 + len(half)) - (1 + 1)
    assert 0 < room < 128
    fits = [half, half, b"x" * room]
    assert len(pack(fits)) == MAX_PACKET_BYTES
    assert list(unpack(pack(fits))) == fits
    said = f"packet of {MAX_PACKET_BYTES + 1} bytes: expected at most {MAX_PACKET_BYTES}"
    with pytest.raises(MalformedMessage, match=f"^{said}$"):
        pack([half, half, b"x" * (room + 1)])
    assert refused(pack(fits) + b"\x00") == said
    assert refused(bytes(MAX_PACKET_BYTES + 1)) == said  # no matter how it begins


def test_packets_are_limited_in_number() -> None:
    most = [PING] * MOST_MESSAGES
    assert list(unpack(pack(most))) == most
    said = f"packet of {MOST_MESSAGES + 1} messages: expected 1 to {MOST_MESSAGES}"
    with pytest.raises(MalformedMessage, match=f"^{said}$"):
        pack([*most, PING])
    assert refused(pack(most) + pack([PING, PING])[: len(PING) + 2]) == said
    assert refused(b"\x0a\x00" * (MAX_PACKET_BYTES // 2)).startswith(
        f"packet of {MAX_PACKET_BYTES // 2} mess"
    )


def test_there_is_no_empty_packet() -> None:
    with pytest.raises(MalformedMessage, match=f"^packet of 0 messages: expected 1 to {MOST_MESSAGES}$"):
        pack([])
    (nothing,) = unpack(b"")
    with pytest.raises(MalformedMessage):
        decode(nothing)


# ---- noise


@pytest.mark.parametrize("end", range(1, len(PING) + 2))
def test_what_is_cut_within_its_first_message_is_refused(end: int) -> None:
    assert refused(pack([PING, PING])[:end]).startswith("packet b'")


@thorough
@given(st.binary(max_size=200), st.booleans())
def test_random_bytes_are_refused_or_understood(data: bytes, packed: bool) -> None:
    try:
        for each in unpack(b"\x0a" + data if packed else data):
            encode(decode(each))
    except MalformedMessage:
        return


@thorough
@given(several, st.data())
def test_damaged_packets_are_refused_or_understood(together: list[Message], choose: st.DataObject) -> None:
    damaged = bytearray(pack([encode(each) for each in together]))
    for _ in range(choose.draw(st.integers(1, 4))):
        start = choose.draw(st.integers(0, len(damaged)))
        end = choose.draw(st.integers(start, min(start + 3, len(damaged))))
        damaged[start:end] = choose.draw(st.binary(max_size=3))
    try:
        parts = unpack(bytes(damaged))
    except MalformedMessage:
        return
    for each in parts:
        try:
            message = decode(each)
        except MalformedMessage:
            continue
        encode(message)
