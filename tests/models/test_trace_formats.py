from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.traces import Format, InvalidTrace, recognise
from bypass.models.traces.formats import bonnmotion, gpx, ns2, one
from bypass.models.traces.formats.detection import read_waypoints
from bypass.models.waypoints import Track, Waypoints
from bypass.places.geo import GeoLocation

pytestmark = pytest.mark.slow

SIZE = (1300.0, 900.0)
DARMSTADT = GeoLocation(49.8728, 8.6512)


@st.composite
def tracks(draw: st.DrawFn) -> Track:
    """Walks at up to 50 m/s with pauses, and jumps."""
    t, x, y = [draw(st.floats(0, 20))], [draw(st.floats(0, SIZE[0]))], [draw(st.floats(0, SIZE[1]))]
    for _ in range(draw(st.integers(0, 6))):
        gap = draw(st.one_of(st.just(0.0), st.floats(1e-3, 300)))
        reach = 50.0 * gap if gap else 2000.0
        t.append(t[-1] + gap)
        x.append(min(max(x[-1] + draw(st.floats(-0.7, 0.7)) * reach, 0.0), SIZE[0]))
        y.append(min(max(y[-1] + draw(st.floats(-0.7, 0.7)) * reach, 0.0), SIZE[1]))
    return np.array(t), np.array(x), np.array(y)


populations = st.lists(tracks(), min_size=1, max_size=4).map(Waypoints.of_tracks)


def latest(waypoints: Waypoints) -> float:
    return float(waypoints.t.max())


def assert_same_movement(
    again: Waypoints, waypoints: Waypoints, tolerance: float, times: list[float]
) -> None:
    assert len(again) == len(waypoints)
    for at in times:
        np.testing.assert_allclose(again.positions(at), waypoints.positions(at), rtol=0, atol=tolerance)


def clear_times(waypoints: Waypoints) -> list[float]:
    """Times at which rounding a time by a microsecond does not turn a place into the one after a jump."""
    middles = (waypoints.t[1:] + waypoints.t[:-1]) / 2
    all_times = np.concatenate([waypoints.t, middles, [0.0, latest(waypoints) + 10]])
    gaps = np.diff(waypoints.t)
    jumps = np.concatenate([waypoints.t[1:][gaps == 0], [-1.0]])
    clear = np.abs(all_times[:, None] - jumps[None, :]).min(axis=1) > 1e-5
    return [float(at) for at in all_times[clear]]


@given(populations)
@settings(deadline=None)
def test_bonnmotion_keeps_six_decimals(waypoints: Waypoints) -> None:
    with TemporaryDirectory() as folder:
        for name in ("walk.movements", "walk.movements.gz"):
            path = Path(folder, name)
            bonnmotion.write(waypoints, path, size=SIZE, model="rwp", seed=7)
            again = bonnmotion.read(path)
            held = latest(waypoints)
            assert again.duration == pytest.approx(held, abs=1e-6)
            for client in range(len(waypoints)):
                own = slice(*waypoints.offsets[client : client + 2])
                count = own.stop - own.start
                start = again.offsets[client]
                for name_ in ("t", "x", "y"):
                    written = getattr(again, name_)[start : start + count]
                    np.testing.assert_allclose(written, getattr(waypoints, name_)[own], rtol=0, atol=0.51e-6)
            assert bonnmotion.world(path) == SIZE


@given(populations)
@settings(deadline=None)
def test_ns2_keeps_six_decimals(waypoints: Waypoints) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "walk.ns2")
        ns2.write(waypoints, path, size=SIZE)
        again = ns2.read(path)
        assert ns2.world(path) == SIZE
        # A microsecond at 50 m/s, and a speed that is off by half of 1e-9 m/s.
        assert_same_movement(again, waypoints, 1e-4, clear_times(waypoints))


