"""Random waypoint: straight to a place anywhere in the world."""

from __future__ import annotations

from collections.abc import Iterator

from numpy.random import Generator
from pydantic import Field

from bypass.models.mobility.trip_model import Point, TripModel


class RandomWaypoint(TripModel):
    """Targets are uniform in [0, width] × [0, height] m; clients walk in straight lines."""

    width: float = Field(default=1300.0, gt=0)
    height: float = Field(default=1300.0, gt=0)

    def paths(self, rng: Generator) -> Iterator[list[Point]]:
        while True:
            yield [(self.width * rng.random(), self.height * rng.random())]
