from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.sparse.csgraph import floyd_warshall

from bypass.models.maps import MAPS, AttractionPoint, InvalidMap, NoAttractionPoints, StreetMap, street_grid

TRIANGLE: dict[str, Any] = {
    "name": "triangle",
    "width": 10.0,
    "height": 10.0,
    "nodes": np.array([[0.0, 0], [10, 0], [0, 10]]),
    "edges": np.array([[0, 1], [1, 2], [2, 0]]),
}


def lengths(street_map: StreetMap, route: list[int]) -> list[float]:
    return [float(np.hypot(*step)) for step in np.diff(street_map.nodes[route], axis=0)]


def streets(street_map: StreetMap) -> set[frozenset[int]]:
    return {frozenset(edge) for edge in street_map.edges.tolist()}


def test_the_grid_spans_the_world_with_even_blocks() -> None:
    street_map = street_grid(width=1300, height=650, block=80)
    x, y = street_map.nodes.T
    assert np.unique(x) == pytest.approx(np.linspace(0, 1300, 17))
    assert np.unique(y) == pytest.approx(np.linspace(0, 650, 9))
    assert len(street_map.edges) == 17 * 8 + 16 * 9
    assert all(sum(lengths(street_map, edge)) == pytest.approx(81.25) for edge in street_map.edges.tolist())


def test_the_grid_has_six_unequal_attraction_points_inside_the_world() -> None:
    street_map = MAPS["street-grid"]()
    points = street_map.attractions
    assert len(points) == 6
    assert len({point.weight for point in points}) == 6
    for point in points:
        assert 25 <= point.radius <= 120
        assert point.radius <= min(point.x, point.y, street_map.width - point.x, street_map.height - point.y)


@pytest.mark.parametrize("size", [0, -80, np.nan, np.inf])
def test_a_grid_without_extent_is_refused(size: float) -> None:
    with pytest.raises(InvalidMap, match=r"^street grid: block is .*: expected a finite length above 0$"):
        street_grid(block=size)


@given(st.integers(0, 288), st.integers(0, 288), st.integers(0, 2**32))
@settings(deadline=None)
def test_routes_on_the_grid_are_as_long_as_the_blocks_between(start: int, goal: int, seed: int) -> None:
    street_map = street_grid()
    route = street_map.route(start, goal, np.random.default_rng(seed))
    assert (route[0], route[-1]) == (start, goal)
    assert all(frozenset(step) in streets(street_map) for step in pairwise(route))
    manhattan = np.abs(street_map.nodes[goal] - street_map.nodes[start]).sum()
    assert sum(lengths(street_map, route)) == pytest.approx(manhattan)


def test_equal_routes_share_the_traffic_and_repeat_with_the_stream() -> None:
    street_map = street_grid(block=325)
    across = [tuple(street_map.route(0, 24, np.random.default_rng(seed))) for seed in range(200)]
    again = [tuple(street_map.route(0, 24, np.random.default_rng(seed))) for seed in range(200)]
    assert across == again
    assert len(set(across)) > 35  # of the 70 ways over 4 × 4 blocks
    first_steps = [route[1] for route in across]
    assert 70 <= first_steps.count(1) <= 130  # four standard deviations around one half


@given(st.data())
@settings(deadline=None)
def test_routes_on_any_map_are_shortest(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 9))
    corner = st.tuples(st.integers(0, 20), st.integers(0, 20))
    nodes = np.array(data.draw(st.lists(corner, min_size=count, max_size=count, unique=True)), dtype=float)
    pairs = [(a, b) for b in range(count) for a in range(b)]
    edges = data.draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    weights = np.full((count, count), np.inf)
    for a, b in edges:
        weights[a, b] = weights[b, a] = np.hypot(*(nodes[a] - nodes[b]))
    shortest = floyd_warshall(weights)
    assume(np.isfinite(shortest).all())
    street_map = StreetMap("any", 20, 20, nodes, np.array(edges))
    start, goal = data.draw(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)))
    route = street_map.route(start, goal, np.random.default_rng(0))
    assert all(frozenset(step) in streets(street_map) for step in pairwise(route))
    assert sum(lengths(street_map, route)) == pytest.approx(shortest[start, goal], abs=1e-4)


