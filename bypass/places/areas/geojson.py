"""Areas as GeoJSON (RFC 7946): polygons of a geometry, a feature or a collection of features."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bypass.errors import InvalidArea, shown
from bypass.places.areas.polygons import pairs
from bypass.places.geo import PlanarLocation, Projection

if TYPE_CHECKING:
    from bypass.places.areas.area import Area

Rings = list[list[list[Any]]]
"""Polygons, each a list of rings of pairs."""


def read_geojson(source: str | bytes | Mapping[str, Any]) -> Rings:
    """The rings of all polygons, not yet checked. Raises InvalidArea for what is no GeoJSON of polygons."""
    if isinstance(source, (str, bytes)):
        try:
            source = json.loads(source)
        except ValueError as error:
            raise InvalidArea(f"GeoJSON {shown(source)}: {error}") from error
        except RecursionError:
            raise InvalidArea(f"GeoJSON {shown(source)}: nested too deeply") from None
    return _polygons(source, 0)


def geojson_of(area: Area, projection: Projection | None) -> dict[str, Any]:
    """A Polygon or MultiPolygon, in degrees if the area is or there is a projection."""
    plane, shape = area.plane, area.known()

    def there(x: float, y: float) -> list[float]:
        if plane is not None:
            lon, lat = plane.to_geo(x, y)
            return [lon, lat]
        if projection is not None:
            place = projection.to_geo(PlanarLocation(x, y))
            return [place.lon, place.lat]
        return [x, y]

    parts = []
    for part in shape.outline().parts:
        rings = [
            _wound([there(x, y) for x, y in pairs(ring)], number == 0) for number, ring in enumerate(part)
        ]
        parts.append([[*ring, ring[0]] for ring in rings])
    if len(parts) == 1:
        return {"type": "Polygon", "coordinates": parts[0]}
    return {"type": "MultiPolygon", "coordinates": parts}


def _wound(ring: list[list[float]], outer: bool) -> list[list[float]]:
    """The ring anticlockwise if it is an outer one, clockwise if it is a hole."""
    twice = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, [*ring[1:], ring[0]], strict=True))
    return ring if (twice > 0) == outer else ring[::-1]


def _polygons(found: Any, depth: int) -> Rings:
    kind = found.get("type") if isinstance(found, Mapping) else None
    if depth > 4:
        raise InvalidArea("GeoJSON: collections nested too deeply")
    match kind:
        case "Polygon":
            return [_rings(_member(found, "coordinates"))]
        case "MultiPolygon":
            return [_rings(each) for each in _member(found, "coordinates")]
        case "Feature":
            return _polygons(found.get("geometry"), depth + 1)
        case "FeatureCollection":
            return [part for each in _member(found, "features") for part in _polygons(each, depth + 1)]
        case "GeometryCollection":
            return [part for each in _member(found, "geometries") for part in _polygons(each, depth + 1)]
    raise InvalidArea(f"GeoJSON {shown(kind if kind else found)}: expected a Polygon or MultiPolygon")


def _member(found: Mapping[str, Any], name: str) -> list[Any]:
    value = found.get(name)
    if not isinstance(value, (list, tuple)):
        raise InvalidArea(f"GeoJSON {name} {shown(value)}: expected a list")
    return list(value)


def _rings(part: Any) -> list[list[Any]]:
    if (
        not isinstance(part, (list, tuple))
        or not part
        or not all(isinstance(ring, (list, tuple)) for ring in part)
    ):
        raise InvalidArea(f"GeoJSON polygon {shown(part)}: expected a list of rings")
    # Positions may have an altitude, which says nothing of an area.
    return [[p[:2] if isinstance(p, (list, tuple)) else p for p in ring] for ring in part]
