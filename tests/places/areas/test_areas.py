"""Areas do what shapely does, whatever their shape, and what each test says is what the others say."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from time import process_time
from typing import Any

import pytest
import shapely
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bypass import Area, Event, Place, Publish
from bypass.errors import InvalidArea
from bypass.places.areas.polygons import pairs
from bypass.protocol.messages import Frame, Notify
from bypass.protocol.wire import (
    MalformedMessage,
    decode,
    encode,
    encoded_size,
    frame_size,
    notify_size,
)
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.testing.areas import areas, polygon_areas, rings

whole = st.integers(-100, 1100)
points = st.tuples(whole, whole)
altitudes = st.none() | st.tuples(st.integers(-50, 0), st.integers(0, 50)) | st.just((10.5, math.inf))

SQUARE = Area.polygon([(0, 0), (10, 0), (10, 10), (0, 10)])
RING = Area.polygon([(0, 0), (10, 0), (10, 10), (0, 10)], [[(4, 4), (6, 4), (6, 6), (4, 6)]])


@given(polygon_areas(), points, st.data())
def test_polygons_contain_what_shapely_says_and_their_border(
    area: Area, point: tuple[int, int], data: Any
) -> None:
    geometry = area.geometry()
    rings = [geometry.exterior, *geometry.interiors]
    vertex = data.draw(st.sampled_from([each for ring in rings for each in ring.coords]))
    for x, y in (point, vertex):
        assert area.contains(x, y) == geometry.covers(shapely.Point(x, y))


@given(areas(), points)
def test_a_shape_contains_what_is_near_its_line_or_in_its_direction(
    area: Area, point: tuple[int, int]
) -> None:
    geometry = area.geometry()  # arcs are chords there
    near = geometry.boundary.distance(shapely.Point(point)) < 0.005 * area.reach
    assume(not near)
    assert area.contains(*point) == geometry.covers(shapely.Point(point))


@given(areas(), points)
def test_a_point_outside_the_bounds_is_outside(area: Area, point: tuple[int, int]) -> None:
    x0, y0, x1, y1 = area.bounds
    x, y = point
    if not (x0 <= x <= x1 and y0 <= y <= y1):
        assert not area.contains(x, y)
    bounds = area.geometry().bounds
    assert all(abs(a - b) <= 0.005 * area.reach for a, b in zip(area.bounds, bounds, strict=True))


@given(areas(), points, points)
def test_touching_is_never_denied(area: Area, one: tuple[int, int], other: tuple[int, int]) -> None:
    rect = (min(one[0], other[0]), min(one[1], other[1]), max(one[0], other[0]), max(one[1], other[1]))
    geometry, box = area.geometry(), shapely.box(*rect)
    if geometry.intersects(box):
        assert area.touches(rect)
        assert area.touches((rect[0], -math.inf, math.inf, rect[3])) or rect[0] > area.bounds[2]
    elif area.touches(rect):  # a little generous, by less than the difference of a curve from its chords
        assert geometry.distance(box) <= 0.5 * area.reach


@given(polygon_areas(), points, points)
def test_polygons_touch_just_those_rectangles_that_they_do(
    area: Area, one: tuple[int, int], other: tuple[int, int]
) -> None:
    rect = (min(one[0], other[0]), min(one[1], other[1]), max(one[0], other[0]), max(one[1], other[1]))
    assert area.touches(rect) == area.geometry().intersects(shapely.box(*rect))


@given(areas(), points, st.integers(0, 500))
def test_touching_a_circle_is_never_denied(area: Area, point: tuple[int, int], radius: int) -> None:
    distance = area.geometry().distance(shapely.Point(point))
    touches = area.touches_circle(*point, radius)
    if distance <= radius:
        assert touches
    elif touches:
        assert distance <= radius + 0.005 * (area.reach + 1)


@given(areas(), points, points)
@example(SQUARE, (-5, 5), (5, 5))
@example(SQUARE, (0, 5), (-5, 5))  # leaves from the border
@example(SQUARE, (-5, 5), (0, 5))  # ends at the border
@example(SQUARE, (-5, 5), (5, -5))  # through a vertex, from outside to outside
@example(SQUARE, (-5, 0), (15, 0))  # along the border
@example(RING, (5, 5), (15, 15))
def test_crossings_are_where_a_way_passes_the_border(
    area: Area, one: tuple[int, int], other: tuple[int, int]
) -> None:
    found = area.crossings(*one, *other)
    assert found == sorted(found)
    assert all(0 < t <= 1 for t in found)
    assert len(found) % 2 == (area.contains(*one) != area.contains(*other))
    inside = area.contains(*one)
    for before, after in pairwise([0.0, *found, 1.0]):  # between them, all is inside or outside
        for share in (0.25, 0.5, 0.75):
            t = before + share * (after - before)
            x, y = (one[0] + t * (other[0] - one[0]), one[1] + t * (other[1] - one[1]))
            if area.contains(x, y) != inside and before < t < after:
                assert area.geometry().boundary.distance(shapely.Point(x, y)) < 0.005 * (area.reach + 1)
        inside = not inside


@given(polygon_areas(), points, points)
def test_crossings_of_polygons_are_those_of_shapely(
    area: Area, one: tuple[int, int], other: tuple[int, int]
) -> None:
    assume(one != other)
    geometry, way = area.geometry(), shapely.LineString([one, other])
    assume(way.intersection(geometry.boundary).length < 1e-9)  # along the border it is a matter of rounding
    stretches = shapely.line_merge(way.intersection(geometry))
    expected = []
    for stretch in getattr(stretches, "geoms", [stretches]):
        if stretch.length > 1e-6:
            ends = sorted(way.project(shapely.Point(each)) / way.length for each in stretch.coords)
            expected += [t for t in (ends[0], ends[-1]) if 1e-9 < t < 1 - 1e-9]
    found = [t for t in area.crossings(*one, *other) if 1e-9 < t < 1 - 1e-9]
    assert found == pytest.approx(sorted(expected), abs=1e-7)


@given(areas())
@example(Area.corridor([(1, 1), (0, 0), (0, 1), (1, 0), (1, 1)], 2))
@example(Area.corridor([(290, 0), (0, 0), (0, 460)], 1))
def test_sizes_are_those_of_shapely(area: Area) -> None:
    geometry = area.geometry()
    assert area.size == pytest.approx(geometry.area, rel=0.005, abs=1.0)
    farthest = max(math.hypot(*each) for each in shapely.get_coordinates(geometry))
    assert farthest - 1e-6 <= area.reach <= farthest * 1.005 + 1e-6


@given(areas(), points, points, st.integers(-720, 720))
def test_an_area_is_turned_and_put_somewhere(
    area: Area, point: tuple[int, int], at: tuple[int, int], heading: int
) -> None:
    turn = math.radians(heading)
    x = point[0] * math.cos(turn) + point[1] * math.sin(turn) + at[0]
    y = point[1] * math.cos(turn) - point[0] * math.sin(turn) + at[1]
    placed = area.placed(*at, heading)
    assert placed.size == pytest.approx(area.size, rel=1e-3)
    assume(area.geometry().boundary.distance(shapely.Point(point)) > 0.005 * (area.reach + 1))
    assert placed.contains(x, y) == area.contains(*point)


@given(areas(), altitudes, st.floats(-1e5, 1e5), st.integers(0, 2**40))
def test_an_area_is_the_same_behind_the_wire(area: Area, altitude: Any, z: float, lifetime: int) -> None:
    area = replace(area, altitude=altitude)
    message = Publish(7, Event(a=1), location=(1.0, 2.0), z=z, area=area, lifetime=lifetime)
    data = encode(message)
    again = decode(data)
    assert again == message
    assert hash(again.area) == hash(area)
    assert len(data) == encoded_size(message)
    assert len(encode(Notify(message, (1, 2)))) == notify_size(message, 2, False)
    assert len(encode(Frame(1, publications=(message,)))) == frame_size([message], False)


numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(-2000, 2000)
counts = st.lists(st.integers(0, 5) | st.just(2**32 - 1), max_size=3)


@given(st.integers(0, 6), st.lists(numbers, max_size=12), counts, counts, numbers, numbers)
def test_any_area_on_the_wire_is_one_or_refused(
    kind: int, some: list[int], rings: list[int], polygons: list[int], lowest: int, highest: int
) -> None:
    body = pb.Area(numbers=some, rings=rings, polygons=polygons, lowest=lowest, highest=highest)
    body.shape = kind  # type: ignore[assignment] # maybe one of a later version
    envelope = pb.Envelope(version=1, client=1, epoch=0)
    envelope.publish.CopyFrom(pb.Publish(id=7, at_us=0, area=body))
    with suppress(MalformedMessage):
        message = decode(envelope.SerializeToString())
        assert decode(encode(message)) == message


def test_a_place_by_name_is_the_same_behind_the_wire() -> None:
    area = Area.of_place("Herrngarten", altitude=(0, 5))
    assert decode(encode(Publish(7, Event(a=1), area=area))).area == area  # type: ignore[attr-defined]
    with pytest.raises(
        InvalidArea, match="area of place 'Herrngarten': expected the broker to say its shape"
    ):
        area.contains(0, 0)


@given(areas())
def test_the_circle_of_a_place_is_hardly_larger_than_it_must_be(area: Area) -> None:
    place = Place.of_area("here", area)
    smallest = shapely.minimum_bounding_radius(area.geometry())
    assert smallest - 1e-6 <= place.radius <= 1.01 * smallest + 0.01
    for x, y in shapely.get_coordinates(area.geometry()):
        assert math.hypot(x - place.x, y - place.y) <= place.radius + 1e-6


def test_a_place_contains_what_its_area_does() -> None:
    assert Place("disc", 0.0, 0.0, 10.0).contains(7.0, 7.0)
    assert not Place.of_area("ring", RING).contains(5.0, 5.0)
    with pytest.raises(InvalidArea, match=r"place 'ring': .* expected one in its circle of radius 3"):
        Place("ring", 0.0, 0.0, 3, RING)


@given(areas(), st.integers(-20, 50))
def test_a_buffer_is_that_of_shapely(area: Area, metres: int) -> None:
    expected = shapely.union_all([area.geometry()]).buffer(metres, quad_segs=16)
    assume(metres > 0 or expected.area > 1)
    if metres < 0 and expected.geom_type != "Polygon":
        return
    assert area.buffer(metres).size == pytest.approx(expected.area, rel=0.01, abs=1.0)


def test_nothing_is_left_of_an_area_that_is_not_so_deep() -> None:
    with pytest.raises(InvalidArea, match="buffer -50 m of an area: nothing is left"):
        SQUARE.buffer(-50)


@given(rings(), st.data())
def test_which_rings_are_simple_is_what_shapely_says(ring: list[tuple[int, int]], data: Any) -> None:
    small = st.tuples(st.integers(0, 6), st.integers(0, 6))
    tangled = data.draw(st.lists(small, min_size=3, max_size=9, unique=True) | st.just(ring))
    if shapely.Polygon(tangled).is_valid:
        assert [*pairs(Area.polygon(tangled).known().parts[0][0])] == tangled  # type: ignore[attr-defined]
    else:
        with pytest.raises(InvalidArea):
            Area.polygon(tangled)


@given(st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=3, max_size=6, unique=True))
def test_which_holes_are_holes_is_what_shapely_says(hole: list[tuple[int, int]]) -> None:
    outer = [(0, 4), (2, 2), (3, 3), (4, 0), (8, 4), (4, 8), (3, 6), (2, 7)]
    reason = shapely.is_valid_reason(shapely.Polygon(outer, [hole]))
    try:
        Area.polygon(outer, [hole])
    except InvalidArea:
        lines = [shapely.LinearRing(outer), shapely.LinearRing(hole)]
        on_an_edge = any(
            line.distance(shapely.Point(each)) < 1e-9 and each not in other
            for line, other, ring in ((lines[0], outer, hole), (lines[1], hole, outer))
            for each in ring
        )
        assert reason != "Valid Geometry" or on_an_edge  # a vertex on an edge of the other is refused here
    else:
        assert reason.startswith(("Valid Geometry", "Interior is disconnected"))


def test_a_long_ring_is_checked_in_a_moment() -> None:
    """A comb across the diagonal, whose teeth overlap in any direction along the axes."""
    comb = [(2 * tooth + x, y) for tooth in range(1023) for x, y in ((0, 0), (0, 5000), (1, 5000), (1, 0))]
    comb += [(2046, -1), (-1, -1)]
    started = process_time()
    area = Area.polygon([(x - y, x + y) for x, y in comb])
    assert process_time() - started < 2.0  # every edge with every other one: eight million pairs
    assert area.vertices == 4094
