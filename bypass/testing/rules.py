"""The rule of each filter scheme, which says whom an event concerns, as plainly as it can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bypass.places.geo import within
from bypass.places.region import Region

Point = tuple[float, float]


class LocatedSubscriber(NamedTuple):
    """A subscriber as a rule sees it: where it is and how it moves (m/s), the radius that it wants, and the
    parameters of the scheme that serves it in a region."""

    place: Point
    vector: Point
    radius: int
    settings: Mapping[str, Any]
    region: Region


SchemeRule = Callable[[LocatedSubscriber, Point], bool | None]
"""Says of an event at a place: the subscriber must be told (true), must not (false), or may be (None)."""


def near(who: LocatedSubscriber, at: Point) -> bool:
    """The event lies within the radius: what RADIAL promises."""
    return within(*at, *who.place, who.radius)


def same_cell(who: LocatedSubscriber, at: Point) -> bool:
    """Both are in the same cell, whatever the radius: GRID."""
    n, area = who.settings["grid"], who.region.area
    return cell(at, n, area) == cell(who.place, n, area)


def cells_around(who: LocatedSubscriber, at: Point) -> bool | None:
    """The event is in a cell that the square around the subscriber touches: EGRID.

    It may be in one that the square touches from another place of the subscriber's cell: who stays in a cell
    keeps what it listens to, as long as nothing is missing.
    """
    n, area, (x, y), r = who.settings["grid"], who.region.area, who.place, who.radius

    def touched(low: Point, high: Point) -> bool:
        (i0, j0), (i, j), (i1, j1) = (cell(each, n, area) for each in (low, at, high))
        return i0 <= i <= i1 and j0 <= j <= j1

    if touched((x - r, y - r), (x + r, y + r)):
        return True
    width, height = (area[2] - area[0]) / n, (area[3] - area[1]) / n
    i, j = cell(who.place, n, area)
    right, above = area[0] + (i + 1) * width + r, area[1] + (j + 1) * height + r
    low = area[0] + i * width - r, area[1] + j * height - r
    high = math.nextafter(right, -math.inf), math.nextafter(above, -math.inf)  # cells are half-open
    return None if touched(low, high) else False


def ahead(who: LocatedSubscriber, at: Point) -> bool:
    """The event is within the radius, or ahead of who walks: STE."""
    return in_envelope(at, who.place, who.radius, who.vector, who.settings["alpha"])


def same_places(who: LocatedSubscriber, at: Point) -> bool:
    """Both are at one of the region's places, or both are at none: ATTRACT."""
    mine, its = around(who.region, who.place), around(who.region, at)
    return bool(mine & its) or not (mine or its)


def places_or_radius(who: LocatedSubscriber, at: Point) -> bool:
    """MULTI: people at one of the region's places hear what happens there, others what is near."""
    mine = around(who.region, who.place)
    return bool(mine & around(who.region, at)) if mine else near(who, at)


RULES: Mapping[str, SchemeRule] = {
    "radial": near,
    "ste": ahead,
    "grid": same_cell,
    "egrid": cells_around,
    "attract": same_places,
    "multi": places_or_radius,
}
"""The rules of the built-in schemes, for subscribers whose places the broker knows."""


def around(region: Region, at: Point) -> set[str]:
    """Names the places of a region that a point is in."""
    return {p.name for p in region.places if within(*at, p.x, p.y, p.radius)}


def cell(at: Point, n: int, area: tuple[float, float, float, float]) -> tuple[int, int]:
    """Gives the cell of a point among n × n, the outermost ones having everything beyond them too."""
    x0, y0, x1, y1 = area
    width, height = (x1 - x0) / n, (y1 - y0) / n
    begun = [(x0 + i * width <= at[0], y0 + i * height <= at[1]) for i in range(1, n)]
    return sum(x for x, _ in begun), sum(y for _, y in begun)


def in_envelope(at: Point, place: Point, radius: float, vector: Point, alpha: float) -> bool:
    """Tells whether a point is in the disc around a subscriber, or in the cone that starts there."""
    if within(*at, *place, radius):
        return True
    speed = math.hypot(*vector)
    if speed == 0.0 or alpha == 0.0:
        return False
    dx, dy = at[0] - place[0], at[1] - place[1]
    along = (dx * vector[0] + dy * vector[1]) / speed
    aside = abs(dx * vector[1] - dy * vector[0]) / speed
    return 0.0 <= along <= 60.0 * alpha * speed and aside <= radius + along * math.tan(math.radians(15))
