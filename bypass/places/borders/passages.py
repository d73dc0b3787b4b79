"""The passages of the straight way between two fixes through the border of an area."""

from __future__ import annotations

from math import isnan, sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bypass.places.areas import Area

NOWHERE = float("nan")


class PathPoint(NamedTuple):
    """A point of a client's way: place (m), time (s) and altitude (m, NaN: unknown)."""

    x: float
    y: float
    at: float
    z: float = NOWHERE

    def towards(self, other: PathPoint, share: float) -> PathPoint:
        """The point after this share of the straight way to another one."""
        if share >= 1.0:
            return other
        return PathPoint(
            self.x + (other.x - self.x) * share,
            self.y + (other.y - self.y) * share,
            self.at + (other.at - self.at) * share,
            self.z + (other.z - self.z) * share,
        )


def contains(area: Area, point: PathPoint) -> bool:
    """Whether a point is in an area; one of unknown altitude is in it at any."""
    return area.contains(point.x, point.y, None if isnan(point.z) else point.z)


def passages(area: Area, start: PathPoint, end: PathPoint) -> list[float]:
    """The shares of the straight way, ascending, at which it passes between inside and outside.

    With altitudes, a way is inside while it is in the area and in its band of altitudes.
    """
    flat = area.crossings(start.x, start.y, end.x, end.y)
    if area.altitude is None or isnan(start.z) or isnan(end.z) or start.z == end.z:
        if area.altitude is None or isnan(start.z) or area.altitude[0] <= start.z <= area.altitude[1]:
            return flat
        return []
    low, high = area.altitude
    steep = sorted(
        share for level in (low, high) if 0.0 < (share := (level - start.z) / (end.z - start.z)) <= 1.0
    )
    flat_inside = area.contains(start.x, start.y)
    band_inside = low <= start.z <= high
    inside = flat_inside and band_inside
    found = []
    for share, is_flat in sorted([(share, True) for share in flat] + [(share, False) for share in steep]):
        if is_flat:
            flat_inside = not flat_inside
        else:
            band_inside = not band_inside
        if (flat_inside and band_inside) != inside:
            inside = not inside
            found.append(share)
    return found


def reaches(start: PathPoint, end: PathPoint, x: float, y: float, distance: float) -> float | None:
    """The share of the straight way at which it is first so many metres away from a place; None: never."""
    ax, ay = start.x - x, start.y - y
    gap = ax * ax + ay * ay - distance * distance
    if gap >= 0.0:
        return 0.0
    dx, dy = end.x - start.x, end.y - start.y
    square = dx * dx + dy * dy
    if square == 0.0:
        return None
    half = ax * dx + ay * dy
    share = (-half + sqrt(half * half - square * gap)) / square
    return share if share <= 1.0 else None