@given(populations, st.sampled_from([0.5, 1.0, 7.0]))
@settings(deadline=None)
def test_one_keeps_positions_at_its_step(waypoints: Waypoints, step: float) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "walk.one")
        one.write(waypoints, path, size=SIZE, step=step)
        again = one.read(path)
        assert one.world(path) == SIZE
        times = np.arange(0, waypoints.duration + 1e-9, step)
        assert again.duration == pytest.approx(times[-1], abs=1e-6)
        for i, at in enumerate(times):
            assert again.t[i] == pytest.approx(at, abs=1e-6)
            np.testing.assert_allclose(
                again.positions(again.t[i]), waypoints.positions(at), rtol=0, atol=1e-6
            )


@given(populations)
@settings(deadline=None, max_examples=50)
def test_gpx_keeps_a_tenth_of_a_millimetre(waypoints: Waypoints) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "walk.gpx")
        epoch = datetime(2024, 2, 29, 12, tzinfo=UTC)
        gpx.write(waypoints, path, origin=DARMSTADT, epoch=epoch)
        again = gpx.read(path, DARMSTADT)
        shift = float(waypoints.t.min())
        for client in range(len(waypoints)):
            own = slice(*waypoints.offsets[client : client + 2])
            mine = slice(again.offsets[client], again.offsets[client] + own.stop - own.start)
            np.testing.assert_allclose(again.t[mine], waypoints.t[own] - shift, rtol=0, atol=2e-6)
            # PROJ takes places within 1e-10 radians of the origin, 0.64 mm, and rounding, to be the origin.
            at_origin = np.hypot(waypoints.x[own], waypoints.y[own]) < 7e-4
            for name in ("x", "y"):
                off = np.abs(getattr(again, name)[mine] - getattr(waypoints, name)[own])
                assert (off <= np.where(at_origin, 7e-4, 1e-4)).all()


def test_gpx_without_origin_begins_at_zero_and_keeps_distances(tmp_path: Path) -> None:
    t = np.array([0.0, 10.0, 20.0])
    walk = Waypoints.of_tracks([(t, np.array([500.0, 900.5, 500.0]), np.array([100.0, 100.0, 400.5]))])
    gpx.write(walk, tmp_path / "walk.gpx", origin=DARMSTADT)
    again, size, _ = read_waypoints(tmp_path / "walk.gpx")
    assert (again.x.min(), again.y.min()) == (0, 0)
    assert np.hypot(np.diff(again.x), np.diff(again.y)) == pytest.approx(
        [400.5, np.hypot(400.5, 300.5)], rel=1e-5
    )
    assert size == (401.0, 301.0)


# -- as others write them -------------------------------------------------------------------------------


def test_bonnmotion_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "scene.movements.gz"
    path.write_bytes(gzip.compress(b"# two nodes\n0.0 1 2 10 11 2 15 11 2\n\n0.0 5.5 6.5\n"))
    walk = bonnmotion.read(path)
    assert [walk.cursor().position(0, at) for at in (0, 5, 12, 99)] == [(1, 2), (6, 2), (11, 2), (11, 2)]
    assert walk.duration == 15
    assert bonnmotion.world(path) is None
    (tmp_path / "scene.params").write_text(
        "model=RandomWaypoint\nignore=3600.0\nrandomSeed=12\nx=200.0\ny=150.0\nduration=60.0\nnn=2\ncircular=false\n"
    )
    assert bonnmotion.read(path).duration == 60
    assert bonnmotion.world(path) == (200, 150)


