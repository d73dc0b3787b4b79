"""Many places at once are looked up in another order than they are given, and found as if one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bypass.mechanisms.filters.indexes.areas.grid import AreaGrid
from bypass.places import Area

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("odd", [None, math.nan, math.inf, -math.inf, 1e300])
def test_the_order_of_places_makes_no_difference(odd: float | None) -> None:
    grid = AreaGrid()
    grid.hold([Area.circle((x, y), 40) for x in range(0, 500, 50) for y in range(0, 500, 50)])
    x, y = np.random.default_rng(1).uniform(0, 500, (2, 1000))
    if odd is not None:
        x[500] = odd
    offsets, numbers = grid.at_many(x, y)
    for i in range(len(x)):
        found = numbers[offsets[i] : offsets[i + 1]].tolist()
        assert found == grid.at(float(x[i]), float(y[i])).tolist()
    assert offsets[-1] > 1000
    offsets, numbers = grid.at_many(np.full(300, 20.0), np.full(300, 20.0))
    assert numbers[: offsets[1]].tolist() * 300 == numbers.tolist()
