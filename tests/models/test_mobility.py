from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import chi2, chisquare, kstest

from bypass.models.maps import AttractionPoint, StreetMap, street_grid
from bypass.models.mobility import MOBILITY, MapMovement, RandomWaypoint, TripModel
from bypass.models.streams import InvalidRequest
from bypass.models.waypoints import Floats, Waypoints

EVERY_MODEL = [
    pytest.param(RandomWaypoint(), id="rwp"),
    pytest.param(RandomWaypoint(width=40, height=700, speed=(3, 3), pause=(0, 0), warmup=0), id="rwp-set"),
    pytest.param(MapMovement(), id="map-attraction"),
    pytest.param(MapMovement(targets="random", pause=(0, 5)), id="map-random"),
]


def client_columns(waypoints: Waypoints, client: int) -> tuple[Floats, Floats, Floats]:
    own = slice(waypoints.offsets[client], waypoints.offsets[client + 1])
    return waypoints.t[own], waypoints.x[own], waypoints.y[own]


def legs(waypoints: Waypoints) -> tuple[Floats, Floats]:
    """Duration and length of every leg of every client."""
    columns = [client_columns(waypoints, client) for client in range(len(waypoints))]
    dt = np.concatenate([np.diff(t) for t, _, _ in columns])
    length = np.concatenate([np.hypot(np.diff(x), np.diff(y)) for _, x, y in columns])
    return dt, length


def pauses(waypoints: Waypoints, client: int) -> Floats:
    """Where the client pauses, one row (x, y) each, in order."""
    t, x, y = client_columns(waypoints, client)
    begins = (np.diff(t) > 0) & (np.diff(x) == 0) & (np.diff(y) == 0)
    return np.column_stack([x[:-1][begins], y[:-1][begins]])


def first_pauses(model: TripModel, clients: int, each: int, duration: float, seed: int) -> Floats:
    """The first `each` targets of every client: independent draws if the duration suffices for everybody."""
    waypoints = model.generate(clients, duration, seed)
    return np.concatenate([pauses(waypoints, client)[:each] for client in range(clients)])


def world(model: TripModel) -> tuple[float, float]:
    if isinstance(model, RandomWaypoint):
        return model.width, model.height
    assert isinstance(model, MapMovement)
    return model.map.width, model.map.height


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_traces_last_from_zero_to_the_duration_and_stay_in_the_world(model: TripModel) -> None:
    waypoints = model.generate(40, 900, seed=3)
    assert len(waypoints) == 40
    assert waypoints.duration == 900
    width, height = world(model)
    assert waypoints.x.min() >= 0
    assert waypoints.x.max() <= width
    assert waypoints.y.min() >= 0
    assert waypoints.y.max() <= height
    for client in range(40):
        t, _, _ = client_columns(waypoints, client)
        assert (t[0], t[-1]) == (0, 900)
        assert (np.diff(t) >= 0).all()


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_every_leg_is_a_pause_or_walked_at_an_allowed_speed(model: TripModel) -> None:
    dt, length = legs(model.generate(40, 900, seed=4))
    moving = length > 0
    slowest, fastest = model.speed
    assert moving.sum() > 40
    assert (length[moving] >= slowest * dt[moving] - 1e-9).all()
    assert (length[moving] <= fastest * dt[moving] + 1e-9).all()
    assert (dt[~moving] <= model.pause[1] + 1e-9).all()


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_nobody_jumps(model: TripModel) -> None:
    cursor = model.generate(40, 900, seed=5).cursor()
    before = np.array(cursor.positions(0.0))
    for at in np.arange(0.5, 900.5, 0.5).tolist():
        now = np.array(cursor.positions(at))
        assert np.hypot(*(now - before)).max() <= 0.5 * model.speed[1] + 1e-9
        before = now


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_a_client_moves_the_same_whoever_else_is_there(model: TripModel) -> None:
    few, many = model.generate(10, 600, seed=6), model.generate(20, 600, seed=6)
    end = few.offsets[-1]
    assert few.offsets.tolist() == many.offsets[:11].tolist()
    for name in ("t", "x", "y"):
        assert getattr(few, name).tolist() == getattr(many, name)[:end].tolist()
    assert len({tuple(client_columns(many, client)[1].tolist()) for client in range(20)}) == 20


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_a_longer_trace_begins_like_a_shorter_one(model: TripModel) -> None:
    short, long = model.generate(10, 300, seed=6).cursor(), model.generate(10, 900, seed=6).cursor()
    for at in (0.0, 123.4, 299.9):
        np.testing.assert_allclose(short.positions(at), long.positions(at), rtol=0, atol=1e-6)


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_the_seed_decides(model: TripModel) -> None:
    one, again, other = (model.generate(10, 600, seed) for seed in (7, 7, 8))
    assert one.x.tobytes() == again.x.tobytes()
    assert one.t.tobytes() == again.t.tobytes()
    assert not set(one.x.tolist()) & set(other.x.tolist()) - set(street_grid().nodes[:, 0].tolist())


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_warmup_is_movement_cut_off(model: TripModel) -> None:
    whole = model.model_copy(update={"warmup": 0.0}).generate(10, 1000, seed=9)
    cut = model.model_copy(update={"warmup": 400.0}).generate(10, 600, seed=9)
    for at in (0.0, 50.0, 599.0):
        np.testing.assert_allclose(cut.positions(at), whole.positions(at + 400), rtol=0, atol=1e-6)


