"""Streets that clients walk on and the places that attract them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from pydantic import BaseModel, ConfigDict, Field
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from bypass.errors import BypassError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Routes whose lengths (m) differ by less are equally long: sums of lengths carry rounding errors.
TIE = 1e-6


class InvalidMap(BypassError):
    """The parts of a map do not fit together."""


class NoAttractionPoints(BypassError):
    """Somebody who needs attraction points was given a world without any."""


class AttractionPoint(BaseModel):
    """A place that people go to: most of them stop within `radius` (m); `weight` is its share of visits."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str
    x: float
    y: float
    radius: float = Field(gt=0)
    weight: float = Field(gt=0)


class Place(NamedTuple):
    """A place (m) and the street node by which it is reached."""

    x: float
    y: float
    node: int


@dataclass(frozen=True, eq=False)
class StreetMap:
    """Straight streets between nodes, in a world from (0, 0) to (width, height) m.

    `nodes` has a row (x, y) for each node, `edges` a row (node, node) for each street.
    Every node can be reached from every other; no street is given twice. Raises InvalidMap.
    """

    name: str
    width: float
    height: float
    nodes: Floats
    edges: Ints
    attractions: tuple[AttractionPoint, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", np.ascontiguousarray(self.nodes, dtype=np.float64))
        object.__setattr__(self, "edges", np.ascontiguousarray(self.edges, dtype=np.int64))
        self._check_world()
        self._check_streets()

    def _fail(self, problem: str) -> InvalidMap:
        return InvalidMap(f"map {self.name!r}: {problem}")

    def _check_world(self) -> None:
        for side, size in (("width", self.width), ("height", self.height)):
            if not (math.isfinite(size) and size > 0):
                raise self._fail(f"{side} is {size}: expected a finite length above 0")
        if self.nodes.ndim != 2 or self.nodes.shape[1] != 2:
            raise self._fail(f"nodes have shape {self.nodes.shape}: expected one row (x, y) per node")
        points = [(point.name, point.x, point.y) for point in self.attractions]
        for what, x, y in [*((f"node {i}", *xy) for i, xy in enumerate(self.nodes.tolist())), *points]:
            if not (0 <= x <= self.width and 0 <= y <= self.height):
                raise self._fail(f"{what} is at ({x}, {y}): expected within {self.width} × {self.height} m")
        if len({name for name, _, _ in points}) < len(points):
            raise self._fail(
                f"attraction points are {[name for name, _, _ in points]}: expected distinct names"
            )

    def _check_streets(self) -> None:
        edges, count = self.edges, len(self.nodes)
        if edges.ndim != 2 or edges.shape[1] != 2 or not len(edges):
            raise self._fail(f"edges have shape {edges.shape}: expected one row (node, node) per street")
        if edges.min() < 0 or edges.max() >= count:
            raise self._fail(f"edges name nodes {edges.min()} to {edges.max()}: expected 0 to {count - 1}")
        if (short := np.flatnonzero(self._lengths <= TIE)).size:
            raise self._fail(f"edge {edges[short[0]].tolist()} is shorter than {TIE} m: expected two places")
        pairs, times = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
        if (twice := np.flatnonzero(times > 1)).size:
            raise self._fail(f"edge {pairs[twice[0]].tolist()} is given twice: expected once")
        parts, _ = connected_components(self._graph, directed=False)
        if parts > 1:
            raise self._fail(f"streets fall into {parts} parts: expected every node to reach every other")

    @cached_property
    def _lengths(self) -> Floats:
        ends = self.nodes[self.edges]
        lengths: Floats = np.hypot(*(ends[:, 1] - ends[:, 0]).T)
        return lengths

    @cached_property
    def _graph(self) -> csr_array:
        count = len(self.nodes)
        return csr_array((self._lengths, self.edges.T), shape=(count, count))

    @cached_property
    def _distances(self) -> Floats:
        """Length of the shortest way between any two nodes."""
        distances: Floats = dijkstra(self._graph, directed=False)
        return distances

    @cached_property
    def _neighbours(self) -> list[list[tuple[int, float]]]:
        """For each node, the nodes one street away and the length of that street."""
        neighbours: list[list[tuple[int, float]]] = [[] for _ in self.nodes]
        for (a, b), length in zip(self.edges.tolist(), self._lengths.tolist(), strict=True):
            neighbours[a].append((b, length))
            neighbours[b].append((a, length))
        return neighbours

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.nodes)

    @cached_property
    def _street_shares(self) -> Floats:
        return _cumulative(self._lengths)

    @cached_property
    def _attraction_shares(self) -> Floats:
        return _cumulative(np.array([point.weight for point in self.attractions]))

    def nearest_node(self, x: float, y: float) -> int:
        """The node with the least straight distance to (x, y)."""
        return int(self._tree.query((x, y))[1])

    def route(self, start: int, goal: int, rng: Generator) -> list[int]:
        """The nodes of a shortest way, both ends included.

        Where several streets lead on equally well, `rng` chooses, so equal routes share the traffic.
        """
        left = self._distances[goal]
        here, nodes = start, [start]
        while here != goal:
            remaining = left[here]
            ways = [
                node
                for node, length in self._neighbours[here]
                if left[node] < remaining and left[node] + length < remaining + TIE
            ]
            here = ways[0] if len(ways) == 1 else ways[int(rng.random() * len(ways))]
            nodes.append(here)
        return nodes

    def random_place(self, rng: Generator) -> Place:
        """A place on the streets, every metre equally likely; its node is the nearer end of its street."""
        edge = np.searchsorted(self._street_shares, rng.random(), side="right")
        share = rng.random()
        a, b = self.edges[edge].tolist()
        (ax, ay), (bx, by) = self.nodes[[a, b]].tolist()
        return Place(ax + share * (bx - ax), ay + share * (by - ay), a if share < 0.5 else b)

    def draw_attractions(self, draws: Floats, *, uniform: bool = False) -> Ints:
        """Indices of attraction points, one per uniform draw from [0, 1): by weight, or all equally likely.

        Raises NoAttractionPoints if the map has none.
        """
        count = len(self.attractions)
        if not count:
            raise NoAttractionPoints(f"map {self.name!r} has no attraction points: expected at least one")
        if uniform:
            return (draws * count).astype(np.int64)
        return np.searchsorted(self._attraction_shares, draws, side="right").astype(np.int64)


def _cumulative(weights: Floats) -> Floats:
    """Running sums scaled so that the last one is exactly 1: a search for a draw below 1 never falls off."""
    sums = np.cumsum(weights)
    shares: Floats = sums / sums[-1]
    return shares
