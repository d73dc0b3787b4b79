"""Properties of every model of movement without a map."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bypass.models.mobility.base.model import MobilityModel
from bypass.models.mobility.gauss_markov import GaussMarkov
from bypass.models.mobility.group_movement import GroupMovement
from bypass.models.mobility.levy_walk import LevyWalk
from bypass.models.mobility.manhattan import Manhattan
from bypass.models.mobility.random_direction import RandomDirection
from bypass.models.mobility.random_waypoint import RandomWaypoint
from bypass.models.request import InvalidRequest
from bypass.models.waypoints import Waypoints

pytestmark = pytest.mark.slow

CLIENTS = 40
DURATION = 400.0

# Each model as it is by default, and at the limits of what its parameters can be; with the fastest speed.
EVERY_MODEL: list[Any] = [
    pytest.param(RandomWaypoint(), 2, id="rwp"),
    pytest.param(RandomWaypoint(width=40, height=700, speed=(3, 3), pause=(0, 0)), 3, id="rwp-no-pause"),
    pytest.param(RandomWaypoint(width=1, height=1, speed=(0.1, 5), pause=(7, 7)), 5, id="rwp-tiny"),
    pytest.param(RandomDirection(), 2, id="direction"),
    pytest.param(
        RandomDirection(width=30, height=1, speed=(2, 2), pause=(0, 0), travel=50), 2, id="direction-narrow"
    ),
    pytest.param(GaussMarkov(), 5, id="gauss-markov"),
    pytest.param(GaussMarkov(width=20, height=90, alpha=0, sigma=3, speed=0), 20, id="gauss-markov-forgets"),
    pytest.param(GaussMarkov(width=9, alpha=1, sigma=0, speed=4, step=7.7), 4, id="gauss-markov-straight"),
    pytest.param(Manhattan(), 2, id="manhattan"),
    pytest.param(Manhattan(width=35, height=10, spacing=10, speed=(4, 4)), 4, id="manhattan-one-row"),
    pytest.param(GroupMovement(), 2 + 2 * 25 / 60, id="rpgm"),
    pytest.param(
        GroupMovement(width=201, height=300, group=7, spread=100, change=9, pause=(0, 0)),
        2 + 2 * 100 / 9,
        id="rpgm-wide",
    ),
    pytest.param(GroupMovement(group=1, spread=0), 2, id="rpgm-alone"),
    pytest.param(LevyWalk(), 500**0.18 / 1.5, id="levy-walk"),
    pytest.param(
        LevyWalk(width=50, height=80, alpha=0.5, flight=(1, 1000), beta=1, pause=(2, 2), k=0.5, rho=0),
        2,
        id="levy-walk-small-world",
    ),
]
every_model = pytest.mark.parametrize("model", [pytest.param(p.values[0], id=p.id) for p in EVERY_MODEL])


def same(one: Waypoints, other: Waypoints) -> bool:
    return all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in ("offsets", "t", "x", "y")
    )


def joined(parts: list[Waypoints]) -> Waypoints:
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    t, x, y = (np.concatenate([getattr(part, name) for part in parts]) for name in ("t", "x", "y"))
    return Waypoints(np.concatenate([[0], np.cumsum(sizes)]), t, x, y)


@every_model
def test_traces_last_from_zero_to_the_duration_and_stay_in_the_world(model: MobilityModel) -> None:
    for duration in (DURATION, 0.25):
        waypoints = model.generate(200, duration, seed=3)
        assert len(waypoints) == 200
        assert (waypoints.t[waypoints.offsets[:-1]] == 0).all()
        assert (waypoints.t[waypoints.offsets[1:] - 1] == duration).all()
        width, height = model.size
        assert waypoints.x.min() >= 0
        assert waypoints.x.max() <= width
        assert waypoints.y.min() >= 0
        assert waypoints.y.max() <= height


@every_model
def test_time_goes_on_from_waypoint_to_waypoint(model: MobilityModel) -> None:
    waypoints = model.generate(200, DURATION, seed=3)
    inner = np.delete(np.diff(waypoints.t), waypoints.offsets[1:-1] - 1)
    assert (inner > 0).all()


@pytest.mark.parametrize(("model", "fastest"), EVERY_MODEL)
def test_nobody_jumps(model: MobilityModel, fastest: float) -> None:
    waypoints = model.generate(CLIENTS, DURATION, seed=5)
    dt, dx, dy = (
        np.delete(np.diff(column), waypoints.offsets[1:-1] - 1)
        for column in (waypoints.t, waypoints.x, waypoints.y)
    )
    length = np.hypot(dx, dy)
    assert (length <= fastest * dt * (1 + 1e-9) + 1e-9).all()
    assert length.sum() > CLIENTS  # everybody does go somewhere


@every_model
@given(cuts=st.sets(st.integers(1, CLIENTS - 1)))
@settings(max_examples=12, deadline=None)
def test_blocks_fit_together_wherever_they_begin(model: MobilityModel, cuts: set[int]) -> None:
    bounds = [0, *sorted(cuts), CLIENTS]
    blocks = [model.block(first, last, DURATION, np.uint64(6)) for first, last in pairwise(bounds)]
    assert same(joined(blocks), model.generate(CLIENTS, DURATION, seed=6))


@every_model
@given(duration=st.floats(0.01, DURATION))
@settings(max_examples=12, deadline=None)
def test_a_longer_trace_begins_like_a_shorter_one(model: MobilityModel, duration: float) -> None:
    short, long = (model.generate(CLIENTS, at, seed=7) for at in (duration, DURATION))
    for client in range(CLIENTS):
        first, last = short.offsets[client], short.offsets[client + 1] - 1
        begin = long.offsets[client]
        for name in ("t", "x", "y"):
            beginning = getattr(long, name)[begin : begin + last - first]
            assert getattr(short, name)[first:last].tobytes() == beginning.tobytes()
    np.testing.assert_allclose(short.positions(duration), long.positions(duration), rtol=0, atol=1e-9)


@every_model
def test_the_seed_decides(model: MobilityModel) -> None:
    one, again, other = (model.generate(CLIENTS, DURATION, seed) for seed in (8, 8, 2**64 - 1))
    assert same(one, again)
    here, there = np.array(one.positions(0)), np.array(other.positions(0))
    assert (np.abs(here - there).max(axis=0) > 1e-6).sum() > CLIENTS / 2


@every_model
def test_clients_differ_also_those_with_the_highest_numbers(model: MobilityModel) -> None:
    low = model.block(0, CLIENTS, DURATION, np.uint64(9))
    high = model.block(2**31 - CLIENTS - 1, 2**31 - 1, DURATION, np.uint64(9))
    places = np.concatenate([np.array(low.positions(33.3)).T, np.array(high.positions(33.3)).T])
    if not isinstance(model, GroupMovement):
        assert len(np.unique(places, axis=0)) == 2 * CLIENTS
    assert len(np.unique(places.round(3), axis=0)) > CLIENTS / 2


@every_model
def test_models_survive_a_file(model: MobilityModel) -> None:
    again = type(model).model_validate(json.loads(model.model_dump_json()))
    assert same(again.generate(3, 60.0, 1), model.generate(3, 60.0, 1))


@pytest.mark.parametrize(
    ("model", "wrong", "message"),
    [
        (RandomWaypoint, {"speed": (2, 1)}, "expected the lower bound first"),
        (RandomWaypoint, {"speed": (0, 1)}, "greater than 0"),
        (RandomWaypoint, {"pause": (-1, 1)}, "greater than or equal to 0"),
        (RandomWaypoint, {"width": 0.5}, "greater than or equal to 1"),
        (RandomWaypoint, {"height": np.inf}, "finite"),
        (RandomWaypoint, {"height": 1e7}, "less than or equal to 1000000"),
        (RandomWaypoint, {"warmup": 1}, "warmup"),
        (RandomDirection, {"travel": 0}, "greater than or equal to 1"),
        (GaussMarkov, {"alpha": 1.1}, "less than or equal to 1"),
        (GaussMarkov, {"sigma": -1}, "greater than or equal to 0"),
        (GaussMarkov, {"step": 0}, "greater than or equal to 0.01"),
        (Manhattan, {"spacing": 200, "width": 150}, r"spacing is 200.0 m in a world of 150.0 × 1300.0 m"),
        (Manhattan, {"spacing": 0}, "greater than or equal to 1"),
        (GroupMovement, {"group": 0}, "greater than or equal to 1"),
        (GroupMovement, {"group": 2.5}, "integer"),
        (GroupMovement, {"spread": 50, "height": 100}, r"spread is 50.0 m in a world of 1300.0 × 100.0 m"),
        (GroupMovement, {"spread": -1}, "greater than or equal to 0"),
        (LevyWalk, {"alpha": 0}, "greater than 0"),
        (LevyWalk, {"flight": (9, 8)}, "expected the lower bound first"),
        (LevyWalk, {"pause": (0, 8)}, "greater than or equal to 0.1"),
        (LevyWalk, {"rho": 1.5}, "less than or equal to 1"),
    ],
)
def test_parameters_without_sense_are_refused(
    model: type[MobilityModel], wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        model.model_validate(wrong)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ((0, 10.0, 1), "clients is 0"),
        ((1, 0.0, 1), "duration is 0.0 s"),
        ((1, np.inf, 1), "duration is inf s"),
        ((1, 10.0, -1), "seed is -1"),
        ((1, 10.0, 2**64), "seed is 18446744073709551616"),
    ],
)
def test_requests_without_sense_are_refused(request_: tuple[int, float, int], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        RandomWaypoint().generate(*request_)
