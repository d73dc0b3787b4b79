"""Maps from OpenStreetMap extracts: .osm, .osm.pbf, and packed .osm.gz or .osm.bz2."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bypass.models.maps.clipping import cut, largest_part, tidy
from bypass.models.maps.georeference import plane_over
from bypass.models.maps.osm.extract import Attractive, Box, Extract, LonLatPolygon
from bypass.models.maps.polygons import outlined, polygons_inside
from bypass.models.maps.street_map import AttractionPoint, InvalidMap, Polygon, StreetMap
from bypass.places.geo import Projection
from bypass.support.arrays import Floats

DEFAULT_RADIUS = 25.0
"""Radius (m) of attraction points that have no area."""

LONGEST_SIDE = 100_000.0
"""The largest side of a world (m): a larger one does not fit into a plane, and nobody walks so far."""


class Skipped(NamedTuple):
    """Counts of what had to be left out of the map.

    `ways` lack nodes, and are used where they have them; `areas` lack ways or nodes, or are no areas; `nodes`
    belong to streets that cannot be reached from most others; `points` are attractive, but nowhere.
    """

    ways: int
    areas: int
    nodes: int
    points: int


class OsmMap(NamedTuple):
    """A map from OpenStreetMap and what had to be left out."""

    street_map: StreetMap
    skipped: Skipped


class _World(NamedTuple):
    plane: Projection
    width: float
    height: float


def read_osm(
    path: Path | str, *, bbox: tuple[float, float, float, float] | None = None, name: str | None = None
) -> OsmMap:
    """The streets that people may walk on, parks and squares as attraction points of equal weight with their
    outlines, and the outlines of buildings.

    `bbox` is (min_lon, min_lat, max_lon, max_lat) in degrees: streets are cut at its borders. Without one it
    is the extract's own, or goes around all streets. The map has a name like the file. Raises InvalidMap,
    which names the file and says in one line what is wrong.
    """
    path = Path(path)
    box = None if bbox is None else _checked(bbox)
    try:
        extract = Extract.read(path, box)
        if not extract.streets:
            lacking = f" ({extract.broken_ways} ways lack nodes)" if extract.broken_ways else ""
            raise InvalidMap(
                f"no streets to walk on{' in this box' if box else ''}{lacking}: expected at least one"
            )
        # Nodes are known by their places: two at the same place are one.
        places, ends = np.unique(np.reshape(extract.streets, (-1, 2)), axis=0, return_inverse=True)
        box = box or extract.bounds
        world = _world_of(box) if box else _world_around(places)
        nodes = np.column_stack(world.plane.to_planar_arrays(places[:, 1], places[:, 0]))
        nodes, edges = tidy(*cut(nodes, ends.reshape(-1, 2), world.width, world.height))
        if not len(edges):
            raise InvalidMap("no streets to walk on in this box: expected at least one")
        kept, edges = largest_part(nodes, edges)
        street_map = StreetMap(
            name=name or path.name.partition(".")[0],
            width=world.width,
            height=world.height,
            nodes=kept,
            edges=edges,
            attractions=_attraction_points(extract.attractive, world),
            projection=world.plane,
            buildings=_buildings(extract.buildings, world),
        )
    except InvalidMap as error:
        raise InvalidMap(f"{path}: {error}") from None
    unreached = len(nodes) - len(kept)
    skipped = Skipped(extract.broken_ways, extract.broken_areas, unreached, extract.lost_points)
    return OsmMap(street_map, skipped)


def _checked(bbox: tuple[float, float, float, float]) -> Box:
    box = Box(*bbox)
    if not all(map(math.isfinite, box)):
        raise InvalidMap(f"bbox is {tuple(box)}: expected four finite numbers")
    if not (-180 <= box.min_lon < box.max_lon <= 180 and -90 <= box.min_lat < box.max_lat <= 90):
        raise InvalidMap(
            f"bbox is {tuple(box)}: expected min_lon < max_lon in -180..180 and min_lat < max_lat in -90..90"
        )
    return box


def _world_of(box: Box, margin: float = 0.0) -> _World:
    """The rectangle around the middle of the box that is as wide and high (m) as the box is there."""
    if (span := box.max_lon - box.min_lon) > 180:
        raise InvalidMap(
            f"the box {tuple(box)} spans {span:g} degrees of longitude: expected at most 180,"
            " nothing across the date line"
        )
    plane, width, height = plane_over(*box, margin)
    if not max(width, height) <= LONGEST_SIDE:
        raise InvalidMap(
            f"the box {tuple(box)} is {width / 1000:.0f} × {height / 1000:.0f} km:"
            f" expected at most {LONGEST_SIDE / 1000:.0f} km, by a bbox"
        )
    return _World(plane, width, height)


def _world_around(lon_lat: Floats) -> _World:
    """A rectangle that has all the places inside: a little larger than their box, which is no rectangle."""
    box = Box(*lon_lat.min(axis=0).tolist(), *lon_lat.max(axis=0).tolist())
    margin = 1.0
    while True:
        world = _world_of(box, margin)
        x, y = world.plane.to_planar_arrays(lon_lat[:, 1], lon_lat[:, 0])
        if min(x.min(), y.min()) >= 0 and x.max() <= world.width and y.max() <= world.height:
            return world
        margin *= 2


def _attraction_points(attractive: list[Attractive], world: _World) -> tuple[AttractionPoint, ...]:
    """Attraction points whose middles are inside the world, each with a name of its own."""
    found: list[AttractionPoint] = []
    for place in attractive:
        shape = outlined(place.polygons, world.plane)
        if shape.area > 0:
            (x, y), radius = shape.centroid.coords[0], math.sqrt(shape.area / math.pi)
            polygons = polygons_inside(shape, world.width, world.height)
        else:
            corners = np.array([corner for outer, *_ in place.polygons for corner in outer])
            x, y = (float(each.mean()) for each in world.plane.to_planar_arrays(corners[:, 1], corners[:, 0]))
            radius, polygons = DEFAULT_RADIUS, ()
        if 0 <= x <= world.width and 0 <= y <= world.height:
            found.append(
                AttractionPoint(name=place.name, x=x, y=y, radius=radius, weight=1.0, polygons=polygons)
            )
    found.sort(key=lambda point: (point.name, point.x, point.y, point.radius))
    names = _distinct([point.name for point in found])
    return tuple(point.model_copy(update={"name": name}) for name, point in zip(names, found, strict=True))


def _buildings(outlines: list[LonLatPolygon], world: _World) -> tuple[Polygon, ...]:
    """The buildings, as far as they are inside the world."""
    shapes = (outlined([outline], world.plane) for outline in outlines)
    return tuple(polygon for shape in shapes for polygon in polygons_inside(shape, world.width, world.height))


def _distinct(names: list[str]) -> list[str]:
    """The names, the second and further ones of a kind with the next number that makes a new name."""
    taken, numbers = set(names), Counter[str]()
    distinct = []
    for name in names:
        numbers[name] += 1
        own = name
        while numbers[name] > 1 and own in taken:
            own = f"{name} {numbers[name]}"
            numbers[name] += own in taken
        taken.add(own)
        distinct.append(own)
    return distinct
