"""Random direction, Gauss–Markov and Lévy walks against their theory.

Clients are independent, so each time below is judged on clients of its own. Seeds are fixed; a test whose
model is right fails for one seed in a hundred (p-values) or fewer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import chisquare, kstest, norm

from bypass.models.mobility.base.model import MobilityModel
from bypass.models.mobility.gauss_markov import GaussMarkov
from bypass.models.mobility.levy_walk import LevyWalk
from bypass.models.mobility.random_direction import RandomDirection
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats

pytestmark = pytest.mark.slow

TIMES = (0.0, 500.0, 1000.0)
CLIENTS = 10_000


def at(model: MobilityModel, moment: float, seed: int, longer: float = 1.0) -> Waypoints:
    """The movement of clients that are looked at only from this moment on."""
    first = CLIENTS * TIMES.index(moment)
    return model.block(first, first + CLIENTS, moment + longer, np.uint64(seed))


def z_of_share(observed: int, total: int, share: float) -> float:
    return float((observed / total - share) / np.sqrt(share * (1 - share) / total))


class Trips(NamedTuple):
    """Trips with pauses between them: how long and how far each, and the pause after each."""

    duration: Floats
    length: Floats
    pause: Floats


def first_trips(model: MobilityModel, clients: int, each: int, duration: float, seed: int) -> Trips:
    """The first trips of every client that begin after a pause within the trace.

    So many of each, not those that happen to end in time: these would be the short ones.
    """
    waypoints = model.generate(clients, duration, seed)
    found = []
    for begin, end in zip(waypoints.offsets[:-1], waypoints.offsets[1:], strict=True):
        t, x, y = (column[begin:end] for column in (waypoints.t, waypoints.x, waypoints.y))
        dt, length = np.diff(t), np.hypot(np.diff(x), np.diff(y))
        still = np.flatnonzero(length == 0)[: each + 1]
        assert len(still) == each + 1, "the trace is too short"
        starts = still[:-1] + 1
        last = still[-1]
        found.append(
            (np.add.reduceat(dt[:last], starts), np.add.reduceat(length[:last], starts), dt[still[1:]])
        )
        found[-1][0][:-1] -= dt[still[1:-1]]
    return Trips(*(np.concatenate(column) for column in zip(*found, strict=True)))


@pytest.mark.parametrize("moment", TIMES)
@pytest.mark.parametrize(
    "model",
    [
        RandomDirection(width=300, height=150, pause=(0, 0)),
        RandomDirection(width=300, height=150, travel=40, pause=(5, 100)),
        GaussMarkov(width=300, height=150),
        GaussMarkov(width=300, height=150, speed=0, sigma=2, alpha=0.5),
        LevyWalk(width=300, height=150),
        LevyWalk(width=300, height=150, alpha=0.6, flight=(5, 2000)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_reflection_keeps_the_density_uniform(model: MobilityModel, moment: float) -> None:
    x, y = at(model, moment, seed=1).positions(moment)
    assert kstest(x, "uniform", (0, 300)).pvalue > 0.01
    assert kstest(y, "uniform", (0, 150)).pvalue > 0.01
    cells = np.bincount((x // 30).astype(int) * 5 + (y // 30).astype(int), minlength=50)
    assert chisquare(cells).pvalue > 0.01


@pytest.mark.parametrize("moment", TIMES)
def test_random_directions_speeds_and_the_share_of_pauses_do_not_change(moment: float) -> None:
    model = RandomDirection(width=300, height=150, speed=(0.5, 4), travel=60, pause=(5, 100))
    vx, vy = at(model, moment, seed=2).velocities(moment)
    speed = np.hypot(vx, vy)
    paused = speed == 0
    assert abs(z_of_share(paused.sum(), CLIENTS, 52.5 / (52.5 + 60))) < norm.isf(0.005)
    # Trips take as long at any speed, so the slow are not met more often.
    assert kstest(speed[~paused], "uniform", (0.5, 3.5)).pvalue > 0.01
    assert kstest(np.arctan2(vy, vx)[~paused], "uniform", (-np.pi, 2 * np.pi)).pvalue > 0.01


def test_random_directions_travel_times_are_exponential_and_pauses_uniform() -> None:
    model = RandomDirection(travel=60, pause=(5, 100))
    trips = first_trips(model, clients=200, each=15, duration=6000.0, seed=3)
    assert kstest(trips.duration, "expon", (0, 60)).pvalue > 0.01
    assert kstest(trips.pause, "uniform", (5, 95)).pvalue > 0.01


def test_reflection_turns_one_direction_around_and_keeps_the_speed() -> None:
    model = RandomDirection(width=50, height=80, speed=(3, 3), pause=(0, 0), travel=1e6)
    waypoints = model.generate(1, 2000.0, seed=4)
    dt, dx, dy = (np.diff(column) for column in (waypoints.t, waypoints.x, waypoints.y))
    np.testing.assert_allclose(np.hypot(dx, dy), 3 * dt, rtol=1e-9)
    x, y = waypoints.x[1:-1], waypoints.y[1:-1]
    on_x, on_y = (x == 0) | (x == 50), (y == 0) | (y == 80)
    assert (on_x | on_y).all()
    assert on_x.sum() > 10
    assert on_y.sum() > 10
    vx, vy = dx / dt, dy / dt
    np.testing.assert_allclose(vx[1:], np.where(on_x, -1, 1) * vx[:-1], rtol=1e-9)
    np.testing.assert_allclose(vy[1:], np.where(on_y, -1, 1) * vy[:-1], rtol=1e-9)


def velocities_far_from_borders(model: GaussMarkov, steps: int, clients: int, seed: int) -> Floats:
    """A row for each step; the clients' velocities along x and, as they are independent, those along y."""
    assert model.size == (1e6, 1e6)
    waypoints = model.generate(clients, steps * model.step, seed)
    whole = np.diff(waypoints.offsets) == steps + 1
    assert whole.mean() > 0.99  # nearly nobody has met a border
    rows = np.add.outer(np.arange(steps + 1), waypoints.offsets[:-1][whole])
    return (
        np.concatenate([np.diff(column[rows], axis=0) for column in (waypoints.x, waypoints.y)], 1)
        / model.step
    )


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9, 1.0])
def test_gauss_markov_velocities_remember_by_alpha(alpha: float) -> None:
    model = GaussMarkov(width=1e6, height=1e6, alpha=alpha, speed=0, sigma=0.7, step=2)
    v = velocities_far_from_borders(model, steps=61, clients=3000, seed=5)
    for lag in (1, 2, 5, 20):
        for begin in (0, 40):
            now, later = v[begin], v[begin + lag]
            correlation, expected = np.corrcoef(now, later)[0, 1], alpha**lag
            error = max((1 - expected**2) / np.sqrt(len(now)), 1e-9)
            assert abs(correlation - expected) / error < norm.isf(0.001)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9, 1.0])
