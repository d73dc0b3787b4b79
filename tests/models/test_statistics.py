from __future__ import annotations

import json
from itertools import combinations, groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from bypass.models.mobility.base.model import MobilityModel
from bypass.models.mobility.random_direction import RandomDirection
from bypass.models.mobility.random_waypoint import RandomWaypoint
from bypass.models.traces.statistics import InvalidPositions, statistics
from bypass.support.arrays import Floats


@st.composite
def positions(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """A few clients on a small grid, so that they often stand still, meet, and come back."""
    shape = draw(st.integers(2, 9)), draw(st.integers(1, 4))
    numbers = st.lists(st.integers(0, 3), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    x, y = (np.array(draw(numbers), float).reshape(shape) for _ in range(2))
    return x, y


def runs(flags: list[bool]) -> list[tuple[bool, int, int]]:
    """(value, begin, end) of every stretch of equal values."""
    found, at = [], 0
    for value, members in groupby(flags):
        length = len(list(members))
        found.append((value, at, at + length))
        at += length
    return found


def sampled(
    model: MobilityModel, clients: int, samples: int, step: float, seed: int
) -> tuple[Floats, Floats]:
    cursor = model.generate(clients, samples * step, seed).cursor()
    places = np.array([np.array(cursor.positions(at * step)) for at in range(samples)])
    return places[:, 0], places[:, 1]


@given(positions(), st.sampled_from([0.5, 1.0, 1.5, 9.0]))
@settings(deadline=None)
def test_contacts_equal_brute_force(places: tuple[Floats, Floats], reach: float) -> None:
    x, y = places
    samples, clients = x.shape
    lengths, gaps, cut, near = [], [], 0, 0
    for a, b in combinations(range(clients), 2):
        together = (np.hypot(x[:, a] - x[:, b], y[:, a] - y[:, b]) <= reach).tolist()
        near += sum(together)
        for contact, begin, end in runs(together):
            inside = begin > 0 and end < samples
            if contact and inside:
                lengths.append(2.0 * (end - begin))
            elif contact:
                cut += 1
            elif inside:
                gaps.append(2.0 * (end - begin))
    found = statistics(x, y, 2.0, reach=reach)
    assert sorted(found.contacts.tolist()) == sorted(lengths)
    assert sorted(found.gaps.tolist()) == sorted(gaps)
    assert found.contacts_cut == cut
    assert found.neighbours == pytest.approx(2 * near / (samples * clients))


@given(positions(), st.sampled_from([1.0, 1.5, 2.0, 7.0]))
@settings(deadline=None)
def test_visits_equal_brute_force(places: tuple[Floats, Floats], cell: float) -> None:
    x, y = places
    size = (3.0, 4.5)
    expected = np.zeros((int(np.ceil(4.5 / cell)), int(np.ceil(3.0 / cell))), int)
    for client in range(x.shape[1]):
        cells = [
            # Who is exactly on the far border is in the last cell.
            (min(int(b // cell), expected.shape[0] - 1), min(int(a // cell), expected.shape[1] - 1))
            for a, b in zip(x[:, client], y[:, client], strict=True)
        ]
        for where, _ in groupby(cells):
            expected[where] += 1
    found = statistics(x, y, 1.0, cell=cell, size=size)
    assert found.visits.tolist() == expected.tolist()
    assert found.visited == pytest.approx((expected > 0).mean())
    flat = expected.ravel()
    differences = np.abs(flat[:, None] - flat).mean() / (2 * flat.mean())
    assert found.gini == pytest.approx(differences)


@given(positions())
@settings(deadline=None)
def test_speeds_and_pauses_equal_brute_force(places: tuple[Floats, Floats]) -> None:
    x, y = places
    samples, clients = x.shape
    speeds, pauses, paused = [], [], 0
    for client in range(clients):
        length = np.hypot(np.diff(x[:, client]), np.diff(y[:, client]))
        resting = set()
        for still, begin, end in runs((length == 0).tolist()):
            if still:
                resting |= set(range(begin, end + 1))
                if begin > 0 and end < samples - 1:
                    pauses.append(2.0 * (end - begin + 1))
        paused += len(resting)
        speeds += [length[k] / 2 for k in range(samples - 1) if not {k, k + 1} & resting]
    found = statistics(x, y, 2.0)
    assert sorted(found.speeds.tolist()) == sorted(speeds)
    assert sorted(found.pauses.tolist()) == sorted(pauses)
    assert found.paused == pytest.approx(paused / x.size)


def test_the_summary_is_made_of_plain_numbers() -> None:
    # Client 0 walks, pauses for three samples, walks on; client 1 stands all the time and is met once.
    x = np.array([[0.0, 3], [1, 3], [2, 3], [2, 3], [2, 3], [3, 3], [4, 3], [5, 3]])
    summary = statistics(x, np.zeros_like(x), 1.0, reach=1.0, cell=2.0, size=(6, 2)).summary()
    assert json.loads(json.dumps(summary)) == {
        "clients": 2,
        "samples": 8,
        "step_s": 1.0,
        "speed_mean_mps": 1.0,
        "speed_p5_mps": 1.0,
        "speed_p50_mps": 1.0,
        "speed_p95_mps": 1.0,
        "paused_share": 11 / 16,
        "pauses": 1,
        "pause_mean_s": 3.0,
        "pause_p5_s": 3.0,
        "pause_p50_s": 3.0,
        "pause_p95_s": 3.0,
        "visits": 4,
        "visits_max": 2,
        "visited_share": 1.0,
        "visits_gini": pytest.approx(1 / 6),
        "contacts": 1,
        "contacts_cut": 0,
        "contact_mean_s": 5.0,
        "contact_p5_s": 5.0,
        "contact_p50_s": 5.0,
        "contact_p95_s": 5.0,
        "gaps": 0,
        "gap_mean_s": None,
        "gap_p5_s": None,
        "gap_p50_s": None,
        "gap_p95_s": None,
        "neighbours_mean": 10 / 16,
    }


def test_single_precision_gives_nearly_the_same() -> None:
    x, y = sampled(RandomWaypoint(width=1000.7, height=200), 40, 300, 1.0, seed=1)
    x[5, 5] = 1000.7
    assert float(np.float32(1000.7)) > 1000.7
    exact = statistics(x, y, 1.0, size=(1000.7, 200)).summary()
    rounded = statistics(x.astype(np.float32), y.astype(np.float32), 1.0, size=(1000.7, 200)).summary()
    assert rounded == pytest.approx(exact, rel=0.01)


def test_random_waypoint_looks_as_its_parameters_say() -> None:
    model = RandomWaypoint(width=200, height=200, speed=(1, 3), pause=(10, 50))
    found = statistics(*sampled(model, 300, 2000, 1.0, seed=2), 1.0, reach=5.0, size=model.size)
    # 300 clients make some 14 trips each; errors of the means are 0.5 to 1 %.
    assert found.paused == pytest.approx(model.paused, rel=0.03)
    assert found.pauses.mean() == pytest.approx(30, rel=0.02)
    assert found.speeds.mean() == pytest.approx(2 / np.log(3), rel=0.02)
    assert found.visited > 0.98
    centre, border = found.visits[4:6, 4:6].mean(), found.visits[0].mean()
    assert centre > 2 * border


def share_within(reach: float, side: float) -> float:
    """The probability that two uniform places in a square are at most `reach` apart."""
    r = reach / side
    return float(np.pi * r**2 - 8 / 3 * r**3 + r**4 / 2)


def test_neighbours_at_uniform_density() -> None:
    model = RandomDirection()
    means = []
    for seed in range(20):
        places = [model.generate(297, 1.0, 100 * seed + k).positions(0) for k in range(10)]
        x, y = np.moveaxis(np.array(places), 1, 0)
        means.append(statistics(x, y, 1.0).neighbours)
    assert ttest_1samp(means, 296 * share_within(88, 1300)).pvalue > 0.01


def test_contacts_last_as_long_as_straight_walks_through_a_disc() -> None:
    reach, side, speed, step = 50.0, 500.0, 15.0, 0.2
    model = RandomDirection(width=side, height=side, speed=(speed, speed), pause=(0, 0), travel=1e6)
    found = statistics(*sampled(model, 60, 3000, step, seed=3), step, reach=reach)
    # In the steady state as many contacts begin as relative velocities, isotropic and 4/π times the speed on
    # average, lead across the distance `reach`: this rate is dP/dr · E|v| / π, and P = rate · mean length.
    slope = (share_within(reach + 1e-3, side) - share_within(reach - 1e-3, side)) / 2e-3
    expected = share_within(reach, side) / (slope * 4 * speed / np.pi**2)
    # What the trace cuts off are longer contacts: 1 % is missing from the mean, whose error is another 1 %.
    assert len(found.contacts) > 5000
    assert found.contacts.mean() == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"x": np.zeros((3, 2))}, r"x and y have shapes \(3, 2\) and \(4, 2\)"),
        ({"x": np.zeros(4), "y": np.zeros(4)}, r"expected \(samples, clients\) twice"),
        ({"x": np.zeros((1, 2)), "y": np.zeros((1, 2))}, "and two samples"),
        ({"x": np.zeros((4, 0)), "y": np.zeros((4, 0))}, "x and y have shapes"),
        ({"x": np.full((4, 2), np.nan)}, r"x of client 0 at sample 0 is nan: expected a finite number"),
        ({"y": np.array([[1.0, 1], [1, -1], [1, 1], [1, 1]])}, r"y of client 1 at sample 1 is -1.0"),
        ({"size": (9, 0.5)}, r"y of client 0 at sample 0 is 1.0: expected a finite number from 0 to 0.5"),
        ({"step": 0.0}, "step is 0.0: expected a finite number above 0"),
        ({"reach": -1.0}, "reach is -1.0"),
        ({"cell": np.inf}, "cell is inf"),
    ],
)
def test_positions_without_sense_are_refused(wrong: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"x": np.ones((4, 2)), "y": np.ones((4, 2)), "step": 1.0} | wrong
    with pytest.raises(InvalidPositions, match=message):
        statistics(**arguments)
