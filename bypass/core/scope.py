"""Places, areas, radii and lifetimes as applications give them, checked, in metres and microseconds."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

from bypass.errors import InvalidArea, InvalidEvent, InvalidLocation, InvalidRadius, shown
from bypass.places.geo import GeoLocation, PlanarLocation, Projection

if TYPE_CHECKING:
    from bypass.places.areas import Area

LARGEST_RADIUS = 20_000_000  # half the way around the earth
LONGEST_LIFETIME = 1e9
"""Seconds that an event can be for somebody: thirty years."""


def planar(location: Any, projection: Projection | None) -> PlanarLocation:
    """A place in metres. Raises InvalidLocation for what is none, or for degrees without a projection."""
    if isinstance(location, GeoLocation):
        if projection is None:
            raise InvalidLocation(f"{location}: expected planar metres, this client has no projection")
        location = projection.to_planar(location)
    if not isinstance(location, PlanarLocation):  # (x, y) might as well be degrees
        raise InvalidLocation(
            f"location {shown(location)}: expected PlanarLocation(x, y) or GeoLocation(lat, lon)"
        )
    return location


def planar_area(area: Any, projection: Projection | None) -> Area:
    """An area in metres. Raises InvalidArea for what is none, or for degrees without a projection."""
    from bypass.places.areas import Area

    if not isinstance(area, Area):
        raise InvalidArea(f"area {shown(area)}: expected an Area")
    if area.degrees:
        if projection is None:
            raise InvalidArea(f"{area}: expected planar metres, this client has no projection")
        return area.projected(projection)
    return area


def lifetime_of(expires: Any) -> int | None:
    """A lifetime in whole microseconds; None for no end. Raises InvalidEvent for another than seconds above
    0."""
    if expires is None:
        return None
    if not isinstance(expires, Real) or not 0 < float(expires) <= LONGEST_LIFETIME:
        raise InvalidEvent(
            f"expires {shown(expires)}: expected seconds above 0 and at most {LONGEST_LIFETIME:g}"
        )
    return max(1, round(float(expires) * 1e6))


def whole_metres(radius: Any) -> int:
    """A radius as a whole number, which 100.0 is too. Raises InvalidRadius."""
    number = isinstance(radius, Real) and not isinstance(radius, bool)
    if not number or not 0 < radius <= LARGEST_RADIUS or int(radius) != radius:
        raise InvalidRadius(f"radius {shown(radius)}: expected whole metres from 1 to {LARGEST_RADIUS}")
    return int(radius)
