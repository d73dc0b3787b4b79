"""Walls of buildings: how many a way crosses, and how much of a frame's power they take."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from bypass.models.radio.medium import Medium
from bypass.models.radio.path_loss import power_behind
from bypass.models.radio.radio import UNIT, WIFI
from bypass.models.radio.walls import NO_WALLS, Walls, count_walls, crosses
from bypass.support.arrays import Floats

Point = tuple[float, float]

HOUSE = np.array([(10.0, 0.0), (20.0, 0.0), (20.0, 30.0), (10.0, 30.0)])

coarse = st.integers(-40, 40).map(
    lambda n: 5.0 * n
)  # often at the border of a cell, or on a line with others
fine = st.floats(-200.0, 200.0)
points = st.one_of(st.tuples(coarse, coarse), st.tuples(fine, fine))
rings = st.lists(points, min_size=2, max_size=9).map(np.array)


def counted(walls: Walls, a: Point, b: Point, most: int = 1000) -> int:
    return count_walls(walls, *a, *b, most, np.full(len(walls.ends), -1), 0)


def brute(walls: Walls, a: Point, b: Point) -> int:
    return sum(crosses(*min(a, b), *max(a, b), wall) for wall in walls.ends)


@given(st.lists(rings, max_size=6), points, points)
def test_the_grid_finds_all_walls_that_are_crossed_each_once(parts: list[Floats], a: Point, b: Point) -> None:
    walls = Walls.around(parts)
    assert counted(walls, a, b) == counted(walls, b, a) == brute(walls, a, b)


@given(st.lists(rings, min_size=1, max_size=4), points, points, st.integers(0, 5))
def test_counting_ends_when_more_make_no_difference(
    parts: list[Floats], a: Point, b: Point, most: int
) -> None:
    walls = Walls.around(parts)
    assert counted(walls, a, b, most) == min(brute(walls, a, b), most + 1)


@given(st.tuples(fine, fine), st.tuples(fine, fine))
def test_shapely_finds_the_same_walls(a: Point, b: Point) -> None:
    """The way between two places that are not on a wall is compared where it misses corners clearly."""
    way, ring = shapely.LineString([a, b]), shapely.LinearRing(HOUSE)
    corners = shapely.MultiPoint(HOUSE)
    if min(way.distance(corners), shapely.MultiPoint([a, b]).distance(ring)) < 1e-6:
        return
    met = shapely.get_parts(way.intersection(ring))
    assert counted(Walls.around([HOUSE]), a, b) == sum(not each.is_empty for each in met)


@given(st.tuples(fine, fine), st.tuples(fine, fine))
def test_parity_says_on_which_side_one_is(a: Point, b: Point) -> None:
    inside = [10 < x < 20 and 0 < y < 30 for x, y in (a, b)]
    if any(x in (10, 20) or y in (0, 30) for x, y in (a, b)):
        return
    assert counted(Walls.around([HOUSE]), a, b) % 2 == (inside[0] != inside[1])


def test_a_ring_may_be_closed_or_not() -> None:
    closed = np.concatenate([HOUSE, HOUSE[:1]])
    assert (Walls.around([closed]).ends == Walls.around([HOUSE]).ends).all()
    assert len(Walls.around([HOUSE]).ends) == 4
    assert len(NO_WALLS.ends) == counted(NO_WALLS, (0.0, 0.0), (9.0, 9.0)) == 0


def test_a_world_of_any_size_has_a_bounded_number_of_cells() -> None:
    far = Walls.around([HOUSE, HOUSE + 1e7])
    assert far.columns * far.rows < 1 << 21
    assert counted(far, (0.0, 15.0), (25.0, 15.0)) == 2


@pytest.mark.parametrize(("wall_db", "received"), [(0.0, (1, 2)), (9.0, (1,)), (100.0, (1,))])
def test_a_house_stands_between_sender_and_receiver(wall_db: float, received: tuple[int, ...]) -> None:
    """Two walls of 9 dB make a way of 30 m as long as one of 30 · 10^(18 / 38) = 89 m; the reach is 88."""
    model = WIFI.model_copy(update={"wall_db": wall_db})
    x, y = np.array([0.0, 0.0, 30.0]), np.array([15.0, 45.0, 15.0])
    medium = Medium(model, lambda _: (x, y), 3, 1, walls=Walls.around([HOUSE]))
    medium.send(1000, 0, 224)
    [ending] = medium.run_until(100_000)
    assert ending.receivers == received


@given(st.integers(UNIT, 1 << 52), st.integers(0, 30), st.floats(0.0, 40.0))
def test_walls_never_add_power_and_weak_power_is_none(power: int, walls: int, wall_db: float) -> None:
    left = power_behind(power, walls, WIFI.model_copy(update={"wall_db": wall_db}).passed)
    assert left == 0 or UNIT <= left <= power
    assert power_behind(power, walls + 1, 0.5) <= power_behind(power, walls, 0.5)
