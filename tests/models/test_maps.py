from __future__ import annotations

import json
import pickle
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.sparse.csgraph import floyd_warshall

from bypass.models.maps import (
    MAPS,
    AttractionPoint,
    InvalidMap,
    StreetMap,
    distances,
    load_map,
    read_map,
    street_grid,
    write_map,
)
from bypass.models.maps.clipping import cut, largest_part, tidy
from bypass.models.maps.picture import draw
from bypass.places.geo import GeoLocation, PlanarLocation, Projection

TRIANGLE: dict[str, Any] = {
    "name": "triangle",
    "width": 10.0,
    "height": 10.0,
    "nodes": np.array([[0.0, 0], [10, 0], [0, 10]]),
    "edges": np.array([[0, 1], [1, 2], [2, 0]]),
}
PARK = AttractionPoint(name="park", x=2, y=3, radius=1.5, weight=2)
PLANE = Projection.around(GeoLocation(49.5, 8.25))


def shortest_ways(nodes: np.ndarray[Any, Any], edges: list[tuple[int, int]]) -> np.ndarray[Any, Any]:
    graph = np.full((len(nodes), len(nodes)), np.inf)
    for a, b in edges:
        graph[a, b] = graph[b, a] = np.hypot(*(nodes[a] - nodes[b]))
    return np.asarray(floyd_warshall(graph))


# -- what a map is made of ------------------------------------------------------------------------------


def test_the_grid_spans_the_world_with_even_blocks() -> None:
    street_map = street_grid(width=1300, height=650, block=80)
    x, y = street_map.nodes.T
    assert np.unique(x) == pytest.approx(np.linspace(0, 1300, 17))
    assert np.unique(y) == pytest.approx(np.linspace(0, 650, 9))
    assert len(street_map.edges) == 17 * 8 + 16 * 9
    assert street_map.lengths == pytest.approx(np.full(17 * 8 + 16 * 9, 81.25))


def test_the_grid_has_six_unequal_attraction_points_inside_the_world() -> None:
    street_map = MAPS["street-grid"]()
    points = street_map.attractions
    assert len(points) == 6
    assert len({point.weight for point in points}) == 6
    for point in points:
        assert 25 <= point.radius <= 120
        assert point.radius <= min(point.x, point.y, street_map.width - point.x, street_map.height - point.y)


@pytest.mark.parametrize("size", [0.0, -1.0, np.inf, np.nan])
def test_a_grid_without_extent_is_refused(size: float) -> None:
    with pytest.raises(InvalidMap, match="block is"):
        street_grid(block=size)


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
        ({"attractions": (PARK.model_copy(update={"y": 12.0}),)}, r"park is at \(2.0, 12.0\)"),
        ({"attractions": (PARK, PARK)}, "expected distinct names"),
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


def test_a_map_cannot_be_changed_by_what_it_was_made_of() -> None:
    nodes = TRIANGLE["nodes"].copy()
    street_map = StreetMap(**(TRIANGLE | {"nodes": nodes}))
    nodes[0] = 5
    assert street_map.nodes[0].tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        street_map.nodes[0] = 5


def test_a_map_that_travels_leaves_behind_what_can_be_computed_again() -> None:
    street_map = street_grid()
    fresh = len(pickle.dumps(street_map))
    street_map.distances.to(np.arange(200))
    street_map.nearest_nodes(np.zeros((1, 2)))
    arrived = pickle.loads(pickle.dumps(street_map))
    assert len(pickle.dumps(street_map)) == fresh
    assert arrived.nodes.tolist() == street_map.nodes.tolist()
    assert arrived.distances.to(np.array([3])).tolist() == street_map.distances.to(np.array([3])).tolist()


# -- ways -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_distances_equal_brute_force_on_any_map(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 12))
    places = st.tuples(st.integers(0, 20), st.integers(0, 20))
    nodes = np.array(data.draw(st.lists(places, min_size=count, max_size=count, unique=True)), float)
    # A tree keeps the map in one part; more streets make ways a choice.
    edges = {(data.draw(st.integers(0, i - 1)), i) for i in range(1, count)}
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
        lambda pair: pair[0] < pair[1]
    )
    edges |= data.draw(st.sets(pairs, max_size=10))
    street_map = StreetMap("any", 20, 20, nodes, np.array(sorted(edges)))
    goals = np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=5)))
    expected = shortest_ways(nodes, sorted(edges))
    for _ in range(2):  # computed, then remembered
        np.testing.assert_allclose(street_map.distances.to(goals), expected[goals], atol=1e-9)


