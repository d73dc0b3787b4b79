"""Clients of areas stand in their own, and walk to others."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from pydantic import ValidationError

from bypass.models.mobility import MOBILITY
from bypass.models.mobility.areas import Areas
from bypass.testing import MobilitySuite

pytestmark = pytest.mark.slow


class TestAreas(MobilitySuite):
    model = "areas"
    parameters: ClassVar[dict[str, Any]] = {"mobile": 0.7, "pause": 20.0, "speed": (0.5, 2.0)}
    capabilities: ClassVar[dict[str, Any]] = {"fastest": 2.0}


def test_clients_stand_in_areas_by_turns() -> None:
    assert MOBILITY["areas"] is Areas
    waypoints = Areas(width=300, areas=3, spread=20).generate(3000, 600.0, seed=1)
    x, y = waypoints.positions(0.0)
    np.testing.assert_array_equal(waypoints.positions(600.0), (x, y))
    away = np.hypot(x - 100 * (np.arange(3000) % 3 + 0.5), y - 50)
    assert away.max() <= 20
    assert np.mean((away / 20) ** 2) == pytest.approx(0.5, abs=0.02)  # every square metre alike
    assert np.mean(x[::3]) == pytest.approx(50, abs=1)


def test_those_who_move_stay_in_one_area_after_another() -> None:
    model = Areas(width=300, areas=3, spread=0, mobile=0.5, speed=(2.0, 2.0), pause=60)
    waypoints = model.generate(600, 900.0, seed=2)
    moved = 0
    for begin, end in zip(waypoints.offsets[:-1], waypoints.offsets[1:], strict=True):
        t, x = waypoints.t[begin:end], waypoints.x[begin:end]
        stays = np.flatnonzero(np.diff(x) == 0)
        walks = np.flatnonzero(np.diff(x) != 0)[:-1]  # the last one is cut off
        np.testing.assert_allclose(np.diff(t)[walks], np.abs(np.diff(x)[walks]) / 2)
        assert set(x[stays].tolist()) <= {50, 150, 250}
        np.testing.assert_allclose(np.diff(t)[stays[1:-1]], 60)
        moved += len(walks) > 0
    assert moved == pytest.approx(300, abs=40)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"areas": 0}, "areas"),
        ({"spread": 60}, "spread is 60: expected at most 50 m, half of an area"),
        ({"areas": 8, "spread": 30}, "spread is 30: expected at most 25 m"),
        ({"mobile": 1.5}, "mobile"),
    ],
)
def test_parameters_without_sense_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Areas.model_validate(wrong)