def test_random_waypoints_speeds_pauses_and_targets_are_uniform() -> None:
    model = RandomWaypoint(warmup=0)
    waypoints = model.generate(300, 20_000, seed=10)
    targets, speeds, rests = [], [], []
    for client in range(300):
        t, x, y = (column[:41] for column in client_columns(waypoints, client))  # twenty trips with pauses
        targets.append(np.column_stack([x, y])[1::2])
        speeds.append((np.hypot(np.diff(x), np.diff(y)) / np.diff(t))[::2])
        rests.append(np.diff(t)[1::2])
    x, y = np.concatenate(targets).T
    assert len(x) == 6000
    assert kstest(x, "uniform", (0, 1300)).pvalue > 0.01
    assert kstest(y, "uniform", (0, 1300)).pvalue > 0.01
    assert kstest(np.concatenate(speeds), "uniform", (1, 1)).pvalue > 0.01
    assert kstest(np.concatenate(rests), "uniform", (1, 59)).pvalue > 0.01


def distance_to_streets(street_map: StreetMap, x: Floats, y: Floats) -> Floats:
    a, b = street_map.nodes[street_map.edges[:, 0]], street_map.nodes[street_map.edges[:, 1]]
    along = b - a
    point = np.column_stack([x, y])[:, None]
    share = ((point - a) * along).sum(axis=2) / (along**2).sum(axis=1)
    nearest = a + np.clip(share, 0, 1)[..., None] * along
    distances: Floats = np.hypot(*np.moveaxis(point - nearest, 2, 0)).min(axis=1)
    return distances


def irregular_map() -> StreetMap:
    """Nodes close to streets that they are not on: the nearest node is not always the way to a place."""
    nodes = np.array([[0.0, 0], [400, 0], [400, 300], [0, 300], [200, 20], [150, 150], [300, 140]])
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [5, 3], [6, 2]])
    return StreetMap("irregular", 400, 300, nodes, edges)


@pytest.mark.parametrize("street_map", [street_grid(), irregular_map()], ids=lambda m: m.name)
def test_with_random_targets_clients_never_leave_the_streets(street_map: StreetMap) -> None:
    cursor = MapMovement(map=street_map, targets="random").generate(50, 600, seed=11).cursor()
    for at in np.arange(0, 600, 7.3).tolist():
        x, y = cursor.positions(at)
        assert distance_to_streets(street_map, x, y).max() < 1e-6


def test_with_attraction_targets_clients_leave_the_streets_only_to_and_from_a_pause() -> None:
    model = MapMovement()
    street_map = model.map
    waypoints = model.generate(50, 1500, seed=12)
    number = {tuple(xy): node for node, xy in enumerate(street_map.nodes.tolist())}
    streets = {frozenset(edge) for edge in street_map.edges.tolist()}
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