def test_gauss_markov_velocities_are_normal_with_the_same_variance_at_any_step(alpha: float) -> None:
    model = GaussMarkov(width=1e6, height=1e6, alpha=alpha, speed=0, sigma=0.7)
    v = velocities_far_from_borders(model, steps=101, clients=3000, seed=6)
    for step in (0, 10, 100):
        assert kstest(v[step], "norm", (0, 0.7)).pvalue > 0.01


def test_gauss_markov_clients_have_a_mean_velocity_of_their_own() -> None:
    speed, sigma, alpha, steps = 1.5, 0.5, 0.6, 2000
    model = GaussMarkov(width=1e6, height=1e6, alpha=alpha, speed=speed, sigma=sigma)
    v = velocities_far_from_borders(model, steps=steps, clients=200, seed=7)
    vx, vy = v[:, : v.shape[1] // 2], v[:, v.shape[1] // 2 :]
    mean_x, mean_y = vx.mean(axis=0), vy.mean(axis=0)
    # Means of a correlated series vary by (1 + alpha) / (1 - alpha) more than those of an independent one.
    error = sigma * np.sqrt((1 + alpha) / (1 - alpha) / steps)
    z = (np.hypot(mean_x, mean_y) - speed) / error
    assert kstest(z, "norm", (error / (2 * speed), 1)).pvalue > 0.01
    assert kstest(np.arctan2(mean_y, mean_x), "uniform", (-np.pi, 2 * np.pi)).pvalue > 0.01
    deviations = np.concatenate([vx - mean_x, vy - mean_y])
    # From their own mean over the trace they deviate a little less than from the true one.
    variance, effective = sigma**2 - error**2, deviations.size * (1 - alpha**2) / (1 + alpha**2)
    assert abs(deviations.var() - variance) / (variance * np.sqrt(2 / effective)) < norm.isf(0.005)


def truncated_pareto_fit(values: Floats, low: float, high: float) -> tuple[float, float]:
    """The exponent of greatest likelihood for a density ~ value^-(1 + exponent) in [low, high]; its error."""
    logs, span = np.log(values / low), np.log(high / low)

    def moments(exponent: float) -> tuple[float, float]:
        """Mean and variance of log(value / low), an exponential variable cut off at `span`."""
        tail = span / np.expm1(exponent * span)
        return 1 / exponent - tail, 1 / exponent**2 - tail * (tail + span)

    exponent = float(brentq(lambda e: moments(e)[0] - logs.mean(), 1e-3, 20))
    return exponent, 1 / float(np.sqrt(len(values) * moments(exponent)[1]))


@pytest.mark.parametrize(("alpha", "beta"), [(1.6, 0.8), (0.5, 1.5)])
def test_exponents_of_levy_walks_are_found_again(alpha: float, beta: float) -> None:
    model = LevyWalk(alpha=alpha, beta=beta, flight=(10, 800), pause=(3, 300))
    trips = first_trips(model, clients=300, each=20, duration=20_000.0, seed=8)
    assert len(trips.length) == 6000
    for values, true, (low, high) in (
        (trips.length, alpha, model.flight),
        (trips.pause, beta, model.pause),
    ):
        assert values.min() >= low * (1 - 1e-9)
        assert values.max() <= high * (1 + 1e-9)
        exponent, error = truncated_pareto_fit(values, low, high)
        assert error < 0.05 * true
        assert abs(exponent - true) < 4 * error

        def cdf(value: Floats, low: float = low, high: float = high, true: float = true) -> Floats:
            result: Floats = (1 - (low / value) ** true) / (1 - (low / high) ** true)
            return result

        assert kstest(values, cdf).pvalue > 0.01


@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_longer_flights_of_levy_walks_are_faster_by_rho(rho: float) -> None:
    trips = first_trips(LevyWalk(k=2.5, rho=rho), clients=50, each=20, duration=20_000.0, seed=9)
    np.testing.assert_allclose(trips.duration, 2.5 * trips.length ** (1 - rho), rtol=1e-6)


@pytest.mark.parametrize("moment", TIMES)
@pytest.mark.parametrize(
    "model",
    [
        LevyWalk(alpha=0.7, flight=(5, 400), beta=0.4, pause=(1, 300), k=2, rho=0.6),
        LevyWalk(alpha=1, flight=(5, 400), beta=1, pause=(1, 300), rho=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_levy_walks_are_in_their_steady_state_at_any_time(model: LevyWalk, moment: float) -> None:
    def mean(low: float, high: float, exponent: float, power: float) -> float:
        up, down = (quad(lambda z, p=p: z ** (p - 1 - exponent), low, high)[0] for p in (power, 0))
        return float(up / down)

    pause = mean(*model.pause, model.beta, 1)
    share = pause / (pause + model.k * mean(*model.flight, model.alpha, 1 - model.rho))
    assert model.paused == pytest.approx(share)
    speed = np.hypot(*at(model, moment, seed=10).velocities(moment))
    assert abs(z_of_share((speed == 0).sum(), CLIENTS, share)) < norm.isf(0.005)
    if model.rho:
        # Of those on a flight: lengths in proportion to their times, so the density of speeds follows.
        length = (model.k * speed[speed > 0]) ** (1 / model.rho)
        low, high = model.flight
        exponent = model.alpha - (1 - model.rho)
        assert (
            kstest(length, lambda z: (1 - (low / z) ** exponent) / (1 - (low / high) ** exponent)).pvalue
            > 0.01
        )


@pytest.mark.parametrize("moment", TIMES)
def test_what_is_left_of_levy_walks_pauses_and_flights_has_their_equilibrium_distribution(
    moment: float,
) -> None:
    # Flights take as long as pauses, and nearly none meets a border: it ends at the next waypoint.
    low, high, beta = 2.0, 300.0, 0.4
    model = LevyWalk(
        width=1e6, height=1e6, alpha=beta, flight=(low, high), beta=beta, pause=(low, high), k=1, rho=0
    )
    waypoints = at(model, moment, seed=11, longer=high + 1)
    paused = np.hypot(*waypoints.velocities(moment)) == 0
    ahead = [
        begin + np.searchsorted(waypoints.t[begin:end], moment, side="right")
        for begin, end in zip(waypoints.offsets[:-1], waypoints.offsets[1:], strict=True)
    ]

    def area(z: Floats) -> Floats:
        """The integral from 0 to z of the share that takes longer."""
        y = np.maximum(z, low)
        powers = (y ** (1 - beta) - low ** (1 - beta)) / (1 - beta) - (y - low) * high**-beta
        result: Floats = np.minimum(z, low) + powers / (low**-beta - high**-beta)
        return result

    for those in (paused, ~paused):
        left = waypoints.t[ahead][those] - moment
        assert len(left) > 2000
        assert kstest(left, lambda z: area(z) / area(np.array([high]))).pvalue > 0.01
