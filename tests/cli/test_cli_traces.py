from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from bypass.models.maps import darmstadt, street_grid, write_map
from bypass.models.traces import Trace
from bypass.models.traces.formats import bonnmotion, gpx, ns2, one
from tests.command import bypass, refusal

SMALL = ("--clients", 12, "--duration", 40)


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)


def test_a_folder_is_made_and_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        bypass("traces", "rwp", *SMALL, "--seed", 3, "--set", "speed=[1,3]", "--digest", "--out", "out/rwp")
        == 0
    )
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "engine: local (492 rows, up to 50,000,000)"
    assert re.fullmatch(
        r"12 clients, 40 s, 492 rows in 2 files, 0.0 MB, \d+\.\d million rows/s: out/rwp", lines[1]
    )
    trace = Trace.open(Path("out/rwp"))
    assert lines[2] == f"digest: {trace.digest()}"
    assert len(lines) == 3
    assert err == ""
    assert (trace.model, trace.seed, trace.parameters["speed"]) == ("rwp", 3, [1.0, 3.0])
    found = json.loads(Path("out/rwp/_provenance.json").read_text())
    assert (found["asked"]["model"], found["asked"]["parameters"]["speed"]) == ("rwp", [1.0, 3.0])
    assert (found["seeds"], found["inputs"]) == ([3], {})


def test_options_spread_the_same_rows_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("traces", "rwp", *SMALL, "--step", 0.5, "--out", "a") == 0
    assert bypass("traces", "rwp", *SMALL, "--step", 0.5, "--slab", 5, "--partitions", 3, "--out", "b") == 0
    one_, other = Trace.open(Path("a")), Trace.open(Path("b"))
    assert (len(one_.files), len(other.files)) == (2, 24)
    assert one_.digest() == other.digest()
    assert one_.samples == 81


def test_a_slab_is_some_steps_unless_somebody_says_otherwise() -> None:
    assert bypass("traces", "rwp", *SMALL, "--step", 7, "--out", "a") == 0
    assert Trace.open(Path("a")).slab == 21
    assert bypass("traces", "rwp", *SMALL, "--step", 7, "--format", "one", "--out", "a.one") == 0


def test_of_one_position_there_are_no_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"t": [5.0], "client": [1], "x": [3.0], "y": [4.0]}), "one.parquet")
    assert bypass("traces", "one.parquet", "--statistics", "--out", "a") == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("no statistics: ")


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_makes_the_same_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("traces", "rwp", *SMALL, "--digest", "--out", "here") == 0
    here = capsys.readouterr().out.splitlines()[-1]
    options = ("--engine", "spark", "--master", "local[1]", "--partitions", 2)
    assert bypass("traces", "rwp", *SMALL, *options, "--digest", "--out", "there") == 0
    assert capsys.readouterr().out.splitlines()[-1] == here


def test_a_map_file_is_walked_on() -> None:
    write_map(street_grid(), Path("town.json"))
    assert bypass("traces", "town.json", *SMALL, "--set", "targets=random", "--out", "a") == 0
    assert (
        bypass("traces", "map", *SMALL, "--set", "targets=random", "--set", "map=town.json", "--out", "b")
        == 0
    )
    one_, other = Trace.open(Path("a")), Trace.open(Path("b"))
    assert (one_.model, one_.parameters["map"]) == ("map", "town.json")
    assert one_.digest() == other.digest()


def test_gpx_keeps_its_place_on_earth() -> None:
    """From a map, by way of a folder, and from GPX: places stay, to a centimetre."""
    for source, out in (("map", "map.gpx"), ("map", "walk"), ("walk", "walk.gpx"), ("walk.gpx", "back")):
        options = ("--format", "gpx") if out.endswith(".gpx") else ()
        chosen = ("--set", "map=darmstadt") if source == "map" else ()
        assert bypass("traces", source, *SMALL, *options, *chosen, "--out", out) == 0
    assert bypass("traces", "back", "--format", "gpx", "--out", "back.gpx") == 0
    plane = darmstadt().projection
    assert plane is not None
    first, then, last = (gpx.read(Path(name), plane.origin) for name in ("map.gpx", "walk.gpx", "back.gpx"))
    for t in np.arange(41.0):
        assert np.allclose(then.positions(t), last.positions(t), rtol=0, atol=0.01)
    for t in (0.0, 40.0):  # between samples, corners are cut
        assert np.allclose(first.positions(t), then.positions(t), rtol=0, atol=0.01)
    assert 0 <= first.x.min() <= first.x.max() <= darmstadt().width


def test_statistics_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ((), ("--format", "ns2")):
        assert bypass("traces", "rwp", *SMALL, *options, "--statistics", "--out", f"a{len(options)}") == 0
        figures = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()[-30:])
        assert (figures["clients"], figures["samples"]) == ("12", "41")
        assert 1 <= float(figures["speed_mean_mps"]) <= 2


