"""The outlines of places and areas as the dashboard draws them: polygons in metres, coarse ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from bypass.errors import MissingExtra
from bypass.places.areas import Area
from bypass.places.region import Place

MOST_CORNERS = 200
"""Corners of a ring that is drawn; of one with more, so many evenly spread ones."""

DrawnPolygons = list[list[list[list[float]]]]
"""Polygons, each a list of rings of pairs [x, y] (m): as in GeoJSON, but open."""


def place_entry(place: Place) -> dict[str, Any]:
    """A place as operators are told of it; one that is no circle has an `outline`."""
    entry = {"name": place.name, "x": place.x, "y": place.y, "radius": place.radius}
    return entry if place.area is None else {**entry, "outline": outline(place.area)}


@lru_cache(maxsize=1024)
def outline(area: Area) -> DrawnPolygons:
    """An area in metres, to the decimetre; arcs become chords. Without shapely, parts of it may overlap."""
    try:
        shape = area.geometry().__geo_interface__
    except MissingExtra:
        shape = area.to_geojson()
    polygons = [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]
    return [[_coarse(ring[:-1]) for ring in polygon] for polygon in polygons]


def _coarse(ring: Sequence[Sequence[float]]) -> list[list[float]]:
    count = min(len(ring), MOST_CORNERS)
    return [[round(each, 1) for each in ring[i * len(ring) // count]] for i in range(count)]
