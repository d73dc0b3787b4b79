"""The part of the world that one broker serves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from math import inf, isfinite
from typing import TYPE_CHECKING

from bypass.errors import InvalidArea, InvalidLocation
from bypass.places.geo import within

if TYPE_CHECKING:
    from bypass.places.areas import Area


@dataclass(frozen=True, slots=True)
class Place:
    """A circle where people gather, given by the application, and maybe their exact `area` within that
    circle.

    Raises InvalidLocation for a circle that is none, and InvalidArea for an area that is not in metres, or
    not within the circle.
    """

    name: str
    x: float
    y: float
    radius: float
    area: Area | None = None

    @classmethod
    def of_area(cls, name: str, area: Area) -> Place:
        """A place that is an area in metres; its circle is the smallest around the area, or hardly larger."""
        from bypass.places.areas.enclosing import centre_of

        x, y = centre_of(area)
        return cls(name, x, y, area.placed(-x, -y).reach, area)

    def __post_init__(self) -> None:
        if not 0 < self.radius < inf:
            raise InvalidLocation(f"place {self.name!r}: radius {self.radius}: expected metres above 0")
        if not (isfinite(self.x) and isfinite(self.y)):
            raise InvalidLocation(f"place {self.name!r}: ({self.x}, {self.y}): expected finite numbers")
        area = self.area
        if area is not None and area.placed(-self.x, -self.y).reach > self.radius * (1 + 1e-9) + 1e-6:
            raise InvalidArea(
                f"place {self.name!r}: {area}: expected one in its circle of radius {self.radius}"
            )

    def as_area(self) -> Area:
        """Its area, which is its circle if it has no other."""
        if self.area is not None:
            return self.area
        from bypass.places.areas import Area

        return Area.circle((self.x, self.y), self.radius)

    def contains(self, x: float, y: float) -> bool:
        """Whether a point is in its area, or in its circle if it has no other."""
        if self.area is not None:
            return self.area.contains(x, y)
        return within(x, y, self.x, self.y, self.radius)


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