@pytest.mark.parametrize(
    ("form", "name"),
    [("bonnmotion", "a.movements"), ("ns2", "a.ns_movements"), ("one", "a.one"), ("gpx", "a.gpx")],
)
def test_traces_go_to_other_tools_and_come_back(
    capsys: pytest.CaptureFixture[str], form: str, name: str
) -> None:
    assert bypass("traces", "rwp", *SMALL, "--out", "trace") == 0
    assert bypass("traces", "trace", "--format", form, "--out", f"deep/{name}") == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(rf"12 clients, 40 s, \d\.\d MB: deep/{name}", said)
    beside = json.loads(Path(f"deep/{name}.provenance.json").read_text())
    assert list(beside["inputs"]) == [str(Path("trace").absolute())]
    assert bypass("traces", f"deep/{name}", "--out", "again") == 0
    trace, again = Trace.open(Path("trace")), Trace.open(Path("again"))
    assert (again.clients, again.samples, again.model) == (12, 41, "playback")
    if form != "gpx":  # which has no room for the size of the world and for where it is
        assert again.size == trace.size
        x, _ = trace.read(0, 41)
        assert abs(again.read(0, 41)[0] - x).max() < 2e-4  # single precision, near 1300 m


def test_files_of_other_tools_have_what_the_model_says() -> None:
    assert (
        bypass("traces", "rwp", *SMALL, "--seed", 4, "--format", "bonnmotion", "--out", "a.movements.gz") == 0
    )
    params = Path("a.params").read_text().splitlines()
    assert {"model=RandomWaypoint", "randomSeed=4", "x=1300.0", "duration=40.0", "nn=12"} <= set(params)
    for form, module in (("ns2", ns2), ("one", one), ("gpx", gpx)):
        assert bypass("traces", "rwp", *SMALL, "--seed", 4, "--format", form, "--out", f"a.{form}") == 0
        assert len(module.read(Path(f"a.{form}"))) == len(bonnmotion.read(Path("a.movements.gz"))) == 12


def test_parquet_of_another_layout_is_laid_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("traces", "rwp", *SMALL, "--out", "trace") == 0
    rows = ds.dataset("trace").to_table().sort_by("x")
    pq.write_table(rows.append_column("note", pa.nulls(len(rows))), "rows.parquet")
    assert bypass("traces", "rows.parquet", "--slab", 4, "--out", "again") == 0
    assert "engine: local (492 rows, " in capsys.readouterr().out
    assert Trace.open(Path("again")).digest() == Trace.open(Path("trace")).digest()


def test_parquet_in_a_reference_system_becomes_metres(capsys: pytest.CaptureFixture[str]) -> None:
    ways = {"t": [0.0, 9.0], "client": [0, 0], "x": [475_000.0, 475_030.0], "y": [5_524_000.0, 5_524_040.0]}
    pq.write_table(pa.table(ways), "utm.parquet")
    assert bypass("traces", "utm.parquet", "--crs", "EPSG:25832", "--step", 9, "--out", "a") == 0
    trace = Trace.open(Path("a"))
    x, y = trace.read(0, 2)
    assert np.hypot(x[1] - x[0], y[1] - y[0]).item() == pytest.approx(50, abs=0.2)  # UTM's own scale
    assert trace.georeference is not None
    assert (trace.georeference.lat, trace.georeference.lon) == pytest.approx((49.87, 8.65), abs=0.01)


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["rpw"], "MODEL 'rpw' is unknown: expected a map, a trace or one of "),
        (["town.json"], "map: "),
        (["rwp", "--clients", "0"], "clients is 0: expected 1 to 2**31 - 1"),
        (["rwp", "--duration", "-1"], "duration is -1.0 s: expected a finite time above 0"),
        (["rwp", "--seed", "-1"], "seed is -1: expected 0 to 2**64 - 1"),
        (["rwp", "--step", "0"], "step is 0.0 s: expected a finite time of at least a microsecond"),
        (["rwp", "--step", "1e-7"], "step is 1e-07 s: expected a finite time of at least a microsecond"),
        (["rwp", "--step", "0", "--format", "one"], "step is 0.0 s: expected a finite time of at least"),
        (["rwp", "--step", "3", "--slab", "20"], "slab is 20.0 s: expected a multiple of the step, 3.0 s"),
        (
            ["rwp", "--duration", "0.5", "--statistics"],
            "--statistics with 0.5 s, a position each 1 s: expected",
        ),
        (["noise.movements"], "noise.movements, line 1: found no text: "),
        (["noise.ns2"], "noise.ns2, after line 0: found no text: "),
        (["rows"], "rows/readme.txt"),
        (["rwp", "--set", "speed=fast"], "rwp: speed is 'fast': "),
        (["rwp", "--set", "colour=red"], "rwp: colour is unknown: expected one of "),
        (["playback"], "playback: path is missing"),
        (["rwp", "--crs", "EPSG:25832"], "--crs with no Parquet of another layout: expected nothing"),
        (["rows.parquet", "--crs", "EPSG:1"], "crs 'EPSG:1': "),
        (["rwp", "--format", "csv"], "Invalid value for '--format': 'csv' is not one of "),
        (["rwp", "--format", "one", "--engine", "local"], "--engine with --format one: expected nothing"),
        (["rwp", "--format", "gpx", "--digest"], "--digest with --format gpx: expected nothing"),
        (["rwp", "--engine", "local", "--master", "x"], "--master x: expected --engine spark with it"),
        (["letter.txt"], "letter.txt is in no known format: expected one of "),
        (["bad.movements"], "bad.movements, line 1: found '2 numbers': expected three for each waypoint"),
        (["unfinished"], "unfinished has no _trace.json: expected a trace that was written to its end"),
        (["scene.one", "--clients", "3"], "clients is 3: expected at most 1, as many as scene.one has"),
        (
            ["scene.one", "--duration", "3"],
            "duration is 3.0 s: expected at most 1.0 s, as long as scene.one lasts",
        ),
        (["scene.one", "--set", "speed=1"], "--set with a trace: expected nothing"),
        (["rows.parquet", "--clients", "3"], "--clients with Parquet that is laid out: expected nothing"),
        (
            ["rows.parquet", "--format", "one"],
            "--format one with Parquet of another layout: expected a trace of ours",
        ),
        (
            ["rows.parquet", "--engine", "local"],
            "rows.parquet has no column client: expected t, client, x, y",
        ),
    ],
)
def test_mistakes_take_one_line_and_write_nothing(
    capsys: pytest.CaptureFixture[str], args: list[str], complaint: str
) -> None:
    Path("letter.txt").write_text("Dear all")
    Path("bad.movements").write_text("0 1")
    Path("scene.one").write_text("0 1 0 9 0 9\n0 a 1 1\n1 a 2 2\n")
    Path("unfinished/slab=00000").mkdir(parents=True)
    pq.write_table(pa.table({"t": [0.0]}), "rows.parquet")
    Path("rows").mkdir()
    pq.write_table(pa.table({"t": [0.0]}), "rows/a.parquet")
    for name in ("noise.movements", "noise.ns2", "rows/readme.txt"):
        Path(name).write_bytes(b"\xff\xfe\x80" * 100)
    before = sorted(Path().rglob("*"))
    line = refusal(capsys, "traces", *args, "--out", "out/a")
    assert complaint in line
    assert sorted(Path().rglob("*")) == before


