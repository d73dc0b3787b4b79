"""Frames between clients nearby: their contents, and how many bytes they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.protocol.messages import MOST_TOGETHER, ContextUpdate, Frame, Kind, Message, Publish
from bypass.protocol.wire import (
    MOST_IDS,
    MalformedMessage,
    decode,
    digest_size,
    encode,
    encoded_size,
    frame_size,
)

repeatable = settings(derandomize=True, deadline=None, max_examples=100)

u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
short = st.integers(0, 127)
near = st.floats(-1e6, 1e6)
values = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text("aé", max_size=3)
named = st.dictionaries(st.sampled_from("abc"), values | st.frozensets(values, max_size=2), max_size=3)
events = st.builds(lambda attributes, payload: Event(attributes, payload=payload), named, st.binary())
publications = st.builds(
    Publish,
    u64,
    events,
    st.sampled_from(Kind),
    u64,
    st.none() | st.tuples(near, near),
    st.none() | st.text("g:1", max_size=5),
    st.none() | st.just(ContextUpdate((1.0, 2.0))),
    client=u32,
    scheme=u32,
    epoch=st.just(0) | u32,
    address=st.just(0) | u64,
)
together = st.lists(publications, max_size=4).map(tuple)
places = st.none() | st.tuples(near, near)
stamps = {"client": u32, "scheme": short, "epoch": u32}

PUBLISH = Publish(77, Event(kind="monster", payload=bytes(60)), Kind.LOCAL, 9, (1.5, 2.5), client=3, epoch=4)


def decoded(message: Frame) -> Frame:
    frame = decode(encode(message))
    assert isinstance(frame, Frame)
    return frame


# ---- what is in it


@repeatable
@given(st.builds(Frame, u32, u32, publications=together, **stamps))
def test_publications_keep_their_stamps_and_nothing_else_of_their_publishers(frame: Frame) -> None:
    kept = tuple(replace(each, piggyback=None, address=0) for each in frame.publications)
    assert decoded(frame) == replace(frame, publications=kept)


@pytest.mark.parametrize("ids", [None, (), (0,), (2**64 - 1, 5, 5), tuple(range(MOST_IDS))])
def test_an_empty_digest_is_not_none(ids: tuple[int, ...] | None) -> None:
    assert decoded(Frame(1, ids=ids)) == Frame(1, ids=ids)


def test_a_frame_holds_as_many_publications_as_ports_send() -> None:
    frame = Frame(0, publications=(PUBLISH,) * MOST_TOGETHER)
    assert decoded(frame) == frame


def test_places_are_rounded_to_single_precision() -> None:
    assert decoded(Frame(0, place=(650.1, 0.5))).place == (650.0999755859375, 0.5)


def test_what_has_no_scope_is_for_everywhere() -> None:
    assert decode(b"\x08\x01\x92\x01\x02\x08\x01") == Frame(1)


# ---- sizes


@repeatable
@given(st.builds(Frame, short, u32, places, together, **stamps))
@example(Frame(0, place=(0.0, 0.0), publications=(replace(PUBLISH, epoch=0),)))
def test_frame_size_holds_for_every_sender(frame: Frame) -> None:
    size = frame_size(frame.publications, frame.place is not None)
    assert size == len(encode(frame)) == encoded_size(frame)


@pytest.mark.parametrize("payloads", [range(140), range(16_300, 16_400), [65_536]])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_frame_size_knows_how_long_lengths_are(payloads: Sequence[int], count: int) -> None:
    for payload in payloads:
        publication = Publish(1, Event(payload=bytes(payload)), client=9)
        frame = Frame(0, publications=(publication,) * count)
        assert frame_size(frame.publications, False) == len(encode(frame))


@repeatable
@given(st.builds(Frame, short, u32, places, ids=st.lists(u64, max_size=40).map(tuple), **stamps))
@example(Frame(0, ids=()))
@example(Frame(127, 2**32 - 1, (0.0, 0.0), ids=(0,) * MOST_IDS, client=1))
def test_digest_size_holds_for_every_sender(frame: Frame) -> None:
    assert frame.ids is not None
    assert digest_size(len(frame.ids), frame.place is not None) == len(encode(frame))


def test_what_a_publisher_told_the_broker_costs_neighbours_nothing() -> None:
    told = replace(PUBLISH, piggyback=ContextUpdate((1.0, 2.0)), address=5)
    assert encode(Frame(0, publications=(told,))) == encode(Frame(0, publications=(PUBLISH,)))
    assert frame_size((told,), True) == frame_size((PUBLISH,), True)


def test_a_hello_is_short() -> None:
    assert frame_size((), False) == len(encode(Frame(1))) == 24
    assert frame_size((), True) == len(encode(Frame(1, place=(1.0, 2.0)))) == 34


# ---- noise


@pytest.mark.parametrize(
    "message",
    [
        Frame(0),
        Frame(1, 2, (3.0, 4.0), (PUBLISH, PUBLISH), client=5, scheme=6, epoch=7, address=8),
        Frame(1, ids=(), address=8),
        Frame(1, 2, (3.0, 4.0), ids=(1, 2), client=5),
    ],
)
def test_no_beginning_of_a_frame_is_a_frame(message: Message) -> None:
    data = encode(message)
    for end in range(len(data)):
        with pytest.raises(MalformedMessage):
            decode(data[:end])
