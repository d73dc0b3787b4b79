"""Messages that filter schemes of others declare: typed fields that travel without a schema of their own."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.protocol.messages import Notify, Publish, Subscribe
from bypass.protocol.scheme_context import MAX_TEXT, MOST_VALUES, SchemeContext
from bypass.protocol.wire import (
    MalformedMessage,
    decode,
    decode_raw,
    encode,
    encoded_size,
    notify_size,
    piggyback_size,
)
from bypass.protocol.wire import bypass_pb2 as pb
from tests.wire_strategies import finite, texts, u32


class Everything(SchemeContext):
    number: int
    real: float
    truth: bool
    text: str
    cell: tuple[int, int]
    path: tuple[tuple[float, float], ...] = ()
    note: str | None = None
    mixed: tuple[int, str, bool | None] | None = None


class Small(SchemeContext):
    cell: tuple[int, int]


class Nothing(SchemeContext):
    """Says nothing but whose it is."""


CONTEXTS = {64: Everything, 65: Small, 66: Nothing}
s64 = st.integers(-(2**63), 2**63 - 1)
everything = st.builds(
    Everything,
    s64,
    finite,
    st.booleans(),
    texts,
    st.tuples(s64, s64),
    st.lists(st.tuples(finite, finite), max_size=5).map(tuple),
    st.none() | texts,
    st.none() | st.tuples(s64, texts, st.none() | st.booleans()),
    client=u32,
    scheme=u32,
    of_scheme=st.just(64),
    epoch=u32,
    address=st.integers(0, 2**64 - 1),
)


def small(**stamp: int) -> Small:
    return Small((3, -4), of_scheme=65, **stamp)


@given(everything)
def test_a_message_is_read_as_it_was_written(message: Everything) -> None:
    data = encode(message)
    assert decode(data, CONTEXTS) == message
    assert encoded_size(message) == len(data)


@given(everything, st.booleans())
def test_it_rides_on_publications_and_subscriptions(context: Everything, publishes: bool) -> None:
    stamp: dict[str, Any] = {"client": 7, "scheme": 64, "epoch": 9, "address": context.address}
    context.client, context.scheme, context.epoch = 7, 64, 9
    message: Publish | Subscribe = (
        Publish(1, Event(kind="a"), piggyback=context, **stamp)
        if publishes
        else Subscribe(1, Subscription.of(attr("kind") == "a"), 100, context, **stamp)
    )
    data = encode(message)
    assert decode(data, CONTEXTS) == message
    message.piggyback = None
    assert piggyback_size(decode(data, CONTEXTS)) == len(data) - len(encode(message))


def test_what_rides_on_a_publication_keeps_its_own_scheme() -> None:
    """It may have been made before its sender changed the scheme."""
    message = Publish(1, Event(), piggyback=small(), client=7, scheme=2)
    read = decode(encode(message), CONTEXTS)
    assert isinstance(read, Publish)
    assert isinstance(read.piggyback, Small)
    assert (read.piggyback.scheme, read.piggyback.of_scheme) == (2, 65)


def test_it_takes_few_bytes() -> None:
    assert len(encode(small())) == 23
    assert piggyback_size(Publish(1, Event(), piggyback=small())) == 9


@given(st.data())
def test_a_message_that_was_cut_is_none_or_has_lost_nothing(data: st.DataObject) -> None:
    whole = encode(Publish(1, Event(kind="a"), piggyback=small(), client=7, scheme=65, address=5))
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(MalformedMessage):
        decode(cut, CONTEXTS)


def test_notifications_of_what_carries_one_have_their_sizes() -> None:
    publication = Publish(1, Event(kind="a"), piggyback=small(), client=7, scheme=65)
    assert notify_size(publication, 2, False) == len(encode(Notify(publication, (1, 2))))


def envelope(scheme: int, numbers: Any = (), reals: Any = (), texts: Any = ()) -> bytes:
    body = pb.SchemeContext(scheme=scheme, numbers=numbers, reals=reals, texts=texts)
    return pb.Envelope(version=1, client=7, scheme_context=body).SerializeToString()


@given(
    st.sampled_from([64, 65, 66, 67]),
    st.lists(s64, max_size=6),
    st.lists(st.floats(), max_size=6),
    st.lists(texts, max_size=4),
)
def test_whatever_a_peer_says_is_a_message_or_malformed(
    scheme: int, numbers: list[int], reals: list[float], said: list[str]
) -> None:
    data = envelope(scheme, numbers, reals, said)
    try:
        message = decode(data, CONTEXTS)
    except MalformedMessage:
        return
    assert decode(encode(message), CONTEXTS) == message
    assert type(message) is CONTEXTS[scheme]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (envelope(67), "scheme 67: expected one whose context is known here: 64, 65, 66"),
        (envelope(65, [1]), "cell is missing"),
        (envelope(65, [1, 2, 3]), "3 values: expected fewer"),
        (envelope(65, [1, 2], [0.5]), "3 values: expected fewer"),
        (envelope(64, [1, 2, 0, 0, 0], [1.0], ["a"]), "truth: 2: expected 0 or 1"),
        (envelope(64, [1, 1, 0, 0, 0, 0, 0], [math.inf], ["a"]), "real: inf: expected a finite number"),
        (envelope(64, [1, 1, 0, 0, 2**40], [1.0], ["a"]), "path: 1099511627776 of them: expected at most"),
        (envelope(64, [1, 1, 0, 0, -1], [1.0], ["a"]), "path: -1 of them: expected at most"),
        (envelope(64, [1, 1, 0, 0, 0, 0, 0], [1.0], ["a" * (MAX_TEXT + 1)]), "text: 1025 characters"),
        (envelope(65, [0] * (MOST_VALUES + 1)), "1025 values: expected at most 1024"),
    ],
)
def test_what_is_not_as_declared_is_malformed(data: bytes, problem: str) -> None:
    with pytest.raises(MalformedMessage) as refused:
        decode(data, CONTEXTS)
    assert problem in str(refused.value)
    with pytest.raises(MalformedMessage):
        decode_raw(data, CONTEXTS)


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (Small((1, 2)), "of_scheme 0: expected the number that the broker has given the scheme"),
        (Small((1, 2, 3), of_scheme=65), "cell (1, 2, 3): expected a tuple of 2"),  # type: ignore[arg-type]
        (Small((1, 2**63), of_scheme=65), "expected a whole number of 64 bits"),
        (Small((1, True), of_scheme=65), "expected a whole number of 64 bits"),
        (Everything(1, math.nan, True, "", (1, 2), of_scheme=64), "real nan: expected a finite number"),
        (Everything(1, 1.0, 1, "", (1, 2), of_scheme=64), "truth 1: expected true or false"),  # type: ignore[arg-type]
        (Everything(1, 1.0, True, "a" * 1025, (1, 2), of_scheme=64), "expected a text of at most 1024 char"),
        (Everything(1, 1.0, True, "\ud800", (1, 2), of_scheme=64), "Everything"),
        (
            Everything(1, 1.0, True, "", (1, 2), ((0.0, 0.0),) * 600, of_scheme=64),
            "1209 values: expected at most 1024",
        ),
    ],
)
def test_what_cannot_travel_is_malformed(message: SchemeContext, problem: str) -> None:
    with pytest.raises(MalformedMessage) as refused:
        encode(message)
    assert problem in str(refused.value)


def test_a_field_of_another_type_is_none() -> None:
    class Strange(SchemeContext):
        names: list[str]

    with pytest.raises(TypeError, match=r"Strange.names is list\[str\]: expected int, float, bool, str, tup"):
        Strange.forms()


def test_two_systems_read_the_same_number_as_their_own() -> None:
    class Other(SchemeContext):
        number: int
        more: int

    data = encode(Small((1, 2), of_scheme=65))
    assert type(decode(data, {65: Small})) is Small
    assert type(decode(data, {65: Other})) is Other
    with pytest.raises(MalformedMessage):
        decode(data)
