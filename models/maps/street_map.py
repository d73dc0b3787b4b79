"""Streets that clients walk on and the places that attract them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from bypass.errors import BypassError
from bypass.models.maps.distances import Distances
from bypass.places.areas import Area
from bypass.places.geo import Projection
from bypass.places.region import Place
from bypass.support.arrays import Floats, Ints

if TYPE_CHECKING:  # scipy takes long to import: functions that use it do that
    from scipy.sparse import csr_array
    from scipy.spatial import cKDTree

# Routes whose lengths (m) differ by less are equally long: sums of lengths carry rounding errors.
TIE = 1e-6  # compiled into kernels


class InvalidMap(BypassError):
    """The parts of a map do not fit together, or a file holds no map."""


class NoAttractionPoints(BypassError):
    """Somebody who needs attraction points was given a world without any."""


Ring = tuple[tuple[float, float], ...]
Polygon = tuple[Ring, ...]
"""Closed rings (m), as in GeoJSON: the first is around a polygon, all others around holes in it."""


class AttractionPoint(BaseModel):
    """A place that people go to: most of them stop within `radius` (m); `weight` is its share of visits.

    If its shape is known, it is in `polygons`: all stop there, and the circle has the same size and the same
    centre of mass.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str
    x: float
    y: float
    radius: float = Field(gt=0)
    weight: float = Field(gt=0)
    polygons: tuple[Polygon, ...] = ()

    def place(self) -> Place:
        """The place as a broker knows it: its polygons, or its circle."""
        if not self.polygons:
            return Place(self.name, self.x, self.y, self.radius)
        return Place.of_area(self.name, Area.polygons((outer, holes) for outer, *holes in self.polygons))

    @model_serializer(mode="wrap")
    def _without_nothing(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out polygons that there are not, as files did before places had any."""
        fields: dict[str, Any] = whole(self)
        if not self.polygons:
            del fields["polygons"]
        return fields


class Streets(NamedTuple):
    """The streets as kernels walk them: those from node i lead to `ends[starts[i] : starts[i + 1]]`.

    `nodes` has a row (x, y) for each node; `lengths` (m) belong to `ends`.
    """

    nodes: Floats
    starts: Ints
    ends: Ints
    lengths: Floats


@dataclass(frozen=True, eq=False)
class StreetMap:
    """Straight streets between nodes, in a world from (0, 0) to (width, height) m.

    `nodes` has a row (x, y) for each node, `edges` a row (node, node) for each street.
    Every node can be reached from every other; no street is given twice. If the world is somewhere on earth,
    `projection` has its origin where (0, 0) is, so that its plane is the map's. `buildings` stand anywhere.
    Raises InvalidMap.
    """

    name: str
    width: float
    height: float
    nodes: Floats
    edges: Ints
    attractions: tuple[AttractionPoint, ...] = ()
    projection: Projection | None = None
    buildings: tuple[Polygon, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", np.array(self.nodes, dtype=np.float64, order="C"))
        object.__setattr__(self, "edges", np.array(self.edges, dtype=np.int64, order="C"))
        self.nodes.flags.writeable = self.edges.flags.writeable = False
        self._check_world()
        self._check_attractions()
        self._check_streets()

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        # What is computed from the map is larger than the map, and soon computed again elsewhere.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def _fail(self, problem: str) -> InvalidMap:
        return InvalidMap(f"map {self.name!r}: {problem}")

    def _outside(self, what: str, x: float, y: float) -> InvalidMap:
        return self._fail(f"{what} is at ({x}, {y}): expected within {self.width} × {self.height} m")

    def _check_world(self) -> None:
        for side, size in (("width", self.width), ("height", self.height)):
            if not (math.isfinite(size) and size > 0):
                raise self._fail(f"{side} is {size}: expected a finite length above 0")
        if self.nodes.ndim != 2 or self.nodes.shape[1] != 2:
            raise self._fail(f"nodes have shape {self.nodes.shape}: expected one row (x, y) per node")
        inside = ((self.nodes >= 0) & (self.nodes <= (self.width, self.height))).all(axis=1)
        if (outside := np.flatnonzero(~inside)).size:
            raise self._outside(f"node {outside[0]}", *self.nodes[outside[0]].tolist())

    def _check_attractions(self) -> None:
        for point in self.attractions:
            if not (0 <= point.x <= self.width and 0 <= point.y <= self.height):
                raise self._outside(point.name, point.x, point.y)
            for polygon in point.polygons:
                if not polygon or any(len(ring) < 4 or ring[0] != ring[-1] for ring in polygon):
                    raise self._fail(f"{point.name} has an open ring: expected four places or more, closed")
                for x, y in polygon[0]:
                    if not (0 <= x <= self.width and 0 <= y <= self.height):
                        raise self._outside(f"a corner of {point.name}", x, y)
        names = [point.name for point in self.attractions]
        if len(set(names)) < len(names):
            raise self._fail(f"attraction points are {names}: expected distinct names")

    def _check_streets(self) -> None:
        edges, count = self.edges, len(self.nodes)
        if edges.ndim != 2 or edges.shape[1] != 2 or not len(edges):
            raise self._fail(f"edges have shape {edges.shape}: expected one row (node, node) per street")
        if edges.min() < 0 or edges.max() >= count:
            raise self._fail(f"edges name nodes {edges.min()} to {edges.max()}: expected 0 to {count - 1}")
        if (short := np.flatnonzero(self.lengths <= TIE)).size:
            raise self._fail(f"edge {edges[short[0]].tolist()} is shorter than {TIE} m: expected two places")
        pairs, times = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
        if (twice := np.flatnonzero(times > 1)).size:
            raise self._fail(f"edge {pairs[twice[0]].tolist()} is given twice: expected once")
        from scipy.sparse.csgraph import connected_components

        parts, _ = connected_components(self._graph, directed=False)
        if parts > 1:
            raise self._fail(f"streets fall into {parts} parts: expected every node to reach every other")

    @cached_property
    def lengths(self) -> Floats:
        """Length (m) of each street, in the order of `edges`."""
        ends = self.nodes[self.edges]
        lengths: Floats = np.hypot(*(ends[:, 1] - ends[:, 0]).T)
        return lengths

    @cached_property
    def _graph(self) -> csr_array:
        """Every street in both directions."""
        from scipy.sparse import csr_array

        count = len(self.nodes)
        pairs = np.concatenate([self.edges, self.edges[:, ::-1]])
        return csr_array((np.tile(self.lengths, 2), pairs.T), shape=(count, count))

    @cached_property
    def streets(self) -> Streets:
        """The streets from each node, for kernels."""
        graph = self._graph
        return Streets(self.nodes, graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data)

    @cached_property
    def distances(self) -> Distances:
        """Lengths of the shortest ways between nodes."""
        return Distances(self._graph)

    @cached_property
    def _tree(self) -> cKDTree:
        from scipy.spatial import cKDTree

        return cKDTree(self.nodes)

    @cached_property
    def street_shares(self) -> Floats:
        """The share of all streets' length that the streets up to each one have; the last is 1."""
        return _cumulative(self.lengths)

    @cached_property
    def attraction_shares(self) -> Floats:
        """The share of all visits that the attraction points up to each one have; the last is 1."""
        return _cumulative(np.array([point.weight for point in self.attractions]))

    def nearest_nodes(self, points: Floats) -> Ints:
        """For each row (x, y), the node with the least straight distance to it."""
        return np.asarray(self._tree.query(points)[1], np.int64)


def _cumulative(weights: Floats) -> Floats:
    """Running sums scaled so that the last one is exactly 1: a search for a draw below 1 never falls off."""
    sums = np.cumsum(weights)
    shares: Floats = sums / sums[-1]
    return shares
