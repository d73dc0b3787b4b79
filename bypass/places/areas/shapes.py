"""The base of shapes in a plane, and the two that have no vertices to walk along: circles and boxes.

All coordinates are numbers of one plane. Kernels that test the same shapes multiply and add in the same
order, so that everybody gives the same answer, also at a border.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from math import cos, hypot, inf, pi, radians, sin, sqrt
from typing import TYPE_CHECKING

from bypass.places.geo import within

if TYPE_CHECKING:
    from bypass.places.areas.polygons import PolygonShape

Bounds = tuple[float, float, float, float]
"""x0, y0, x1, y1 of a rectangle."""

SLACK = 1e-12
"""The share of a length by which tests that must never say a false no are generous."""


class AreaShape(ABC):
    """A set of points of a plane, its border included. `bounds` is the smallest rectangle around it: a point
    outside `bounds` does not belong to the shape, whatever `contains` says."""

    __slots__ = ("bounds",)

    bounds: Bounds

    @abstractmethod
    def key(self) -> Hashable:
        """Give all that makes two shapes of a kind equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash((type(self), self.key()))

    @property
    @abstractmethod
    def vertices(self) -> int:
        """The number of points by which the shape is given."""

    @property
    @abstractmethod
    def size(self) -> float:
        """Square metres."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """The largest distance of a point of the shape from (0, 0)."""

    @abstractmethod
    def contains(self, x: float, y: float) -> bool:
        """Whether a point within `bounds` belongs to the shape."""

    @abstractmethod
    def touches(self, rect: Bounds) -> bool:
        """False only if no point of the shape is in `rect`, which is finite and within `bounds`."""

    @abstractmethod
    def touches_circle(self, x: float, y: float, radius: float) -> bool:
        """False only if no point of the shape is in the circle."""

    @abstractmethod
    def borders(self, x0: float, y0: float, x1: float, y1: float) -> Iterable[float]:
        """Parts of the straight way, 0 its beginning and 1 its end, among which are all where it meets the
        border."""

    @abstractmethod
    def placed(self, motion: Motion) -> AreaShape:
        """Give the shape turned about (0, 0), then moved."""

    @abstractmethod
    def outline(self) -> PolygonShape:
        """Give polygons that are the shape, arcs as chords of few degrees each."""


class Motion:
    """A turn about (0, 0) by `heading` degrees clockwise, then a move by (x, y)."""

    __slots__ = ("_cos", "_sin", "heading", "x", "y")

    def __init__(self, x: float, y: float, heading: float) -> None:
        self.x = x
        self.y = y
        self.heading = heading % 360.0
        self._cos, self._sin = unit(self.heading)[::-1]

    def __call__(self, x: float, y: float) -> tuple[float, float]:
        """Where a point comes to lie."""
        if not self.heading:
            return x + self.x, y + self.y
        return x * self._cos + y * self._sin + self.x, y * self._cos - x * self._sin + self.y


class DiscShape(AreaShape):
    """A circle with what is in it."""

    __slots__ = ("radius", "x", "y")

    def __init__(self, x: float, y: float, radius: float) -> None:
        self.x = x
        self.y = y
        self.radius = radius
        self.bounds = (x - radius, y - radius, x + radius, y + radius)

    def key(self) -> Hashable:
        return (self.x, self.y, self.radius)

    @property
    def vertices(self) -> int:
        return 1

    @property
    def size(self) -> float:
        return pi * self.radius * self.radius

    @property
    def reach(self) -> float:
        return hypot(self.x, self.y) + self.radius

    def contains(self, x: float, y: float) -> bool:
        return within(x, y, self.x, self.y, self.radius)

    def touches(self, rect: Bounds) -> bool:
        return rectangle_distance(self.x, self.y, rect) <= generous(self.radius, self.bounds)

    def touches_circle(self, x: float, y: float, radius: float) -> bool:
        return hypot(x - self.x, y - self.y) <= generous(self.radius + radius, self.bounds)

    def borders(self, x0: float, y0: float, x1: float, y1: float) -> Iterable[float]:
        return circle_borders(self.x, self.y, self.radius, x0, y0, x1, y1)

    def placed(self, motion: Motion) -> DiscShape:
        return DiscShape(*motion(self.x, self.y), self.radius)

    def outline(self) -> PolygonShape:
        from bypass.places.areas.polygons import PolygonShape

        return PolygonShape.of_points([[arc(self.x, self.y, self.radius, 0.0, 360.0)[:-1]]])


class BoxShape(AreaShape):
    """A rectangle along the axes."""

    __slots__ = ()

    def __init__(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self.bounds = (x0, y0, x1, y1)

    def key(self) -> Hashable:
        return self.bounds

    @property
    def vertices(self) -> int:
        return 4

    @property
    def size(self) -> float:
        x0, y0, x1, y1 = self.bounds
        return (x1 - x0) * (y1 - y0)

    @property
    def reach(self) -> float:
        x0, y0, x1, y1 = self.bounds
        return hypot(max(-x0, x1), max(-y0, y1))

    def contains(self, x: float, y: float) -> bool:
        x0, y0, x1, y1 = self.bounds
        return x0 <= x <= x1 and y0 <= y <= y1

    def touches(self, rect: Bounds) -> bool:  # noqa: ARG002 - it is within the bounds
        return True

    def touches_circle(self, x: float, y: float, radius: float) -> bool:
        return rectangle_distance(x, y, self.bounds) <= generous(radius, self.bounds)

    def borders(self, x0: float, y0: float, x1: float, y1: float) -> Iterable[float]:
        left, bottom, right, top = self.bounds
        if x1 != x0:
            yield (left - x0) / (x1 - x0)
            yield (right - x0) / (x1 - x0)
        if y1 != y0:
            yield (bottom - y0) / (y1 - y0)
            yield (top - y0) / (y1 - y0)

    def placed(self, motion: Motion) -> AreaShape:
        if motion.heading:
            return self.outline().placed(motion)
        x0, y0, x1, y1 = self.bounds
        return BoxShape(*motion(x0, y0), *motion(x1, y1))

    def outline(self) -> PolygonShape:
        from bypass.places.areas.polygons import PolygonShape

        x0, y0, x1, y1 = self.bounds
        return PolygonShape.of_points([[[(x0, y0), (x1, y0), (x1, y1), (x0, y1)]]])


def generous(length: float, bounds: Bounds) -> float:
    """A length and a little more, so that rounding at coordinates of this size hides no touch."""
    return length + SLACK * (length + max(map(abs, bounds)))


def rectangle_distance(x: float, y: float, rect: Bounds) -> float:
    """The distance of a point from a rectangle, 0 in it."""
    x0, y0, x1, y1 = rect
    return hypot(max(x0 - x, 0.0, x - x1), max(y0 - y, 0.0, y - y1))


def circle_borders(
    x: float, y: float, radius: float, x0: float, y0: float, x1: float, y1: float
) -> Iterator[float]:
    """Parts of a way where it meets a circle, beyond its ends, too."""
    dx, dy, fx, fy = x1 - x0, y1 - y0, x0 - x, y0 - y
    squared = dx * dx + dy * dy
    if squared:
        middle = -(fx * dx + fy * dy) / squared
        across = fx * dy - fy * dx
        nearest = across * across / squared  # the square of the line's distance from the centre
        if nearest <= radius * radius * (1 + SLACK):
            half = sqrt(max(0.0, radius * radius - nearest) / squared)
            yield middle - half
            yield middle + half


def unit(bearing: float) -> tuple[float, float]:
    """The direction of a bearing in degrees clockwise from north, as x and y. Quarters are exact."""
    quarters, rest = divmod(bearing, 90.0)
    x, y = (sin(radians(rest)), cos(radians(rest))) if rest else (0.0, 1.0)
    for _ in range(int(quarters) % 4):
        x, y = y, -x
    return x, y


def arc(x: float, y: float, radius: float, start: float, turn: float) -> list[tuple[float, float]]:
    """Points on a circle from the bearing `start`, `turn` degrees clockwise, at most six degrees apart."""
    steps = max(1, -int(-turn // 6))
    points = [unit(start + turn * step / steps) for step in range(steps + 1)]
    return [(x + radius * ux, y + radius * uy) for ux, uy in points]


def around(points: Iterable[tuple[float, float]], margin: float = 0.0) -> Bounds:
    """The smallest rectangle around points, with a margin."""
    x0 = y0 = inf
    x1 = y1 = -inf
    for x, y in points:
        x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
    return (x0 - margin, y0 - margin, x1 + margin, y1 + margin)