def test_only_so_many_distances_are_kept_and_all_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    street_map = street_grid(block=200)
    everything = street_map.distances.to(np.arange(len(street_map.nodes)))
    monkeypatch.setattr(distances, "KEPT", 5 * len(street_map.nodes))
    few = street_grid(block=200).distances
    for goals in ([1, 2, 3, 4], [3, 4, 5, 6, 7], [1], list(range(20)), [0, 19, 0]):
        assert few.to(np.array(goals)).tobytes() == everything[goals].tobytes()
        assert len(few._rows) <= 5


def test_threads_may_ask_for_distances_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    street_map = street_grid(block=100)
    everything = street_map.distances.to(np.arange(len(street_map.nodes)))
    monkeypatch.setattr(distances, "KEPT", 7 * len(street_map.nodes))
    shared, wrong = street_grid(block=100).distances, []

    def ask(step: int) -> None:
        for start in range(60):
            goals = np.arange(start, start + 40, step)
            if shared.to(goals).tobytes() != everything[goals].tobytes():
                wrong.append(start)

    threads = [Thread(target=ask, args=(step,)) for step in (1, 3, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_nearest_nodes_equal_brute_force() -> None:
    street_map = street_grid()
    points = np.array([(x, y) for x in np.linspace(0, 1300, 37) for y in np.linspace(0, 1300, 23)])
    apart = np.hypot(*np.moveaxis(points[:, None] - street_map.nodes, 2, 0))
    nearest = street_map.nearest_nodes(points)
    np.testing.assert_allclose(apart[np.arange(len(points)), nearest], apart.min(axis=1))


# -- cutting --------------------------------------------------------------------------------------------


def test_streets_are_cut_where_they_cross_the_border() -> None:
    nodes = np.array([[-5.0, 5], [5, 5], [15, 5], [5, 20], [-5, -1], [20, 30]])
    edges = np.array([[0, 1], [1, 2], [1, 3], [4, 5], [0, 3]])
    kept, streets = cut(nodes, edges, 10, 10)
    ends = {tuple(sorted(map(tuple, kept[street].round(9).tolist()))) for street in streets}
    assert ends == {
        ((0, 5), (5, 5)),  # from outside
        ((5, 5), (10, 5)),  # to outside
        ((5, 5), (5, 10)),
        # (-5, -1) to (20, 30): from outside through the world to outside; (-5, 5) to (5, 20) misses it
        ((0, 5.2), (round(-5 + 11 / 31 * 25, 9), 10)),
    }


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_is_cut_lies_inside_and_on_the_old_streets(data: st.DataObject) -> None:
    coordinates = st.integers(-30, 30).map(lambda n: n / 2)
    count = data.draw(st.integers(2, 8))
    nodes = np.array(
        data.draw(st.lists(st.tuples(coordinates, coordinates), min_size=count, max_size=count, unique=True))
    )
    edges = np.array([(i, data.draw(st.integers(0, i - 1))) for i in range(1, count)])
    kept, streets = cut(nodes, edges, 10, 8)
    assert ((kept >= 0) & (kept <= (10, 8))).all()
    # As long as what of the old streets is inside, measured by points that lie close together.
    shares = np.linspace(0, 1, 4001)[:, None, None]
    dense = nodes[edges[:, 0]] + shares * (nodes[edges[:, 1]] - nodes[edges[:, 0]])
    inside = ((dense >= 0) & (dense <= (10, 8))).all(axis=2).mean(axis=0)
    old = (inside * np.hypot(*(nodes[edges[:, 1]] - nodes[edges[:, 0]]).T)).sum()
    new = np.hypot(*(kept[streets[:, 1]] - kept[streets[:, 0]]).T).sum() if len(streets) else 0.0
    assert new == pytest.approx(old, abs=0.05 * len(edges))


def test_tidying_leaves_one_street_between_two_places() -> None:
    nodes = np.array([[0.0, 0], [1, 0], [1, 0], [0, 1], [9, 9]])
    edges = np.array([[0, 1], [2, 0], [1, 2], [3, 3], [3, 2], [0, 3]])
    kept, streets = tidy(nodes, edges)
    assert sorted(map(tuple, kept.tolist())) == [(0, 0), (0, 1), (1, 0)]
    assert len({frozenset(street) for street in streets.tolist()}) == len(streets) == 3


def test_the_largest_part_is_kept() -> None:
    nodes = np.arange(14.0).reshape(7, 2)
    kept, streets = largest_part(nodes, np.array([[0, 1], [4, 6], [2, 4], [3, 5]]))
    assert kept.tolist() == nodes[[2, 4, 6]].tolist()
    assert {frozenset(street) for street in streets.tolist()} == {frozenset((0, 1)), frozenset((1, 2))}


# -- files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plane", [None, PLANE])
def test_a_map_survives_a_file(tmp_path: Path, plane: Projection | None) -> None:
    grid = street_grid(width=1300 / 7, height=100 / 3, block=9)
    points = (PARK.model_copy(update={"name": "Café “Süd” \n 2"}),)
    street_map = StreetMap("a b", grid.width, grid.height, grid.nodes, grid.edges, points, plane)
    write_map(street_map, tmp_path / "map.json")
    again = read_map(tmp_path / "map.json")
    assert (again.name, again.width, again.height) == ("a b", grid.width, grid.height)
    assert again.nodes.tobytes() == grid.nodes.tobytes()
    assert again.edges.tobytes() == grid.edges.tobytes()
    assert again.attractions == points
    assert again.projection == plane
    assert [path.name for path in tmp_path.iterdir()] == ["map.json"]


def test_a_map_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "map.json").mkdir()
    with pytest.raises(OSError, match=r"map\.json"):
        write_map(street_grid(), tmp_path / "map.json")
    assert [path.name for path in tmp_path.iterdir()] == ["map.json"]


GOOD = {
    "format": 1,
    "name": "two",
    "width": 4.0,
    "height": 4.0,
    "origin": None,
    "nodes": [[0, 0], [3, 4]],
    "edges": [[0, 1]],
    "attractions": [],
}


def test_a_map_file_can_be_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps(GOOD | {"origin": {"lat": 49.5, "lon": 8.25}}))
    street_map = read_map(path)
    assert street_map.lengths.tolist() == [5]
    assert street_map.projection is not None
    assert street_map.projection.to_geo(PlanarLocation(0, 0)).distance_to(GeoLocation(49.5, 8.25)) < 1e-3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is no map file: Invalid JSON"),
        (json.dumps(GOOD)[:-20], "is no map file: Invalid JSON"),
        ("[1, 2]", "is no map file: Input should be an object"),
        (json.dumps({"type": "FeatureCollection"}), "is no map file: format: Field required"),
        (json.dumps(GOOD | {"format": 2}), "is no map file: format: Input should be 1"),
        (json.dumps(GOOD | {"colour": 2}), "is no map file: colour: Extra inputs"),
        (json.dumps(GOOD | {"nodes": [[0, 0], [3, "four"]]}), r"is no map file: nodes\.1\.1: "),
        (json.dumps(GOOD | {"nodes": [[0, 0], [3, float("nan")]]}), "is no map file: "),
        (json.dumps(GOOD | {"edges": [[0, 2**40]]}), r"is no map file: edges\.0\.1: "),
        (json.dumps(GOOD | {"edges": [[0, 2]]}), "map 'two': edges name nodes 0 to 2: expected 0 to 1"),
        (json.dumps(GOOD | {"nodes": []}), "map 'two': edges name nodes 0 to 1"),
        (json.dumps(GOOD | {"origin": {"lat": 91, "lon": 0}}), r"is no map file: origin\.lat: "),
        (json.dumps(GOOD | {"attractions": [{"name": "a"}]}), r"is no map file: attractions\.0\.x: "),
    ],
)
def test_files_that_are_no_maps_are_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(content)
    with pytest.raises(InvalidMap, match=f"some.json:? {message}") as refused:
        read_map(path)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_no_map(tmp_path: Path) -> None:
    for name in ("nothing.json", "."):
        with pytest.raises(InvalidMap, match="expected a map file"):
            read_map(tmp_path / name)