def test_targets_spread_around_an_attraction_point_as_a_normal_distribution() -> None:
    point = AttractionPoint(name="park", x=500, y=600, radius=90, weight=1)
    grid = street_grid()
    street_map = StreetMap("one", 1300, 1300, grid.nodes, grid.edges, (point,))
    x, y = first_pauses(MapMovement(map=street_map, warmup=0), clients=300, each=10, duration=5000, seed=13).T
    assert len(x) == 3000
    expected = 1 - np.exp(-4.5)  # within three standard deviations of two dimensions
    inside = np.hypot(x - 500, y - 600) <= 90
    z = (inside.mean() - expected) / np.sqrt(expected * (1 - expected) / len(inside))
    assert abs(z) < 2.58
    assert kstest(x, "norm", (500, 30)).pvalue > 0.01
    assert kstest(y, "norm", (600, 30)).pvalue > 0.01
    squares = (((x - 500) ** 2).sum() + ((y - 600) ** 2).sum()) / 30**2
    assert 0.005 < chi2.cdf(squares, 6000) < 0.995


def test_attraction_points_are_visited_by_weight() -> None:
    model = MapMovement(warmup=0)
    targets = first_pauses(model, clients=300, each=8, duration=12_000, seed=14)
    centres = np.array([(point.x, point.y) for point in model.map.attractions])
    apart = np.hypot(*np.moveaxis(targets[:, None] - centres, 2, 0))
    visits = np.bincount(apart.argmin(axis=1), minlength=len(centres))
    weights = np.array([point.weight for point in model.map.attractions])
    assert visits.sum() == 2400
    assert chisquare(visits, 2400 * weights / weights.sum()).pvalue > 0.01


def test_targets_beyond_the_border_are_moved_onto_it() -> None:
    corner = AttractionPoint(name="corner", x=1300, y=0, radius=120, weight=1)
    grid = street_grid()
    street_map = StreetMap("corner", 1300, 1300, grid.nodes, grid.edges, (corner,))
    x, y = first_pauses(MapMovement(map=street_map, warmup=0), clients=100, each=4, duration=5000, seed=15).T
    assert x.max() == 1300
    assert y.min() == 0
    assert 130 <= (x == 1300).sum() <= 270  # one half of 400, with much room
    assert (x >= 1300 - 5 * 40).all()


def test_models_are_found_by_name_and_survive_a_file() -> None:
    assert dict(MOBILITY) == {"rwp": RandomWaypoint, "map": MapMovement}
    model = MapMovement.model_validate({"map": "street-grid", "targets": "random", "speed": [0.5, 3]})
    written = json.loads(model.model_dump_json())
    assert written["map"] == "street-grid"
    again = MapMovement.model_validate(written)
    assert again.generate(3, 60, 1).x.tolist() == model.generate(3, 60, 1).x.tolist()


@pytest.mark.parametrize(
    ("model", "wrong", "message"),
    [
        (RandomWaypoint, {"speed": (2, 1)}, "expected the lower bound first"),
        (RandomWaypoint, {"speed": (0, 1)}, "greater than 0"),
        (RandomWaypoint, {"pause": (-1, 1)}, "greater than or equal to 0"),
        (RandomWaypoint, {"warmup": -1}, "greater than or equal to 0"),
        (RandomWaypoint, {"width": 0}, "greater than 0"),
        (RandomWaypoint, {"height": np.inf}, "finite"),
        (RandomWaypoint, {"colour": "red"}, "colour"),
        (MapMovement, {"map": "atlantis"}, "map 'atlantis' is unknown: expected one of street-grid"),
        (MapMovement, {"map": irregular_map()}, "map 'irregular' has no attraction points"),
        (MapMovement, {"targets": "nowhere"}, "targets"),
    ],
)
def test_parameters_without_sense_are_refused(
    model: type[TripModel], wrong: dict[str, Any], message: str
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
