"""Movement along the streets of a map."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, InstanceOf, PlainSerializer, model_validator

from bypass.models.maps import MAPS, AttractionPoint, InvalidMap, StreetMap, load_map
from bypass.models.maps.georeference import Georeference
from bypass.models.maps.polygons import Triangles, blocks
from bypass.models.maps.street_map import Polygon
from bypass.models.maps.walking import Pace, Places, Walkers, append, around, on_streets, walk
from bypass.models.mobility.base.trip_model import TripModel
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats, Ints

# Distances to the goals of those who walk together: 32 MiB.
CHUNK = 2**22

MapPart = tuple[Ints, Floats, Ints]
MapName = Annotated[
    str | InstanceOf[StreetMap],
    PlainSerializer(lambda given: given if isinstance(given, str) else given.name, str),
]


class MapMovement(TripModel):
    """Clients walk shortest ways on the streets of a map.

    `map` is a StreetMap, the name of a built-in map, or the path of a map file, which ends in .json. Targets
    lie around attraction points chosen by weight, normally distributed in x and y with a third of the point's
    radius as standard deviation and kept inside the world, or anywhere in the point's polygons if it has any:
    clients reach them in a straight line from the nearest node of the streets. Or targets lie anywhere on the
    streets, every metre equally likely.

    All clients set out at the same moment, from anywhere on the streets, which leaves its mark for a while:
    the movement of the first `warmup` seconds is cut off.
    """

    map: MapName = "street-grid"
    targets: Literal["attraction", "random"] = "attraction"
    warmup: float = Field(default=480.0, ge=0)

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (Path(self.map),) if isinstance(self.map, str) and self.map not in MAPS else ()

    @model_validator(mode="after")
    def _has_targets(self) -> Self:
        try:
            street_map = self.street_map
        except InvalidMap as error:
            raise ValueError(str(error)) from None
        if self.targets == "attraction" and not street_map.attractions:
            raise ValueError(f"map {street_map.name!r} has no attraction points: expected targets 'random'")
        return self

    @property
    def size(self) -> tuple[float, float]:
        return self.street_map.width, self.street_map.height

    @property
    def attractions(self) -> tuple[AttractionPoint, ...]:
        return self.street_map.attractions

    @property
    def buildings(self) -> tuple[Polygon, ...]:
        return self.street_map.buildings or blocks(self.street_map)

    @property
    def georeference(self) -> Georeference | None:
        plane = self.street_map.projection
        return None if plane is None else Georeference.at(plane.origin)

    @cached_property
    def _triangles(self) -> Triangles:
        return Triangles.of(self.street_map.attractions)

    @property
    def street_map(self) -> StreetMap:
        """The map. Raises InvalidMap if its file is gone meanwhile."""
        return self.map if isinstance(self.map, StreetMap) else load_map(self.map)

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        street_map = self.street_map
        clients = np.arange(first, last)
        walkers = Walkers(
            clients,
            np.full(len(clients), -self.warmup),
            _on_streets(street_map, seed, clients, np.zeros_like(clients)),
            np.ones_like(clients),
        )
        parts: list[MapPart] = []
        goers = np.arange(len(clients))
        # Everybody's next trip, in turn: so many share their goals, and with them the search for ways.
        while goers.size:
            goals = self._draw_goals(street_map, seed, walkers, goers)
            order = np.argsort(goals.near, kind="stable")
            for together in _chunks(goals.near[order], CHUNK // len(street_map.nodes)):
                some = order[together]
                going = goers[some]
                near, far = goals.near[some], goals.far[some]
                ends, row = np.unique([near, far], return_inverse=True)
                to_near, to_far = row.reshape(2, -1)
                track, counts = walk(
                    seed,
                    walkers,
                    going,
                    Places(goals.x[some], goals.y[some], near, far),
                    street_map.distances.to(ends),
                    to_near,
                    to_far,
                    street_map.streets,
                    Pace(*self.speed, *self.pause),
                    duration,
                )
                parts.append((going, track, counts))
            goers = goers[walkers.now[goers] < duration]
        return _joined(len(clients), parts)

    def _draw_goals(self, street_map: StreetMap, seed: np.uint64, walkers: Walkers, goers: Ints) -> Places:
        clients, draws = walkers.number[goers], walkers.draw[goers]
        if self.targets == "random":
            walkers.draw[goers] += 1
            return _on_streets(street_map, seed, clients, draws)
        walkers.draw[goers] += 2
        places = around(
            seed,
            clients,
            draws,
            np.array([(point.x, point.y, point.radius / 3) for point in street_map.attractions]),
            street_map.attraction_shares,
            self._triangles,
            *self.size,
        )
        node = street_map.nearest_nodes(places)
        return Places(places[:, 0], places[:, 1], node, node)


def _on_streets(street_map: StreetMap, seed: np.uint64, clients: Ints, draws: Ints) -> Places:
    return on_streets(seed, clients, draws, street_map.nodes, street_map.edges, street_map.street_shares)


def _chunks(goals: Ints, most: int) -> list[slice]:
    """Slices of sorted goals with at most `most` distinct ones in each, but at least one."""
    begins = np.flatnonzero(np.diff(goals, prepend=-1))[:: max(1, most)]
    return [slice(a, b) for a, b in zip(begins, [*begins[1:], len(goals)], strict=True)]


def _joined(clients: int, parts: list[MapPart]) -> Waypoints:
    """The waypoints of all parts, those of each client in the order of the parts."""
    sizes = np.zeros(clients, np.int64)
    for going, _, counts in parts:
        sizes[going] += counts  # nobody is in a part twice
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    track, free = np.empty((3, offsets[-1])), offsets[:-1].copy()
    for going, part, counts in parts:
        append(track, free, going, part, counts)
    return Waypoints(offsets, *track)
