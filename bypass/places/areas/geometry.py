"""Areas and shapely: what it computes for us, where it is installed."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from bypass.errors import InvalidArea, MissingExtra
from bypass.places.areas.corridors import CorridorShape
from bypass.places.areas.making import of_coordinates
from bypass.places.areas.polygons import pairs
from bypass.places.areas.shapes import AreaShape, DiscShape

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

    from bypass.places.areas.area import Area

_CHORDS = 16
"""Chords that stand for a quarter of a circle."""

_GRID = 0.001


def to_shapely(shape: AreaShape) -> BaseGeometry:
    """A Polygon or MultiPolygon. Raises MissingExtra without shapely."""
    shapely = _shapely()
    if isinstance(shape, DiscShape):
        return shapely.Point(shape.x, shape.y).buffer(shape.radius, quad_segs=_CHORDS)
    if isinstance(shape, CorridorShape):
        return shapely.LineString(list(pairs(shape.line))).buffer(shape.width / 2, quad_segs=_CHORDS)
    found = [
        shapely.Polygon(list(pairs(part[0])), [list(pairs(hole)) for hole in part[1:]])
        for part in shape.outline().parts
    ]
    return found[0] if len(found) == 1 else shapely.MultiPolygon(found)


def buffered(area: Area, metres: float) -> Area:
    """As `Area.buffer`; altitudes stay."""
    if not isfinite(metres):
        raise InvalidArea(f"buffer {metres}: expected a finite number of metres")
    shapely = _shapely()
    shape = area.known()
    if isinstance(shape, DiscShape) and shape.radius + metres > _GRID:
        radius = round((shape.radius + metres) / _GRID) * _GRID
        return replace(area, shape=DiscShape(shape.x, shape.y, round(radius, 3)))
    found = shapely.union_all([to_shapely(shape)]).buffer(metres, quad_segs=_CHORDS)
    found = shapely.set_precision(found, _GRID)
    polygons = [each for each in getattr(found, "geoms", [found]) if each.area > 0]
    if not polygons:
        raise InvalidArea(f"buffer {metres:g} m of an area: nothing is left")
    parts = [[list(ring.coords) for ring in (each.exterior, *each.interiors)] for each in polygons]
    made, _ = of_coordinates(parts, False)
    return replace(area, shape=made)


def _shapely() -> Any:
    try:
        import shapely
    except ModuleNotFoundError as error:
        raise MissingExtra("shapely") from error
    return shapely
