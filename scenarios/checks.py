"""Our figures beside the thesis': look a check's figures up in the summary and say whether they fit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from bypass.scenarios.schema import Check


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check with our figure. It holds, differs, or could not be told because a figure is missing."""

    check: Check
    value: float
    verdict: Literal["holds", "differs", "unknown"]

    def to_dict(self) -> dict[str, Any]:
        """The verdict as data for JSON; bounds that are not there are null."""
        check = self.check
        return {
            "name": check.name,
            "source": check.source,
            "stated": check.stated,
            "ours": None if math.isnan(self.value) else self.value,
            "low": check.low if math.isfinite(check.low) else None,
            "high": check.high if math.isfinite(check.high) else None,
            "verdict": self.verdict,
            "note": check.note,
        }


def judge(checks: Iterable[Check], summary: dict[str, Any]) -> tuple[Verdict, ...]:
    """The verdict on each check."""
    return tuple(_judge(check, summary) for check in checks)


def _judge(check: Check, summary: dict[str, Any]) -> Verdict:
    try:
        value = figure(summary, check.value)
        if check.minus is not None:
            value -= figure(summary, check.minus)
        if check.over is not None:
            value /= figure(summary, check.over)
    except (KeyError, ZeroDivisionError):
        value = math.nan
    if math.isnan(value):
        return Verdict(check, value, "unknown")
    return Verdict(check, value, "holds" if check.low <= value <= check.high else "differs")


def figure(summary: Any, path: str) -> float:
    """A number by its path; parts of a list are found by position or by their `name`. Raises KeyError."""
    place = summary
    for part in path.split("."):
        if isinstance(place, list):
            place = _in_list(place, part)
        elif isinstance(place, dict):
            place = place[part]
        else:
            raise KeyError(path)
    if isinstance(place, bool) or not isinstance(place, int | float):
        raise KeyError(path)
    return float(place)


def _in_list(items: list[Any], part: str) -> Any:
    if part.lstrip("-").isdecimal():
        if not -len(items) <= int(part) < len(items):
            raise KeyError(part)
        return items[int(part)]
    for item in items:
        if isinstance(item, dict) and part in (item.get("name"), item.get("phase")):
            return item
    raise KeyError(part)
