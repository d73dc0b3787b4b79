"""Polygons on maps: targets inside parks and squares, blocks between streets, and files with both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.maps import (
    AttractionPoint,
    InvalidMap,
    StreetMap,
    load_map,
    read_map,
    street_grid,
    write_map,
)
from bypass.models.maps.picture import draw
from bypass.models.maps.polygons import SETBACK, Triangles, blocks, polygons_inside, shape_of
from bypass.models.maps.street_map import Polygon
from bypass.models.maps.walking import around
from bypass.models.mobility import MapMovement
from bypass.places.region import Place
from bypass.support.arrays import Floats

L_SHAPE: Polygon = (
    (
        (100.0, 100.0),
        (400.0, 100.0),
        (400.0, 200.0),
        (200.0, 200.0),
        (200.0, 500.0),
        (100.0, 500.0),
        (100.0, 100.0),
    ),
    ((120.0, 120.0), (180.0, 120.0), (180.0, 180.0), (120.0, 180.0), (120.0, 120.0)),
)
ISLAND: Polygon = (((700.0, 700.0), (900.0, 700.0), (800.0, 900.0), (700.0, 700.0)),)
PARK = AttractionPoint(name="park", x=220.0, y=250.0, radius=140.0, weight=3.0, polygons=(L_SHAPE, ISLAND))
SQUARE = AttractionPoint(name="square", x=600.0, y=300.0, radius=60.0, weight=1.0)


def town(*points: AttractionPoint, buildings: tuple[Polygon, ...] = ()) -> StreetMap:
    grid = street_grid()
    return StreetMap("town", grid.width, grid.height, grid.nodes, grid.edges, points, None, buildings)


def targets(points: tuple[AttractionPoint, ...], count: int, seed: int = 1) -> Floats:
    street_map = town(*points)
    return around(
        np.uint64(seed),
        np.arange(count),
        np.zeros(count, np.int64),
        np.array([(point.x, point.y, point.radius / 3) for point in points]),
        street_map.attraction_shares,
        Triangles.of(points),
        street_map.width,
        street_map.height,
    )


def test_targets_are_evenly_spread_in_polygons_and_never_in_holes() -> None:
    places = targets((PARK,), 20_000)
    assert shapely.dwithin(shape_of(PARK), shapely.points(places), 1e-9).all()
    island = (places[:, 0] > 600).mean()
    sizes = [shapely.Polygon(outer, holes).area for outer, *holes in (L_SHAPE, ISLAND)]
    assert island == pytest.approx(sizes[1] / sum(sizes), abs=0.015)
    corner = (
        ((places < 150) & (places > 100)).all(axis=1).mean()
    )  # a square of 50 m, of which 30² m are a hole
    assert corner == pytest.approx((50**2 - 30**2) / sum(sizes), abs=0.01)


def test_places_that_are_circles_are_visited_as_before() -> None:
    alone, beside = targets((SQUARE,), 500), targets((PARK, SQUARE), 2000)
    assert np.hypot(*(alone - (600, 300)).T).std() > 5
    inside = shapely.dwithin(shape_of(PARK), shapely.points(beside), 1e-9)
    assert inside.mean() == pytest.approx(3 / 4, abs=0.05)
    assert not Triangles.of((SQUARE,)).corners.size


@settings(max_examples=50, deadline=None)
@given(st.integers(3, 12), st.integers(0, 2**32 - 1))
def test_targets_lie_in_whatever_polygon_there_is(corners: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.uniform(0, 2 * np.pi, corners))
    reach = rng.uniform(20, 300, corners)
    ring = np.round(650 + reach[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), 3)
    shape = shapely.Polygon(ring)
    if not shape.is_valid or shape.area < 1:
        return
    polygon = (tuple((x, y) for x, y in [*ring.tolist(), ring[0].tolist()]),)
    point = AttractionPoint(name="any", x=650, y=650, radius=100, weight=1, polygons=(polygon,))
    assert shapely.dwithin(shape, shapely.points(targets((point,), 200, seed)), 1e-6).all()


def test_outlines_that_are_too_long_for_an_area_are_made_simpler() -> None:
    angle = np.linspace(0, 2 * np.pi, 9000, endpoint=False)
    reach = 300 + 20 * np.cos(40 * angle)
    coast = shapely.Polygon(650 + reach[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))
    dots = shapely.union_all(shapely.buffer(shapely.points(np.arange(300) * 4.0, 20.0), 1.0, quad_segs=1))
    polygons = polygons_inside(shapely.union(coast, dots), 1300, 1300)
    assert len(polygons) == 256
    point = AttractionPoint(name="coast", x=650, y=650, radius=300, weight=1, polygons=polygons)
    place = point.place()
    assert place.area is not None
    assert place.area.vertices <= 4096
    assert place.area.size == pytest.approx(coast.area, rel=0.01)


def test_a_place_is_known_by_its_outline_and_others_by_their_circle() -> None:
    place = PARK.place()
    assert place.contains(110, 110)
    assert not place.contains(150, 150)
    assert place.contains(800, 800)
    assert not place.contains(500, 500)
    assert SQUARE.place() == Place("square", 600.0, 300.0, 60.0)


def test_clients_walk_to_polygons() -> None:
    street_map = town(PARK)
    moved = MapMovement(map=street_map, pause=(60.0, 60.0)).generate(20, 1200, 1)
    t, x, y = moved.t, moved.x, moved.y
    pausing = (np.diff(x) == 0) & (np.diff(y) == 0) & (np.diff(t) > 59)
    stops = shapely.points(x[:-1][pausing], y[:-1][pausing])
    assert len(stops) > 20
    assert shapely.dwithin(shape_of(PARK), stops, 1e-9).all()


def test_polygons_and_buildings_survive_a_file_and_maps_without_any_say_nothing(tmp_path: Path) -> None:
    street_map = town(PARK, SQUARE, buildings=(L_SHAPE,))
    write_map(street_map, tmp_path / "town.json")
    again = read_map(tmp_path / "town.json")
    assert again.attractions == (PARK, SQUARE)
    assert again.buildings == (L_SHAPE,)
    draw(again, tmp_path / "town.png")
    write_map(town(SQUARE), tmp_path / "plain.json")
    text = (tmp_path / "plain.json").read_text()
    assert "polygons" not in text
    assert "buildings" not in text


@pytest.mark.parametrize(
    ("ring", "problem"),
    [
        (((0.0, 0.0), (9.0, 0.0), (9.0, 9.0)), "open ring"),
        (((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 1.0)), "open ring"),
        (((0.0, 0.0), (1301.0, 0.0), (9.0, 9.0), (0.0, 0.0)), "a corner of park is at"),
    ],
)
def test_polygons_without_sense_are_refused(ring: tuple[tuple[float, float], ...], problem: str) -> None:
    with pytest.raises(InvalidMap, match=problem):
        town(PARK.model_copy(update={"polygons": ((ring,),)}))


@pytest.mark.parametrize("name", ["street-grid", "darmstadt", "mannheim"])
def test_blocks_keep_clear_of_streets_and_places(name: str) -> None:
    street_map = load_map(name)
    found = blocks(street_map)
    assert len(found) > 50
    shapes = shapely.union_all([shapely.Polygon(outer, holes) for outer, *holes in found])
    streets = shapely.union_all(shapely.linestrings(street_map.nodes[street_map.edges]))
    assert shapes.distance(streets) == pytest.approx(SETBACK, abs=0.01)
    for point in street_map.attractions:
        assert shapes.intersection(shape_of(point)).area < 1
    share = shapes.area / (street_map.width * street_map.height)
    assert 0.4 < share < 0.8
