"""The smallest circle around an area."""

from __future__ import annotations

from math import hypot
from random import Random
from typing import TYPE_CHECKING

from bypass.places.areas.corridors import CorridorShape
from bypass.places.areas.polygons import Point, pairs
from bypass.places.areas.shapes import DiscShape

if TYPE_CHECKING:
    from bypass.places.areas.area import Area

_Circle = tuple[float, float, float]


def centre_of(area: Area) -> Point:
    """The centre of the smallest circle around an area in metres. Raises InvalidArea for a named place."""
    shape = area.known()
    if isinstance(shape, DiscShape):
        return shape.x, shape.y
    if isinstance(shape, CorridorShape):
        points = list(pairs(shape.line))
    else:
        points = [point for part in shape.outline().parts for point in pairs(part[0])]
    return _smallest_circle(points)[:2]


def _smallest_circle(points: list[Point]) -> _Circle:
    """Welzl's algorithm: a point outside the circle around those before it is on the circle with it."""
    points = sorted(set(points))
    Random(0).shuffle(points)  # any order is right, a random one is fast
    circle = (*points[0], 0.0)
    for i, p in enumerate(points):
        if _outside(circle, p):
            circle = (*p, 0.0)
            for j, q in enumerate(points[:i]):
                if _outside(circle, q):
                    circle = _across(p, q)
                    for r in points[:j]:
                        if _outside(circle, r):
                            circle = _through(p, q, r)
    return circle


def _outside(circle: _Circle, point: Point) -> bool:
    x, y, radius = circle
    return hypot(point[0] - x, point[1] - y) > radius * (1 + 1e-12) + 1e-9


def _across(p: Point, q: Point) -> _Circle:
    return (p[0] + q[0]) / 2, (p[1] + q[1]) / 2, hypot(p[0] - q[0], p[1] - q[1]) / 2


def _through(p: Point, q: Point, r: Point) -> _Circle:
    """The circle through three points; of points on one line, the one across the farthest two."""
    bx, by, cx, cy = q[0] - p[0], q[1] - p[1], r[0] - p[0], r[1] - p[1]
    twice = 2 * (bx * cy - by * cx)
    if abs(twice) <= 1e-12 * (hypot(bx, by) * hypot(cx, cy)):
        return max((_across(p, q), _across(p, r), _across(q, r)), key=lambda circle: circle[2])
    b, c = bx * bx + by * by, cx * cx + cy * cy
    x, y = (cy * b - by * c) / twice, (bx * c - cx * b) / twice
    return p[0] + x, p[1] + y, hypot(x, y)
