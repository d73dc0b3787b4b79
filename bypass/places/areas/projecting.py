"""Areas on the way from degrees to the metres of a plane, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import atan2, degrees, hypot, pi
from typing import TYPE_CHECKING

from bypass.errors import InvalidArea
from bypass.places.areas.corridors import CorridorShape
from bypass.places.areas.making import of_coordinates
from bypass.places.areas.polygons import Point, pairs
from bypass.places.areas.rings import METRES
from bypass.places.areas.sectors import SectorShape
from bypass.places.areas.shapes import AreaShape, DiscShape
from bypass.places.geo import EARTH_RADIUS, GeoLocation, Projection

if TYPE_CHECKING:
    from bypass.places.areas.area import Area

_QUARTER = EARTH_RADIUS * pi / 2


def project(area: Area, projection: Projection) -> Area:
    """The same in metres of a plane. Raises as `Area.projected`."""
    plane, shape = area.plane, area.shape
    assert plane is not None
    assert shape is not None

    def there(x: float, y: float) -> Point:
        lon, lat = plane.to_geo(x, y)
        place = projection.to_planar(GeoLocation(lat, lon))
        if hypot(place.x, place.y) > _QUARTER:
            origin = f"({projection.origin.lon}, {projection.origin.lat})"
            raise InvalidArea(
                f"vertex ({lon}, {lat}): expected one on the same half of the earth as {origin}"
            )
        return round(place.x * METRES) / METRES, round(place.y * METRES) / METRES

    return replace(area, shape=_projected(shape, there), plane=None)


def _projected(shape: AreaShape, there: Callable[[float, float], Point]) -> AreaShape:
    if isinstance(shape, DiscShape):
        return DiscShape(*there(shape.x, shape.y), shape.radius)
    if isinstance(shape, SectorShape):
        x, y = there(shape.x, shape.y)
        ahead_x, ahead_y = there(
            shape.x, shape.y + shape.radius
        )  # north is not quite +y away from the origin
        north = degrees(atan2(ahead_x - x, ahead_y - y))
        return SectorShape(x, y, shape.radius, round((shape.bearing + north) * 1e6) / 1e6, shape.opening)
    if isinstance(shape, CorridorShape):
        line = _without_repeats([there(x, y) for x, y in pairs(shape.line)])
        if len(line) < 2:
            raise InvalidArea("corridor shorter than a millimetre: expected a longer one")
        return CorridorShape.of_points(line, shape.width)
    rings = [
        [_without_repeats([there(x, y) for x, y in pairs(ring)]) for ring in part]
        for part in shape.outline().parts
    ]
    return of_coordinates(rings, False)[0]


def _without_repeats(points: list[Point]) -> list[Point]:
    """Points that are the same after rounding count as one."""
    return [point for point, before in zip(points, [None, *points], strict=False) if point != before]