def test_what_is_in_the_way_stays(capsys: pytest.CaptureFixture[str]) -> None:
    Path("full").mkdir()
    Path("full/letter").write_text("dear")
    Path("a.params").write_text("mine")
    assert (
        refusal(capsys, "traces", "rwp", "--out", "full")
        == "full is in the way: expected a new or an empty folder"
    )
    line = refusal(capsys, "traces", "rwp", "--out", "full/letter/a")
    assert line.endswith("full/letter: is in the way: expected a directory")
    for form, out, taken in (
        ("one", "full/letter", "full/letter"),
        ("bonnmotion", "a.movements", "a.params"),
    ):
        line = refusal(capsys, "traces", "rwp", "--format", form, "--out", out)
        assert line == f"{taken} is in the way: expected a new file"
    assert Path("full/letter").read_text() == "dear"
    assert Path("a.params").read_text() == "mine"


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("traces", "--help") == 0
    text = capsys.readouterr().out
    for word in (
        "bypass traces rwp --out",
        "_trace.json",
        "--format",
        "GPX",
        "bypass traces positions.parquet",
    ):
        assert word in text


def test_a_trace_that_was_killed_is_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """Killed while it writes the second slab of many."""
    code = """
import os, signal, sys
from bypass.models.traces import blocks
write = blocks.block_file
blocks.block_file = lambda folder, slab, first: (
    os.kill(os.getpid(), signal.SIGKILL) if slab == 2 else write(folder, slab, first)
)
from bypass.cli import main
main(["traces", "rwp", "--duration", "100", "--clients", "5", "--out", "killed"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(list(Path("killed").rglob("*.parquet"))) == 2
    assert refusal(capsys, "traces", "killed", "--out", "again") == (
        "killed has no _trace.json: expected a trace that was written to its end"
    )
    assert json.dumps(sorted(str(path) for path in Path().iterdir())) == '["killed"]'


def test_a_model_of_ones_own_is_named_by_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.py").write_text(
        "from bypass.models.mobility import RandomWaypoint\n\n\nclass Strollers(RandomWaypoint):\n    pass\n"
    )
    for model in ("rwp", "own.py:Strollers"):
        assert bypass("traces", model, *SMALL, "--set", "speed=[1,3]", "--out", model.partition(".")[0]) == 0
    assert Trace.open(Path("own")).digest() == Trace.open(Path("rwp")).digest()
    capsys.readouterr()
    assert "own.py:Nobody: expected module:Class" in refusal(capsys, "traces", "own.py:Nobody", "--out", "x")
