"""Manhattan movement against its rules, and its steady state against that of the chain of streets.

Seeds are fixed; a test whose model is right fails for one seed in a hundred (p-values) or fewer.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from bypass.models.mobility.manhattan import Manhattan
from bypass.support.arrays import Floats

COLUMNS, ROWS, SPACING = 3, 2, 50.0
MODEL = Manhattan(width=COLUMNS * SPACING + 20, height=ROWS * SPACING + 49, spacing=SPACING)
TIMES = (0.0, 300.0, 1500.0)
CLIENTS = 20_000

Crossing = tuple[int, int]
Street = tuple[Crossing, Crossing]


def turns(model: Manhattan, clients: int, duration: float, seed: int) -> Counter[tuple[Crossing, ...]]:
    """How often anybody went over three crossings in a row."""
    waypoints = model.generate(clients, duration, seed)
    seen: Counter[tuple[Crossing, ...]] = Counter()
    for begin, end in zip(waypoints.offsets[:-1], waypoints.offsets[1:], strict=True):
        inner = slice(begin + 1, end - 1)  # the first and the last waypoint may lie anywhere on a street
        i, j = ((column[inner] / model.spacing).tolist() for column in (waypoints.x, waypoints.y))
        assert all(value.is_integer() for value in (*i, *j))
        crossings = [(int(a), int(b)) for a, b in zip(i, j, strict=True)]
        seen.update(zip(crossings, crossings[1:], crossings[2:], strict=False))
    return seen


def side_of(a: Crossing, b: Crossing, c: Crossing) -> str:
    """Which turn it is to come from a and go to c at b."""
    (ux, uy), (vx, vy) = (b[0] - a[0], b[1] - a[1]), (c[0] - b[0], c[1] - b[1])
    cross = ux * vy - uy * vx
    assert (abs(ux) + abs(uy), abs(vx) + abs(vy)) == (1, 1)
    assert c != a
    return "left" if cross > 0 else "right" if cross < 0 else "straight"


def stationary() -> dict[Street, float]:
    """Shares of time on the streets, by direction, from the turning rules: the fixed point of the chain."""
    crossings = list(product(range(COLUMNS + 1), range(ROWS + 1)))
    streets = [
        (a, (a[0] + dx, a[1] + dy))
        for a in crossings
        for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1))
        if (a[0] + dx, a[1] + dy) in crossings
    ]
    chain = np.zeros((len(streets), len(streets)))
    for row, (a, b) in enumerate(streets):
        for column, (start, c) in enumerate(streets):
            if start == b and c != a:
                chain[row, column] = 0.5 if side_of(a, b, c) == "straight" else 0.25
    chain /= chain.sum(axis=1, keepdims=True)
    system = np.vstack([chain.T - np.eye(len(streets)), np.ones(len(streets))])
    shares = np.linalg.lstsq(system, np.array([0.0] * len(streets) + [1.0]), rcond=None)[0]
    np.testing.assert_allclose(shares @ chain, shares, atol=1e-12)
    return dict(zip(streets, shares.tolist(), strict=True))


def test_everybody_is_always_exactly_on_a_street() -> None:
    cursor = MODEL.generate(200, 600.0, seed=1).cursor()
    for at in np.arange(0, 600, 7.3).tolist():
        x, y = cursor.positions(at)
        assert ((x % SPACING == 0) | (y % SPACING == 0)).all()
        assert x.max() <= COLUMNS * SPACING
        assert y.max() <= ROWS * SPACING


def test_turns_at_inner_crossings_have_their_probabilities() -> None:
    seen = turns(MODEL, clients=500, duration=3000.0, seed=2)
    counts = Counter[str]()
    for (a, b, c), times in seen.items():
        if 0 < b[0] < COLUMNS and 0 < b[1] < ROWS:
            counts[side_of(a, b, c)] += times
    total = counts.total()
    assert total > 5000
    observed = [counts[side] for side in ("straight", "left", "right")]
    assert chisquare(observed, [total / 2, total / 4, total / 4]).pvalue > 0.01


def test_at_borders_the_other_ways_share_the_probability() -> None:
    seen = turns(MODEL, clients=500, duration=3000.0, seed=3)
    along, against = Counter[str](), Counter[str]()
    corners = {(0, 0), (0, ROWS), (COLUMNS, 0), (COLUMNS, ROWS)}
    for (a, b, c), times in seen.items():
        if b in corners:
            assert side_of(a, b, c) != "straight"
        elif b[0] in (0, COLUMNS) or b[1] in (0, ROWS):
            follows_border = (a[0] == b[0] and b[0] in (0, COLUMNS)) or (a[1] == b[1] and b[1] in (0, ROWS))
            side = side_of(a, b, c)
            if follows_border:
                along["straight" if side == "straight" else "inside"] += times
            else:
                against[side] += times
    total = along.total()
    assert chisquare([along["straight"], along["inside"]], [total * 2 / 3, total / 3]).pvalue > 0.01
    assert set(against) == {"left", "right"}
    assert chisquare([against["left"], against["right"]]).pvalue > 0.01


@pytest.mark.parametrize("moment", TIMES)
def test_streets_are_as_crowded_as_the_chain_says_at_any_time(moment: float) -> None:
    first = CLIENTS * TIMES.index(moment)
    waypoints = MODEL.block(first, first + CLIENTS, moment + 1, np.uint64(4))
    x, y = (column / SPACING for column in waypoints.positions(moment))
    vx, vy = waypoints.velocities(moment)
    forward = np.where(vx != 0, vx, vy) > 0
    low = np.column_stack([np.floor(x), np.floor(y)]).astype(int)
    high = low + np.column_stack([vx != 0, vy != 0])
    begin, end = np.where(forward[:, None], low, high), np.where(forward[:, None], high, low)
    seen = Counter((tuple(a), tuple(b)) for a, b in zip(begin.tolist(), end.tolist(), strict=True))
    expected = stationary()
    assert max(expected.values()) > 1.4 * min(expected.values())
    assert set(seen) == set(expected)
    observed = [seen[street] for street in expected]
    assert chisquare(observed, [CLIENTS * share for share in expected.values()]).pvalue > 0.01


@pytest.mark.parametrize("moment", TIMES)
def test_places_along_streets_and_speeds_are_those_of_the_steady_state(moment: float) -> None:
    model = MODEL.model_copy(update={"speed": (0.5, 4.0)})
    first = CLIENTS * TIMES.index(moment)
    waypoints = model.block(first, first + CLIENTS, moment + 1, np.uint64(5))
    x, y = waypoints.positions(moment)
    vx, vy = waypoints.velocities(moment)
    along: Floats = np.where(vx != 0, x, y) % SPACING
    assert kstest(along, "uniform", (0, SPACING)).pvalue > 0.01
    assert kstest(np.hypot(vx, vy), lambda v: np.log(v / 0.5) / np.log(8)).pvalue > 0.01
