"""The grid of areas finds what `Area.contains` says, whatever was put in, moved and taken out before."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.filters.indexes.areas.grid import AreaGrid
from bypass.places import Area
from tests.mechanisms.areas.shapes import anywhere, areas, at_borders, coarse, corners

pytestmark = pytest.mark.slow

Turn = tuple[float, float, float]  # x, y, heading
turns = st.tuples(coarse | st.just(1e9), coarse, st.sampled_from([0.0, 30.0, 90.0, 211.0]))
steps = st.lists(
    st.tuples(st.just("hold"), anywhere, turns)
    | st.tuples(st.just("follow"), areas, turns)
    | st.tuples(st.sampled_from(["move", "release"]), st.integers(0, 20), turns),
    max_size=25,
)
altitudes = st.sampled_from([math.nan, 0.0, 7.0, 10.5])


def numbers_of(turn: Turn) -> tuple[float, float, float, float]:
    x, y, heading = turn
    return x, y, math.sin(math.radians(heading)), math.cos(math.radians(heading))


class Model:
    """What a grid holds, one by one."""

    def __init__(self) -> None:
        self.grid = AreaGrid()
        self.held: list[tuple[int, Area, Turn | None]] = []

    def do(self, what: str, subject: Area | int, turn: Turn) -> None:
        if what == "hold":
            assert isinstance(subject, Area)
            (number,) = self.grid.hold([subject]).tolist()
            self.held.append((number, subject, None))
        elif what == "follow":
            assert isinstance(subject, Area)
            self.held.append((self.grid.follow(subject, *numbers_of(turn)), subject, turn))
        elif self.held:
            assert isinstance(subject, int)
            number, area, before = self.held.pop(subject % len(self.held))
            if what == "release":
                self.grid.release([number])
            elif before is None:
                self.held.append((number, area, None))
            else:
                self.grid.move(np.array([number]), np.array([numbers_of(turn)]))
                self.held.append((number, area, turn))

    def at(self, x: float, y: float, z: float) -> list[int]:
        found = set()
        for number, area, turn in self.held:
            if turn is None:
                inside = area.contains(x, y, z)
            else:
                px, py, sine, cosine = numbers_of(turn)
                dx, dy = x - px, y - py
                inside = area.contains(dx * cosine - dy * sine, dx * sine + dy * cosine, z)
            if inside:
                found.add(number)
        return sorted(found)

    def near(self, way: tuple[float, float, float, float]) -> set[int]:
        """The areas that stay, and that a way enters or leaves."""
        return {number for number, area, turn in self.held if turn is None and area.crossings(*way)}


@given(steps, st.lists(corners, max_size=8), altitudes)
@settings(max_examples=120, deadline=None, derandomize=True)
def test_equal_to_brute_force(
    steps: list[tuple[str, Area | int, Turn]], places: list[tuple[float, float]], z: float
) -> None:
    model = Model()
    for step in steps:
        model.do(*step)
    for _, area, turn in model.held:
        dx, dy = (0.0, 0.0) if turn is None else turn[:2]
        places = [*places, *((x + dx, y + dy) for x, y in at_borders(area)[:40])]
    expected = [model.at(x, y, z) for x, y in places]
    assert [model.grid.at(x, y, z).tolist() for x, y in places] == expected
    held = np.array(sorted({number for number, _, _ in model.held}), np.int64)
    assert [model.grid.scan(held, x, y, z).tolist() for x, y in places] == expected
    x, y = np.array(places).reshape(-1, 2).T.copy()
    offsets, numbers = model.grid.at_many(x, y, np.full(len(places), z))
    assert [numbers[a:b].tolist() for a, b in itertools.pairwise(offsets)] == expected


@given(st.lists(anywhere, min_size=1, max_size=8), st.lists(st.tuples(corners, corners), max_size=8))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_no_border_on_a_way_is_missed(
    held: list[Area], ways: list[tuple[tuple[float, float], tuple[float, float]]]
) -> None:
    grid = AreaGrid()
    numbers = grid.hold(held).tolist()
    ends = [place for area in held for place in at_borders(area)[:6]]
    rows = [*(a + b for a, b in ways), *(a + b for a, b in zip(ends, ends[3:], strict=False))]
    offsets, found = grid.along(np.array(rows, np.float64).reshape(-1, 4))
    for k, way in enumerate(rows):
        near = found[offsets[k] : offsets[k + 1]].tolist()
        assert near == sorted(set(near))
        crossed = {number for number, area in zip(numbers, held, strict=True) if area.crossings(*way)}
        assert crossed <= set(near)


def test_a_way_deep_inside_has_no_candidates() -> None:
    grid = AreaGrid()
    grid.hold([Area.box((0, 0), (1000, 1000)), Area.circle((5000, 0), 10)])
    offsets, found = grid.along(np.array([(500.0, 500.0, 501.0, 501.0), (500.0, 500.0, 5000.0, 0.0)]))
    assert offsets.tolist() == [0, 0, 2]
    assert found.tolist() == [0, 1]


def test_equal_areas_share_a_number_until_the_last_is_released() -> None:
    grid = AreaGrid()
    first, second, other = grid.hold(
        [Area.circle((0, 0), 5), Area.circle((0, 0), 5), Area.circle((0, 0), 6)]
    ).tolist()
    assert first == second != other
    grid.release([first])
    assert grid.at(0.0, 0.0).tolist() == [first, other]
    grid.release([first, other])
    assert grid.at(0.0, 0.0).tolist() == []


def test_what_is_released_makes_room_for_others() -> None:
    grid = AreaGrid()
    for k in range(3000):
        numbers = grid.hold([Area.polygon([(k, 0), (k + 1, 0), (k, 9)]), Area.circle((-k, k * 0.1), 4)])
        assert grid.at(k + 0.1, 0.1).tolist()
        grid.release(numbers.tolist())
    assert grid.numbers == 2
    assert grid.memory() < 200_000
