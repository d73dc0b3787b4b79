import math
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bypass.errors import InvalidLocation
from bypass.places.geo import EARTH_RADIUS, GeoLocation, PlanarLocation, Projection, haversine

DARMSTADT = GeoLocation(49.8728, 8.6512)
MANNHEIM = GeoLocation(49.4875, 8.4660)

origins = st.builds(GeoLocation, st.floats(-80, 80), st.floats(-180, 180))
city = st.builds(PlanarLocation, st.floats(-20_000, 20_000), st.floats(-20_000, 20_000))


@pytest.mark.parametrize(
    ("a", "b", "metres", "tolerance"),
    [
        (DARMSTADT, MANNHEIM, 44_867.68, 0.005),
        (DARMSTADT, GeoLocation(49.8728, 8.6530), 128.995, 0.0005),
        (DARMSTADT, GeoLocation(49.8738, 8.6512), 111.195, 0.0005),
        (GeoLocation(0, 0), GeoLocation(0, 0.001), 111.195, 0.0005),
        (GeoLocation(0, 0), GeoLocation(0.001, 0), 111.195, 0.0005),
        (GeoLocation(90, 0), GeoLocation(-90, 0), math.pi * EARTH_RADIUS, 1e-6),
        (GeoLocation(12.3, 45.6), GeoLocation(-12.3, -134.4), math.pi * EARTH_RADIUS, 1e-6),
        (GeoLocation(0, 179.9995), GeoLocation(0, -179.9995), 111.195, 0.0005),
    ],
)
def test_haversine(a: GeoLocation, b: GeoLocation, metres: float, tolerance: float) -> None:
    assert a.distance_to(b) == pytest.approx(metres, abs=tolerance)
    assert b.distance_to(a) == pytest.approx(metres, abs=tolerance)


def test_haversine_takes_arrays_and_broadcasts() -> None:
    lat, lon = np.array([49.4875, 49.8738]), np.array([8.4660, 8.6512])
    distances = haversine(49.8728, 8.6512, lat, lon)
    assert distances == pytest.approx([44_867.68, 111.195], abs=0.005)
    assert list(distances) == [
        haversine(49.8728, 8.6512, float(a), float(o)) for a, o in zip(lat, lon, strict=True)
    ]
    assert haversine(lat[:, None], lon[:, None], lat, lon).shape == (2, 2)
    assert type(haversine(0, 0, 1, 1)) is float


def test_planar_distance() -> None:
    assert PlanarLocation(1, 2).distance_to(PlanarLocation(4, 6)) == 5.0


def test_places_of_two_kinds_have_no_distance() -> None:
    with pytest.raises(InvalidLocation, match="expected a GeoLocation"):
        DARMSTADT.distance_to(PlanarLocation(0, 0))  # type: ignore[arg-type]
    with pytest.raises(InvalidLocation, match="expected a PlanarLocation"):
        PlanarLocation(0, 0).distance_to(DARMSTADT)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, "5", None, 10**400, [1]])
def test_coordinates_are_finite_numbers(wrong: Any) -> None:
    for build in (
        lambda: PlanarLocation(wrong, 0),
        lambda: PlanarLocation(0, wrong),
        lambda: GeoLocation(wrong, 0),
        lambda: GeoLocation(0, wrong),
    ):
        with pytest.raises(InvalidLocation, match="expected a"):
            build()


@pytest.mark.parametrize(("lat", "lon"), [(90.001, 0), (-91, 0), (0, 180.001), (0, -181)])
def test_degrees_have_a_range(lat: float, lon: float) -> None:
    with pytest.raises(InvalidLocation, match=r"tude .*: expected a number in -\d+\.\.\d+"):
        GeoLocation(lat, lon)


def test_locations_hold_floats_and_are_values() -> None:
    location = PlanarLocation(np.float32(1.5), 2)  # type: ignore[arg-type]
    assert (type(location.x), type(location.y)) == (float, float)
    assert {location, PlanarLocation(1.5, 2.0)} == {location}
    with pytest.raises(AttributeError):
        location.x = 3.0  # type: ignore[misc]


