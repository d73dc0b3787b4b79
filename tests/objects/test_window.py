"""Windows are half open, and times are read as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.errors import InvalidWindow
from bypass.objects.window import ALWAYS, LAST_US, TimeWindow, parse_time
from tests.object_strategies import windows

NOW = 1_000_000_000_000_000


@given(st.integers(-100, 100), st.integers(-100, 100))
def test_what_was_before_and_what_comes_are_a_partition_of_time(now: int, at: int) -> None:
    assert TimeWindow(None, now).holds(at) is not TimeWindow(now, None).holds(at)
    assert ALWAYS.holds(at)


@given(windows(), st.integers(-10, 30))
def test_a_window_that_has_ended_holds_nothing_later(window: TimeWindow, now: int) -> None:
    later, earlier = range(now, now + 40), range(now - 40, now)
    assert window.ended(now) is (window.end_us is not None and window.end_us <= now)
    assert not (window.ended(now) and any(map(window.holds, later)))
    assert not (any(map(window.holds, earlier)) and not window.reaches_past(now))


@pytest.mark.parametrize(("start", "end"), [(5, 5), (5, 4)])
def test_an_end_that_is_not_later_is_refused(start: int, end: int) -> None:
    said = f"^window that begins at {start} µs and ends at {end} µs: expected a later end$"
    with pytest.raises(InvalidWindow, match=said):
        TimeWindow(start, end)


@pytest.mark.parametrize("at", [1.5, "1", LAST_US + 1, True])
def test_what_is_no_time_in_microseconds_is_refused(at: int) -> None:
    with pytest.raises(InvalidWindow, match=r"expected microseconds, in 64 bits$"):
        TimeWindow(at)
    with pytest.raises(InvalidWindow, match=r"^window's end .*: expected microseconds, in 64 bits$"):
        TimeWindow(None, at)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("now", NOW),
        ("-1h", NOW - 3_600_000_000),
        ("+90s", NOW + 90_000_000),
        ("-1.5 m", NOW - 90_000_000),
        ("-2d", NOW - 172_800_000_000),
        ("-250ms", NOW - 250_000),
        ("-3us", NOW - 3),
        ("12.5", 12_500_000),
        (12.5, 12_500_000),
        (12, 12_000_000),
        (-1, -1_000_000),
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T01:00+01:00", 0),
        ("1970-01-02", 86_400_000_000),
        ("1970-01-01T00:00:00.000007", 7),
        (datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC), 2_000_000),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
    ],
)
def test_times(text: str | float | datetime | None, expected: int | None) -> None:
    assert parse_time(text, NOW) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1h",
        "-h",
        "yesterday",
        "-1w",
        "2026-13-01",
        float("nan"),
        1e300,
        True,
        "9" * 40,
        "-" + "9" * 400 + "d",
    ],
)
def test_what_is_no_time_is_refused_in_one_line(text: str | float) -> None:
    with pytest.raises(InvalidWindow, match=r"^time .*: expected -1h, \+30s, 2026-11-18T10:00Z, or seconds$"):
        parse_time(text, NOW)
