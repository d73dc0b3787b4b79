"""Random waypoint against its theory: the steady state from time 0 on.

Clients are independent, so each time below is judged on clients of its own. Seeds are fixed; a test whose
model is right fails for one seed in a hundred (p-values) or fewer.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import kstest, norm

from bypass.models.mobility.random_waypoint import RandomWaypoint, mean_distance
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats

TIMES = (0.0, 500.0, 1000.0)
CLIENTS = 20_000


def at(model: RandomWaypoint, moment: float, seed: int) -> Waypoints:
    """The movement of clients that are looked at only at this moment."""
    first = CLIENTS * TIMES.index(moment)
    return model.block(first, first + CLIENTS, moment + 500, np.uint64(seed))


def moving(waypoints: Waypoints, moment: float) -> tuple[Floats, Floats, Floats]:
    """x, y and speed of those who are not paused."""
    x, y = waypoints.positions(moment)
    speed = np.hypot(*waypoints.velocities(moment))
    return x[speed > 0], y[speed > 0], speed[speed > 0]


@cache
def quadrature(nodes: int) -> tuple[Floats, Floats]:
    """Gauss–Legendre nodes and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    return (x + 1) / 2, w / 2


def integrated_distance(width: float, height: float) -> float:
    """The mean distance of two places: differences on an axis of length 1 have the density 2·(1 - u)."""
    u, w = quadrature(200)
    density = 2 * (1 - u) * w
    return float(density @ np.hypot(width * u[:, None], height * u) @ density)


def integrated_square(side: float) -> float:
    """E[(x - side/2)²] of somebody on a trip in a square, by integration over trips weighted by length.

    Along a trip from a to b (from the centre) the mean of x² is (a² + ab + b²) / 3.
    """
    u, w = quadrature(60)
    a, b, v = (u - 0.5)[:, None, None], (u - 0.5)[:, None], u
    weight = w[:, None, None] * w[:, None] * (2 * (1 - v) * w) * np.hypot(a - b, v)
    return float(side**2 * (weight * (a * a + a * b + b * b) / 3).sum() / weight.sum())


@pytest.mark.parametrize("size", [(1, 1), (1300, 1300), (700, 300), (10, 1000), (1e6, 1)])
def test_mean_distance_equals_the_integral(size: tuple[float, float]) -> None:
    assert mean_distance(*size) == pytest.approx(integrated_distance(*size), rel=1e-5)
    assert mean_distance(*size) == pytest.approx(mean_distance(*size[::-1]))


@pytest.mark.parametrize("moment", TIMES)
def test_speeds_on_the_way_are_those_of_the_steady_state(moment: float) -> None:
    slowest, fastest = 0.5, 4.0
    model = RandomWaypoint(width=600, height=300, speed=(slowest, fastest), pause=(5, 90))
    _, _, speed = moving(at(model, moment, seed=1), moment)

    ratio = np.log(fastest / slowest)
    mean, square = (fastest - slowest) / ratio, (fastest**2 - slowest**2) / (2 * ratio)
    z = (speed.mean() - mean) / np.sqrt((square - mean**2) / len(speed))
    assert abs(z) < norm.isf(0.005)
    assert mean < 0.75 * (slowest + fastest) / 2  # far from what a start with fresh trips would give
    assert kstest(speed, lambda v: np.log(v / slowest) / ratio).pvalue > 0.01


@pytest.mark.parametrize("moment", TIMES)
def test_the_share_of_paused_clients_is_that_of_time(moment: float) -> None:
    model = RandomWaypoint(width=600, height=300, speed=(0.5, 4.0), pause=(20, 300))
    trip = integrated_distance(600, 300) * np.log(4.0 / 0.5) / (4.0 - 0.5)
    share = 160 / (160 + trip)
    assert model.paused == pytest.approx(share, rel=1e-5)
    paused = CLIENTS - len(moving(at(model, moment, seed=2), moment)[0])
    z = (paused / CLIENTS - share) / np.sqrt(share * (1 - share) / CLIENTS)
    assert abs(z) < norm.isf(0.005)


