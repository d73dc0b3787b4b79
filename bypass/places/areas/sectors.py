"""Sectors: the part of a circle that is seen in a direction."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from math import hypot, pi

from bypass.places.areas.polygons import PolygonShape, segment_distance
from bypass.places.areas.shapes import (
    SLACK,
    AreaShape,
    Bounds,
    Motion,
    arc,
    around,
    circle_borders,
    generous,
    rectangle_distance,
    unit,
)
from bypass.places.geo import within


class SectorShape(AreaShape):
    """All points of a circle whose direction from its centre is within half an `opening` of a `bearing`, both
    in degrees; its centre belongs to it."""

    __slots__ = ("_left", "_right", "bearing", "opening", "radius", "x", "y")

    def __init__(self, x: float, y: float, radius: float, bearing: float, opening: float) -> None:
        self.x = x
        self.y = y
        self.radius = radius
        self.bearing = bearing % 360.0
        self.opening = opening
        self._left = unit((self.bearing - opening / 2) % 360.0)
        self._right = unit((self.bearing + opening / 2) % 360.0)
        extremes = [(0.0, 0.0), self._left, self._right]
        extremes += [each for each in ((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)) if self._seen(*each)]
        self.bounds = around([(x + radius * ux, y + radius * uy) for ux, uy in extremes])

    def _seen(self, dx: float, dy: float) -> bool:
        """Whether a direction is that of a point of the sector."""
        if self.opening == 360.0:
            return True
        (lx, ly), (rx, ry) = self._left, self._right
        after_left, before_right = lx * dy - ly * dx <= 0.0, rx * dy - ry * dx >= 0.0
        return (after_left and before_right) if self.opening <= 180.0 else (after_left or before_right)

    def key(self) -> Hashable:
        return (self.x, self.y, self.radius, self.bearing, self.opening)

    @property
    def vertices(self) -> int:
        return 1

    @property
    def size(self) -> float:
        return pi * self.radius * self.radius * self.opening / 360.0

    @property
    def reach(self) -> float:
        away = hypot(self.x, self.y)
        if self._seen(self.x, self.y):  # of the circle's points the one that is farthest
            return away + self.radius
        ends = [
            (self.x + self.radius * ux, self.y + self.radius * uy) for ux, uy in (self._left, self._right)
        ]
        return max(away, *[hypot(x, y) for x, y in ends])

    def contains(self, x: float, y: float) -> bool:
        return within(x, y, self.x, self.y, self.radius) and self._seen(x - self.x, y - self.y)

    def touches(self, rect: Bounds) -> bool:
        if rectangle_distance(self.x, self.y, rect) > generous(self.radius, self.bounds):
            return False
        x0, y0, x1, y1 = rect
        corners = [(x - self.x, y - self.y) for x in (x0, x1) for y in (y0, y1)]
        slack = SLACK * (self.radius + max(map(abs, self.bounds)))
        return self._near_wedge(corners, slack)

    def _near_wedge(self, corners: list[tuple[float, float]], slack: float) -> bool:
        """False only if no direction from the centre to a convex figure with these corners is seen."""
        if self.opening > 180.0:
            return True
        (lx, ly), (rx, ry) = self._left, self._right
        return any(lx * dy - ly * dx <= slack for dx, dy in corners) and any(
            rx * dy - ry * dx >= -slack for dx, dy in corners
        )

    def touches_circle(self, x: float, y: float, radius: float) -> bool:
        dx, dy = x - self.x, y - self.y
        most = generous(radius, (*self.bounds[:2], x, y))
        if self._seen(dx, dy):
            return hypot(dx, dy) <= generous(self.radius, self.bounds) + most
        ends = [
            (self.x + self.radius * ux, self.y + self.radius * uy) for ux, uy in (self._left, self._right)
        ]
        return any(segment_distance(x, y, self.x, self.y, *end) <= most for end in ends)

    def borders(self, x0: float, y0: float, x1: float, y1: float) -> Iterator[float]:
        yield from circle_borders(self.x, self.y, self.radius, x0, y0, x1, y1)
        dx, dy = x1 - x0, y1 - y0
        for ux, uy in (self._left, self._right):
            across = dx * uy - dy * ux
            if across:
                yield ((self.x - x0) * uy - (self.y - y0) * ux) / across

    def placed(self, motion: Motion) -> SectorShape:
        x, y = motion(self.x, self.y)
        return SectorShape(x, y, self.radius, self.bearing + motion.heading, self.opening)

    def outline(self) -> PolygonShape:
        ring = arc(self.x, self.y, self.radius, self.bearing - self.opening / 2, self.opening)
        ring = ring[:-1] if self.opening == 360.0 else [(self.x, self.y), *ring]
        return PolygonShape.of_points([[ring]])
