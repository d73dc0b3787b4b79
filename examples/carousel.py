"""A mobility model of your own: everybody goes round and round, each in a circle of its own."""

from typing import Annotated

import numpy as np
from pydantic import Field

from bypass.models.maps import AttractionPoint
from bypass.models.mobility import MobilityModel
from bypass.models.waypoints import Track, Waypoints
from bypass.support.counter_rng import Purpose, uniform_pair

SIZE, RADIUS, STEP = 600.0, 140.0, 2.0  # metres, metres, seconds


class Carousel(MobilityModel):
    """A lap takes `lap` seconds; many lead past the stage in the middle."""

    lap: Annotated[float, Field(gt=0)] = 120.0

    @property
    def size(self) -> tuple[float, float]:
        return SIZE, SIZE

    @property
    def attractions(self) -> tuple[AttractionPoint, ...]:
        return (AttractionPoint(name="stage", x=SIZE / 2, y=SIZE / 2, radius=80.0, weight=1.0),)

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        return Waypoints.of_tracks(self._ride(client, duration, seed) for client in range(first, last))

    def _ride(self, client: int, duration: float, seed: np.uint64) -> Track:
        x, y = uniform_pair(seed, int(Purpose.MOBILITY), client, 0)  # of the seed and the client alone
        begin, _ = uniform_pair(seed, int(Purpose.MOBILITY), client, 1)
        t = np.append(np.arange(0.0, duration, STEP), duration)
        angle = 2 * np.pi * (begin + t / self.lap)
        middle = RADIUS + (SIZE - 2 * RADIUS) * np.array([x, y])
        return t, middle[0] + RADIUS * np.cos(angle), middle[1] + RADIUS * np.sin(angle)
