"""Places, areas and lifetimes that applications give events, checked, in metres and microseconds."""

from __future__ import annotations

from typing import Any

from bypass.core.areas.arguments import planar_area, seconds
from bypass.errors import InvalidArea, InvalidLocation, shown
from bypass.places.areas import Area
from bypass.places.geo import GeoLocation, PlanarLocation, Projection


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


def area_of_event(area: Any, projection: Projection | None) -> Area:
    """An area in metres. Raises InvalidArea for what is none, or for degrees without a projection."""
    if not isinstance(area, Area):
        raise InvalidArea(f"area {shown(area)}: expected an Area")
    return planar_area(area, projection)


def lifetime_of(expires: Any) -> int:
    """A lifetime in whole microseconds. Raises InvalidInterval for another than seconds."""
    return max(1, round(seconds(expires) * 1e6))
