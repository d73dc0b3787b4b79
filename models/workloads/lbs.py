"""Location-based service: what happens at places that attract people."""

from __future__ import annotations

import numpy as np

from bypass.models.maps.street_map import NoAttractionPoints
from bypass.models.workloads.workload import Floats, Workload, World


class LBS(Workload):
    """Every event belongs to the centre of an attraction point, chosen by weight or, if `uniform`, evenly.

    `schedule` raises NoAttractionPoints in a world without any.
    """

    uniform: bool = False

    def targets(self, draws: Floats, world: World, /) -> Floats:
        if world.street_map is None:
            raise NoAttractionPoints("there is no map: expected one with attraction points")
        chosen = world.street_map.draw_attractions(draws[:, 0], uniform=self.uniform)
        return np.array([(point.x, point.y) for point in world.street_map.attractions])[chosen]