def test_ns2_by_hand(tmp_path: Path) -> None:
    """Node 3 turns round on its way, stops on its way, jumps; node 1 never moves."""
    path = tmp_path / "scene.tcl"
    path.write_text(
        "#\n# nodes: 2, pause: 0.00, max speed: 2.00  max x = 100.00, max y: 100.00\n#\n"
        "set val(nn) 2\n"
        "$node_(3) set X_ 10.0\n$node_(3) set Y_ 0\n$node_(3) set Z_ 0.000000000000\n"
        "$god_ set-dist 1 3 1\n"
        '$ns_ at 5 "$node_(3) setdest 30.0 0.0 1.0"\n'
        '$ns_ at 15.0 "$node_(3) setdest 10 0 2"\n'
        '$ns_ at 17.5 "$god_ set-dist 1 3 2"\n'
        '$ns_ at 30.0 "$node_(3) setdest 10.0 50.0 1.0"\n'
        '$ns_ at 40.0 "$node_(3) setdest 77.0 77.0 0.0"\n'
        '$ns_ at 50.0 "$node_(3) set X_ 60.0"\n'
        '$ns_ at 50.0 "$node_(3) set Y_ 70.0"\n'
        '$ns_ at 0.5 "$node_(1) setdest 4.0 4.0 1.0"\n'
        "$node_(1) set X_ 4.0\n$node_(1) set Y_ 4.0\n"
    )
    walk = ns2.read(path)
    assert len(walk) == 2
    assert ns2.world(path) is None
    expected = {
        0: (10, 0), 5: (10, 0), 10: (15, 0), 15: (20, 0), 17: (16, 0), 20: (10, 0), 29: (10, 0), 35: (10, 5),
        45: (10, 10), 49.9: (10, 10), 50: (60, 70), 99: (60, 70),
    }  # fmt: skip
    assert {at: walk.cursor().position(1, at) for at in expected} == expected
    assert walk.cursor().position(0, 20) == (4, 4)


def test_one_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "scene.txt"
    path.write_text(
        "100 120 1000 1200 -50 50 0 0\n100 p10 1000 0\n100 p9 1100 50\n"
        "# ten seconds later\n110 p10 1010 10\n110 p9 1100 50\n"
    )
    walk, size, _ = read_waypoints(path)
    assert size == (200.0, 100.0)
    assert walk.positions(5.0)[0].tolist() == [5, 100]
    assert walk.positions(5.0)[1].tolist() == [55, 100]
    path.write_text("0 10 0 10 0 10\n0 10 1 1\n0 9 2 2\n")
    assert one.read(path).x.tolist() == [2, 1]  # by number, not by letters


def test_gpx_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "ride.gpx"
    path.write_text(
        """<?xml version="1.0"?>
<gpx version="1.1" creator="a watch" xmlns="http://www.topografix.com/GPX/1/1">
  <metadata><time>1999-01-01T00:00:00Z</time></metadata>
  <wpt lat="0" lon="0"><name>far away</name></wpt>
  <trk><name>Ada &amp; Zoe</name>
    <trkseg>
      <trkpt lat="49.8728" lon="8.6512"><ele>144</ele><time>2024-05-01T10:00:00Z</time></trkpt>
      <trkpt lat="49.8738" lon="8.6512"><ele>145</ele><time>2024-05-01T12:00:10+02:00</time></trkpt>
    </trkseg>
    <trkseg><trkpt lat="49.8738" lon="8.6512"><time>2024-05-01T10:00:20.5</time></trkpt></trkseg>
  </trk>
  <trk><trkseg><trkpt lat="49.8728" lon="8.6522"><time>2024-05-01T09:59:50Z</time></trkpt></trkseg></trk>
</gpx>"""
    )
    ride = gpx.read(path, DARMSTADT)
    assert ride.t.tolist() == [10, 20, 30.5, 0, 30.5]
    degree = 6_371_000 * np.pi / 180
    assert ride.y[:3] == pytest.approx([0, 0.001 * degree, 0.001 * degree], abs=1e-6)
    assert ride.x[3] == pytest.approx(0.001 * degree * np.cos(np.radians(49.8728)), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.movements", "0 1 2", Format.BONNMOTION),
        ("a", "0 1 2 3 4 5\n0 1 2 3 4 5\n", Format.BONNMOTION),
        ("a.dat", "0 10 0 10 0 10\n0 1 2 3\n", Format.ONE),
        ("a.dat", "# made by hand\n$node_(0) set X_ 1\n", Format.NS2),
        ("a.xml", "<?xml version='1.0'?><gpx/>", Format.GPX),
        ("a.gpx", "", Format.GPX),
        ("a.ns_movements", "", Format.NS2),
        ("a.parquet", "", Format.PARQUET),
        ("a", "PAR1...PAR1", Format.PARQUET),
    ],
)
def test_formats_are_recognised(tmp_path: Path, name: str, text: str, found: Format) -> None:
    (tmp_path / name).write_text(text)
    assert recognise(tmp_path / name) is found