def test_locations_are_unpacked_as_the_tuples_that_stand_for_them() -> None:
    x, y = PlanarLocation(1, 2)
    lat, lon = GeoLocation(49.9, 8.7)
    assert (x, y, lat, lon) == (1.0, 2.0, 49.9, 8.7)


def test_axes_point_east_and_north() -> None:
    plane = Projection.around(DARMSTADT)
    east, north = GeoLocation(49.8728, 8.6530), GeoLocation(49.8738, 8.6512)
    assert plane.to_planar(DARMSTADT) == PlanarLocation(0, 0)
    assert plane.to_planar(east).x == pytest.approx(128.995, abs=0.001)
    assert plane.to_planar(north).y == pytest.approx(111.195, abs=0.001)


@given(origins, city)
def test_projection_there_and_back(origin: GeoLocation, place: PlanarLocation) -> None:
    plane = Projection.around(origin)
    back = plane.to_planar(plane.to_geo(place))
    assert back.distance_to(place) < 1e-3


@given(origins, city)
def test_distances_from_the_origin_are_exact(origin: GeoLocation, place: PlanarLocation) -> None:
    geo = Projection.around(origin).to_geo(place)
    assert origin.distance_to(geo) == pytest.approx(math.hypot(place.x, place.y), abs=1e-3)


@given(origins, city, city)
def test_distances_within_a_city_are_nearly_exact(
    origin: GeoLocation, a: PlanarLocation, b: PlanarLocation
) -> None:
    assume(a.distance_to(b) > 10)
    plane = Projection.around(origin)
    assert plane.to_geo(a).distance_to(plane.to_geo(b)) == pytest.approx(a.distance_to(b), rel=1e-4)


@given(origins, st.lists(city, min_size=1, max_size=5))
def test_arrays_are_projected_like_single_places(origin: GeoLocation, places: list[PlanarLocation]) -> None:
    plane = Projection.around(origin)
    lat, lon = plane.to_geo_arrays([p.x for p in places], [p.y for p in places])
    singles = [plane.to_geo(p) for p in places]
    assert list(zip(lat, lon, strict=True)) == [(g.lat, g.lon) for g in singles]
    x, y = plane.to_planar_arrays(lat, lon)
    assert list(zip(x, y, strict=True)) == [(p.x, p.y) for p in map(plane.to_planar, singles)]


def test_a_plane_may_lie_across_the_antimeridian() -> None:
    plane = Projection.around(GeoLocation(0, 180))
    for x, lon in [(-100.0, 179.9991), (3.7e-07, 180.0), (100.0, -179.9991)]:
        geo = plane.to_geo(PlanarLocation(x, 1))
        assert geo.lon == pytest.approx(lon, abs=1e-5)
        assert plane.to_planar(geo).x == pytest.approx(x, abs=1e-3)


def test_what_is_not_on_earth_cannot_be_projected() -> None:
    plane = Projection.around(DARMSTADT)
    with pytest.raises(InvalidLocation, match="location at index 1"):
        plane.to_planar_arrays([49.0, math.nan], [8.0, 8.0])
    with pytest.raises(InvalidLocation, match="location at index 0"):
        plane.to_geo_arrays([1e9], [0.0])
    with pytest.raises(InvalidLocation):
        plane.to_geo(PlanarLocation(1e9, 0))


def test_projections_survive_pickling() -> None:
    plane = Projection.around(DARMSTADT)
    copy = pickle.loads(pickle.dumps(plane))
    assert copy == plane
    assert copy.to_planar(MANNHEIM) == plane.to_planar(MANNHEIM)


def test_pyproj_is_imported_only_by_those_who_project() -> None:
    program = "import sys, bypass.places.geo; sys.exit('pyproj' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_altitude_goes_along() -> None:
    plane = Projection.around(GeoLocation(49.8, 8.6))
    place = GeoLocation(49.81, 8.61, altitude=144)
    assert plane.to_planar(place).altitude == 144.0
    assert plane.to_geo(plane.to_planar(place)).altitude == 144.0
    assert place == GeoLocation(49.81, 8.61)
    with pytest.raises(InvalidLocation, match="altitude nan: expected a finite number"):
        PlanarLocation(0, 0, altitude=float("nan"))
