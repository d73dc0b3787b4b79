from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from bypass.models.compute.engines import LocalEngine
from bypass.models.mobility import Darmstadt
from bypass.models.traces import Trace, write_trace
from tests.command import bypass, refused

pytestmark = pytest.mark.slow

SCHEMES = "radial,ste:2,grid:5,egrid:10,attract,multi"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    out = tmp_path_factory.mktemp("traces") / "da"
    return write_trace(Darmstadt(), "darmstadt", out, clients=40, duration=60, seed=1, engine=LocalEngine())


def refusal(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    """The line that the command says no with, after no more than which engine it would have used."""
    out, line = refused(capsys, *args)
    assert out == "" or (out.startswith("engine: ") and out.count("\n") == 1)
    return line


def summary(out: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return read


def test_a_table_a_picture_and_files(
    trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert (
        bypass("evaluate", trace.path, "--schemes", SCHEMES, "--workloads", "ar,lbs,rnd", "--out", out) == 0
    )
    said = capsys.readouterr().out
    assert "engine: local (7,200 events, up to 50,000,000)" in said
    for scheme in SCHEMES.split(","):
        assert f"\n{scheme} " in said
    written = summary(out)
    assert list(written["schemes"]) == SCHEMES.split(",")
    assert list(written["workloads"]) == ["ar", "lbs", "rnd"]
    assert written["schemes"] == written["workloads"]["ar"]["schemes"]
    assert written["schemes"]["radial"]["recall"] > 0.9
    assert {path.name for path in out.iterdir()} == {
        "summary.json",
        "pieces.json",
        "cells",
        "events",
        "schemes.png",
        "provenance.json",
    }
    found = json.loads((out / "provenance.json").read_text())
    assert (found["asked"]["schemes"], found["seeds"]) == (SCHEMES.split(","), [1])
    assert list(found["inputs"]) == [str(trace.path)]
    assert (out / "schemes.png").read_bytes().startswith(b"\x89PNG")


def test_recorded_publications_are_judged_like_the_workload_they_are_from(
    trace: Trace, tmp_path: Path
) -> None:
    assert (
        bypass("publications", trace.path, "--workload", "lbs", "--seed", 4, "--out", tmp_path / "table") == 0
    )
    assert (
        bypass(
            "evaluate",
            trace.path,
            "--schemes",
            SCHEMES,
            "--workloads",
            "lbs",
            "--seed",
            4,
            "--out",
            tmp_path / "model",
        )
        == 0
    )
    # Rows in no order at all, in a single file: recorded ones need not be tidy.
    table = pq.read_table(tmp_path / "table")
    shuffled = table.take(np.random.default_rng(1).permutation(len(table)))
    pq.write_table(shuffled, tmp_path / "shuffled.parquet")
    for name in ("table", "shuffled.parquet"):
        out = tmp_path / f"judged-{name}"
        assert (
            bypass(
                "evaluate",
                trace.path,
                "--schemes",
                SCHEMES,
                "--publications",
                tmp_path / name,
                "--seed",
                4,
                "--out",
                out,
            )
            == 0
        )
        assert summary(out)["workload"] == "recorded"
        assert summary(out)["schemes"] == summary(tmp_path / "model")["schemes"]


def test_publications_are_in_the_terms_of_the_positions(trace: Trace, tmp_path: Path) -> None:
    """Where those were recorded: with other times, far away, and with names for clients."""
    assert bypass("publications", trace.path, "--workload", "rnd", "--out", tmp_path / "events") == 0
    sources = {
        "positions": pa.concat_tables([pq.read_table(path, partitioning=None) for path in trace.files]),
        "events": pq.read_table(tmp_path / "events"),
    }
    # Seconds and metres that single and double precision keep exactly.
    far = {"t": 4096.0, "x": 2.0**19, "y": 2.0**22}
    for name, table in sources.items():
        moved = {axis: pc.add(pc.cast(table[axis], pa.float64()), by) for axis, by in far.items()}
        moved["client"] = pa.array([f"client {n:02d}" for n in table["client"].to_pylist()])
        pq.write_table(pa.table(moved), tmp_path / f"{name}.parquet")
    schemes = ("--schemes", "radial,ste")
    here, there = tmp_path / "here", tmp_path / "there"
    events = ("--publications", tmp_path / "events")
    assert bypass("evaluate", trace.path, *schemes, *events, "--out", here) == 0
    events = ("--publications", tmp_path / "events.parquet")
    assert bypass("evaluate", tmp_path / "positions.parquet", *schemes, *events, "--out", there) == 0
    # The least coordinates become 0, so places differ by rounding: figures agree but for events at a border.
    for scheme in ("radial", "ste:1.5"):
        one, other = (summary(out)["schemes"][scheme] for out in (here, there))
        assert one["deliveries"] == pytest.approx(other["deliveries"], abs=2)
        assert one["recall"] == pytest.approx(other["recall"], abs=1e-3)
    assert summary(here)["events"] == summary(there)["events"] == 40 * 60


def test_other_parquet_of_positions_is_laid_out_first(trace: Trace, tmp_path: Path) -> None:
    table = pa.concat_tables([pq.read_table(path, partitioning=None) for path in trace.files])
    pq.write_table(table.take(np.random.default_rng(2).permutation(len(table))), tmp_path / "some.parquet")
    for source, name in ((trace.path, "trace"), (tmp_path / "some.parquet", "other")):
        assert bypass("evaluate", source, "--schemes", "radial,ste", "--out", tmp_path / name) == 0
    assert summary(tmp_path / "other")["schemes"] == summary(tmp_path / "trace")["schemes"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--schemes", "radar"), "scheme 'radar' is unknown: expected one of radial, ste, grid"),
        (("--schemes", "grid:0"), "scheme 'grid:0': grid is '0': expected greater than or equal to 1"),
        (("--schemes", "radial:3"), "scheme 'radial:3': expected radial alone"),
        (("--schemes", "ste,ste:1.5"), "scheme ste:1.5 is asked for twice: expected once"),
        (("--schemes", ","), "no scheme is asked for: expected at least one"),
        (("--workloads", "mmo"), "workload 'mmo' is unknown: expected one of ar, lbs, rnd"),
        (("--radius", "0"), "radius is 0.0 m: expected 1 to 20000000"),
        (("--radius", "1e-300"), "radius is 1e-300 m: expected 1 to"),
        (("--seed", "-1"), "seed is -1: expected 0 to 2**64 - 1"),
        (("--cell", "0.0005"), "cell is 0.0005 m: expected at most 1,000,000 cells"),
        (("--schemes", "ste:1,ste:1.0000001"), "scheme ste:1 is asked for twice: expected once"),
        (("--workloads", ","), "no workload is asked for: expected at least one"),
        (("--interval", "nan"), "interval is nan s: expected 0.001 to 86400"),
        (("--publications", "missing.parquet"), "missing.parquet does not exist"),
        (("--publications", "a", "--workloads", "ar"), "expected one of them"),
        (
            ("--engine", "local", "--master", "spark://host:1"),
            "--master spark://host:1: expected --engine spark",
        ),
    ],
)
def test_requests_that_make_no_sense_are_refused_in_one_line(
    trace: Trace,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    complaint: str,
) -> None:
    assert complaint in refusal(capsys, "evaluate", trace.path, *words, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_publications_that_do_not_fit_the_trace(
    trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = pa.table({"t": [1.0], "client": [3], "x": [2.0], "y": [1.0]})
    for column, values, complaint in (
        ("client", pa.array([40]), "client is 40: expected a client of the trace"),
        ("client", pa.array([None], pa.int64()), "client is null: expected a client of the trace"),
        ("client", pa.array(["a"]), "client is of type string: expected whole numbers"),
        ("client", pa.array([0.7]), "client is of type double: expected whole numbers"),
        ("x", pa.array([None], pa.float64()), "x or y is missing: expected both, or none of them"),
        ("x", pa.array([np.inf]), "x or y is inf: expected finite numbers"),
        ("y", pa.array(["1"]), "y is of type string: expected numbers"),
        ("t", pa.array([-1.0]), "t is -1.0: expected seconds from 0 on, as in the trace"),
        ("t", pa.array([None], pa.float64()), "t is nan: expected seconds from 0 on"),
        ("t", pa.array([1], pa.timestamp("us")), "t is of type timestamp[us]: expected numbers"),
        ("t", pa.array([60.0]), "has 1 publications, all of them later: expected some before 60 s"),
        ("t", None, "has no column t: expected t, client, x, y"),
    ):
        path = tmp_path / "broken.parquet"
        changed = good.drop_columns(column)
        pq.write_table(changed if values is None else changed.append_column(column, values), path)
        line = refusal(capsys, "evaluate", trace.path, "--publications", path, "--out", tmp_path / "out")
        assert complaint in line
        assert str(path) in line
        assert not (tmp_path / "out").exists()


def test_publications_after_the_end_are_left_out_and_said_to_be(
    trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = [0.0, 59.9999994, 59.9999996, 60.0, 500.0]  # the third is 60 s when rounded to microseconds
    places = {"x": [650.0] * 5, "y": [650.0] * 5}
    pq.write_table(pa.table({"t": times, "client": [1] * 5, **places}), tmp_path / "five.parquet")
    out = tmp_path / "out"
    assert bypass("evaluate", trace.path, "--publications", tmp_path / "five.parquet", "--out", out) == 0
    assert "; 3 events after the trace's end are left out" in capsys.readouterr().out
    assert (summary(out)["events"], summary(out)["late"]) == (2, 3)


def test_events_that_concern_nobody_have_no_recall(tmp_path: Path) -> None:
    alone = write_trace(
        Darmstadt(), "darmstadt", tmp_path / "one", clients=1, duration=5, seed=1, engine=LocalEngine()
    )
    assert bypass("evaluate", alone.path, "--schemes", "radial,grid:2", "--out", tmp_path / "out") == 0
    assert summary(tmp_path / "out")["schemes"]["radial"]["recall"] is None
    assert summary(tmp_path / "out")["schemes"]["grid:2"]["precision"] is None


def test_what_fails_leaves_nothing_behind(
    trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(trace.path, broken)
    last = sorted(broken.rglob("*.parquet"))[-1]
    last.write_bytes(last.read_bytes()[:-100])
    assert "cannot be read" in refusal(capsys, "evaluate", broken, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    table = pa.concat_tables([pq.read_table(path, partitioning=None) for path in trace.files])
    pq.write_table(table, tmp_path / "some.parquet")
    wrong = ("--schemes", "attract", "--out", tmp_path / "new" / "out")
    line = refusal(capsys, "evaluate", tmp_path / "some.parquet", *wrong)
    assert "has no attraction points" in line
    assert not (tmp_path / "new" / "out").exists()
    assert f"{trace.path}/out is in the trace" in refusal(
        capsys, "evaluate", trace.path, "--out", trace.path / "out"
    )


def test_an_evaluation_is_not_overwritten(
    trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bypass("evaluate", trace.path, "--schemes", "radial", "--out", tmp_path) == 0
    capsys.readouterr()
    line = refusal(capsys, "evaluate", trace.path, "--schemes", "radial", "--out", tmp_path)
    assert line.startswith(f"{tmp_path} has events, maybe of another evaluation: expected")


def test_a_workload_of_ones_own_is_named_by_its_file(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(
        "from bypass.models.workloads import RND\n\n\nclass EverySecond(RND):\n    pass\n"
    )
    for workload, out in (("rnd", "a"), ("own.py:EverySecond", "b")):
        assert bypass("evaluate", trace.path, "--workloads", workload, "--out", out) == 0
    assert summary(Path("b"))["schemes"] == summary(Path("a"))["schemes"]
    assert list(summary(Path("b"))["workloads"]) == ["every-second"]
    assert Path("b/events/every-second").is_dir()
    found = json.loads(Path("b/provenance.json").read_text())
    assert str(tmp_path / "own.py") in found["inputs"]


def test_a_scheme_of_ones_own_that_is_none_is_refused(
    trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    said = refusal(capsys, "evaluate", trace.path, "--mechanism", "no.py:Scheme", "--out", out)
    assert "no.py:Scheme: expected module:Class, an import path, or file.py:Class" in said
    assert not out.exists()
