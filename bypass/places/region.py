"""The part of the world that one broker serves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from math import inf, isfinite

from bypass.errors import InvalidLocation


@dataclass(frozen=True, slots=True)
class Place:
    """A circle where people gather, given by the application."""

    name: str
    x: float
    y: float
    radius: float

    def __post_init__(self) -> None:
        if not 0 < self.radius < inf:
            raise InvalidLocation(f"place {self.name!r}: radius {self.radius}: expected metres above 0")
        if not (isfinite(self.x) and isfinite(self.y)):
            raise InvalidLocation(f"place {self.name!r}: ({self.x}, {self.y}): expected finite numbers")


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle (x0, y0, x1, y1) in metres and the attraction points in it.

    `generations` numbers every channel layout that is made for the region, whichever scheme makes it: a
    channel's name is never used again for another area.
    """

    area: tuple[float, float, float, float]
    places: tuple[Place, ...] = ()
    generations: Iterable[int] = field(default_factory=lambda: count(1), compare=False)

    def __post_init__(self) -> None:
        x0, y0, x1, y1 = self.area
        if not (x0 < x1 and y0 < y1 and all(map(isfinite, self.area))):
            raise InvalidLocation(
                f"region {self.area}: expected finite (x0, y0, x1, y1) with x0 < x1 and y0 < y1"
            )

    def next_generation(self) -> int:
        """A number that no layout of this region has had."""
        return next(iter(self.generations))
