"""Checks: a figure that a source states, the path of ours, and whether ours fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bypass.support.validation import Misfit

CheckOutcome = Literal["holds", "explained", "differs", "unknown"]


class Explanation(BaseModel):
    """Why our figure differs from the stated one, and the range in which that is all there is to it."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    low: float
    high: float
    reason: str = Field(min_length=1)

    @model_validator(mode="after")
    def _range(self) -> Self:
        if self.low > self.high:
            raise Misfit(("low",), f"is {self.low}: expected at most high, {self.high}")
        return self


class Check(BaseModel):
    """A figure that a source states, and the range that ours must lie in.

    `value`, and what is subtracted (`minus`) or divided by (`over`), are paths into the summary, such as
    `phases.grid.recall` or `runs.lbs.phases.0.traffic.context_up`. With `minus_over` it is the difference of
    two ratios, value / over − minus / minus_over; with `among` the largest less the smallest of all of them.
    `low` and `high` belong to the range; `above` and `below` do not. A figure outside of it that lies in the
    range of `explained` differs for a known reason. `missing` says why there will be no such figure: then it
    is not measured.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: str
    stated: str = Field(coerce_numbers_to_str=True)
    value: str
    minus: str | None = None
    over: str | None = None
    minus_over: str | None = None
    among: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    note: str = ""
    explained: Explanation | None = None
    missing: str = ""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.minus_over is not None and (self.minus is None or self.over is None):
            raise Misfit(("minus_over",), "is given: expected minus and over beside it")
        if self.among and (self.minus is not None or self.over is not None):
            raise Misfit(("among",), "is given: expected neither minus nor over beside it")
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """The figures that it is made of."""
        single = (self.value, self.minus, self.over, self.minus_over)
        return (*(path for path in single if path is not None), *self.among)

    def of(self, look: Callable[[str], float]) -> float:
        """The figure to compare, made of those that `look` finds; NaN if one is missing, or a divisor is
        0."""
        try:
            if self.among:
                figures = [look(path) for path in self.paths]
                return math.nan if any(map(math.isnan, figures)) else max(figures) - min(figures)
            value = look(self.value)
            if self.minus is not None and self.over is not None and self.minus_over is not None:
                return value / look(self.over) - look(self.minus) / look(self.minus_over)
            if self.minus is not None:
                value -= look(self.minus)
            return value if self.over is None else value / look(self.over)
        except (KeyError, ZeroDivisionError):
            return math.nan

    def holds(self, value: float) -> bool:
        """Whether a figure lies in the range."""
        return self.low <= value <= self.high and self.above < value < self.below

    @property
    def expected(self) -> str:
        """The range in words."""
        if self.low == self.high:
            return f"exactly {self.low:.4g}"
        bounds = [
            f"{word} {bound:.4g}"
            for word, bound in (
                ("above", self.above),
                ("at least", self.low),
                ("below", self.below),
                ("at most", self.high),
            )
            if math.isfinite(bound)
        ]
        if len(bounds) == 2 and math.isfinite(self.low) and math.isfinite(self.high):
            return f"{self.low:.4g} to {self.high:.4g}"
        return " and ".join(bounds) or "any"


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """One check with our figure. It holds, differs for a known reason or for none, or was not measured."""

    check: Check
    value: float
    verdict: CheckOutcome

    @property
    def settled(self) -> bool:
        """Whether there is an explanation that is needed no more."""
        return self.verdict == "holds" and self.check.explained is not None

    def to_dict(self) -> dict[str, Any]:
        """The verdict as data for JSON; bounds that are not there are null."""
        check = self.check
        bounds = {name: getattr(check, name) for name in ("low", "high", "above", "below")}
        return {
            "name": check.name,
            "source": check.source,
            "stated": check.stated,
            "ours": None if math.isnan(self.value) else self.value,
            **{name: bound if math.isfinite(bound) else None for name, bound in bounds.items()},
            "verdict": self.verdict,
            "note": check.note,
            "explained": check.explained and check.explained.model_dump(),
            "missing": check.missing,
        }


def judge(checks: Iterable[Check], look: Callable[[str], float]) -> tuple[CheckVerdict, ...]:
    """The verdict on each check, of the figures that `look` finds by their paths; it may raise KeyError."""
    return tuple(_judge(check, math.nan if check.missing else check.of(look)) for check in checks)


def _judge(check: Check, value: float) -> CheckVerdict:
    if math.isnan(value):
        return CheckVerdict(check, value, "unknown")
    if check.holds(value):
        return CheckVerdict(check, value, "holds")
    known = check.explained
    return CheckVerdict(
        check, value, "explained" if known is not None and known.low <= value <= known.high else "differs"
    )


def unexplained(verdicts: Iterable[CheckVerdict]) -> list[CheckVerdict]:
    """The verdicts that differ or were not measured, without an explanation."""
    return [verdict for verdict in verdicts if verdict.verdict in ("differs", "unknown")]


def figure(summary: Any, path: str) -> float:
    """A number by its path; parts of a list are found by position or by their `name`. Raises KeyError."""
    place = find(summary, path)
    if isinstance(place, bool) or not isinstance(place, int | float):
        raise KeyError(path)
    return float(place)


def find(summary: Any, path: str) -> Any:
    """The value at a path. Raises KeyError with the part of the path that is missing."""
    place, parts = summary, path.split(".")
    while parts:
        part = parts.pop(0)
        if isinstance(place, list):
            place = _in_list(place, part)
        elif isinstance(place, dict):
            if part not in place and parts and f"{part}.{parts[0]}" in place:  # a percentile, such as p2.5
                part = f"{part}.{parts.pop(0)}"
            place = place[part]
        else:
            raise KeyError(part)
    return place


def _in_list(items: list[Any], part: str) -> Any:
    if part.lstrip("-").isdecimal():
        if not -len(items) <= int(part) < len(items):
            raise KeyError(part)
        return items[int(part)]
    for item in items:
        if isinstance(item, dict) and part in (item.get("name"), item.get("phase")):
            return item
    raise KeyError(part)
