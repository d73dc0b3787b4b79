"""Corridors: all that is near a line."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator
from itertools import pairwise
from math import atan2, ceil, degrees, hypot, inf, sqrt

from bypass.places.areas.polygons import Point, PolygonShape, pairs, segment_distance, segment_touches
from bypass.places.areas.shapes import AreaShape, Bounds, Motion, arc, around, circle_borders, generous

LINES = 4096
"""About so many lines across a corridor measure its size."""
FEWEST_LINES = 32
"""Lines between two places at which its course changes."""


class CorridorShape(AreaShape):
    """All points within half a `width` of a line through some points. Its ends and bends are round."""

    __slots__ = ("line", "width")

    def __init__(self, line: array[float], width: float) -> None:
        self.line = line
        self.width = width
        self.bounds = around(pairs(line), width / 2)

    @classmethod
    def of_points(cls, line: list[Point], width: float) -> CorridorShape:
        """Make a shape of points, which are taken as they are."""
        return cls(array("d", [c for point in line for c in point]), width)

    def key(self) -> Hashable:
        return (self.width, self.line.tobytes())

    @property
    def vertices(self) -> int:
        return len(self.line) // 2

    @property
    def size(self) -> float:
        """Exact to about a ten-thousandth, with more than 100 segments to about a hundredth: the sum of what
        lines across the corridor have in common with it."""
        x0, y0, x1, y1 = self.bounds
        along_x = x1 - x0 >= y1 - y0  # lines along the shorter side are the better samples of the longer one
        low, high = (x0, x1) if along_x else (y0, y1)
        covered = 0.0
        for start, end in pairwise(self._corners(low, high, along_x)):
            lines = max(ceil(LINES * (end - start) / (high - low)), FEWEST_LINES)
            step = (end - start) / lines
            covered += step * sum(self._covered(start + (n + 0.5) * step, along_x) for n in range(lines))
        return covered

    def _corners(self, low: float, high: float, along_x: bool) -> list[float]:
        """Places between which the length that a line has in common with the corridor changes evenly, or
        nearly: a narrow part may lie between two lines of others."""
        segments = [*self.segments()]
        if len(segments) > 100:
            return [low, high]
        radius = self.width / 2
        found = {low, high}
        for ax, ay, bx, by in segments:
            offset = abs((by - ay) if along_x else (bx - ax)) / hypot(bx - ax, by - ay) * radius
            for end in (ax, bx) if along_x else (ay, by):
                found.update((end - radius, end - offset, end, end + offset, end + radius))
        return sorted(each for each in found if low <= each <= high)

    def _covered(self, at: float, along_x: bool) -> float:
        """The length that a line across has in common with the corridor."""
        covered, end = 0.0, -inf
        for start, stop in sorted(self._stretches(at, along_x)):
            covered += max(0.0, stop - max(start, end))
            end = max(end, stop)
        return covered

    def _stretches(self, at: float, along_x: bool) -> Iterator[tuple[float, float]]:
        """Parts of a line across the corridor that are near each segment."""
        radius = self.width / 2
        for ax, ay, bx, by in self.segments():
            if not along_x:
                ax, ay, bx, by = ay, ax, by, bx
            if not min(ax, bx) - radius <= at <= max(ax, bx) + radius:
                continue
            found = []
            for x, y in ((ax, ay), (bx, by)):
                if abs(at - x) <= radius:
                    half = sqrt(radius * radius - (at - x) * (at - x))
                    found += [y - half, y + half]
            length = hypot(bx - ax, by - ay)
            ox, oy = -(by - ay) / length * radius, (bx - ax) / length * radius
            for sx, sy in ((ax + ox, ay + oy), (ax - ox, ay - oy)):
                if bx != ax and 0 <= (part := (at - sx) / (bx - ax)) <= 1:
                    found.append(sy + part * (by - ay))
            if found:
                yield min(found), max(found)

    @property
    def reach(self) -> float:
        return max(hypot(x, y) for x, y in pairs(self.line)) + self.width / 2

    def segments(self) -> Iterator[tuple[float, float, float, float]]:
        """The straight parts of the line."""
        points = list(pairs(self.line))
        for (ax, ay), (bx, by) in pairwise(points):
            yield ax, ay, bx, by

    def contains(self, x: float, y: float) -> bool:
        most = self.width / 2
        most *= most
        line = self.line
        ax, ay = line[0], line[1]
        for bx, by in pairs(line[2:]):
            dx, dy, fx, fy = bx - ax, by - ay, x - ax, y - ay
            along, squared = fx * dx + fy * dy, dx * dx + dy * dy
            if along <= 0.0:
                near = fx * fx + fy * fy <= most
            elif along >= squared:
                gx, gy = x - bx, y - by
                near = gx * gx + gy * gy <= most
            else:
                across = fx * dy - fy * dx
                near = across * across <= most * squared
            if near:
                return True
            ax, ay = bx, by
        return False

    def touches(self, rect: Bounds) -> bool:
        margin = generous(self.width / 2, self.bounds)
        return any(segment_touches(*each, rect, margin) for each in self.segments())

    def touches_circle(self, x: float, y: float, radius: float) -> bool:
        most = generous(self.width / 2 + radius, self.bounds)
        return any(segment_distance(x, y, *each) <= most for each in self.segments())

    def borders(self, x0: float, y0: float, x1: float, y1: float) -> Iterator[float]:
        radius = self.width / 2
        dx, dy = x1 - x0, y1 - y0
        left, right = min(x0, x1) - radius, max(x0, x1) + radius
        bottom, top = min(y0, y1) - radius, max(y0, y1) + radius
        for ax, ay, bx, by in self.segments():
            if max(ax, bx) < left or min(ax, bx) > right or max(ay, by) < bottom or min(ay, by) > top:
                continue
            yield from circle_borders(ax, ay, radius, x0, y0, x1, y1)
            yield from circle_borders(bx, by, radius, x0, y0, x1, y1)
            ex, ey = bx - ax, by - ay
            across = dx * ey - dy * ex
            if across:
                ahead = (ax - x0) * ey - (ay - y0) * ex
                aside = radius * hypot(ex, ey)
                yield (ahead - aside) / across
                yield (ahead + aside) / across

    def placed(self, motion: Motion) -> CorridorShape:
        return CorridorShape.of_points([motion(x, y) for x, y in pairs(self.line)], self.width)

    def outline(self) -> PolygonShape:
        """Give a polygon for each straight part: they overlap at the bends."""
        radius = self.width / 2
        parts = []
        for ax, ay, bx, by in self.segments():
            bearing = degrees(atan2(bx - ax, by - ay)) % 360.0
            ring = arc(bx, by, radius, bearing - 90.0, 180.0) + arc(ax, ay, radius, bearing + 90.0, 180.0)
            parts.append([ring])
        return PolygonShape.of_points(parts)
