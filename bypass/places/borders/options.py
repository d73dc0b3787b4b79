"""The options of a watch, which say when passages of a border become events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

from bypass.errors import InvalidWatch, shown
from bypass.places.borders.border_event import KINDS

LONGEST_S = 366 * 86_400.0
SHORTEST_S = 0.001
FARTHEST_M = 20_000_000.0


@dataclass(frozen=True, slots=True)
class BorderOptions:
    """The options of a watch.

    `on` are the kinds of events that are told. A client `dwell`s after so many seconds inside. A passage of a
    border counts when it has lasted for `debounce` seconds and the client has been `margin` metres away from
    where it passed, without passing back; it is told then, with the time and place at which it began.
    `initial`: a client that is inside when the watch begins is told as entering. Places are wanted every
    `interval` seconds.

    Raises InvalidWatch for anything else.
    """

    on: frozenset[str] = frozenset(("enter", "exit"))
    dwell: float | None = None
    debounce: float = 0.0
    margin: float = 0.0
    initial: bool = False
    interval: float = 5.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "on", _kinds(self.on))
        if self.dwell is not None:
            object.__setattr__(self, "dwell", _number("dwell", self.dwell, "seconds", LONGEST_S))
        if ("dwell" in self.on) != (self.dwell is not None):
            raise InvalidWatch(
                f"dwell {shown(self.dwell)} and on {sorted(self.on)}: expected seconds with 'dwell', and only"
                " then"
            )
        object.__setattr__(self, "debounce", _number("debounce", self.debounce, "seconds", LONGEST_S))
        object.__setattr__(self, "margin", _number("margin", self.margin, "metres", FARTHEST_M))
        object.__setattr__(self, "interval", _number("interval", self.interval, "seconds", LONGEST_S))
        if self.interval < SHORTEST_S:
            raise InvalidWatch(f"interval {shown(self.interval)}: expected at least {SHORTEST_S:g} seconds")
        if not isinstance(self.initial, bool):
            raise InvalidWatch(f"initial {shown(self.initial)}: expected True or False")


def _kinds(on: Any) -> frozenset[str]:
    if isinstance(on, str) or not isinstance(on, Iterable):
        raise InvalidWatch(f"on {shown(on)}: expected a set of {', '.join(KINDS)}")
    kinds = frozenset(on)
    if not kinds or not kinds <= frozenset(KINDS):
        raise InvalidWatch(f"on {shown(on)}: expected at least one of {', '.join(KINDS)}, and no other")
    return kinds


def _number(what: str, value: Any, unit: str, most: float) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or not 0 <= value <= most:
        raise InvalidWatch(f"{what} {shown(value)}: expected {unit} from 0 to {most:g}")
    return float(value)