# -- maps by name ---------------------------------------------------------------------------------------


def test_maps_are_found_by_name_and_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_map(StreetMap(**TRIANGLE), "town.json")
    town = load_map("town.json")
    assert town.name == "triangle"
    assert load_map("town.json") is town
    assert load_map("street-grid") is load_map("street-grid")
    write_map(street_grid(block=400), "town.json")
    assert load_map("town.json").name == "street-grid"


@pytest.mark.parametrize("name", ["atlantis", "", "town.osm"])
def test_unknown_maps_are_refused(name: str) -> None:
    with pytest.raises(InvalidMap, match=f"map '{name}' is unknown: expected one of street-grid, darmstadt"):
        load_map(name)


def test_a_map_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(
        InvalidMap, match=r"map nowhere/town\.json: No such file or directory: expected a map file"
    ):
        load_map("nowhere/town.json")


# -- pictures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(10.0, 10.0), (12_000.0, 300.0)])
def test_maps_of_any_shape_are_drawn(tmp_path: Path, width: float, height: float) -> None:
    nodes = np.array([[0.0, 0], [width, 0], [0, height]])
    point = AttractionPoint(name="a $ and a $", x=1, y=1, radius=3, weight=1)
    draw(StreetMap("any", width, height, nodes, TRIANGLE["edges"], (point,)), tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
