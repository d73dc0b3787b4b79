"""Places that operators give a broker, or take away, while it runs: beside those of its configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from bypass.errors import InvalidArea, InvalidLocation, shown
from bypass.places.areas import Area
from bypass.places.geo import GeoLocation, Projection
from bypass.places.region import Place


class PlaceChanges:
    """The places that were put, by name, and the names of those that were removed, since the
    configuration."""

    def __init__(self, stored: str = "{}") -> None:
        content = json.loads(stored)
        self._put = {each["name"]: _read(each) for each in content.get("put", ())}
        self._removed: set[str] = set(content.get("removed", ()))

    def applied(self, configured: Iterable[Place]) -> tuple[Place, ...]:
        """The places of a broker whose configuration has these."""
        kept = {place.name: place for place in configured if place.name not in self._removed}
        return tuple((kept | self._put).values())

    def note(self, put: Iterable[Place], removed: Iterable[str]) -> None:
        """Note what an operator has changed."""
        for name in removed:
            self._put.pop(name, None)
            self._removed.add(name)
        for place in put:
            self._put[place.name] = place
            self._removed.discard(place.name)

    def text(self) -> str:
        """The changes as the store keeps them."""
        put = [_written(place) for place in self._put.values()]
        return json.dumps({"put": put, "removed": sorted(self._removed)})


def places_of(features: Iterable[Mapping[str, Any]], projection: Projection | None) -> list[Place]:
    """Make places of features of GeoJSON: polygons, or points with a `radius` in metres, each with a `name`.

    Coordinates are degrees, which takes a projection, unless a feature has `degrees: false`. Raises
    InvalidArea and InvalidLocation.
    """
    return [_place(feature, projection) for feature in features]


def _place(feature: Mapping[str, Any], projection: Projection | None) -> Place:
    properties, geometry = feature.get("properties") or {}, feature.get("geometry")
    name = properties.get("name") if isinstance(properties, Mapping) else None
    if not isinstance(name, str) or not name:
        raise InvalidLocation(f"place {shown(name)}: expected a feature with a `name` among its properties")
    in_degrees = feature.get("degrees", True) is not False
    if in_degrees and projection is None:
        raise InvalidLocation(f"place {name!r} in degrees: expected metres, as the region has no origin")
    try:
        if not isinstance(geometry, Mapping) or geometry.get("type") != "Point":
            area = Area.from_geojson(dict(geometry or {}), degrees=in_degrees)
            return Place.of_area(name, area if projection is None else area.projected(projection))
        x, y = (float(each) for each in geometry["coordinates"][:2])
        radius = float(properties["radius"])
    except InvalidArea as error:
        raise InvalidArea(f"place {name!r}: {error}") from None
    except (LookupError, TypeError, ValueError):
        raise InvalidLocation(
            f"place {name!r}: expected polygons, or a point with a `radius` among its properties"
        ) from None
    if in_degrees and projection is not None:
        x, y = projection.to_planar(GeoLocation(y, x))
    return Place(name, x, y, radius)


def _written(place: Place) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": place.name, "x": place.x, "y": place.y, "radius": place.radius}
    return entry if place.area is None else entry | {"area": place.area.to_geojson()}


def _read(entry: dict[str, Any]) -> Place:
    area = Area.from_geojson(entry.pop("area"), degrees=False) if "area" in entry else None
    return Place(**entry, area=area)
