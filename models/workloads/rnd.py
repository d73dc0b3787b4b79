"""Random places: every event belongs to a place anywhere in the world."""

from __future__ import annotations

from bypass.models.workloads.workload import Workload, World
from bypass.support.arrays import Floats


class RND(Workload):
    """Every event belongs to a place that is uniform in the world."""

    def targets(self, draws: Floats, world: World, /) -> Floats:
        return draws * (world.width, world.height)
