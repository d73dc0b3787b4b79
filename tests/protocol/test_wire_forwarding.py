"""Notifications from a publication as it came: the bytes of `encode`, and what the broker does not know."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.protocol.messages import Kind, Message, Notify, Publish
from bypass.protocol.wire import (
    MAX_MESSAGE_BYTES,
    MAX_PUBLISH_BYTES,
    Forwarding,
    MalformedMessage,
    decode,
    decode_raw,
    encode,
    recipient,
)
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.fields import varint
from tests.wire_strategies import addresses, bare, handles, messages, publishes, u32

pytestmark = pytest.mark.slow

repeatable = settings(derandomize=True, deadline=None, max_examples=300)

PUBLISH = Publish(77, Event(kind="monster"), Kind.LOCAL, 9, (1.5, 2.5), client=3, scheme=2, epoch=4)

numbers = st.integers(20, 18_999) | st.integers(20_000, 2**29 - 1)  # of fields: 19,000 to 19,999 are reserved
unknown_fields = st.builds(
    lambda number, value: varint(number << 3 | value[0]) + value[1],
    numbers,
    st.one_of(
        st.integers(0, 2**64 - 1).map(lambda value: (0, varint(value))),
        st.binary(min_size=8, max_size=8).map(lambda value: (1, value)),
        st.binary(max_size=300).map(lambda value: (2, varint(len(value)) + value)),
        st.binary(min_size=4, max_size=4).map(lambda value: (5, value)),
    ),
)


def received(data: bytes, epoch: int = 0) -> tuple[Publish, Forwarding]:
    """A publication that has reached the broker, and what the broker makes of it."""
    publication, raw = decode_raw(data)
    assert isinstance(publication, Publish)
    return publication, Forwarding(raw, publication.client, publication.scheme, publication.epoch, epoch)


# ---- the same bytes


@repeatable
@given(publishes, handles, st.booleans(), u32, u32)
@example(replace(PUBLISH, scheme=0, epoch=0), (), False, 0, 0)
@example(replace(PUBLISH, scheme=127), tuple(range(31)), True, 2**32 - 1, 2**32 - 1)
@example(replace(PUBLISH, scheme=128), tuple(range(32)), True, 1, 1)
def test_notifications_are_those_of_encode(
    publication: Publish, handles: tuple[int, ...], unfiltered: bool, client: int, epoch: int
) -> None:
    came, forwarding = received(encode(publication), epoch)
    came.piggyback = None  # it was for the broker
    expected = encode(Notify(came, handles, unfiltered, client=client, epoch=epoch))
    assert recipient(client) + forwarding.rest(handles, unfiltered) == expected
    assert recipient(client) + forwarding.rest(handles, unfiltered) == expected  # once it is remembered


@repeatable
@given(publishes, handles, addresses, u32, u32)
@example(PUBLISH, (), (), 0, 0)
@example(PUBLISH, (1,), tuple(range(15)), 1, 1)
@example(PUBLISH, (1,), tuple(range(16)), 1, 1)
def test_notifications_for_gateways_are_those_of_encode(
    publication: Publish, handles: tuple[int, ...], targets: tuple[int, ...], client: int, epoch: int
) -> None:
    came, forwarding = received(encode(publication), epoch)
    came.piggyback = None
    expected = encode(Notify(came, handles, relay=True, targets=targets, client=client, epoch=epoch))
    assert recipient(client) + forwarding.relayed(handles, targets) == expected


def test_each_set_of_handles_has_its_own_notification() -> None:
    publication, forwarding = received(encode(PUBLISH))
    for matched in ((1,), (2,), (1, 2), (2, 1), (), (1,)):
        for unfiltered in (True, False):
            decoded = decode(recipient(5) + forwarding.rest(matched, unfiltered))
            assert decoded == Notify(publication, matched, unfiltered, client=5)
        relayed = decode(recipient(5) + forwarding.relayed(matched, (7,)))
        assert relayed == Notify(publication, matched, relay=True, targets=(7,), client=5)


# ---- as it came


@repeatable
@given(messages)
def test_only_publications_have_a_body_to_pass_on(message: Message) -> None:
    data = encode(message)
    decoded, raw = decode_raw(data)
    assert decoded == decode(data) == message
    is_publication = isinstance(message, Publish)
    assert raw == (pb.Envelope.FromString(data).publish.SerializeToString() if is_publication else b"")
    assert bool(raw) == is_publication


@repeatable
@given(bare, unknown_fields, unknown_fields, handles)
def test_what_the_broker_does_not_know_reaches_the_subscriber(
    publication: Publish, unknown: bytes, inner: bytes, handles: tuple[int, ...]
) -> None:
    envelope = pb.Envelope.FromString(encode(publication))
    envelope.publish.MergeFromString(unknown)
    for value in envelope.publish.attributes:
        value.MergeFromString(inner)
    sent = envelope.publish.SerializeToString()

    came, forwarding = received(envelope.SerializeToString())
    assert replace(came, address=publication.address) == publication
    notification = recipient(8) + forwarding.rest(handles, False)

    decoded = decode(notification)
    assert isinstance(decoded, Notify)
    assert decoded.publication == replace(publication, address=0)
    body = pb.Envelope.FromString(notification).notify.publication
    assert body.SerializeToString() == sent
    assert sent.endswith(unknown)
    assert sent.count(inner) >= len(body.attributes)


def test_fields_of_an_envelope_stay_with_the_broker() -> None:
    unknown = b"\x9a\x06\x06secret"  # field 99
    _, forwarding = received(encode(PUBLISH) + unknown)
    assert b"secret" not in forwarding.rest((1,), False)


@pytest.mark.parametrize("depth", [1, 90, 95, 96, 97, 98, 99, 100, 120])
def test_nothing_is_let_in_that_subscribers_could_not_read(depth: int) -> None:
    envelope = pb.Envelope.FromString(encode(PUBLISH))
    body = (
        envelope.publish.SerializeToString() + b"\x9b\x06" * depth + b"\x9c\x06" * depth
    )  # groups in groups
    data = b"\x08\x01\x42" + varint(len(body)) + body
    if depth < 99:
        _, forwarding = received(data)
        assert isinstance(decode(recipient(1) + forwarding.rest((1,), False)), Notify)
    else:
        with pytest.raises(MalformedMessage):
            decode_raw(data)


# ---- limits


def test_the_longest_publication_reaches_whoever_has_many_handles() -> None:
    length = MAX_PUBLISH_BYTES - len(encode(Publish(1, Event(text="x" * 100_000)))) + 100_000
    _, forwarding = received(encode(Publish(1, Event(text="x" * length))))
    many = tuple(range(100_000))
    notification = decode(recipient(1) + forwarding.rest(many, True))
    assert isinstance(notification, Notify)
    assert notification.handles == many


def test_what_recipients_would_refuse_is_refused_here() -> None:
    publication, forwarding = received(encode(PUBLISH))
    size = len(encode(Notify(publication, tuple(range(1_000)))))
    most = 1_000 + (MAX_MESSAGE_BYTES - size - 2) // 4  # two lengths grow by a byte each
    fits = recipient(1) + forwarding.rest((0,) * most, False)
    assert MAX_MESSAGE_BYTES - 4 < len(fits) <= MAX_MESSAGE_BYTES
    decode(fits)
    said = r"^Notify of 10485\d\d bytes: expected at most 1048576$"
    with pytest.raises(MalformedMessage, match=said):
        forwarding.rest((0,) * (most + 1), False)
    with pytest.raises(MalformedMessage, match=said):
        encode(Notify(publication, (0,) * (most + 1)))
    with pytest.raises(MalformedMessage, match=said):
        forwarding.relayed((0,) * most, (0,))


@pytest.mark.parametrize("number", [-1, 2**32])
def test_numbers_out_of_range_are_refused(number: int) -> None:
    _, raw = decode_raw(encode(PUBLISH))
    forwarding = Forwarding(raw, 1, 0, 0, 0)
    with pytest.raises(struct.error):
        recipient(number)
    with pytest.raises(struct.error):
        Forwarding(raw, number, 0, 0, 0)
    with pytest.raises(struct.error):
        Forwarding(raw, 1, 0, number, 0)
    with pytest.raises(struct.error):
        Forwarding(raw, 1, 0, 0, number)
    with pytest.raises(struct.error):
        forwarding.rest((number,), False)
    with pytest.raises(struct.error):
        forwarding.relayed((1,), (-1,))
