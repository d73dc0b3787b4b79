"""A mobility model and a workload that installed packages offer by entry points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bypass.models.mobility import MobilityModel
from bypass.models.waypoints import Waypoints
from bypass.models.workloads import Workload, World


class Parade(MobilityModel):
    """Clients walk one behind the other, ten metres apart, along a street."""

    length: float = 1000.0

    @property
    def size(self) -> tuple[float, float]:
        return self.length, 10.0

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        ways = np.array([0.0, self.length])
        return Waypoints.of_tracks(
            (np.array([0.0, duration]), np.clip(ways - 10.0 * n, 0, self.length), np.full(2, 5.0))
            for n in range(first, last)
        )


class Drums(Workload):
    """What the drummers play is heard in the middle of the street."""

    def targets(self, draws: NDArray[np.float64], world: World, /) -> NDArray[np.float64]:
        return np.full_like(draws, 0.5) * (world.width, 10.0)
