from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bypass.cli import main
from bypass.models.engines import LocalEngine
from bypass.models.mobility import Darmstadt
from bypass.models.traces import Trace, write_trace

SCHEMES = "radial,ste:2,grid:5,egrid:10,attract,multi"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    out = tmp_path_factory.mktemp("traces") / "da"
    return write_trace(Darmstadt(), "darmstadt", out, clients=40, duration=60, seed=1, engine=LocalEngine())


def bypass(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert bypass(*words) == 2
    [line] = capsys.readouterr().err.splitlines()
    return line.removeprefix("bypass: error: ")


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
    }
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
        (("--radius", "0"), "radius is 0.0: expected greater than 0"),
        (("--interval", "nan"), "interval is nan: expected a finite number above 0"),
        (("--publications", "missing.parquet"), "missing.parquet"),
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
    nobody = pa.table({"t": [1.0], "client": [40], "x": [None], "y": [1.0]})
    for broken, complaint in (
        (nobody, "clients are 40 to 40: expected 0 to 39"),
        (nobody.set_column(1, "client", [[3]]), "a place has one coordinate only"),
        (nobody.set_column(1, "client", [[3]]).set_column(0, "t", [[-1.0]]), "column t has values"),
        (nobody.drop_columns("t"), "expected Parquet with t, client, x, y"),
        (nobody.slice(1), "has no rows: expected publications"),
    ):
        path = tmp_path / "broken.parquet"
        pq.write_table(broken, path)
        line = refusal(capsys, "evaluate", trace.path, "--publications", path, "--out", tmp_path / "out")
        assert complaint in line
        assert str(path) in line


def test_an_evaluation_is_not_overwritten(
    trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bypass("evaluate", trace.path, "--schemes", "radial", "--out", tmp_path) == 0
    capsys.readouterr()
    line = refusal(capsys, "evaluate", trace.path, "--schemes", "radial", "--out", tmp_path)
    assert line == f"{tmp_path} holds an evaluation already: expected another folder"