@given(st.floats(0, 1300), st.floats(0, 1300))
@settings(deadline=None)
def test_nearest_node_equals_brute_force(x: float, y: float) -> None:
    street_map = street_grid()
    distances = np.hypot(*(street_map.nodes - (x, y)).T)
    assert distances[street_map.nearest_node(x, y)] == pytest.approx(distances.min())


def test_random_places_lie_on_streets_in_proportion_to_length() -> None:
    street_map = StreetMap(**TRIANGLE)
    rng = np.random.default_rng(5)
    places = [street_map.random_place(rng) for _ in range(4000)]
    bottom = sum(place.y == 0 for place in places)
    left = sum(place.x == 0 for place in places)
    slope = sum(place.x + place.y == pytest.approx(10) and 0 < place.x < 10 for place in places)
    assert bottom + left + slope == 4000
    share = 10 / (20 + 10 * 2**0.5)
    deviation = (4000 * share * (1 - share)) ** 0.5
    assert abs(bottom - 4000 * share) < 4 * deviation
    assert abs(left - 4000 * share) < 4 * deviation
    for place in places:
        assert place.node == street_map.nearest_node(place.x, place.y)


def test_attraction_points_are_drawn_by_weight_or_evenly() -> None:
    points = tuple(
        AttractionPoint(name=name, x=5, y=5, radius=1, weight=weight)
        for name, weight in (("a", 1), ("b", 2), ("c", 1))
    )
    street_map = StreetMap(**TRIANGLE, attractions=points)
    draws = np.array([0.0, 0.2499, 0.25, 0.7499, 0.75, 1 - 2**-53])
    assert street_map.draw_attractions(draws).tolist() == [0, 0, 1, 1, 2, 2]
    assert street_map.draw_attractions(draws, uniform=True).tolist() == [0, 0, 0, 2, 2, 2]


def test_a_map_without_attraction_points_draws_none() -> None:
    with pytest.raises(NoAttractionPoints, match="'triangle' has no attraction points"):
        StreetMap(**TRIANGLE).draw_attractions(np.array([0.5]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"width": 0.0}, "width is 0.0"),
        ({"height": np.inf}, "height is inf"),
        ({"nodes": np.zeros(6)}, r"nodes have shape \(6,\)"),
        ({"nodes": np.array([[0.0, 0], [11, 0], [0, 10]])}, r"node 1 is at \(11.0, 0.0\)"),
        ({"nodes": np.array([[0.0, 0], [np.nan, 0], [0, 10]])}, r"node 1 is at \(nan, 0.0\)"),
        ({"edges": np.zeros((0, 2), int)}, r"edges have shape \(0, 2\)"),
        ({"edges": np.array([[0, 3]])}, "edges name nodes 0 to 3: expected 0 to 2"),
        ({"edges": np.array([[0, 1], [1, 1]])}, r"edge \[1, 1\] is shorter"),
        ({"edges": np.array([[0, 1], [1, 2], [1, 0]])}, r"edge \[0, 1\] is given twice"),
        ({"edges": np.array([[0, 1]])}, "streets fall into 2 parts"),
        (
            {"attractions": (AttractionPoint(name="far", x=5, y=12, radius=1, weight=1),)},
            r"far is at \(5.0, 12.0\)",
        ),
        (
            {"attractions": (AttractionPoint(name="two", x=5, y=5, radius=1, weight=1),) * 2},
            "expected distinct names",
        ),
    ],
)
def test_maps_that_do_not_fit_together_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidMap, match=f"^map 'triangle': .*{message}"):
        StreetMap(**(TRIANGLE | changed))


@pytest.mark.parametrize("changed", [{"radius": 0}, {"weight": 0}, {"x": np.nan}, {"size": 3}])
def test_attraction_points_without_sense_are_refused(changed: dict[str, float]) -> None:
    sensible = {"name": "park", "x": 1, "y": 1, "radius": 25, "weight": 1}
    with pytest.raises(ValidationError, match=next(iter(changed))):
        AttractionPoint.model_validate(sensible | changed)
