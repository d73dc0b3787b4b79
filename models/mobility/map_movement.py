"""Movement along the streets of a map."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from numpy.random import Generator
from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from bypass.models.maps import MAPS, StreetMap, street_grid
from bypass.models.maps.street_map import Place
from bypass.models.mobility.trip_model import Point, TripModel


def _by_name(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value not in MAPS:
        raise ValueError(f"map {value!r} is unknown: expected one of {', '.join(MAPS)}")
    return MAPS[value]()


class MapMovement(TripModel):
    """Clients walk shortest ways on the streets of `map` (a StreetMap, or the name of a built-in one).

    Targets lie around attraction points chosen by weight, normally distributed in x and y with a third of
    the point's radius as standard deviation and kept inside the world; or anywhere on the streets. Between
    the streets and a target clients walk straight. They start anywhere on the streets.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    map: Annotated[
        StreetMap, BeforeValidator(_by_name), PlainSerializer(lambda street_map: street_map.name, str)
    ] = Field(default_factory=street_grid)
    targets: Literal["attraction", "random"] = "attraction"

    @model_validator(mode="after")
    def _has_targets(self) -> Self:
        if self.targets == "attraction" and not self.map.attractions:
            raise ValueError(f"map {self.map.name!r} has no attraction points: expected targets 'random'")
        return self

    def paths(self, rng: Generator) -> Iterator[list[Point]]:
        here = self.map.random_place(rng)
        yield [(here.x, here.y)]
        draw_target = self._near_attraction if self.targets == "attraction" else self.map.random_place
        while True:
            there = draw_target(rng)
            streets = self.map.nodes[self.map.route(here.node, there.node, rng)].tolist()
            yield [*streets, (there.x, there.y)]
            here = there

    def _near_attraction(self, rng: Generator) -> Place:
        point = self.map.attractions[self.map.draw_attractions(rng.random(1))[0]]
        x = min(max(rng.normal(point.x, point.radius / 3), 0.0), self.map.width)
        y = min(max(rng.normal(point.y, point.radius / 3), 0.0), self.map.height)
        return Place(x, y, self.map.nearest_node(x, y))
