"""Every message survives the wire, sizes are as foretold, and noise is refused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import Phase, example, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from bypass.events.event import MAX_PAYLOAD, Event
from bypass.events.filters import Subscription, attr
from bypass.protocol.messages import (
    AssignmentRequest,
    ContextUpdate,
    Frame,
    Kind,
    Message,
    Notify,
    PlanMessage,
    Publish,
    Subscribe,
)
from bypass.protocol.session import Ack, Bye, Control, Hello, Ping, Refused, Reply, Welcome
from bypass.protocol.wire import (
    MAX_MESSAGE_BYTES,
    MAX_PUBLISH_BYTES,
    PROTOCOL_VERSION,
    MalformedMessage,
    UnknownVersion,
    decode,
    encode,
    encoded_size,
    frame_size,
    notify_size,
    piggyback_size,
)
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.bodies import all_writers
from tests.wire_strategies import addresses, handles, messages, publishes, subscribes, u32

pytestmark = pytest.mark.slow

repeatable = settings(derandomize=True, deadline=None, max_examples=200)
thorough = settings(repeatable, max_examples=400)
as_found = settings(thorough, max_examples=20_000, phases=[Phase.generate])  # no smaller one is looked for

EVENT = Event(kind="monster", level=42, payload=b"\x01\x02")
UPDATE = ContextUpdate((650.25, 700.5), (1.5, -0.5))
PUBLISH = Publish(77, EVENT, Kind.LOCAL, 1_000_000, (650.25, 700.5), "g3:4:7")
SUBSCRIBE = Subscribe(5, Subscription([attr("level") >= 12]), 125)
WELCOME = Welcome(0, 5.0, (0.0, 0.0, 1300.0, 1300.0))


# ---- there and back


@thorough
@given(messages)
def test_decoding_undoes_encoding(message: Message) -> None:
    assert decode(encode(message)) == message


def test_every_kind_of_message_is_drawn() -> None:
    """Search until each kind has come: strategies draw constants of all modules that happen to be imported,
    so chance is not enough."""
    missing = {*all_writers()}

    def is_the_last(message: Message) -> bool:
        missing.discard(type(message))
        return not missing

    with suppress(NoSuchExample):
        find(messages, is_the_last, settings=as_found)
    assert not missing


@repeatable
@given(messages)
def test_encoding_repeats_itself(message: Message) -> None:
    data = encode(message)
    assert encode(message) == data
    assert encode(decode(data)) == data


@pytest.mark.parametrize(
    "value", [1, 1.0, -0.0, "1", "", frozenset(), frozenset([1]), frozenset([1.0]), 2**62]
)
def test_values_keep_their_types(value: object) -> None:
    decoded = decode(encode(Publish(1, Event([("a", value)]))))
    assert isinstance(decoded, Publish)
    assert repr(decoded.event["a"]) == repr(value)


def test_equal_sets_have_equal_bytes() -> None:
    # 0 and 8 share a slot in a small hash table: the order of iteration is that of insertion.
    one, other = frozenset([0, 8]), frozenset([8, 0])
    assert list(one) != list(other)
    assert encode(Publish(1, Event(a=one))) == encode(Publish(1, Event(a=other)))


def test_vectors_are_rounded_to_single_precision() -> None:
    decoded = decode(encode(ContextUpdate((0.1, 0.2), (0.1, 0.5))))
    assert isinstance(decoded, ContextUpdate)
    assert decoded.location == (0.1, 0.2)
    assert decoded.vector == (0.10000000149011612, 0.5)


def test_what_rides_takes_the_stamp_of_its_carrier() -> None:
    decoded = decode(
        encode(replace(PUBLISH, client=1, scheme=2, epoch=3, address=4, piggyback=replace(UPDATE, client=9)))
    )
    assert isinstance(decoded, Publish)
    assert decoded.piggyback == replace(UPDATE, client=1, scheme=2, epoch=3, address=4)


def test_addresses_of_publishers_stay_with_the_broker() -> None:
    addressed = replace(PUBLISH, address=4, piggyback=replace(UPDATE, address=4))
    assert encode(Notify(addressed, (1,))) == encode(Notify(replace(PUBLISH, piggyback=UPDATE), (1,)))


def test_of_a_kept_subscription_nothing_travels_but_itself() -> None:
    kept = replace(SUBSCRIBE, client=1, scheme=2, epoch=3, address=4, piggyback=UPDATE)
    decoded = decode(encode(replace(WELCOME, kept=(kept, SUBSCRIBE))))
    assert decoded == replace(WELCOME, kept=(SUBSCRIBE, SUBSCRIBE))


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("two\nlines\x85 or  more\n", "two lines or more"),
        ("x" * 600, "x" * 500),
        ("x" * 499 + " y", "x" * 499),
    ],
)
def test_reasons_are_one_line_and_not_long(reason: str, said: str) -> None:
    data = encode(Refused(reason, id=1))
    assert decode(data) == Refused(said, id=1)
    envelope = pb.Envelope.FromString(data)
    envelope.refused.reason = reason  # as somebody else may write it
    assert decode(envelope.SerializeToString()) == Refused(said, id=1)


@repeatable
@given(messages, st.integers(1, 2**64 - 1))
def test_addresses_come_first_and_are_read_anywhere(message: Message, address: int) -> None:
    message.address = 0
    alone = encode(message)
    message.address = address
    data = encode(message)
    assert data == b"\x89\x01" + address.to_bytes(8, "little") + alone
    in_order = pb.Envelope.FromString(data).SerializeToString()  # as others may write it: after the body
    assert encode(decode(in_order)) == data


def test_unknown_fields_are_skipped_and_kept_by_protobuf() -> None:
    unknown = b"\x98\x06\x2a"  # field 99, varint 42
    envelope = pb.Envelope.FromString(encode(PUBLISH))
    envelope.publish.MergeFromString(unknown)
    data = envelope.SerializeToString() + unknown
    assert decode(data) == PUBLISH
    assert pb.Envelope.FromString(data).SerializeToString() == data


# ---- sizes


@repeatable
@given(messages)
def test_encoded_size_is_the_size(message: Message) -> None:
    assert encoded_size(message) == len(encode(message))


@repeatable
@given(publishes | subscribes)
def test_piggyback_size_is_what_the_message_grew_by(message: Publish | Subscribe) -> None:
    alone = replace(message, piggyback=None)
    assert piggyback_size(message) == encoded_size(message) - encoded_size(alone)


@repeatable
@given(publishes, handles, st.booleans(), u32, st.integers(0, 127), u32)
@example(PUBLISH, tuple(range(31)), False, 0, 0, 0)
@example(PUBLISH, tuple(range(32)), False, 2**32 - 1, 127, 1)
def test_notify_size_holds_for_every_client(
    publication: Publish, handles: tuple[int, ...], unfiltered: bool, client: int, scheme: int, epoch: int
) -> None:
    message = Notify(publication, handles, unfiltered, client=client, scheme=scheme, epoch=epoch)
    assert notify_size(publication, len(handles), unfiltered) == len(encode(message))


@repeatable
@given(publishes, st.booleans(), addresses)
@example(PUBLISH, True, tuple(range(15)))
@example(PUBLISH, True, tuple(range(16)))
def test_notify_size_holds_for_every_gateway(
    publication: Publish, relay: bool, targets: tuple[int, ...]
) -> None:
    message = Notify(publication, (1,), False, relay, targets)
    assert notify_size(publication, 1, False, relay, len(targets)) == len(encode(message))


@repeatable
@given(st.integers(1, MAX_PAYLOAD - 1), st.integers(1, 300))
@example(127, 1)
@example(16_383, 1)
def test_every_byte_of_payload_counts(length: int, more: int) -> None:
    def size(payload: int) -> int:
        return encoded_size(Publish(1, Event(kind="a", payload=b"x" * payload)))

    longer = min(length + more, MAX_PAYLOAD)
    # Two lengths enclose the payload, each of which may need a byte more.
    assert longer - length <= size(longer) - size(length) <= longer - length + 2


def test_a_rider_costs_its_body_and_no_envelope() -> None:
    assert piggyback_size(replace(PUBLISH, piggyback=UPDATE)) == 2 + 18 + 10
    assert piggyback_size(replace(SUBSCRIBE, piggyback=AssignmentRequest((1.0, 2.0)))) == 2 + 18
    assert piggyback_size(Notify(replace(PUBLISH, piggyback=UPDATE), (1,))) == 2 + 18 + 10
    assert piggyback_size(PUBLISH) == piggyback_size(UPDATE) == 0


# ---- noise


def refused(data: bytes) -> str:
    with pytest.raises(MalformedMessage) as caught:
        decode(data)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@thorough
@given(st.binary(max_size=200))
def test_random_bytes_are_refused_or_understood(data: bytes) -> None:
    for attempt in (data, b"\x08\x01" + data):  # the second has the right version
        try:
            message = decode(attempt)
        except MalformedMessage:
            continue
        encode(message)


@thorough
@given(messages.map(encode), st.data())
def test_damaged_messages_are_refused_or_understood(data: bytes, choose: st.DataObject) -> None:
    damaged = bytearray(data)
    for _ in range(choose.draw(st.integers(1, 4))):
        start = choose.draw(st.integers(0, len(damaged)))
        end = choose.draw(st.integers(start, min(start + 3, len(damaged))))
        damaged[start:end] = choose.draw(st.binary(max_size=3))
    try:
        message = decode(bytes(damaged))
    except MalformedMessage:
        return
    encode(message)


@repeatable
@given(messages.map(encode), st.data())
def test_no_beginning_of_a_message_is_a_message(data: bytes, choose: st.DataObject) -> None:
    refused(data[: choose.draw(st.integers(0, len(data) - 1))])


@pytest.mark.parametrize("address", [0, 2**64 - 1])
@pytest.mark.parametrize(
    "message",
    [
        Ping(),
        Ping(True),
        Bye(),
        Bye(True),
        Ack(),
        Ack((1,), (2,)),
        Hello("", 0),
        Hello("phone", 1, (1, 2), False),
        WELCOME,
        replace(WELCOME, origin=(49.9, 8.7), kept=(SUBSCRIBE, SUBSCRIBE), missed=2**64 - 1),
        Refused(""),
        Refused("no", id=0),
        Refused("no", handle=2),
        Control(0, "status"),
        Control(1, "plan", b"{}"),
        Reply(0, False),
        Reply(1, True, b"{}"),
        PlanMessage(b""),
    ],
)
def test_no_beginning_of_a_session_message_is_a_message(message: Message, address: int) -> None:
    data = encode(replace(message, address=address))
    for end in range(len(data)):
        refused(data[:end])


def test_another_version_is_named_with_ours() -> None:
    envelope = pb.Envelope.FromString(encode(PUBLISH))
    envelope.version = 7
    message = refused(envelope.SerializeToString())
    assert message == f"message of protocol version 7: expected {PROTOCOL_VERSION}"


@repeatable
@given(messages, st.integers(2, 2**32 - 1))
def test_another_version_is_told_from_noise(message: Message, version: int) -> None:
    envelope = pb.Envelope.FromString(encode(message))
    envelope.version = version
    with pytest.raises(UnknownVersion):
        decode(envelope.SerializeToString())
    with pytest.raises(MalformedMessage) as caught:
        decode(encode(message)[:-1])
    assert type(caught.value) is MalformedMessage


def test_messages_are_limited_in_size() -> None:
    longest = MAX_MESSAGE_BYTES - encoded_size(PlanMessage(b"x" * 100_000)) + 100_000
    longest -= 2 * (len(encode(PlanMessage(b"x" * longest))) > MAX_MESSAGE_BYTES)
    fits = encode(PlanMessage(b"x" * longest))
    assert len(fits) == MAX_MESSAGE_BYTES
    assert decode(fits) == PlanMessage(b"x" * longest)
    assert f"expected at most {MAX_MESSAGE_BYTES}" in refused(fits + b"\x98\x06\x2a")
    with pytest.raises(MalformedMessage, match=f"^PlanMessage of {MAX_MESSAGE_BYTES + 1} bytes: "):
        encode(PlanMessage(b"x" * (longest + 1)))


def test_publications_leave_room_for_the_handles_in_their_notifications() -> None:
    def publication(length: int) -> Publish:
        return Publish(1, Event(text="x" * length))

    longest = MAX_PUBLISH_BYTES - encoded_size(publication(100_000)) + 100_000
    fits = encode(publication(longest))
    assert len(fits) == MAX_PUBLISH_BYTES
    assert decode(fits) == publication(longest)
    assert f"publish message of {MAX_PUBLISH_BYTES + 3} bytes: expected" in refused(fits + b"\x98\x06\x2a")
    with pytest.raises(
        MalformedMessage, match=f"^Publish of {MAX_PUBLISH_BYTES + 1} bytes: expected at most"
    ):
        encode(publication(longest + 1))
    notification = Notify(publication(longest), tuple(range(100_000)))
    assert decode(encode(notification)) == notification


def test_equal_numbers_of_different_types_have_their_own_sizes() -> None:
    for event in (Event(level=1), Event(level=1.0), Event(level=1)):
        message = Publish(1, event)
        assert encoded_size(message) == len(encode(message))
        assert notify_size(message, 1, False) == len(encode(Notify(message, (1,))))
        assert frame_size((message,), False) == len(encode(Frame(0, publications=(message,))))
