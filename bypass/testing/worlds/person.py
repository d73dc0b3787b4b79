"""People in a small world: where they are, what they want, what they have published, and what serves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription
from bypass.places.area_of_interest import AreaOfInterest
from bypass.testing.rules import LocatedSubscriber, Point


class Wish(NamedTuple):
    """A subscription of somebody: to events within a radius, in areas, or anywhere."""

    wanted: Subscription | Filter
    radius: int | None
    interest: AreaOfInterest | None = None

    @property
    def scope(self) -> dict[str, Any]:
        """The arguments of `subscribe` that say where events are to be."""
        if self.interest is None:
            return {"radius": self.radius}
        around = self.interest.around
        moves = {"around": around} if around else {"relative": self.interest.relative}
        return {"area": [*self.interest.areas], **moves}


class Published(NamedTuple):
    """A publication of somebody, and where it was made."""

    publisher: str
    event: Event
    at: Point | None


@dataclass
class Person:
    """Stands at `place`, or walks on from there by `vector` since a time; away from the system or not."""

    place: Point
    vector: Point = (0.0, 0.0)
    since: float = 0.0
    present: bool = True
    forgotten: bool = False  # by the broker
    interests: dict[int, Wish] = field(default_factory=dict)

    def position(self, now: float) -> Point:
        (x, y), (vx, vy), elapsed = self.place, self.vector, now - self.since
        return x + vx * elapsed, y + vy * elapsed


class Serving(NamedTuple):
    """The scheme that serves somebody, at the broker, with its parameters."""

    scheme: str
    settings: Mapping[str, Any]


OPEN = Serving("", {})
"""Stands for a scheme of which nothing is known: whether somebody is told is left open."""


def undecided(_who: LocatedSubscriber, _at: Point) -> None:
    """Is the rule of a scheme of which nothing is known."""
