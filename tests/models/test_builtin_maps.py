"""The built-in towns: their streets, their places, and what moving on them looks like."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from bypass.models.maps import MAPS, StreetMap, load_map
from bypass.models.mobility.map_movement import MapMovement
from bypass.places.geo import GeoLocation

pytestmark = pytest.mark.slow

TOWNS = ("darmstadt", "mannheim")
CELL = 20.0
CLIENTS, DURATION = 297, 1800.0


@pytest.fixture(params=TOWNS)
def town(request: pytest.FixtureRequest) -> StreetMap:
    return load_map(request.param)


def test_towns_are_the_same_every_time(town: StreetMap) -> None:
    again = MAPS[town.name]()
    assert again is not town
    assert again.nodes.tobytes() == town.nodes.tobytes()
    assert again.edges.tobytes() == town.edges.tobytes()
    assert again.attractions == town.attractions


def test_towns_are_of_the_size_of_the_thesis(town: StreetMap) -> None:
    assert (town.width, town.height) == (1300, 1300)  # Table 3
    assert 1000 <= len(town.nodes) <= 2000
    assert 30_000 <= town.lengths.sum() <= 60_000
    assert town.lengths.max() < 50
    for side in (*town.nodes.min(axis=0), *(1300 - town.nodes.max(axis=0))):
        assert side < 1  # streets lead to every border


def test_streets_of_towns_meet_at_nodes_only(town: StreetMap) -> None:
    a, b = (town.nodes[ends] for ends in town.edges.T)

    def side(p: NDArray[np.float64], q: NDArray[np.float64], r: NDArray[np.float64]) -> Any:
        return (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (q[..., 1] - p[..., 1]) * (
            r[..., 0] - p[..., 0]
        )

    # Two streets cross if the ends of each are clearly on different sides of the other.
    first, second = side(a[:, None], b[:, None], a), side(a[:, None], b[:, None], b)
    apart = (first * second < 0) & (np.minimum(np.abs(first), np.abs(second)) > 1e-6 * town.lengths[:, None])
    assert not (apart & apart.T).any()


def crossings(street_map: StreetMap) -> NDArray[np.int64]:
    """How many nodes have so many streets."""
    return np.bincount(np.bincount(street_map.edges.ravel()))


def test_darmstadt_has_irregular_streets_and_mannheim_square_blocks() -> None:
    directions = {}
    for name in TOWNS:
        town = load_map(name)
        step = town.nodes[town.edges[:, 1]] - town.nodes[town.edges[:, 0]]
        angle = np.degrees(np.arctan2(step[:, 1], step[:, 0])) % 90
        directions[name] = np.histogram(angle, 18, (0, 90), weights=town.lengths)[0] / town.lengths.sum()
    assert directions["darmstadt"].max() < 0.2
    assert directions["mannheim"].max() > 0.8
    # In an old town three streets meet at most crossings, in a grid four.
    old, grid = crossings(load_map("darmstadt")), crossings(load_map("mannheim"))
    assert old[3] > old[4]
    assert grid[4] > grid[3]


def test_places_are_where_they_are_on_earth() -> None:
    known = {
        "darmstadt": {"Luisenplatz": (49.87278, 8.65111), "Kapellplatz": (49.87030, 8.65870)},
        "mannheim": {"Paradeplatz": (49.4875, 8.4662), "Friedrichsplatz": (49.4839, 8.4754)},
    }
    for name, places in known.items():
        town = load_map(name)
        assert town.projection is not None
        at = {point.name: (point.x, point.y) for point in town.attractions}
        for place, (lat, lon) in places.items():
            planar = town.projection.to_planar(GeoLocation(lat, lon))
            assert np.hypot(planar.x - at[place][0], planar.y - at[place][1]) < 10


def test_mannheim_has_more_and_more_even_places_than_darmstadt() -> None:
    shares = {}
    for name in TOWNS:
        weights = np.array([point.weight for point in load_map(name).attractions])
        shares[name] = weights / weights.sum()
        assert all(50 <= point.radius <= 150 for point in load_map(name).attractions)
    assert len(shares["mannheim"]) > len(shares["darmstadt"])
    assert shares["mannheim"].max() < shares["darmstadt"].max()


# -- movement, as the thesis describes it (figures 27 to 30) --------------------------------------------


class Visits(NamedTuple):
    """The distribution of a population on a grid of cells."""

    gini: float
    unvisited: float
    most_neighbours: float
    fewest_neighbours: float
    at_places: float


def gini(values: NDArray[np.float64]) -> float:
    """0 if all values are equal, 1 if one has everything."""
    ordered = np.sort(values)
    ranks = 2 * np.arange(1, len(ordered) + 1) - len(ordered) - 1
    return float(ranks @ ordered / (len(ordered) * ordered.sum()))


def visits(model: MapMovement) -> Visits:
    cursor = model.generate(CLIENTS, DURATION, seed=1).cursor()
    side = int(model.size[0] / CELL)
    centres = np.array([(point.x, point.y) for point in model.attractions])
    radii = np.array([point.radius for point in model.attractions])
    cells, neighbours, at_places = [], [], []
    for moment in np.arange(0, DURATION, 10.0).tolist():
        place = np.column_stack(cursor.positions(moment))
        column, row = np.minimum(place // CELL, side - 1).astype(int).T
        cells.append(row * side + column)
        apart = np.hypot(*np.moveaxis(place[:, None] - place, 2, 0))
        neighbours.append((apart <= 125).sum(axis=1) - 1)
        at_places.append((np.hypot(*np.moveaxis(place[:, None] - centres, 2, 0)) <= radii).any(axis=1))
    cell = np.concatenate(cells)
    count = np.bincount(cell, minlength=side**2)
    means = np.bincount(cell, np.concatenate(neighbours), side**2)[count >= 10] / count[count >= 10]
    return Visits(
        gini(count.astype(np.float64)), (count == 0).mean(), means.max(), means.min(), np.mean(at_places)
    )


@pytest.fixture(scope="module")
def populations() -> dict[tuple[str, str], Visits]:
    return {
        (name, targets): visits(MapMovement.model_validate({"map": name, "targets": targets}))
        for name in TOWNS
        for targets in ("attraction", "random")
    }


def test_mannheim_is_visited_more_evenly_than_darmstadt(populations: dict[tuple[str, str], Visits]) -> None:
    assert populations["mannheim", "attraction"].gini < populations["darmstadt", "attraction"].gini - 0.02


@pytest.mark.parametrize("name", TOWNS)
def test_attraction_points_leave_remote_areas_empty(
    name: str, populations: dict[tuple[str, str], Visits]
) -> None:
    attracted, scattered = populations[name, "attraction"], populations[name, "random"]
    assert attracted.unvisited > scattered.unvisited + 0.02
    assert attracted.gini > scattered.gini + 0.02


@pytest.mark.parametrize("name", TOWNS)
def test_hot_spots_have_as_many_subscribers_as_in_the_thesis(
    name: str, populations: dict[tuple[str, str], Visits]
) -> None:
    seen = populations[name, "attraction"]
    assert 25 <= seen.most_neighbours <= 60  # up to 40, which is 13 % of the clients
    assert seen.fewest_neighbours <= 10
    assert 0.2 <= seen.at_places <= 0.5
