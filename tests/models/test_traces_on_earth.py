"""Parquet in degrees or in a reference system, laid out in the plane around its middle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyproj import Transformer

from bypass.models.compute.engines import LocalEngine
from bypass.models.mobility import Playback
from bypass.models.traces import InvalidTrace, Trace, lay_out
from bypass.models.traces.formats import gpx
from bypass.models.waypoints import Waypoints
from bypass.places.geo import GeoLocation, haversine

MIDDLE = GeoLocation(49.8728, 8.6512)


def laid(folder: Path, name: str, crs: str = "", **columns: Any) -> Trace:
    source = folder / f"{name}.parquet"
    pq.write_table(pa.table({"t": [0.0, 60.0, 0.0, 60.0], "client": [0, 0, 1, 1], **columns}), source)
    return lay_out(source, folder / name, step=60.0, engine=LocalEngine(), crs=crs)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lat=st.floats(-80, 80),
    lon=st.floats(-170, 170),
    off=st.lists(st.tuples(st.floats(-0.02, 0.02), st.floats(-0.02, 0.02)), min_size=4, max_size=4),
)
def test_places_in_degrees_keep_their_distances_and_where_they_are(
    tmp_path_factory: pytest.TempPathFactory, lat: float, lon: float, off: list[tuple[float, float]]
) -> None:
    lats, lons = (np.array(column) for column in zip(*((lat + a, lon + b) for a, b in off), strict=True))
    trace = laid(tmp_path_factory.mktemp("laid"), "a", lat=lats, lon=lons)
    x, y = (each.T.reshape(-1).astype(np.float64) for each in trace.read(0, 2))
    assert trace.georeference is not None
    again = trace.georeference.to_geo_arrays(x, y)
    assert haversine(*again, lats, lons).max() < 0.01
    assert (x.min(), y.min()) == pytest.approx((0, 0), abs=0.01)
    apart = np.hypot(x[0] - x[3], y[0] - y[3])
    assert apart == pytest.approx(float(haversine(lats[0], lons[0], lats[3], lons[3])), rel=1e-5, abs=0.02)


def test_coordinates_of_a_reference_system_are_the_same_places(tmp_path: Path) -> None:
    lats, lons = np.array([49.871, 49.873, 49.876, 49.874]), np.array([8.65, 8.652, 8.655, 8.651])
    east, north = Transformer.from_crs("EPSG:4326", "EPSG:25832", always_xy=True).transform(lons, lats)
    utm = laid(tmp_path, "utm", crs="EPSG:25832", x=east, y=north)
    plain = laid(tmp_path, "degrees", lat=lats, lon=lons)
    as_x_and_y = laid(tmp_path, "xy", crs="EPSG:4326", x=lons, y=lats)
    for other in (utm, as_x_and_y):
        assert np.abs(np.stack(other.read(0, 2)) - np.stack(plain.read(0, 2))).max() < 0.02
        assert other.size == plain.size


def test_tracks_in_gpx_and_in_parquet_are_the_same_trace(tmp_path: Path) -> None:
    ways = Waypoints.of_tracks(
        [(np.array([0.0, 60.0]), np.array([0.0, 90.0 + i]), np.array([5.0, 70.0])) for i in (0, 1)]
    )
    gpx.write(ways, tmp_path / "walk.gpx", origin=MIDDLE)
    read, world = gpx.read_located(tmp_path / "walk.gpx")
    lat, lon = world.to_geo_arrays(read.x, read.y)
    trace = laid(tmp_path, "a", lat=lat, lon=lon)
    x, y = (each.T.reshape(-1) for each in trace.read(0, 2))
    assert x == pytest.approx(read.x, abs=0.01)
    assert y == pytest.approx(read.y, abs=0.01)
    assert Playback(path=trace.path).georeference == trace.georeference


@pytest.mark.parametrize(
    ("columns", "crs", "problem"),
    [
        (
            {"lat": [49.0, 95.0, 49.0, 49.0], "lon": [8.0] * 4},
            "",
            r"lat is 95.0: expected degrees in -90..90",
        ),
        (
            {"lat": [9.0] * 4, "lon": [8.0, 8.0, 181.0, 8.0]},
            "",
            r"lon is 181.0: expected degrees in -180..180",
        ),
        (
            {"lat": [9.0] * 4, "lon": [179.0, -179.0, 179.0, 179.0]},
            "",
            "span 358 degrees: expected at most 180",
        ),
        ({"lat": [9.0] * 4, "lon": [8.0, None, 8.0, 8.0]}, "", "lon is null in 1 rows"),
        ({"lat": [9.0] * 4, "lon": [8.0] * 4}, "EPSG:25832", "has no column x: expected t, client, x, y"),
        (
            {"x": [1.0] * 4, "y": [8.0] * 4},
            "EPSG:99999",
            "crs 'EPSG:99999': .* expected a system such as EPSG:25832",
        ),
        ({"x": [1e30] * 4, "y": [8.0] * 4}, "EPSG:25832", r"\(1e\+30, 8.0\) is no place of EPSG:25832"),
        ({"lat": [9.0] * 4, "x": [8.0] * 4}, "", "has no column y: expected t, client, x, y"),
    ],
)
def test_places_that_are_nowhere_are_refused(
    tmp_path: Path, columns: dict[str, Any], crs: str, problem: str
) -> None:
    with pytest.raises(InvalidTrace, match=problem):
        laid(tmp_path, "a", crs, **columns)
    assert not (tmp_path / "a").exists()