def test_folders_are_recognised(tmp_path: Path) -> None:
    assert recognise(tmp_path) is Format.PARQUET
    (tmp_path / "slab=00000").mkdir()  # an unfinished one: what is there of it is not to be laid out
    assert recognise(tmp_path) is Format.TRACE
    (tmp_path / "slab=00000").rmdir()
    (tmp_path / "_trace.json").touch()
    assert recognise(tmp_path) is Format.TRACE
    (tmp_path / "letter").write_text("Dear all\n")
    with pytest.raises(
        InvalidTrace, match="letter is in no known format: expected one of trace, parquet, bonn"
    ):
        recognise(tmp_path / "letter")
    with pytest.raises(InvalidTrace, match="nowhere does not exist"):
        recognise(tmp_path / "nowhere")


# -- mistakes -------------------------------------------------------------------------------------------

HEAD = '<gpx xmlns="http://www.topografix.com/GPX/1/1">\n'
POINT = '<trkpt lat="1" lon="2"><time>2024-01-01T00:00:00Z</time></trkpt>'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.movements", "0 1 2\n0 1 2 3\n", "line 2: found '4 numbers': expected three for each waypoint"),
        ("a.movements", "0 1 two\n", "line 1: found 'two': expected a number"),
        ("a.movements", "0 1 nan\n", "line 1: found 'nan': expected a number"),
        ("a.movements", "5 1 1 4 1 1\n", "line 1: found 'time 4.0 after 5.0': expected times in order"),
        ("a.movements", "#3D\n0 1 2 3\n", "line 1: found '#3D': expected movement in a plane"),
        ("a.movements", "# nobody\n", "found no node: expected a line for each"),
        ("a.movements", "0 -1 2", r"x is -1.0 m: expected at least 0"),
        (
            "a.ns2",
            "# nodes: 1, duration: 9, max x: 4, max y: 5\n$node_(0) set X_ 4.5\n$node_(0) set Y_ 5\n",
            "x reaches 4.5 m, and the world 4.0 m: expected a world above 0 m with all places in it",
        ),
        ("a.one", "0 9 0 9 0 9\n0 a 1 99\n", "y reaches 99.0 m, and the world 9.0 m: expected"),
        ("a.one", "0 9 0 0 0 9\n0 a 0 1\n", "x reaches 0.0 m, and the world 0.0 m: expected"),
        ("a.ns2", "$node_(0) set X_ 1\n$node_(0) sit Y_ 1\n", "line 2: found .*sit Y_ 1.*: expected .node_"),
        ("a.ns2", "$node_(0) set X_ one\n", "line 1: found 'one': expected a number, X_"),
        (
            "a.ns2",
            '$ns_ at 1 "$node_(0) setdest 1 1 1"\n',
            "line 1: found 'no X_ and Y_ of node 0': expected where",
        ),
        (
            "a.ns2",
            '$ns_ at 1 "$node_(0) setdest 1 1 -1"\n',
            "line 1: found '-1': expected a speed of at least 0",
        ),
        (
            "a.ns2",
            '$ns_ at -1 "$node_(0) setdest 1 1 1"\n',
            "line 1: found '-1': expected a time of at least 0",
        ),
        ("a.ns2", '$ns_ at 1 "$node_(0) setdest 1 1"\n', "line 1: found"),
        ("a.ns2", "set val(x) 3\n", "found no node"),
        ("a.one", "0 1 0 1 0\n", "line 1: found '0 1 0 1 0': expected minT maxT"),
        ("a.one", "", "line 1: found '': expected minT maxT"),
        ("a.one", "0 1 0 1 0 x\n", "line 1: found 'x': expected a number"),
        ("a.one", "0 1 0 1 0 1\n", "found no position"),
        ("a.one", "0 9 0 9 0 9\n0 a 1 1\n1 a 1\n", "line 3: found '1 a 1': expected t id x y"),
        ("a.one", "0 9 0 9 0 9\n2 a 1 1\n1 a 1 1\n", "line 3: found 'time 1.0': expected at least 2.0"),
        ("a.gpx", "<gpx>\n<trk>", "line 2: found .*: expected XML"),
        ("a.gpx", "<kml/>", "line 1: found '<kml>': expected <gpx>"),
        ("a.gpx", f"{HEAD}</gpx>", "found no trk"),
        (
            "a.gpx",
            f"""{HEAD}<trk>{POINT.replace('"2"', '"179"')}{POINT.replace('"2"', '"-179"')}</trk></gpx>""",
            "longitudes span 358 degrees: expected at most 180",
        ),
        ("a.gpx", f"{HEAD}<trk></trk></gpx>", "line 2: found 'a trk without trkpt'"),
        (
            "a.gpx",
            f'{HEAD}<trk>\n<trkpt lat="1" lon="2"/></trk></gpx>',
            "line 3: found 'a trkpt without time'",
        ),
        (
            "a.gpx",
            f'{HEAD}<trk>\n<trkpt lat="91" lon="2"/></trk></gpx>',
            "line 3: found '91': expected lat from",
        ),
        ("a.gpx", f'{HEAD}<trk>\n<trkpt lon="2"/></trk></gpx>', "line 3: found '': expected a number, lat"),
        (
            "a.gpx",
            HEAD + POINT.replace("2024-01-01T", "noon "),
            "line 2: found 'noon .*: expected a time such as",
        ),
        (
            "a.gpx",
            f"{HEAD}<trk>{POINT}\n{POINT.replace('2024', '2023')}</trk></gpx>",
            "line 3: .*times in order",
        ),
        (
            "a.gpx",
            f'<?xml version="1.0"?>\n<!DOCTYPE gpx [<!ENTITY a "b">]>\n{HEAD}</gpx>',
            "line 2: found 'a declaration of gpx': expected none",
        ),
    ],
)
def test_mistakes_are_found(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidTrace, match=message) as error:
        read_waypoints(tmp_path / name)
    assert str(error.value).startswith(str(tmp_path / name))
    assert "\n" not in str(error.value)


