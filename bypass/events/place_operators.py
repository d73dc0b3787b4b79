"""Operators on attributes whose values are places or areas, in metres of the broker's plane.

Arcs of areas are chords here where two areas are compared, of at most six degrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

from bypass.places.areas import Area
from bypass.places.geo import PlanarLocation

BESIDE = 0.001
"""Metres: what is no wider is no gap."""

Ring = tuple[tuple[float, float], ...]


def place_within(candidate: PlanarLocation, area: Area) -> bool:
    """Whether a place is in an area, to which its border belongs."""
    return area.contains(candidate.x, candidate.y)


def areas_meet(candidate: Area, area: Area) -> bool:
    """Whether two areas have a point in common."""
    if not (candidate.touches(area.bounds) and area.touches(candidate.bounds)):
        return False
    one, other = _rings(candidate), _rings(area)
    if any(area.contains(*ring[0]) for ring in one) or any(candidate.contains(*ring[0]) for ring in other):
        return True
    return any(area.crossings(*start, *end) for start, end in _edges(one))


def area_within(candidate: Area, area: Area) -> bool:
    """Whether an area lies in another one as a whole."""
    own = _rings(candidate)
    if not all(area.contains(*vertex) for ring in own for vertex in ring):
        return False
    if any(area.crossings(*start, *end) for start, end in _edges(own)):
        return False
    # Holes of the other one must be left out here, too: its border alone may be in common.
    return not any(_ends_inside(area, ring, candidate) for ring in _rings(area))


def operand(value: Any) -> Area:
    """The area that a filter on places or areas compares with. Raises ValueError for anything else."""
    if not isinstance(value, Area) or value.degrees or value.place:
        raise ValueError("expected an Area in metres")
    return value


def _ends_inside(area: Area, ring: Ring, candidate: Area) -> bool:
    """Whether an area ends, along one of its rings, where a candidate goes on on both sides."""
    for (x0, y0), (x1, y1) in pairwise(ring):
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        beside = [(x + dx, y + dy) for dx, dy in ((BESIDE, 0), (-BESIDE, 0), (0, BESIDE), (0, -BESIDE))]
        if all(candidate.contains(*each) for each in beside) and not all(
            area.contains(*each) for each in beside
        ):
            return True
    return False


def _edges(rings: tuple[Ring, ...]) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    for ring in rings:
        yield from pairwise(ring)


@lru_cache(maxsize=256)
def _rings(area: Area) -> tuple[Ring, ...]:
    """The closed rings of an area, holes included."""
    geometry = area.to_geojson()
    parts = geometry["coordinates"]
    polygons = parts if geometry["type"] == "MultiPolygon" else [parts]
    return tuple(tuple((x, y) for x, y in ring) for polygon in polygons for ring in polygon)
