"""Data of files in which places may be in degrees, brought into metres of a plane."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from bypass.errors import InvalidLocation, shown
from bypass.models.maps.georeference import plane_over
from bypass.places.geo import GeoLocation, Projection
from bypass.support.validation import Misfit
from bypass.transitions.validation import KeyPath

LatLon = tuple[Annotated[float, Field(ge=-90, le=90)], Annotated[float, Field(ge=-180, le=180)]]
"""A latitude and a longitude."""

_DECIMALS = 3  # places are whole millimetres


def has_degrees(data: Any) -> bool:
    """Whether anything in the data is a place in degrees: has the key lat or lon."""
    if isinstance(data, Mapping):
        return "lat" in data or "lon" in data or any(map(has_degrees, data.values()))
    return isinstance(data, list | tuple) and any(map(has_degrees, data))


def planar(plane: Projection, data: Any, path: KeyPath = ()) -> Any:
    """The same data with places in metres: `{lat, lon}` alone becomes [x, y], and beside other keys x and y.

    Raises Misfit, which names the place by its path in the data.
    """
    if isinstance(data, list | tuple):
        return [planar(plane, each, (*path, i)) for i, each in enumerate(data)]
    if not isinstance(data, Mapping):
        return data
    others = {key: value for key, value in data.items() if key not in ("lat", "lon")}
    if len(others) == len(data):
        return {key: planar(plane, value, (*path, key)) for key, value in data.items()}
    for key in ("lat", "lon"):
        if key not in data:
            raise Misfit((*path, key), "is missing: expected both lat and lon")
    if clash := others.keys() & {"x", "y"}:
        raise Misfit((*path, min(clash)), "is given beside lat and lon: expected one of them")
    try:
        there = plane.to_planar(GeoLocation(data["lat"], data["lon"]))
    except InvalidLocation as error:
        raise Misfit(path, f"is no place: {error}") from None
    x, y = (round(each, _DECIMALS) + 0.0 for each in there)
    return {**others, "x": x, "y": y} if others else [x, y]


def world_over(bbox: Any) -> tuple[tuple[float, float], float, float]:
    """Latitude and longitude of the corner of a world over a box in degrees, its width and its height (m).

    Raises Misfit.
    """
    numbers = isinstance(bbox, list | tuple) and all(isinstance(each, int | float) for each in bbox)
    if not numbers or len(bbox) != 4 or not all(map(math.isfinite, bbox)):
        raise Misfit(("bbox",), f"is {shown(bbox)}: expected [min_lon, min_lat, max_lon, max_lat]")
    min_lon, min_lat, max_lon, max_lat = map(float, bbox)
    if not (-180 <= min_lon < max_lon <= 180 and -90 <= min_lat < max_lat <= 90 and max_lon - min_lon <= 180):
        raise Misfit(
            ("bbox",),
            f"is {bbox}: expected min_lon < max_lon in -180..180, min_lat < max_lat in -90..90, and at most"
            " 180 degrees of longitude",
        )
    plane, width, height = plane_over(min_lon, min_lat, max_lon, max_lat)
    corner = plane.origin
    return (corner.lat, corner.lon), round(width, _DECIMALS), round(height, _DECIMALS)
