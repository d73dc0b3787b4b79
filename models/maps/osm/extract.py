"""Reads from an OpenStreetMap extract the streets and attractive places that a map is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

import osmium
from osmium.filter import KeyFilter
from osmium.osm import Area, Node, Relation, Way

from bypass.models.maps.osm.tags import KEYS, Tags, attraction, building, walkable
from bypass.models.maps.street_map import InvalidMap

LonLat = tuple[float, float]


class Box(NamedTuple):
    """A box in degrees, in the order of OpenStreetMap's tools."""

    min_lon: float
    min_lat: float
    max_lon: float
    max_lat: float

    def meets(self, places: list[LonLat]) -> bool:
        """Whether the box around the places has something in common with this one."""
        lons, lats = zip(*places, strict=True)
        return bool(
            min(lons) <= self.max_lon
            and max(lons) >= self.min_lon
            and min(lats) <= self.max_lat
            and max(lats) >= self.min_lat
        )


LonLatPolygon = list[list[LonLat]]
"""Closed rings: the first is around a polygon, all others around holes in it."""


class Attractive(NamedTuple):
    """A place that people go to: one point, a ring of one place, or polygons."""

    name: str
    polygons: list[LonLatPolygon]


@dataclass
class Extract:
    """Streets as rows (lon, lat, lon, lat), attractive places and the polygons of buildings, of all there is
    or of what meets a box.

    `broken_ways` and `broken_areas` refer to something that the extract does not have; `lost_points` are
    attractive places that it has without saying where they are.
    """

    bounds: Box | None = None
    streets: list[tuple[float, float, float, float]] = field(default_factory=list)
    attractive: list[Attractive] = field(default_factory=list)
    buildings: list[LonLatPolygon] = field(default_factory=list)
    broken_ways: int = 0
    broken_areas: int = 0
    lost_points: int = 0

    @classmethod
    def read(cls, path: Path, box: Box | None) -> Self:
        """Read a file. Raises InvalidMap."""
        if not path.is_file():
            raise InvalidMap("is no file: expected an OpenStreetMap extract")
        extract = cls()
        try:
            extract._read(path, box)
        except RuntimeError as error:
            problem = str(error).rstrip(".")
            raise InvalidMap(f"{problem}: expected an OpenStreetMap extract, all of it") from None
        return extract

    def _read(self, path: Path, box: Box | None) -> None:
        objects = osmium.FileProcessor(path).with_areas(KeyFilter(*KEYS)).with_filter(KeyFilter(*KEYS))
        bounds = objects.header.box()
        if bounds.valid() and bounds.size() > 0:
            low, high = bounds.bottom_left, bounds.top_right
            self.bounds = Box(low.lon, low.lat, high.lon, high.lat)
        box = box or self.bounds
        # Areas are known by the way or relation that they are made of, as soon as all of it has been read.
        expected: set[tuple[bool, int]] = set()
        complete: set[tuple[bool, int]] = set()
        for thing in objects:
            if isinstance(thing, Way):
                if walkable(thing.tags):
                    self._add_street(thing, box)
                if thing.is_closed() and _wanted(thing.tags, thing.tags.get("area") == "yes"):
                    expected.add((True, thing.id))
            elif isinstance(thing, Relation):
                if thing.tags.get("type") == "multipolygon" and _wanted(thing.tags, True):
                    expected.add((False, thing.id))
            elif isinstance(thing, Area):
                if self._add_area(thing, box):
                    complete.add((thing.from_way(), thing.orig_id()))
            elif isinstance(thing, Node) and (kind := attraction(thing.tags, is_area=False)):
                if not thing.location.valid():
                    self.lost_points += 1
                    continue
                place = (thing.location.lon, thing.location.lat)
                self._add_attractive(Attractive(thing.tags.get("name") or kind, [[[place]]]), box)
        self.broken_areas = len(expected - complete)

    def _add_street(self, way: Way, box: Box | None) -> None:
        nodes = [(node.lon, node.lat) if node.location.valid() else None for node in way.nodes]
        known = [node for node in nodes if node]
        if known and box and not box.meets(known):
            return
        self.broken_ways += len(known) < len(nodes)
        self.streets += [(*a, *b) for a, b in pairwise(nodes) if a and b]

    def _add_area(self, area: Area, box: Box | None) -> bool:
        """Add an area; returns whether it is whole."""
        from_relation = not area.from_way()
        kind = attraction(area.tags, is_area=from_relation or area.tags.get("area") == "yes")
        polygons = [[_places(ring), *map(_places, area.inner_rings(ring))] for ring in area.outer_rings()]
        if kind and polygons:
            self._add_attractive(Attractive(area.tags.get("name") or kind, polygons), box)
        if building(area.tags):
            self.buildings += [polygon for polygon in polygons if box is None or box.meets(polygon[0])]
        return bool(polygons)

    def _add_attractive(self, place: Attractive, box: Box | None) -> None:
        if box is None or box.meets([corner for outer, *_ in place.polygons for corner in outer]):
            self.attractive.append(place)


def _wanted(tags: Tags, is_area: bool) -> bool:
    return building(tags) or attraction(tags, is_area=is_area) is not None


def _places(ring: Iterable[osmium.osm.NodeRef]) -> list[LonLat]:
    return [(node.lon, node.lat) for node in ring]
