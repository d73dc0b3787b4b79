"""The areas of a subscription, and with whom they move."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bypass.places.areas import Area


MOST_AREAS = 64
"""Areas of one subscription."""


@dataclass(frozen=True, slots=True)
class AreaOfInterest:
    """Areas, in one of which an event must lie. `relative` ones are drawn around (0, 0) with north up: they
    move and turn with the subscriber, or with the client whose name is in `around`."""

    areas: tuple[Area, ...]
    relative: bool = False
    around: str = ""

    @property
    def is_own(self) -> bool:
        """Whether the areas move with the subscriber."""
        return self.relative and not self.around

    @property
    def places(self) -> tuple[str, ...]:
        """The names of places that a broker has to look up."""
        return tuple([area.place for area in self.areas if area.place])

    @property
    def reach(self) -> float:
        """The largest distance (m) of a point of the areas from (0, 0)."""
        return max(area.reach for area in self.areas)

    def __str__(self) -> str:
        where = (
            f" around {self.around!r}" if self.around else " around the subscriber" if self.relative else ""
        )
        return f"{len(self.areas)} areas{where}"


def in_any(areas: tuple[Area, ...], x: float, y: float, z: float | None = None) -> bool:
    """Whether a point is in one of the areas."""
    return any(area.contains(x, y, z) for area in areas)


def as_seen_from(dx: float, dy: float, heading: float) -> tuple[float, float]:
    """Where a point that is so far away lies for who looks in a direction (degrees clockwise from north), if
    that were north."""
    if heading == 0.0:
        return dx, dy
    turn = math.radians(heading)
    sine, cosine = math.sin(turn), math.cos(turn)
    return dx * cosine - dy * sine, dx * sine + dy * cosine


def heading_of(vx: float, vy: float, before: float = 0.0) -> float:
    """The direction of a movement, in degrees clockwise from north; that of `before` for who stands."""
    return before if vx == 0.0 and vy == 0.0 else math.degrees(math.atan2(vx, vy)) % 360.0