def test_a_world_is_stated_that_has_all_places_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.movements"
    path.write_text("0 1 2 9 120.000061 2\n")
    params = tmp_path / "a.params"
    params.write_text("x=120\ny=50\n")  # which is as near as single precision comes
    assert read_waypoints(path)[1] == (120, 50)
    for x, y, found in ((100, 50, "x reaches 120.000061 m, and the world 100.0 m"), (200, -5, "y .* -5.0 m")):
        params.write_text(f"x={x}\ny={y}\n")
        with pytest.raises(InvalidTrace, match=rf"a.movements: {found}: expected a world above 0 m"):
            read_waypoints(path)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.one").write_bytes(b"0 1 0 1 0 1\n\xff\xfe")
    with pytest.raises(InvalidTrace, match=r"a.one, after line 0: found no text"):
        one.read(tmp_path / "a.one")
    (tmp_path / "a.movements.gz").write_bytes(gzip.compress(b"0 1 2\n" * 1000)[:-10])
    with pytest.raises(InvalidTrace, match=r"a.movements.gz, after line \d+: found no text"):
        bonnmotion.read(tmp_path / "a.movements.gz")
    for name in ("b.movements", "b.ns2"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x80")
        with pytest.raises(InvalidTrace, match=rf"{name}, .* found no text: .*: expected UTF-8"):
            read_waypoints(tmp_path / name)
    (tmp_path / "noise").write_bytes(b"\x1f\x8b\x08\x00" + b"\xff" * 60)  # begins like a packed file
    with pytest.raises(InvalidTrace, match="noise is in no known format"):
        recognise(tmp_path / "noise")
    (tmp_path / "a.params").write_text("duration=long\n")
    with pytest.raises(InvalidTrace, match=r"a.params, line 1: found 'long': expected a number, duration"):
        bonnmotion.read(tmp_path / "a.movements.gz")


def test_what_fails_leaves_no_file(tmp_path: Path) -> None:
    walk = Waypoints.of_tracks([(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0.0, 1.0]))])
    with pytest.raises(ZeroDivisionError):
        one.write(walk, tmp_path / "a.one", size=SIZE, step=0.0)
    with pytest.raises(AttributeError):
        gpx.write(walk, tmp_path / "a.gpx", origin=DARMSTADT, epoch=None)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
