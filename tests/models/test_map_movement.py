"""Movement on maps. Seeds are fixed; a test whose model is right fails for one seed in a hundred or fewer."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import chi2, chisquare, kstest

from bypass.models.maps import AttractionPoint, StreetMap, distances, street_grid, write_map
from bypass.models.maps.walking import route
from bypass.models.mobility import map_movement
from bypass.models.mobility.map_movement import MapMovement
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Floats

pytestmark = pytest.mark.slow

GRID = street_grid()


def irregular_map() -> StreetMap:
    """Nodes close to streets that they are not on: the nearest node is not always the way to a place."""
    nodes = np.array([[0.0, 0], [400, 0], [400, 300], [0, 300], [200, 20], [150, 150], [300, 140]])
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [5, 3], [6, 2]])
    return StreetMap("irregular", 400, 300, nodes, edges)


MODELS = [
    pytest.param(MapMovement(), id="attraction"),
    pytest.param(MapMovement(targets="random", pause=(0, 5)), id="random"),
    pytest.param(MapMovement(map=irregular_map(), targets="random", pause=(0, 0), warmup=0), id="irregular"),
    pytest.param(MapMovement(map="darmstadt", speed=(0.5, 12), warmup=100), id="darmstadt"),
]


def client_columns(waypoints: Waypoints, client: int) -> tuple[Floats, Floats, Floats]:
    own = slice(waypoints.offsets[client], waypoints.offsets[client + 1])
    return waypoints.t[own], waypoints.x[own], waypoints.y[own]


def pauses(waypoints: Waypoints, client: int) -> Floats:
    """Where the client pauses, one row (x, y) each, in order."""
    t, x, y = client_columns(waypoints, client)
    begins = (np.diff(t) > 0) & (np.diff(x) == 0) & (np.diff(y) == 0)
    return np.column_stack([x[:-1][begins], y[:-1][begins]])


def first_pauses(model: MapMovement, clients: int, each: int, duration: float, seed: int) -> Floats:
    """The first `each` targets of every client: independent draws if the duration suffices for everybody."""
    waypoints = model.generate(clients, duration, seed)
    return np.concatenate([pauses(waypoints, client)[:each] for client in range(clients)])


def distance_to_streets(street_map: StreetMap, x: Floats, y: Floats) -> Floats:
    a, b = street_map.nodes[street_map.edges[:, 0]], street_map.nodes[street_map.edges[:, 1]]
    along = b - a
    point = np.column_stack([x, y])[:, None]
    share = ((point - a) * along).sum(axis=2) / (along**2).sum(axis=1)
    nearest = a + np.clip(share, 0, 1)[..., None] * along
    apart: Floats = np.hypot(*np.moveaxis(point - nearest, 2, 0)).min(axis=1)
    return apart


# -- what holds for every trace -------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_traces_last_from_zero_to_the_duration_and_stay_in_the_world(model: MapMovement) -> None:
    waypoints = model.generate(60, 900, seed=3)
    assert len(waypoints) == 60
    width, height = model.size
    assert (width, height) == (model.street_map.width, model.street_map.height)
    assert waypoints.x.min() >= 0
    assert waypoints.x.max() <= width
    assert waypoints.y.min() >= 0
    assert waypoints.y.max() <= height
    for client in range(60):
        t, _, _ = client_columns(waypoints, client)
        assert (t[0], t[-1]) == (0, 900)
        assert (np.diff(t) > 0).all()


@pytest.mark.parametrize("model", MODELS)
def test_every_leg_is_a_pause_or_walked_at_an_allowed_speed(model: MapMovement) -> None:
    waypoints = model.generate(60, 900, seed=4)
    slowest, fastest = model.speed
    moves = 0
    for client in range(60):
        t, x, y = client_columns(waypoints, client)
        dt, length = np.diff(t), np.hypot(np.diff(x), np.diff(y))
        moving = length > 0
        moves += moving.sum()
        assert (length[moving] >= slowest * dt[moving] - 1e-9).all()
        assert (length[moving] <= fastest * dt[moving] + 1e-9).all()
        assert (dt[~moving] <= model.pause[1] + 1e-9).all()
    assert moves > 200


@pytest.mark.parametrize("model", MODELS)
def test_a_longer_trace_begins_like_a_shorter_one(model: MapMovement) -> None:
    short, long = model.generate(40, 300, seed=6), model.generate(40, 900, seed=6)
    for client in range(40):
        before = [column[:-1] for column in client_columns(short, client)]
        for first, second in zip(before, client_columns(long, client), strict=True):
            assert first.tobytes() == second[: len(first)].tobytes()
    np.testing.assert_allclose(short.positions(300), long.positions(300), rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_warmup_is_movement_cut_off(model: MapMovement) -> None:
    whole = model.model_copy(update={"warmup": 0.0}).generate(40, 1000, seed=9)
    cut = model.model_copy(update={"warmup": 400.0}).generate(40, 600, seed=9)
    for at in (0.0, 50.0, 599.0):
        np.testing.assert_allclose(cut.positions(at), whole.positions(at + 400), rtol=0, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    cuts=st.lists(st.integers(101, 179), max_size=4, unique=True).map(sorted),
    seed=st.integers(0, 2**64 - 1),
    targets=st.sampled_from(["attraction", "random"]),
    chunk=st.sampled_from([1, 2000, 2**23]),
)
def test_blocks_fit_together_wherever_they_are_cut(
    cuts: list[int], seed: int, targets: str, chunk: int
) -> None:
    model = MapMovement.model_validate({"targets": targets, "warmup": 50, "pause": (0, 20)})
    whole = model.block(100, 180, 200.0, np.uint64(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(map_movement, "CHUNK", chunk)
        parts = [model.block(a, b, 200.0, np.uint64(seed)) for a, b in pairwise([100, *cuts, 180])]
    for name in ("t", "x", "y"):
        together = np.concatenate([getattr(part, name) for part in parts])
        assert together.tobytes() == getattr(whole, name).tobytes()
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    assert lengths.tolist() == np.diff(whole.offsets).tolist()


def test_the_seed_and_the_number_of_a_client_decide() -> None:
    model = MapMovement()
    one, again, other = (model.generate(20, 300, seed) for seed in (7, 7, 2**64 - 7))
    assert one.x.tobytes() == again.x.tobytes()
    assert len({tuple(client_columns(one, client)[1].tolist()) for client in range(20)}) == 20
    nodes = set(GRID.nodes[:, 0].tolist())
    assert not (set(one.x.tolist()) & set(other.x.tolist())) - nodes


@pytest.mark.parametrize("targets", ["attraction", "random"])
def test_maps_whose_distances_are_not_all_kept_give_the_same(
    targets: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"map": street_grid(block=18), "targets": targets}
    model = MapMovement.model_validate(values)
    assert len(model.street_map.nodes) == 73**2  # more than 4,096
    expected = model.generate(80, 200, seed=5)
    monkeypatch.setattr(distances, "KEPT", 10 * 73**2)
    monkeypatch.setattr(map_movement, "CHUNK", 7 * 73**2)
    few = MapMovement.model_validate(values | {"map": street_grid(block=18)}).generate(80, 200, seed=5)
    for name in ("offsets", "t", "x", "y"):
        assert getattr(few, name).tobytes() == getattr(expected, name).tobytes()


# -- streets --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("street_map", [GRID, irregular_map()], ids=lambda m: m.name)
def test_with_random_targets_clients_never_leave_the_streets(street_map: StreetMap) -> None:
    cursor = MapMovement(map=street_map, targets="random").generate(50, 600, seed=11).cursor()
    for at in np.arange(0, 600, 7.3).tolist():
        x, y = cursor.positions(at)
        assert distance_to_streets(street_map, x, y).max() < 1e-6


def test_with_attraction_targets_clients_leave_the_streets_only_to_and_from_a_pause() -> None:
    waypoints = MapMovement().generate(50, 1500, seed=12)
    number = {tuple(xy): node for node, xy in enumerate(GRID.nodes.tolist())}
    streets = {frozenset(edge) for edge in GRID.edges.tolist()}
    on_streets = 0
    for client in range(50):
        _, x, y = client_columns(waypoints, client)
        places = list(zip(x.tolist(), y.tolist(), strict=True))
        rests = {places[0], places[-1], *map(tuple, pauses(waypoints, client).tolist())}
        for here, there in pairwise(places):
            if here in number and there in number:
                assert here == there or frozenset((number[here], number[there])) in streets
                on_streets += 1
            else:
                assert here in rests or there in rests
    assert on_streets > 500  # ten for each client


def walked(waypoints: Waypoints, client: int) -> tuple[Floats, Floats, float]:
    """Where the client starts, where it pauses first, and how far it has walked until then."""
    _, x, y = client_columns(waypoints, client)
    length = np.hypot(np.diff(x), np.diff(y))
    end = np.flatnonzero(length == 0)[0]
    return np.array([x[0], y[0]]), np.array([x[end], y[end]]), float(length[:end].sum())


def ends_of_street(street_map: StreetMap, place: Floats) -> list[int]:
    """Both ends of the street that a place is on."""
    a, b = (street_map.nodes[ends] for ends in street_map.edges.T)
    detour = np.hypot(*(a - place).T) + np.hypot(*(b - place).T) - street_map.lengths
    ends: list[int] = street_map.edges[detour.argmin()].tolist()
    return ends


@pytest.mark.parametrize("name", ["street-grid", "darmstadt", "mannheim"])
def test_ways_to_attraction_points_are_shortest(name: str) -> None:
    model = MapMovement(map=name, warmup=0)
    street_map = model.street_map
    waypoints = model.generate(100, 3000, seed=21)
    for client in range(100):
        start, goal, length = walked(waypoints, client)
        node = street_map.nearest_nodes(goal[None])
        [left] = street_map.distances.to(node)
        ends = ends_of_street(street_map, start)
        over = [np.hypot(*(street_map.nodes[end] - start)) + left[end] for end in ends]
        assert length == pytest.approx(min(over) + np.hypot(*(street_map.nodes[node[0]] - goal)), abs=1e-6)


@pytest.mark.parametrize("name", ["street-grid", "darmstadt"])
def test_ways_on_the_streets_are_shortest(name: str) -> None:
    model = MapMovement(map=name, targets="random", warmup=0)
    street_map = model.street_map
    waypoints = model.generate(100, 3000, seed=22)
    for client in range(100):
        start, goal, length = walked(waypoints, client)
        first, last = ends_of_street(street_map, start), ends_of_street(street_map, goal)
        left = street_map.distances.to(np.array(last))
        to_first, to_last = (
            np.hypot(*(street_map.nodes[ends] - place).T) for ends, place in ((first, start), (last, goal))
        )
        shortest = (to_first + left[:, first] + to_last[:, None]).min()
        if set(first) == set(last):
            shortest = np.hypot(*(goal - start))
        assert length == pytest.approx(shortest, abs=1e-6)


def test_a_client_on_the_street_of_its_goal_goes_straight_there() -> None:
    one = StreetMap("one street", 100, 10, np.array([[0.0, 5], [100, 5]]), np.array([[0, 1]]))
    waypoints = MapMovement(map=one, targets="random", warmup=0, pause=(1, 1)).generate(30, 200, seed=1)
    for client in range(30):
        _, x, _ = client_columns(waypoints, client)
        stops = [x[0], *pauses(waypoints, client)[:, 0], x[-1]]
        assert np.abs(np.diff(x)).sum() == pytest.approx(np.abs(np.diff(stops)).sum())


def test_equal_routes_share_the_traffic() -> None:
    grid = street_grid(width=200, height=200, block=100)  # nine nodes, numbered row by row
    [left] = grid.distances.to(np.array([8]))
    routes: Counter[tuple[int, ...]] = Counter()
    path = np.empty(9, np.int64)
    for client in range(4000):
        count, draw = route(np.uint64(5), client, 3, grid.streets, left, 0, path)
        routes[tuple(path[:count].tolist())] += 1
        assert draw == 3 + (3 if path[2] == 4 else 2)  # draws are made where there is a choice
    # At each node with two ways on, each is taken by half.
    expected = {
        (0, 1, 2, 5, 8): 1 / 4,
        (0, 3, 6, 7, 8): 1 / 4,
        (0, 1, 4, 5, 8): 1 / 8,
        (0, 1, 4, 7, 8): 1 / 8,
        (0, 3, 4, 5, 8): 1 / 8,
        (0, 3, 4, 7, 8): 1 / 8,
    }
    assert routes.keys() == expected.keys()
    observed = [routes[nodes] for nodes in expected]
    assert chisquare(observed, [4000 * share for share in expected.values()]).pvalue > 0.01


# -- targets --------------------------------------------------------------------------------------------


def test_targets_spread_around_an_attraction_point_as_a_normal_distribution() -> None:
    point = AttractionPoint(name="park", x=500, y=600, radius=90, weight=1)
    street_map = StreetMap("one", 1300, 1300, GRID.nodes, GRID.edges, (point,))
    x, y = first_pauses(
        MapMovement(map=street_map, warmup=0), clients=1000, each=10, duration=5000, seed=13
    ).T
    assert len(x) == 10_000
    expected = 1 - np.exp(-4.5)  # 98.89 %: within three standard deviations of two dimensions
    inside = np.hypot(x - 500, y - 600) <= 90
    z = (inside.mean() - expected) / np.sqrt(expected * (1 - expected) / len(inside))
    assert abs(z) < 2.58
    assert kstest(x, "norm", (500, 30)).pvalue > 0.01
    assert kstest(y, "norm", (600, 30)).pvalue > 0.01
    squares = (((x - 500) ** 2).sum() + ((y - 600) ** 2).sum()) / 30**2
    assert 0.005 < chi2.cdf(squares, 2 * len(x)) < 0.995


def test_attraction_points_are_visited_by_weight() -> None:
    model = MapMovement(warmup=0)
    targets = first_pauses(model, clients=300, each=8, duration=12_000, seed=14)
    centres = np.array([(point.x, point.y) for point in model.attractions])
    apart = np.hypot(*np.moveaxis(targets[:, None] - centres, 2, 0))
    visits = np.bincount(apart.argmin(axis=1), minlength=len(centres))
    weights = np.array([point.weight for point in model.attractions])
    assert visits.sum() == 2400
    assert chisquare(visits, 2400 * weights / weights.sum()).pvalue > 0.01


def test_targets_beyond_the_border_are_moved_onto_it() -> None:
    corner = AttractionPoint(name="corner", x=1300, y=0, radius=120, weight=1)
    street_map = StreetMap("corner", 1300, 1300, GRID.nodes, GRID.edges, (corner,))
    x, y = first_pauses(MapMovement(map=street_map, warmup=0), clients=100, each=4, duration=5000, seed=15).T
    assert x.max() == 1300
    assert y.min() == 0
    for on_border in ((x == 1300).sum(), (y == 0).sum()):
        assert abs(on_border - 200) < 2.58 * 10  # one half of 400
    assert (x >= 1300 - 5 * 40).all()


def test_starts_and_random_targets_are_uniform_on_the_streets() -> None:
    nodes = np.array([[0.0, 0], [30, 0], [30, 40], [0, 90]])
    street_map = StreetMap("bent", 100, 100, nodes, np.array([[0, 1], [1, 2], [2, 3]]))
    model = MapMovement(map=street_map, targets="random", warmup=0)
    waypoints = model.generate(3000, 1000, seed=16)
    starts = waypoints.positions(0)
    ends = np.array([pauses(waypoints, client)[0] for client in range(3000)]).T
    lengths = street_map.lengths
    for x, y in (starts, ends):
        street = np.where(y == 0, 0, np.where(x == 30, 1, 2))
        assert chisquare(np.bincount(street), 3000 * lengths / lengths.sum()).pvalue > 0.01
        assert kstest(x[street == 0], "uniform", (0, 30)).pvalue > 0.01
        assert kstest(y[street == 1], "uniform", (0, 40)).pvalue > 0.01
        assert kstest(x[street == 2], "uniform", (0, 30)).pvalue > 0.01


def test_speeds_and_pauses_are_uniform() -> None:
    waypoints = MapMovement(warmup=0).generate(1500, 4000, seed=17)
    speeds, rests = [], []
    for client in range(1500):
        t, x, y = client_columns(waypoints, client)
        dt, length = np.diff(t), np.hypot(np.diff(x), np.diff(y))
        end = np.flatnonzero(length == 0)[0]
        speeds.append(length[:end].sum() / dt[:end].sum())
        rests.append(dt[end])
    assert kstest(speeds, "uniform", (1, 1)).pvalue > 0.01
    assert kstest(rests, "uniform", (1, 59)).pvalue > 0.01
    assert abs(np.corrcoef(speeds, rests)[0, 1]) < 2.58 / np.sqrt(1500)


# -- parameters -----------------------------------------------------------------------------------------


def test_models_with_maps_survive_a_file(tmp_path: Path) -> None:
    path = tmp_path / "town.json"
    write_map(GRID, path)
    for name in ("mannheim", str(path)):
        model = MapMovement.model_validate({"map": name, "targets": "random", "speed": [0.5, 3]})
        written = json.loads(model.model_dump_json())
        assert written["map"] == name
        again = MapMovement.model_validate(written)
        assert again == model
        assert again.generate(3, 60, 1).x.tolist() == model.generate(3, 60, 1).x.tolist()


def test_models_travel_light() -> None:
    named, own = MapMovement(map="darmstadt"), MapMovement(map=GRID)
    assert len(pickle.dumps(named)) < 1000
    for model in (named, own):
        arrived = pickle.loads(pickle.dumps(model))
        assert arrived.generate(3, 60, 1).x.tolist() == model.generate(3, 60, 1).x.tolist()


def test_a_model_tells_its_attraction_points() -> None:
    assert MapMovement().attractions == GRID.attractions
    assert MapMovement(map=irregular_map(), targets="random").attractions == ()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"speed": (2, 1)}, "expected the lower bound first"),
        ({"speed": (0, 1)}, "greater than 0"),
        ({"pause": (-1, 1)}, "greater than or equal to 0"),
        ({"warmup": -1}, "greater than or equal to 0"),
        ({"warmup": np.inf}, "finite"),
        ({"colour": "red"}, "colour"),
        ({"map": "atlantis"}, "map 'atlantis' is unknown: expected one of street-grid, darmstadt, mannheim"),
        ({"map": "nowhere/town.json"}, "No such file or directory"),
        ({"map": 7}, "map"),
        ({"map": irregular_map()}, "map 'irregular' has no attraction points: expected targets 'random'"),
        ({"targets": "nowhere"}, "targets"),
    ],
)
def test_parameters_without_sense_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MapMovement.model_validate(wrong)
