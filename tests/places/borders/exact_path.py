"""Border events by brute force: shapely says where the exact path of a client is inside, from its first fix
on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from shapely.geometry import LineString, Point
from shapely.geometry.base import BaseGeometry

from bypass.places.areas import Area
from bypass.places.borders import BorderOptions, PathPoint

NEAR = 1e-6
"""Passages that are nearer to each other than this (s) may count as none."""


class Grazing(Exception):
    """The path touches a border so closely that rounding decides."""


@dataclass
class Flip:
    """The client is inside from a time on, or outside; `why` as in border events."""

    at: float
    x: float
    y: float
    inside: bool
    why: str


@dataclass
class ExactPath:
    """The path of a client and one area, of which there may be none."""

    shape: BaseGeometry | None
    flips: list[Flip] = field(default_factory=list)
    fixes: list[PathPoint] = field(default_factory=list)

    @property
    def inside(self) -> bool:
        return bool(self.flips) and self.flips[-1].inside

    def fix(self, point: PathPoint) -> None:
        """The client goes straight to a point."""
        if self.fixes and self.shape is not None:
            for share in shares(self.shape, self.fixes[-1], point):
                at = self.fixes[-1].towards(point, share)
                self._flip(at, not self.inside, "moved")
        first = not self.fixes
        self.fixes.append(point)
        if first:
            self._look(point, "initial")

    def reshape(self, area: Area | None) -> None:
        """The area is another, or there is none any more."""
        before, self.shape = self.shape, None if area is None else area.geometry()
        if self.fixes:
            why = "removed" if area is None else "initial" if before is None else "changed"
            self._look(self.fixes[-1], why)

    def _look(self, point: PathPoint, why: str) -> None:
        inside = self.shape is not None and covers(self.shape, point.x, point.y)
        if inside != self.inside:
            self._flip(point, inside, why)

    def _flip(self, point: PathPoint, inside: bool, why: str) -> None:
        self.flips.append(Flip(point.at, point.x, point.y, inside, why))

    def events(self, options: BorderOptions) -> list[tuple[str, float, str]]:
        """The kinds, times and reasons of all events, for a watch without `margin`."""
        end = self.fixes[-1].at
        told: list[Flip] = []
        for flip, after in zip(self.flips, [*self.flips[1:], None], strict=False):
            lasted = flip.why != "moved" or (end if after is None else after.at) - flip.at >= options.debounce
            if told and told[-1].inside == flip.inside:
                continue  # it has come back before that counted
            if not told and not flip.inside:
                continue
            if lasted:
                told.append(flip)
            elif after is not None and after.why == "removed" and not flip.inside:
                told.append(flip)  # it was outside when the area went, which cannot be taken back
        found: list[tuple[str, float, str]] = []
        for flip, after in zip(told, [*told[1:], None], strict=False):
            if flip.inside:
                if flip.why != "initial" or options.initial:
                    found.append(("enter", flip.at, flip.why))
                left = self._left(flip, end) if after is None else after.at
                if options.dwell is not None and left - flip.at >= options.dwell:
                    found.append(("dwell", self._back(flip.at + options.dwell, flip.at), "moved"))
                if after is not None:
                    found.append(("exit", after.at, after.why))
                    if not any(flip.at <= fix.at <= after.at for fix in self.fixes):
                        found.append(("cross", after.at, after.why))
        return [each for each in found if each[0] in options.on]

    def _left(self, entered: Flip, end: float) -> float:
        """When a client has left that may come back yet; the end if it is inside."""
        return end if self.inside else max(self.flips[-1].at, entered.at)

    def _back(self, at: float, since: float) -> float:
        """The time itself if the client is inside then, else when it is back."""
        before = [flip for flip in self.flips if since < flip.at < at]
        if not before or before[-1].inside:
            return at
        return min(flip.at for flip in self.flips if flip.inside and flip.at >= at)


def shares(shape: BaseGeometry, start: PathPoint, end: PathPoint) -> list[float]:
    """The shares of the way between two points at which it passes the border. Raises Grazing."""
    way = LineString([(start.x, start.y), (end.x, end.y)])
    if way.length == 0.0:
        return []
    crossed = way.intersection(shape.boundary)
    touched = sorted(way.project(Point(c)) / way.length for c in _coordinates(crossed))
    if any(b - a < NEAR for a, b in pairwise([0.0, *touched, 1.0])):
        raise Grazing
    sides = [
        covers(shape, *way.interpolate((a + b) / 2, normalized=True).coords[0])
        for a, b in pairwise([0.0, *touched, 1.0])
    ]
    if any(shape.boundary.distance(Point(p)) < NEAR for p in (way.coords[0], way.coords[1])):
        raise Grazing
    return [at for at, (before, after) in zip(touched, pairwise(sides), strict=True) if before != after]


def covers(shape: BaseGeometry, x: float, y: float) -> bool:
    return bool(shape.covers(Point(x, y)))


def _coordinates(geometry: BaseGeometry) -> Sequence[tuple[float, float]]:
    if geometry.is_empty:
        return []
    if hasattr(geometry, "geoms"):
        return [c for each in geometry.geoms for c in _coordinates(each)]
    return [c[:2] for c in geometry.coords]
