"""Location-based service: every event belongs to a place that attracts people."""

from __future__ import annotations

import numpy as np

from bypass.models.maps import NoAttractionPoints
from bypass.models.workloads.workload import Workload, World
from bypass.support.arrays import Floats


class LBS(Workload):
    """Every event belongs to the centre of an attraction point, chosen by weight or, if `uniform`, evenly.

    `schedule` raises NoAttractionPoints in a world without any.
    """

    uniform: bool = False

    def targets(self, draws: Floats, world: World, /) -> Floats:
        if not world.attractions:
            raise NoAttractionPoints(
                "the world has no attraction points: expected some for location-based events"
            )
        points = np.array([(p.x, p.y) for p in world.attractions])
        weights = np.array([1.0 if self.uniform else p.weight for p in world.attractions])
        shares = np.cumsum(weights) / weights.sum()
        shares[-1] = 1.0  # a draw is below 1: it must not fall behind the last one by rounding
        return points[np.searchsorted(shares, draws[:, 0], side="right")]
