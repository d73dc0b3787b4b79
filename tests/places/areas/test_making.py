"""Ways to make an area, in metres and in degrees, and what each says of damage."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Proj

from bypass import Area, GeoLocation, PlanarLocation
from bypass.errors import InvalidArea, MissingExtra
from bypass.places import Projection
from bypass.places.areas.planes import LocalPlane
from bypass.places.geo import EARTH_RADIUS
from bypass.testing.areas import areas, polygon_areas

HERE = GeoLocation(49.873, 8.651)
PLANE = Projection.around(HERE)
NAN, INF = math.nan, math.inf
WRONG: Any = "x"
SHORT: Any = (2,)
TRIANGLE = [(0, 0), (9, 0), (0, 9)]

DAMAGE: list[tuple[Any, str]] = [
    (
        lambda: Area.polygon([(0, 0), (1, NAN), (1, 1)]),
        "polygon: vertex 1 (1.0, nan): expected finite numbers",
    ),
    (lambda: Area.polygon([(0, 0), (1, 1)]), "polygon of 2 vertices: expected at least 3"),
    (lambda: Area.polygon([(0, 0), (1, 1), (0, 0)]), "polygon of 2 vertices: expected at least 3"),
    (
        lambda: Area.polygon([(0, 0), (1, 1), (2, 2)]),
        "polygon of size 0: expected vertices that are not on one line",
    ),
    (
        lambda: Area.polygon([(0, 0), (5, 0), (5, 0.0001), (0, 5)]),
        "polygon: vertex 2 (5.0, 0.0): expected another than vertex 1",
    ),
    (
        lambda: Area.polygon([(0, 0), (4, 4), (4, 0), (0, 4)]),
        "polygon: edge 0 of polygon from (0.0, 0.0) to (4.0, 4.0) meets edge 2 of polygon "
        "from (4.0, 0.0) to (0.0, 4.0): expected edges that meet at their ends alone",
    ),
    (
        lambda: Area.polygon([(0, 0), (4, 0), (0, 4)], [[(5, 5), (6, 5), (5, 6)]]),
        "polygon, hole 0: vertex 0 (5.0, 5.0): expected one inside the outer ring",
    ),
    (
        lambda: Area.polygon(TRIANGLE, [[(1, 1), (3, 1), (1, 3)], [(1.5, 1.25), (2, 1.25), (1.5, 2)]]),
        "polygon, hole 1: vertex 0 (1.5, 1.25): expected one outside polygon, hole 0",
    ),
    (
        lambda: Area.polygon(TRIANGLE, [[(1, 1), (20, 1), (1, 3)]]),
        "polygon: edge 1 of polygon from (9.0, 0.0) to (0.0, 9.0) meets edge 1 of polygon, "
        "hole 0 from (20.0, 1.0) to (1.0, 3.0): expected edges that meet at their ends alone",
    ),
    (
        lambda: Area.polygons([(TRIANGLE, []), ([(0, 0), (1, 1), (INF, 0)], [])]),
        "polygon 1: vertex 2 (inf, 0.0): expected finite numbers",
    ),
    (lambda: Area.polygons([]), "area of 0 polygons: expected from 1 to 256"),
    (lambda: Area.polygons([(TRIANGLE, [])] * 257), "area of 257 polygons: expected from 1 to 256"),
    (
        lambda: Area.polygon([(math.cos(n), math.sin(n)) for n in range(4098)]),
        "polygon of more than 4096 vertices: expected at most that",
    ),
    (
        lambda: Area.polygons([([(n, 0) for n in range(2048)] + [(0, 5)], [])] * 2),
        "area of 4098 vertices: expected at most 4096",
    ),
    (
        lambda: Area.polygon([(0, 0), (1, 1), WRONG]),
        "polygon: vertex 2 'x': expected (x, y), PlanarLocation or GeoLocation",
    ),
    (lambda: Area.polygon([(0, 0), (1, 1), SHORT]), "polygon: vertex 2 (2,): expected x and y"),
    (lambda: Area.polygon([(0, 0), HERE, (1, 1)]), "polygon: vertex 1 in degrees: expected metres as before"),
    (
        lambda: Area.polygon([HERE, GeoLocation(49, 8), PlanarLocation(1, 1)]),
        "polygon: vertex 2 in metres: expected degrees as before",
    ),
    (lambda: Area.box((0, 0), HERE), "box: vertex 1 in degrees: expected metres as before"),
    (lambda: Area.box((0, 0), (5, 0)), "box of size 0: expected corners that differ in both coordinates"),
    (lambda: Area.circle((0, 0), 0), "circle: radius 0: expected metres above 0 and at most 1e+08"),
    (
        lambda: Area.circle((0, 2e8), 1),
        "circle: centre (0.0, 200000000.0): expected metres from -1e+08 to 1e+08",
    ),
    (lambda: Area.circle(HERE, 6e6), "circle: radius 6000000.0: expected metres above 0 and at most 5e+06"),
    (
        lambda: Area.circle(GeoLocation(89, 0), 120_000),
        "area that reaches 120000 m around (0.0, 89.0): expected one without a pole",
    ),
    (lambda: Area.corridor([(0, 0)], 5), "corridor of 1 vertices: expected from 2 to 4096"),
    (
        lambda: Area.corridor([(0, 0), (0, 0)], 5),
        "corridor: vertex 1 (0.0, 0.0): expected another than vertex 0",
    ),
    (
        lambda: Area.corridor([(0, 0), (0, 1)], NAN),
        "corridor: width nan: expected metres above 0 and at most 5e+06",
    ),
    (lambda: Area.sector((0, 0), 5, 400, 90), "sector: bearing 400: expected degrees from -360 to 360"),
    (lambda: Area.sector((0, 0), 5, 0, 0), "sector: opening 0: expected degrees from 1e-06 to 360"),
    (lambda: Area.circle((0, 0), 5, altitude=(9, 3)), "altitude (9, 3): expected the lowest first"),
    (
        lambda: Area.circle((0, 0), 5, altitude=(NAN, 3)),
        "altitude (nan, 3): expected the lowest and the highest in metres",
    ),
    (lambda: Area.of_place(""), "place '': expected a name of 1 to 255 characters"),
    (
        lambda: Area.from_geojson(geojson([(49, 108), (49, 109), (50, 109)])),
        "polygon: vertex 0 (49.0, 108.0): latitude 108.0: expected -90..90, are latitude and longitude "
        "in the wrong order?",
    ),
    (
        lambda: Area.from_geojson(geojson([(0, 80), (120, 80), (-120, 80)])),
        "polygon: goes around a pole: expected one that does not",
    ),
    (
        lambda: Area.from_geojson(geojson([(0, 80), (120, 80), (-120, 80), (0, 80)])),
        "polygon: goes around a pole: expected one that does not",
    ),
    (
        lambda: Area.from_geojson(geojson([(0, 90), (1, 80), (2, 80)])),
        "polygon: vertex 0 (0.0, 90.0): expected a place that is not a pole",
    ),
    (
        lambda: Area.from_geojson(geojson([(600, 0), (601, 0), (601, 1)])),
        "polygon: vertex 0 (600.0, 0.0): longitude 600.0: expected -540..540",
    ),
    (lambda: Area.from_geojson("{"), "GeoJSON '{': Expecting property name enclosed in double quotes"),
    (lambda: Area.from_geojson({"type": "Point"}), "GeoJSON 'Point': expected a Polygon or MultiPolygon"),
    (
        lambda: Area.from_wkt("POLYGON ((0 0, 1 x, 1 1))"),
        "well-known text 'POLYGON ((0 0, 1 x, 1 1))': expected numbers in brackets before",
    ),
    (
        lambda: Area.from_wkt("POINT (1 2)"),
        "well-known text 'POINT (1 2)': expected a POLYGON or MULTIPOLYGON that is not empty",
    ),
    (lambda: Area.from_wkb(b"\x01\x03"), "well-known bytes of 2: expected more of them"),
    (
        lambda: Area.from_wkb(shapely.Point(1, 2).wkb),
        "well-known bytes of type 1: expected a Polygon (3) or MultiPolygon",
    ),
    (
        lambda: Area.from_file("zone.shp"),
        "area file 'zone.shp': expected the ending .geojson, .json, .wkt or .wkb",
    ),
    (lambda: Area.from_file("none.wkt"), "area file 'none.wkt': No such file or directory"),
    (
        lambda: Area.circle(HERE, 9).placed(0, 0),
        "placed of an area in degrees: expected one in metres, as `projected` gives",
    ),
    (
        lambda: Area.circle(GeoLocation(-49, -171), 9).projected(PLANE),
        "vertex (-171.0, -49.0): expected one on the same half of the earth as (8.651, 49.873)",
    ),
]


def geojson(ring: list[tuple[float, float]]) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": [[list(each) for each in ring]]}


@pytest.mark.parametrize(("make", "complaint"), DAMAGE, ids=[complaint[:40] for _, complaint in DAMAGE])
def test_damage_is_refused_in_one_line_that_says_where(make: Any, complaint: str) -> None:
    with pytest.raises(InvalidArea) as refused:
        make()
    assert str(refused.value).startswith(complaint)
    assert "\n" not in str(refused.value)


def test_a_ring_may_be_closed() -> None:
    assert Area.polygon([*TRIANGLE, TRIANGLE[0]]) == Area.polygon(TRIANGLE)
    assert hash(Area.polygon([PlanarLocation(*p) for p in TRIANGLE])) == hash(Area.polygon(TRIANGLE))
    assert Area.polygon(TRIANGLE) != Area.polygon(TRIANGLE, altitude=(0, 5))


def test_altitudes_are_a_band_that_an_unknown_one_is_in() -> None:
    area = Area.circle((0, 0), 5, altitude=(10, 120))
    assert [area.contains(0, 0, z) for z in (9.9, 120.1)] == [False, False]
    assert all(area.contains(0, 0, z) for z in (10, 120, None, NAN))
    assert Area.circle((0, 0), 5, altitude=(-INF, INF)).altitude is None


@given(polygon_areas())
def test_texts_and_bytes_are_those_of_shapely(area: Area) -> None:
    geometry = area.geometry()
    assert Area.from_wkt(geometry.wkt) == Area.from_wkb(geometry.wkb) == area
    both = shapely.MultiPolygon([geometry, shapely.affinity.translate(geometry, 2000)])
    assert Area.from_wkt(f"SRID=4326;{both.wkt}") == Area.from_wkb(shapely.to_wkb(both, byte_order=0))
    high = shapely.set_srid(shapely.force_3d(both), 4326)
    text = shapely.to_wkt(high, rounding_precision=-1)
    assert Area.from_wkb(shapely.to_wkb(high, include_srid=True)) == Area.from_wkt(text)
    assert Area.from_wkb(shapely.to_wkb(high, flavor="iso")) == Area.from_wkt(text)
    again = Area.from_geojson(json.dumps(shapely.geometry.mapping(both)), degrees=False)
    assert again == Area.from_wkb(both.wkb)


@given(areas())
def test_geojson_of_an_area_is_read_again(area: Area) -> None:
    written = area.to_geojson()
    feature = {"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": written}]}
    assert Area.from_geojson(feature, degrees=False).size >= area.size * 0.99 - 1
    parts = [written["coordinates"]] if written["type"] == "Polygon" else written["coordinates"]
    for outer, *holes in parts:
        assert shapely.LinearRing(outer).is_ccw
        assert not any(shapely.LinearRing(hole).is_ccw for hole in holes)


@given(
    st.sampled_from([b"", struct.pack("<BII", 1, 3, 1), struct.pack("<BII", 1, 6, 1)]), st.binary(max_size=60)
)
def test_any_bytes_are_an_area_or_refused(head: bytes, rest: bytes) -> None:
    with suppress(InvalidArea):
        assert Area.from_wkb(head + rest).size > 0


@given(st.lists(st.sampled_from(["POLYGON", "MULTIPOLYGON", "(", ")", ",", "1", "2 3", "nan"]), max_size=12))
def test_any_text_is_an_area_or_refused(words: list[str]) -> None:
    for read in (Area.from_wkt, Area.from_geojson):
        with pytest.raises(InvalidArea):
            read(" ".join(words))


@given(
    st.recursive(
        st.none() | st.floats() | st.sampled_from(["Polygon", "Feature", "GeometryCollection"]),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["type", "coordinates", "geometry", "geometries"]), inner)
        ),
        max_leaves=12,
    )
)
def test_any_object_is_an_area_or_refused(found: Any) -> None:
    with suppress(InvalidArea):
        assert Area.from_geojson(found).size > 0


def test_files_say_what_they_are(tmp_path: Path) -> None:
    area = Area.polygon(TRIANGLE)
    (tmp_path / "zone.wkt").write_text(area.geometry().wkt)
    (tmp_path / "zone.wkb").write_bytes(area.geometry().wkb)
    (tmp_path / "zone.geojson").write_text(json.dumps(area.to_geojson()))
    assert Area.from_file(tmp_path / "zone.wkt") == Area.from_file(str(tmp_path / "zone.wkb")) == area
    assert Area.from_file(tmp_path / "zone.geojson").degrees
    assert Area.from_file(tmp_path / "zone.geojson", degrees=False) == area
    (tmp_path / "zone.wkt").write_text("POLYGON ((0 0, 1 1))")
    with pytest.raises(InvalidArea, match="polygon of 2 vertices"):
        Area.from_file(tmp_path / "zone.wkt")


def test_a_cell_needs_its_package() -> None:
    try:
        import h3
    except ModuleNotFoundError:
        with pytest.raises(MissingExtra, match=r"h3 is not installed: needs the extra h3: "):
            Area.from_h3("8a1fa4ca9b5ffff")
    else:
        cell = h3.latlng_to_cell(HERE.lat, HERE.lon, 9)
        assert Area.from_h3(cell).contains(HERE.lon, HERE.lat)
        with pytest.raises(InvalidArea, match="H3 cell 'x': expected one such as"):
            Area.from_h3("x")


def test_areas_load_nothing_heavy() -> None:
    """Clients have no shapely: to make, send and test an area needs the standard library and protobuf."""
    code = (
        "import sys; from bypass import Area, Event, GeoLocation, Publish\n"
        "from bypass.protocol.wire import encode\n"
        "area = Area.polygon([(0, 0), (9, 0), (0, 9)]); Area.circle(GeoLocation(1, 2), 3).contains(2, 1)\n"
        "encode(Publish(1, Event(), area=area)); area.crossings(-1, 1, 9, 1)\n"
        "Area.from_wkt('POLYGON((0 0,1 0,1 1))').placed(3, 4, 5)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "shapely", "pyproj", "numba"} & set(done.stdout.split())


# ---- degrees

whole = st.integers(-100, 1100)
points = st.tuples(whole, whole)
lats, lons = st.floats(-80, 80), st.floats(-180, 180)


@given(lats, lons, lats, lons)
def test_the_plane_around_a_place_is_that_of_pyproj(lat: float, lon: float, there: float, far: float) -> None:
    plane = LocalPlane(lon, lat)
    x, y = Proj(proj="aeqd", lat_0=lat, lon_0=lon, R=EARTH_RADIUS)(far, there)
    if math.hypot(x, y) < 1.9e7:
        assert plane.to_plane(far, there) == pytest.approx((x, y), abs=1e-3)
        found = plane.to_geo(x, y)
        assert found[1] == pytest.approx(there, abs=1e-7)
        assert math.remainder(found[0] - far, 360) == pytest.approx(0, abs=1e-6)


@given(areas(), lats, lons)
def test_projecting_back_and_forth_changes_nothing(area: Area, lat: float, lon: float) -> None:
    plane = Projection.around(GeoLocation(lat, lon))
    there = Area.from_geojson(area.to_geojson(plane))
    assert there.degrees
    back = there.projected(plane)
    assert back.projected(plane) is back
    chords = Area.from_geojson(area.to_geojson(), degrees=False)
    assert back.bounds == pytest.approx(chords.bounds, abs=0.0021)
    assert there.size == pytest.approx(chords.size, rel=1e-3, abs=1.0)


@given(lats, lons, st.integers(1, 100_000), st.floats(-100_000, 100_000), st.floats(-100_000, 100_000))
def test_a_circle_in_degrees_is_one_on_the_sphere(
    lat: float, lon: float, radius: int, x: float, y: float
) -> None:
    area = Area.circle(GeoLocation(lat, lon), radius)
    place = Projection.around(GeoLocation(lat, lon)).to_geo(PlanarLocation(x, y))
    distance = place.distance_to(GeoLocation(lat, lon))
    if abs(distance - radius) > 0.01:
        assert area.contains(place.lon, place.lat) == (distance <= radius)
        assert area.contains(place.lon + 360, place.lat) == (distance <= radius)
    if distance <= radius:
        box = (place.lon - 1e-6, place.lat - 1e-6, place.lon + 1e-6, place.lat + 1e-6)
        assert area.touches(box)


@given(polygon_areas(), lats, st.floats(-0.02, 0.02), points)
def test_rings_across_the_antimeridian_are_the_same_in_every_form(
    area: Area, lat: float, shift: float, point: tuple[int, int]
) -> None:
    """Longitudes beyond 180, longitudes that jump, and the same far from the antimeridian: one answer."""

    def ring(vertices: Any, wrapped: bool, around: float) -> list[list[float]]:
        found = [[round(around + shift + (x - 500) / 1e5, 7), lat + (y - 500) / 1e5] for x, y in vertices]
        return [[x - 360 if wrapped and x > 180 else x, y] for x, y in found]

    geometry = area.geometry()
    rings = [geometry.exterior.coords, *[hole.coords for hole in geometry.interiors]]
    beyond, jumping, elsewhere = (
        Area.from_geojson({"type": "Polygon", "coordinates": [ring(each, wrapped, around) for each in rings]})
        for wrapped, around in ((False, 180.0), (True, 180.0), (False, 10.0))
    )
    (x, y), (there, _) = (ring([point], False, around)[0] for around in (180.0, 10.0))
    answers = {each.contains(lon, y) for each in (beyond, jumping) for lon in (x, x - 360)}
    if geometry.boundary.distance(shapely.Point(point)) > 0.01:
        assert answers == {elsewhere.contains(there, y)} == {geometry.covers(shapely.Point(point))}
    assert beyond.size == pytest.approx(jumping.size) == pytest.approx(elsewhere.size, rel=1e-6)
    assert len(beyond.crossings(x, y, x + 0.003, y)) == len(jumping.crossings(x - 360, y, x - 359.997, y))
    ways = [each.crossings(lon, y, lon + 0.003, y) for each, lon in ((beyond, x), (elsewhere, there))]
    assert ways[0] == pytest.approx(ways[1], abs=1e-4) or geometry.boundary.distance(shapely.Point(point)) < 1


def test_polygons_cut_at_the_antimeridian_are_one() -> None:
    west, east = [(179, 0), (180, 0), (180, 2), (179, 2)], [(-180, 0), (-179, 0), (-179, 2), (-180, 2)]
    cut = Area.from_geojson({"type": "MultiPolygon", "coordinates": [[west], [east]]})
    whole = Area.box(GeoLocation(0, 179), GeoLocation(2, -179))
    assert cut.bounds == whole.bounds == (179.0, 0.0, 181.0, 2.0)
    assert cut.size == pytest.approx(whole.size)
    for lon in (178.9, 179, 179.5, 180, -180, -179.5, -179, -178.9):
        assert cut.contains(lon, 1) == whole.contains(lon, 1) == (abs(lon) >= 179)
    assert cut.crossings(178, 1, -178, 1) == pytest.approx([0.25, 0.75])
    assert cut.touches((-180, 1, -179.9, 1.5))
    assert not cut.touches((-178.9, 1, -178, 1.5))


@given(lats, lons, st.integers(0, 359), st.integers(1, 360))
def test_a_bearing_in_degrees_is_from_north(lat: float, lon: float, bearing: int, opening: int) -> None:
    """Also in a plane around another place, where north is not quite +y."""
    area = Area.sector(GeoLocation(lat, lon), 1000, bearing, opening)
    plane = Projection.around(GeoLocation(lat, lon))
    other = Projection.around(GeoLocation(lat - 1 if lat > 0 else lat + 1, max(-180, lon - 1)))
    projected = area.projected(other)
    for off in (0.0, opening / 2 - 0.4, opening / 2 + 0.4):
        turn = math.radians(bearing + off)
        place = plane.to_geo(PlanarLocation(500 * math.sin(turn), 500 * math.cos(turn)))
        expected = off <= opening / 2 or off >= 360 - opening / 2
        assert area.contains(place.lon, place.lat) == expected
        assert projected.contains(*other.to_planar(place)) == expected


@given(lats, lons, st.integers(1, 5000))
def test_a_corridor_in_degrees_is_that_of_metres(lat: float, lon: float, width: int) -> None:
    plane = Projection.around(GeoLocation(lat, lon))
    line = [plane.to_geo(PlanarLocation(*p)) for p in ((-900, 0), (900, 0))]
    area = Area.corridor(line, width)
    for off, expected in ((0.49, True), (0.51, False)):
        place = plane.to_geo(PlanarLocation(100, off * width))
        assert area.contains(place.lon, place.lat) == expected
    assert area.projected(plane).bounds == pytest.approx(
        (-900 - width / 2, -width / 2, 900 + width / 2, width / 2), abs=0.01
    )
