"""Visitors stand and walk as their parameters say."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import kstest, norm

from bypass.models.mobility import MOBILITY
from bypass.models.mobility.visitors import Visitors
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats
from bypass.testing import MobilitySuite

pytestmark = pytest.mark.slow

CLIENTS = 4000


class TestVisitors(MobilitySuite):
    model = "visitors"
    parameters: ClassVar[dict[str, Any]] = {"mobile": 0.7, "pause": 20.0, "speed": (0.5, 2.0)}
    capabilities: ClassVar[dict[str, Any]] = {"fastest": 2.0}


def tracks(waypoints: Waypoints) -> list[tuple[Floats, Floats, Floats]]:
    """Times and places of each client."""
    cuts = waypoints.offsets[1:-1]
    columns = (np.split(column, cuts) for column in (waypoints.t, waypoints.x, waypoints.y))
    return list(zip(*columns, strict=True))


def is_moving(waypoints: Waypoints) -> list[bool]:
    return [bool(np.ptp(x) or np.ptp(y)) for _, x, y in tracks(waypoints)]


def test_models_are_found_by_name() -> None:
    assert MOBILITY["visitors"] is Visitors


def test_nobody_moves_unless_somebody_is_mobile() -> None:
    waypoints = Visitors().generate(100, 3600.0, seed=1)
    assert not any(is_moving(waypoints))


def test_a_share_of_them_moves() -> None:
    moving = sum(is_moving(Visitors(mobile=0.3, moves=1).generate(CLIENTS, 600.0, seed=2)))
    z = (moving / CLIENTS - 0.3) / np.sqrt(0.3 * 0.7 / CLIENTS)
    assert abs(z) < norm.isf(0.005)


@pytest.mark.parametrize("moment", [0.0, 3600.0])
def test_those_who_stand_are_anywhere_at_any_time(moment: float) -> None:
    model = Visitors(mobile=1, width=300, height=150, pause=600)
    waypoints = model.generate(CLIENTS, moment + 1, seed=3)
    standing = np.hypot(*waypoints.velocities(moment)) == 0
    x, y = waypoints.positions(moment)
    assert standing.sum() > CLIENTS / 2
    assert kstest(x[standing], "uniform", (0, 300)).pvalue > 0.01
    assert kstest(y[standing], "uniform", (0, 150)).pvalue > 0.01


def test_the_first_pause_has_begun_before() -> None:
    found = tracks(Visitors(mobile=1, moves=1, pause=100).generate(CLIENTS, 200.0, seed=4))
    assert kstest(np.array([t[1] for t, _, _ in found]), "uniform", (0, 100)).pvalue > 0.01


def test_trips_have_their_speeds_and_pauses_are_repeated_by_chance() -> None:
    model = Visitors(mobile=1, moves=0.8, speed=(0.5, 2.0), pause=50.0)
    speeds: list[float] = []
    tosses = walks = 0
    for t, x, y in tracks(model.generate(300, 20_000.0, seed=5)):
        dt, length = np.diff(t)[1:-1], np.hypot(np.diff(x), np.diff(y))[1:-1]  # the ends are cut off
        still = length == 0
        np.testing.assert_allclose(dt[still] / 50, np.rint(dt[still] / 50), atol=1e-6)
        assert not (~still[:-1] & ~still[1:]).any(), "no trip without a pause after it"
        speeds += (length[~still][:30] / dt[~still][:30]).tolist()
        tosses += int(np.rint(dt[still] / 50).sum())
        walks += int((~still).sum())
    assert len(speeds) == 9000
    assert kstest(speeds, "uniform", (0.5, 1.5)).pvalue > 0.01
    # Each pause ends with a toss, up to one at either end of a track that is cut off.
    assert walks / tosses == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mobile": 1.5}, "mobile"),
        ({"moves": -0.1}, "moves"),
        ({"speed": (2.0, 1.0)}, "speed"),
        ({"pause": 0.5}, "pause"),
        ({"width": 0}, "width"),
    ],
)
def test_parameters_without_sense_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Visitors.model_validate(wrong)