@pytest.mark.parametrize("moment", TIMES)
@pytest.mark.parametrize("pause", [(20.0, 300.0), (0.0, 200.0), (120.0, 120.0)], ids=str)
def test_what_is_left_of_pauses_has_their_equilibrium_distribution(
    moment: float, pause: tuple[float, float]
) -> None:
    model = RandomWaypoint(width=600, height=300, pause=pause)
    waypoints = at(model, moment, seed=3)
    paused = np.hypot(*waypoints.velocities(moment)) == 0
    ahead = [
        np.searchsorted(waypoints.t[first:last], moment, side="right") + first
        for first, last in zip(waypoints.offsets[:-1], waypoints.offsets[1:], strict=True)
    ]
    left = waypoints.t[ahead][paused] - moment
    short, long = pause
    mean = (short + long) / 2

    def cdf(z: Floats) -> Floats:
        """The integral from 0 to z of (1 - F) / mean, F uniform in the range."""
        beyond = np.clip(z - short, 0, None)
        curve = beyond - beyond**2 / (2 * (long - short)) if long > short else 0.0
        result: Floats = (np.minimum(z, short) + curve) / mean
        return result

    assert len(left) > 2000
    assert left.max() <= long
    assert kstest(left, cdf).pvalue > 0.01


def test_the_density_is_the_same_at_any_time_and_highest_in_the_centre() -> None:
    side = 400.0
    model = RandomWaypoint(width=side, height=side, speed=(0.5, 3), pause=(0, 0))
    places = {moment: np.array(moving(at(model, moment, seed=4), moment)[:2]) - side / 2 for moment in TIMES}
    start = places[0.0]
    for later in TIMES[1:]:
        assert kstest(start[0], places[later][0]).pvalue > 0.01
        assert kstest(start[1], places[later][1]).pvalue > 0.01
        assert kstest(np.hypot(*start), np.hypot(*places[later])).pvalue > 0.01

    expected = integrated_square(side)
    assert expected < 0.75 * side**2 / 12  # of a uniform density
    for place in places.values():
        squares = place.ravel() ** 2
        assert abs(squares.mean() - expected) / (squares.std() / np.sqrt(len(squares))) < norm.isf(0.005)


@pytest.mark.parametrize("moment", TIMES)
def test_paused_clients_are_anywhere(moment: float) -> None:
    model = RandomWaypoint(width=600, height=300, pause=(200, 400))
    waypoints = at(model, moment, seed=5)
    paused = np.hypot(*waypoints.velocities(moment)) == 0
    x, y = waypoints.positions(moment)
    assert kstest(x[paused], "uniform", (0, 600)).pvalue > 0.01
    assert kstest(y[paused], "uniform", (0, 300)).pvalue > 0.01


def test_targets_speeds_and_pauses_of_new_trips_are_uniform() -> None:
    model = RandomWaypoint()
    waypoints = model.generate(300, 20_000.0, seed=10)
    targets, speeds, pauses = [], [], []
    for first in waypoints.offsets[:-1].tolist():
        # Twenty trips with their pauses, from the first one on that begins within the trace.
        begin = first + (1 if waypoints.x[first] == waypoints.x[first + 1] else 2)
        t, x, y = (column[begin : begin + 41] for column in (waypoints.t, waypoints.x, waypoints.y))
        targets.append(np.column_stack([x, y])[1::2])
        speeds.append((np.hypot(np.diff(x), np.diff(y)) / np.diff(t))[::2])
        pauses.append(np.diff(t)[1::2])
    x, y = np.concatenate(targets).T
    assert len(x) == 6000
    assert kstest(x, "uniform", (0, 1300)).pvalue > 0.01
    assert kstest(y, "uniform", (0, 1300)).pvalue > 0.01
    assert kstest(np.concatenate(speeds), "uniform", (1, 1)).pvalue > 0.01
    assert kstest(np.concatenate(pauses), "uniform", (1, 59)).pvalue > 0.01
