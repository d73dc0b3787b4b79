"""Polygons on maps: outlines in degrees brought into the plane, blocks between streets, and triangles in
which every place is as likely as every other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bypass.models.maps.street_map import AttractionPoint, Polygon, Ring, StreetMap
from bypass.places.areas.rings import MOST_PARTS, MOST_VERTICES
from bypass.places.geo import Projection
from bypass.support.arrays import Floats, Ints

if TYPE_CHECKING:
    from shapely import Geometry

DECIMALS = 3
"""Coordinates are rounded to so many digits behind the point: to millimetres."""

SIMPLER = 1.0
"""Metres by which a line may first be off so that it has fewer corners."""

SETBACK = 6.0
"""Metres from the middle of a street to the houses beside it."""

SMALLEST = 20.0
"""A polygon with fewer square metres is no building."""


def outlined(polygons: Iterable[Sequence[Sequence[tuple[float, float]]]], plane: Projection) -> Geometry:
    """The shape (m) that has these outlines: rings of (longitude, latitude), the first of each polygon around
    it, all others around holes.

    A single place, which is no ring, has no size. Rings that cross themselves are made valid.
    """
    import shapely

    parts = []
    for outer, *holes in polygons:
        if len(outer) >= 4:
            parts.append(shapely.Polygon(_planar(outer, plane), [_planar(hole, plane) for hole in holes]))
    return shapely.make_valid(shapely.MultiPolygon(parts)) if parts else shapely.MultiPolygon()


def polygons_inside(shape: Geometry, width: float, height: float) -> tuple[Polygon, ...]:
    """The polygons of a shape in [0, width] × [0, height] m, to the millimetre, the largest first.

    They make an area: outlines with too many corners for one are made simpler, by a metre at first, and the
    smallest of too many polygons are left out.
    """
    import shapely

    shape = shapely.intersection(shape, shapely.box(0, 0, width, height))
    off = SIMPLER
    while shapely.get_num_coordinates(shape) > MOST_VERTICES:
        shape, off = shapely.make_valid(shapely.simplify(shape, off)), 2 * off
    parts = shapely.get_parts(shape)
    largest = parts[np.argsort(-shapely.area(parts), kind="stable")][:MOST_PARTS]
    return tuple(polygon for part in largest for polygon in _polygons(part, width, height))[:MOST_PARTS]


def blocks(street_map: StreetMap) -> tuple[Polygon, ...]:
    """The blocks between the streets of a map, taken for buildings where nobody knows them.

    They keep clear of the middle of streets by `SETBACK` and leave the places free that attract people.
    """
    import shapely

    lines = shapely.linestrings(street_map.nodes[street_map.edges])
    faces = shapely.get_parts(shapely.polygonize(lines))
    streets = shapely.buffer(shapely.union_all(lines), SETBACK, cap_style="square", join_style="mitre")
    free = shapely.union_all([streets, *map(shape_of, street_map.attractions)])
    parts = shapely.difference(faces, free)
    return tuple(
        polygon
        for part in parts
        for each in shapely.get_parts(part)
        if each.area >= SMALLEST
        for polygon in _polygons(each, street_map.width, street_map.height)
    )


def shape_of(point: AttractionPoint) -> Geometry:
    """The shape of a place that attracts people: its polygons or, without any, its circle."""
    import shapely

    if not point.polygons:
        return shapely.Point(point.x, point.y).buffer(point.radius)
    return shapely.MultiPolygon([(outer, holes) for outer, *holes in point.polygons])


class Triangles(NamedTuple):
    """Triangles that make up the polygons of places: those of place i are `first[i]` to `first[i + 1]` - 1.

    `corners` has a row (ax, ay, bx, by, cx, cy) (m) for each; `shares` are running sums of their sizes in
    each place, the last one of which is 1. A place that is a circle has none.
    """

    first: Ints
    corners: Floats
    shares: Floats

    @classmethod
    def of(cls, points: Sequence[AttractionPoint]) -> Triangles:
        """Cut the polygons of places up."""
        import shapely

        corners, shares, first = [np.empty((0, 6))], [np.empty(0)], [0]
        for point in points:
            if point.polygons:
                parts = shapely.get_parts(shapely.constrained_delaunay_triangles(shape_of(point)))
                parts = parts[shapely.area(parts) > 0]
                rings = shapely.get_coordinates(parts).reshape(len(parts), 4, 2)
                sums = np.cumsum(shapely.area(parts))
                corners.append(rings[:, :3].reshape(len(parts), 6))
                shares.append(sums / sums[-1])
            first.append(sum(map(len, shares)))
        return cls(np.array(first), np.concatenate(corners), np.concatenate(shares))


def _planar(ring: Sequence[tuple[float, float]], plane: Projection) -> Floats:
    lon, lat = np.array(ring).T
    return np.column_stack(plane.to_planar_arrays(lat, lon))


def _polygons(shape: Geometry, width: float, height: float) -> tuple[Polygon, ...]:
    import shapely

    found = []
    for part in shapely.get_parts(shapely.set_precision(shape, 10.0**-DECIMALS)):
        if part.geom_type == "Polygon" and part.area > 0:
            rings = [part.exterior, *part.interiors]
            found.append(tuple(_ring(ring.coords, width, height) for ring in rings))
    return tuple(found)


def _ring(places: Iterable[tuple[float, ...]], width: float, height: float) -> Ring:
    # A border that is no whole number of millimetres is not passed by rounding.
    return tuple(
        (min(round(x, DECIMALS), width) + 0.0, min(round(y, DECIMALS), height) + 0.0) for x, y, *_ in places
    )
