"""Windows of time, half open, either end open; and times as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite

from bypass.errors import InvalidWindow, shown
from bypass.support.units import MICROSECONDS

FIRST_US, LAST_US = -(2**63), 2**63 - 1
"""The earliest and the latest time that can travel."""

_RELATIVE = re.compile(r"([+-])(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_UNITS = {"us": 1, "ms": 1_000, "s": MICROSECONDS, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The times from `start_us` up to, and without, `end_us`; None leaves an end open. Microseconds.

    Raises InvalidWindow unless the end is later than the start.
    """

    start_us: int | None = None
    end_us: int | None = None

    def __post_init__(self) -> None:
        for name, at in (("start", self.start_us), ("end", self.end_us)):
            if at is not None and (type(at) is not int or not FIRST_US <= at <= LAST_US):
                raise InvalidWindow(f"window's {name} {shown(at)}: expected microseconds, in 64 bits")
        if self.start_us is not None and self.end_us is not None and self.end_us <= self.start_us:
            raise InvalidWindow(
                f"window that begins at {self.start_us} µs and ends at {self.end_us} µs: expected a later end"
            )

    def holds(self, at_us: int) -> bool:
        """Whether a time is in the window."""
        return (self.start_us is None or at_us >= self.start_us) and (
            self.end_us is None or at_us < self.end_us
        )

    def ended(self, now_us: int) -> bool:
        """Whether no time from `now_us` on is in the window."""
        return self.end_us is not None and now_us >= self.end_us

    def hull(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that holds both."""
        starts, ends = (self.start_us, other.start_us), (self.end_us, other.end_us)
        return TimeWindow(
            None if None in starts else min(each for each in starts if each is not None),
            None if None in ends else max(each for each in ends if each is not None),
        )

    def reaches_past(self, now_us: int) -> bool:
        """Whether a time before `now_us` is in the window."""
        return self.start_us is None or self.start_us < now_us


ALWAYS = TimeWindow()
"""The window that is open at both ends."""


def parse_time(at: str | float | datetime | None, now_us: int) -> int | None:
    """A time in microseconds; None stays None, an open end.

    `-1h` and `+90s` are relative to `now_us` (units us, ms, s, m, h and d), `now` is `now_us`; numbers are
    seconds on the clock of `now_us`, other texts ISO 8601, in UTC unless they say otherwise. Raises
    InvalidWindow.
    """
    if at is None:
        return None
    found: float | None = None
    if isinstance(at, str):
        found = _of_text(at.strip(), now_us)
    elif isinstance(at, datetime):
        found = _of_date(at)
    elif isinstance(at, (int, float)) and not isinstance(at, bool) and isfinite(at):
        found = round(at * MICROSECONDS)
    if found is None or not FIRST_US <= found <= LAST_US:
        raise InvalidWindow(f"time {shown(at)}: expected -1h, +30s, 2026-11-18T10:00Z, or seconds")
    return int(found)


def _of_text(text: str, now_us: int) -> int | None:
    if text == "now":
        return now_us
    try:
        if relative := _RELATIVE.fullmatch(text):
            distance = round(float(relative[2]) * _UNITS[relative[3]])
            return now_us + distance if relative[1] == "+" else now_us - distance
        if _NUMBER.fullmatch(text):
            return round(float(text) * MICROSECONDS)
        return _of_date(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def _of_date(at: datetime) -> int:
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    since = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * MICROSECONDS + since.microseconds
