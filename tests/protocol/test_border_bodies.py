"""Watches, border tasks and reports travel as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.core.borders.border_events import border_event, carried
from bypass.core.borders.client.watching import wanted_kinds
from bypass.core.borders.report import BorderReport
from bypass.errors import InvalidEvent
from bypass.events.event import Event
from bypass.places.areas import Area
from bypass.places.borders import KINDS, BorderEvent, BorderOptions, PathPoint
from bypass.places.borders.border_event import REASONS
from bypass.protocol.borders import BorderTask, BorderWatch, WatchedAreas
from bypass.protocol.messages import ContextUpdate, Subscribe
from bypass.protocol.wire import MalformedMessage, decode, encode

seconds = st.integers(0, 10**6).map(lambda each: each / 8)
coordinates = st.integers(-(10**6), 10**6).map(lambda each: each / 1000)
names = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=20)
areas = st.one_of(
    st.builds(lambda x, y, r: Area.circle((x, y), r + 1), coordinates, coordinates, seconds),
    st.builds(Area.of_place, names),
)
options = st.builds(
    lambda on, dwell, *rest: BorderOptions(frozenset(on) | ({"dwell"} if dwell else set()), dwell or None,
    *rest), st.sets(st.sampled_from(["enter", "exit", "cross"]), min_size=1), st.none() | seconds.map(lambda
    s: s + 1), seconds, seconds, st.booleans(), seconds.map(lambda s: s + 0.5),
)  # fmt: skip
fences = st.dictionaries(names, areas, min_size=1, max_size=4).map(lambda each: tuple(each.items()))
watches = st.builds(
    BorderWatch, options, fences, st.booleans(), st.none() | st.lists(names, max_size=3).map(tuple),
    st.none() | seconds,
)  # fmt: skip
places = st.builds(PathPoint, coordinates, coordinates, seconds, seconds)
states = st.dictionaries(
    names, st.tuples(st.booleans(), seconds, st.booleans(), st.booleans(), st.none(), st.none()).map(list)
)
events = st.builds(
    BorderEvent, st.sampled_from(KINDS), names, coordinates, coordinates, seconds, seconds,
    st.sampled_from(REASONS)
)  # fmt: skip


@given(watches)
def test_watches(watch: BorderWatch) -> None:
    message = Subscribe(3, wanted_kinds(watch), watch=watch)
    assert decode(encode(message)) == message


@given(st.integers(1, 2**60), st.booleans(), seconds, options, fences, st.none() | states, st.none() | places)
def test_tasks(
    turn: int,
    computes: bool,
    interval: float,
    own: BorderOptions,
    some: tuple[tuple[str, Area], ...],
    known: dict[str, list[object]] | None,
    start: PathPoint | None,
) -> None:
    message = BorderTask(turn, computes, interval, (WatchedAreas(7, own, some, known),), start)
    assert decode(encode(message)) == message


@given(st.lists(st.tuples(st.integers(1, 99), events)), states, st.none() | places, st.booleans())
def test_reports(
    found: list[tuple[int, BorderEvent]], known: dict[str, list[object]], last: PathPoint | None, final: bool
) -> None:
    report = BorderReport(5, found, {1: known}, last, final, 9)
    assert BorderReport.of_event(report.to_event()) == report


@given(events)
def test_border_events(event: BorderEvent) -> None:
    assert border_event(carried(event)) == event


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b"{}",
    b'{"turn":1,"events":[[1,"fly","a",0,0,0,0,"moved"]],"states":[],"last":null}']
)  # fmt: skip
def test_what_is_no_report_is_refused(payload: bytes) -> None:
    with pytest.raises(InvalidEvent):
        BorderReport.of_event(Event(payload=payload))


def test_a_watched_client_says_when_it_was_where() -> None:
    message = ContextUpdate((1.5, 2.5), None, 1_700_000_000.25, 12.0)
    assert decode(encode(message)) == message
    with pytest.raises(MalformedMessage):
        encode(ContextUpdate((1.5, 2.5), None, float("nan")))
