"""A gateway selection of your own: clients with the lowest numbers pass events on to the others."""

import numpy as np
from numpy.typing import NDArray

from bypass.mechanisms.gateways.selection import Candidates, GatewayChoice


class Lowest(GatewayChoice):
    """Everybody else is served by the nearest of the first `k` candidates."""

    def choose(self, candidates: Candidates, k: int) -> NDArray[np.int64]:
        return np.arange(k)  # positions among the candidates, which ascend
