"""Reads from an OpenStreetMap extract the streets and attractive places that a map is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import osmium
from osmium.filter import KeyFilter
from osmium.osm import Area, Node, Relation, Way

from bypass.models.maps.osm.tags import KEYS, attraction, walkable
from bypass.models.maps.street_map import InvalidMap
from bypass.places.geo import Projection
from bypass.support.arrays import Floats

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


class Attractive(NamedTuple):
    """A place that people go to: one point, or the rings around its areas and around the holes in them."""

    name: str
    outer: list[list[LonLat]]
    inner: list[list[LonLat]]

    def middle(self, plane: Projection) -> tuple[float, float, float]:
        """Its centre of mass (m) and its area (m²), which is 0 for a point."""
        parts = [(ring, 1) for ring in self.outer] + [(ring, -1) for ring in self.inner]
        area, moment = 0.0, np.zeros(2)
        for ring, sign in parts:
            size, centre = _centroid(ring, plane)
            area, moment = area + sign * size, moment + sign * size * centre
        if area <= 0:
            lon, lat = np.array([place for ring in self.outer for place in ring]).T
            x, y = plane.to_planar_arrays(lat, lon)
            return float(x.mean()), float(y.mean()), 0.0
        x, y = (moment / area).tolist()
        return x, y, area


def _centroid(ring: list[LonLat], plane: Projection) -> tuple[float, Floats]:
    """Area (m²) inside a closed ring and its centre of mass (m)."""
    lon, lat = np.array(ring).T
    x, y = plane.to_planar_arrays(lat, lon)
    # Relative to the first corner: products of large coordinates would lose the digits of a small area.
    dx, dy = x - x[0], y - y[0]
    cross = dx[:-1] * dy[1:] - dx[1:] * dy[:-1]
    twice = cross.sum()
    if twice == 0:
        return 0.0, np.zeros(2)
    sums = ((dx[:-1] + dx[1:]) * cross).sum(), ((dy[:-1] + dy[1:]) * cross).sum()
    return abs(twice) / 2, np.array([x[0], y[0]]) + np.array(sums) / (3 * twice)


@dataclass
class Extract:
    """Streets as rows (lon, lat, lon, lat) and attractive places, of all there is or of what meets a box.

    `broken_ways` and `broken_areas` refer to something that the extract does not have; `lost_points` are
    attractive places that it has without saying where they are.
    """

    bounds: Box | None = None
    streets: list[tuple[float, float, float, float]] = field(default_factory=list)
    attractive: list[Attractive] = field(default_factory=list)
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
                if thing.is_closed() and attraction(thing.tags, is_area=thing.tags.get("area") == "yes"):
                    expected.add((True, thing.id))
            elif isinstance(thing, Relation):
                if thing.tags.get("type") == "multipolygon" and attraction(thing.tags, is_area=True):
                    expected.add((False, thing.id))
            elif isinstance(thing, Area):
                if self._add_area(thing, box):
                    complete.add((thing.from_way(), thing.orig_id()))
            elif isinstance(thing, Node) and (kind := attraction(thing.tags, is_area=False)):
                if not thing.location.valid():
                    self.lost_points += 1
                    continue
                place = (thing.location.lon, thing.location.lat)
                self._add_attractive(Attractive(thing.tags.get("name") or kind, [[place]], []), box)
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
        rings = list(area.outer_rings())
        if kind and rings:
            outer = [_places(ring) for ring in rings]
            inner = [_places(hole) for ring in rings for hole in area.inner_rings(ring)]
            self._add_attractive(Attractive(area.tags.get("name") or kind, outer, inner), box)
        return bool(rings)

    def _add_attractive(self, place: Attractive, box: Box | None) -> None:
        if box is None or box.meets([corner for ring in place.outer for corner in ring]):
            self.attractive.append(place)


def _places(ring: Iterable[osmium.osm.NodeRef]) -> list[LonLat]:
    return [(node.lon, node.lat) for node in ring]
