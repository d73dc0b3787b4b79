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
from bypass.places.borders import BorderEvent, PathPoint
from bypass.protocol.borders import BorderTask, BorderWatch
from bypass.protocol.messages import ContextUpdate, Subscribe
from bypass.protocol.wire import MalformedMessage, decode, encode
from tests.border_strategies import events, places, states, tasks, watches


@given(watches)
def test_watches(watch: BorderWatch) -> None:
    message = Subscribe(3, wanted_kinds(watch), watch=watch)
    assert decode(encode(message)) == message


@given(tasks())
def test_tasks(message: BorderTask) -> None:
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
