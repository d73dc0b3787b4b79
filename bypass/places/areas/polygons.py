"""Polygons with holes, one or several."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Sequence
from math import hypot
from typing import TypeAlias

from bypass.places.areas.shapes import SLACK, AreaShape, Bounds, Motion, around

Point = tuple[float, float]
RingSet: TypeAlias = "tuple[array[float], ...]"
"""The rings of one polygon, the outer one first; a ring is x and y of its vertices in turn, each once."""


class PolygonShape(AreaShape):
    """The union of polygons, each of which is all that is in an odd number of its rings, and the rings."""

    __slots__ = ("_part_bounds", "parts")

    def __init__(self, parts: tuple[RingSet, ...]) -> None:
        self.parts = parts
        each = tuple([ring_bounds(part[0]) for part in parts])
        self._part_bounds = each
        if len(each) == 1:
            self.bounds = each[0]
        else:
            self.bounds = around([corner for x0, y0, x1, y1 in each for corner in ((x0, y0), (x1, y1))])

    @classmethod
    def of_points(cls, parts: Sequence[Sequence[Sequence[Point]]]) -> PolygonShape:
        """Make a shape of rings of points, which are taken as they are."""
        return cls(
            tuple(tuple(array("d", [c for point in ring for c in point]) for ring in part) for part in parts)
        )

    def key(self) -> Hashable:
        return tuple([tuple([ring.tobytes() for ring in part]) for part in self.parts])

    @property
    def vertices(self) -> int:
        return sum([len(ring) // 2 for part in self.parts for ring in part])

    @property
    def size(self) -> float:
        return sum([signed_size(part[0]) - sum(map(signed_size, part[1:])) for part in self.parts])

    @property
    def reach(self) -> float:
        return max(hypot(x, y) for part in self.parts for x, y in pairs(part[0]))

    def contains(self, x: float, y: float) -> bool:
        for part, (x0, y0, x1, y1) in zip(self.parts, self._part_bounds, strict=True):
            if x0 <= x <= x1 and y0 <= y <= y1 and in_rings(part, x, y):
                return True
        return False

    def touches(self, rect: Bounds) -> bool:
        return any(
            _part_touches(part, bounds, rect)
            for part, bounds in zip(self.parts, self._part_bounds, strict=True)
        )

    def touches_circle(self, x: float, y: float, radius: float) -> bool:
        x0, y0, x1, y1 = self.bounds
        most = radius + SLACK * (radius + max(abs(x), abs(y), -x0, -y0, x1, y1))
        nearest = min(
            segment_distance(x, y, *edge) for part in self.parts for ring in part for edge in edges(ring)
        )
        return nearest <= most or self.contains(x, y)

    def borders(self, x0: float, y0: float, x1: float, y1: float) -> Iterator[float]:
        dx, dy = x1 - x0, y1 - y0
        left, right, bottom, top = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
        for part in self.parts:
            for ring in part:
                for ax, ay, bx, by in edges(ring):
                    if (
                        (ax < left and bx < left)
                        or (ax > right and bx > right)
                        or (ay < bottom and by < bottom)
                        or (ay > top and by > top)
                    ):
                        continue
                    ex, ey = bx - ax, by - ay
                    across = dx * ey - dy * ex
                    if across:
                        fx, fy = ax - x0, ay - y0
                        if -1e-9 <= (fx * dy - fy * dx) / across <= 1 + 1e-9:
                            yield (fx * ey - fy * ex) / across

    def placed(self, motion: Motion) -> PolygonShape:
        return PolygonShape.of_points(
            [[[motion(x, y) for x, y in pairs(ring)] for ring in part] for part in self.parts]
        )

    def outline(self) -> PolygonShape:
        return self


def pairs(ring: Iterable[float]) -> Iterator[Point]:
    """The vertices of a ring."""
    numbers = iter(ring)
    return zip(numbers, numbers, strict=True)


def edges(ring: Sequence[float]) -> Iterator[tuple[float, float, float, float]]:
    """The edges of a ring; the first is that from its last vertex to its first."""
    ax, ay = ring[-2], ring[-1]
    for bx, by in pairs(ring):
        yield ax, ay, bx, by
        ax, ay = bx, by


def in_rings(rings: Iterable[Sequence[float]], x: float, y: float) -> bool:
    """Whether a point is in an odd number of rings, or on one.

    Each edge is looked at from its lower end, so that polygons on both its sides agree where it is.
    """
    inside = False
    for ring in rings:
        ax, ay = ring[-2], ring[-1]
        for bx, by in pairs(ring):
            if (ay > y) != (by > y):
                if ay < by:
                    side = (bx - ax) * (y - ay) - (x - ax) * (by - ay)
                else:
                    side = (ax - bx) * (y - by) - (x - bx) * (ay - by)
                if side > 0.0:
                    inside = not inside
                elif side == 0.0:
                    return True
            elif by == y and (bx == x or (ay == y and (ax > x) != (bx > x))):
                return True
            ax, ay = bx, by
    return inside


def signed_size(ring: Sequence[float]) -> float:
    """The size of a ring's inside, whichever way it runs."""
    x0, y0 = ring[0], ring[1]  # near the ring, or much would cancel
    return abs(sum((ax - x0) * (by - y0) - (bx - x0) * (ay - y0) for ax, ay, bx, by in edges(ring))) / 2


def ring_bounds(ring: Sequence[float]) -> Bounds:
    """The smallest rectangle around a ring."""
    xs, ys = ring[::2], ring[1::2]
    return (min(xs), min(ys), max(xs), max(ys))


def segment_distance(x: float, y: float, ax: float, ay: float, bx: float, by: float) -> float:
    """The distance of a point from the straight line between two others."""
    dx, dy = bx - ax, by - ay
    squared = dx * dx + dy * dy
    part = ((x - ax) * dx + (y - ay) * dy) / squared if squared else 0.0
    part = 0.0 if part < 0.0 else 1.0 if part > 1.0 else part
    return hypot(x - (ax + part * dx), y - (ay + part * dy))


def segment_touches(ax: float, ay: float, bx: float, by: float, rect: Bounds, margin: float = 0.0) -> bool:
    """False only if a straight line comes nowhere within `margin` of a rectangle."""
    x0, y0, x1, y1 = rect
    slack = margin + SLACK * (
        margin + max(abs(x0), abs(y0), abs(x1), abs(y1), abs(ax), abs(ay), abs(bx), abs(by))
    )
    x0, y0, x1, y1 = x0 - slack, y0 - slack, x1 + slack, y1 + slack
    if max(ax, bx) < x0 or min(ax, bx) > x1 or max(ay, by) < y0 or min(ay, by) > y1:
        return False
    dx, dy = bx - ax, by - ay
    sides = [dx * (y - ay) - dy * (x - ax) for x in (x0, x1) for y in (y0, y1)]
    return min(sides) <= 0.0 <= max(sides)


def _part_touches(part: RingSet, bounds: Bounds, rect: Bounds) -> bool:
    x0, y0 = max(rect[0], bounds[0]), max(rect[1], bounds[1])
    x1, y1 = min(rect[2], bounds[2]), min(rect[3], bounds[3])
    if x0 > x1 or y0 > y1:
        return False
    clipped = (x0, y0, x1, y1)
    return any(segment_touches(*edge, clipped) for ring in part for edge in edges(ring)) or in_rings(
        part, x0, y0
    )
