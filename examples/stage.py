"""A workload of your own: whoever publishes does so about what happens on the stage."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bypass.models.workloads import Workload, World


class Stage(Workload):
    """Events belong to places within `spread` metres of the first attraction point."""

    spread: Annotated[float, Field(ge=0)] = 20.0

    def targets(self, draws: NDArray[np.float64], world: World, /) -> NDArray[np.float64]:
        stage = world.attractions[0]
        return self.spread * (2 * draws - 1) + (stage.x, stage.y)
