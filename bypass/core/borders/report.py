"""A report of a watched client: border events that it has found, in the payload of a publication."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from bypass.errors import InvalidEvent, shown
from bypass.events.event import Event
from bypass.places.borders import KINDS, BorderEvent, PathPoint
from bypass.places.borders.border_event import REASONS
from bypass.places.borders.tracker import AreaState

States = Mapping[str, Sequence[Any]]


@dataclass(slots=True)
class BorderReport:
    """The findings of a client since its last report, in the order in which it came.

    `events` are with the numbers of their watches; `states` are by watch, those of all areas in which the
    client has one; `last` is where it is. `is_final`: the broker goes on from here. `number` counts the
    reports of a client.
    """

    turn: int
    events: list[tuple[int, BorderEvent]]
    states: Mapping[int, States] = field(default_factory=dict)
    last: PathPoint | None = None
    is_final: bool = False
    number: int = 0

    def to_event(self) -> Event:
        """The event that carries it."""
        last = None
        if self.last is not None:
            x, y, at, z = self.last
            last = [x, y, at, z if isfinite(z) else None]
        content = {
            "turn": self.turn,
            "events": [[number, e.kind, e.area, e.x, e.y, e.at, e.since, e.why] for number, e in self.events],
            "states": [[number, states] for number, states in self.states.items()],
            "last": last,
            "final": self.is_final,
            "number": self.number,
        }
        return Event(payload=json.dumps(content, separators=(",", ":"), allow_nan=False).encode())

    @classmethod
    def of_event(cls, event: Event) -> BorderReport:
        """Read a report. Raises InvalidEvent for anything else."""
        try:
            content = json.loads(event.payload)
            last = None
            if content["last"] is not None:
                x, y, at, z = content["last"]
                last = PathPoint(*map(_finite, (x, y, at)), *(() if z is None else (_finite(z),)))
            events = []
            for number, kind, area, x, y, at, since, why in content["events"]:
                if kind not in KINDS or why not in REASONS or not isinstance(area, str):
                    raise ValueError(f"{shown(kind)} {shown(area)} {shown(why)}: no border event")
                place = _finite(x), _finite(y)
                found = BorderEvent(kind, area, *place, _finite(at), _finite(since), why)
                events.append((int(number), found))
            states = {}
            for number, each in content["states"]:
                for state in each.values():
                    AreaState.load(state)
                states[int(number)] = each
            return cls(
                int(content["turn"]), events, states, last, bool(content["final"]), int(content["number"])
            )
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise InvalidEvent(f"report of borders: {error}") from error


def _finite(number: Any) -> float:
    value = float(number)
    if not isfinite(value):
        raise ValueError(f"{shown(number)}: expected a finite number")
    return value
