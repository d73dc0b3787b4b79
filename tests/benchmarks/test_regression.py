"""Two commits are told apart by their results, each runs its own code, and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.benchmarks.runs import FOLDER, REGRESSION, runs_and_writes_json

sys.path.insert(0, str(FOLDER))  # as if a script of that folder ran

import regression
from regression_checkout import Checkout, TaskFailed, git
from regression_difference import Difference, differences

ROOT = FOLDER.parent
# Streets and many clients would take longer than all else that happens here.
FEW = "about: x\nclients: 6\nduration: 6\nmobility: {model: rwp}\nworkload: {model: rnd, radius: 500}\n"
LATENCY = "latency: float = Field(default=0.1,"

in_git = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the commits of the project")


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each commit would compile its kernels first, for half a minute. So few clients do not need them."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The project, in a repository in which a test can change something."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(tmp_path / "clone")], check=True)
    return tmp_path / "clone"


def worktrees(repository: Path) -> int:
    return git(repository, "worktree", "list", "--porcelain").count("worktree ")


@pytest.fixture
def scenarios(tmp_path: Path) -> list[str]:
    """One scenario has another latency if that of the simulator changes; the other has its own."""
    (tmp_path / "usual.yaml").write_text(FEW, encoding="utf-8")
    (tmp_path / "own.yaml").write_text(f"{FEW}network: {{latency: 0.05}}\n", encoding="utf-8")
    return [str(tmp_path / name) for name in ("usual.yaml", "own.yaml")]


@in_git
@pytest.mark.bench
@pytest.mark.parametrize("name", REGRESSION)
def test_a_commit_gives_the_same_results_as_itself(name: str, tmp_path: Path) -> None:
    runs_and_writes_json(name, tmp_path)
    (verdict,) = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))["results"]
    assert (verdict["name"], verdict["outcome"]) == ("market-day", "same")
    assert verdict["rows"] > 0


@in_git
@pytest.mark.bench
def test_a_change_that_is_not_committed_yet_is_found_where_it_matters(
    clone: Path, scenarios: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = clone / "bypass" / "sim" / "cellular.py"
    text = source.read_text(encoding="utf-8")
    assert LATENCY in text
    source.write_text(text.replace(LATENCY, LATENCY.replace("0.1", "0.2")), encoding="utf-8")
    monkeypatch.setattr(regression, "ROOT", clone)
    arguments = ["regression.py", "HEAD", "--scenarios", *scenarios, "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as end:
        regression.main()
    assert end.value.code == 1
    usual, own = json.loads((tmp_path / "regression.json").read_text(encoding="utf-8"))["results"]
    assert (usual["name"], usual["outcome"]) == ("usual", "differs")
    assert usual["where"][0].startswith("out/events.parquet, rows[0], ")
    assert any(place.startswith("out/summary.json, ") for place in usual["where"])
    assert (own["name"], own["outcome"], own["where"]) == ("own", "same", [])
    assert own["rows"] > 0
    assert worktrees(clone) == 1
    assert git(clone, "status", "--porcelain") == "M bypass/sim/cellular.py"  # not in the index


@in_git
@pytest.mark.bench
@pytest.mark.parametrize(("sent", "while_they"), [(signal.SIGINT, "run"), (signal.SIGTERM, "begin")])
def test_who_interrupts_it_finds_nothing_left(
    clone: Path, scenarios: list[str], tmp_path: Path, sent: signal.Signals, while_they: str
) -> None:
    shutil.copytree(FOLDER, clone / "benchmarks", dirs_exist_ok=True)  # as it is, committed or not
    (folder := tmp_path / "temporary").mkdir()
    command = [sys.executable, str(clone / "benchmarks" / "regression.py"), "--scenarios", scenarios[0]]
    process = subprocess.Popen(
        command,
        env=os.environ | {"TMPDIR": str(folder)},
        stderr=subprocess.PIPE,
        # Whoever runs the tests in the background has them, and their children, ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    children = Path("/proc", str(process.pid), "task", str(process.pid), "children")

    def moment() -> bool:
        """Both commits run, or are asked what they know."""
        return bool(list(folder.glob("*/usual/*"))) if while_they == "run" else both_began()

    def both_began() -> bool:
        return len(children.read_text().split()) == 2

    while not moment():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(sent)
    assert process.communicate()[1] == b"interrupted\n"
    assert process.returncode == 1
    assert list(folder.iterdir()) == []
    assert worktrees(clone) == 1


@pytest.mark.slow
def test_code_from_elsewhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty checkout, and the library is installed: without the check, that would run."""
    monkeypatch.chdir(tmp_path)
    empty = Checkout("empty", "0" * 40, tmp_path / "empty", tmp_path / "kernels")
    with pytest.raises(TaskFailed, match=r"comes from .*: expected from .*empty"):
        asyncio.run(empty.run("command", "scenarios", cwd=tmp_path))


def test_what_is_no_commit_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["regression.py", "nothing-of-that-name"])
    with pytest.raises(SystemExit) as end:
        regression.main()
    assert end.value.code == 2
    assert "'nothing-of-that-name' is no commit of" in capsys.readouterr().err


def written(folder: Path, summary: dict[str, Any], values: list[Any]) -> Path:
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    (folder / "provenance.json").write_text(json.dumps({"made": folder.name}), encoding="utf-8")
    pq.write_table(pa.table({"value": values}), folder / "events.parquet", compression="none")
    return folder


@pytest.mark.parametrize(
    ("summary", "values", "found"),
    [
        ({"wall_s": 2.0, "runs": [{"wall_s": 1.0, "recall": 0.5}]}, [0.0, math.nan, None], None),
        (
            {"runs": [{"recall": 0.25}]},
            [0.0, math.nan, None],
            ("summary.json, runs[0], recall", "0.5", "0.25"),
        ),
        ({"runs": [{}]}, [0.0, math.nan, None], ("summary.json, runs[0], recall", "0.5", "absent")),
        ({"runs": []}, [0.0, math.nan, None], ("summary.json, runs", "1 entries", "0 entries")),
        ({"runs": [{"recall": 0.5}]}, [0.0, math.nan], ("events.parquet, rows", "3 entries", "2 entries")),
        ({"runs": [{"recall": 0.5}]}, [0.0, 0.0, None], ("events.parquet, rows[1], value", "nan", "0.0")),
        (
            {"runs": [{"recall": 0.5}]},
            [-0.0, math.nan, None],
            ("events.parquet, rows[0], value", "0.0", "-0.0"),
        ),
        ({"runs": [{"recall": 0.5}]}, [0, 1, None], ("events.parquet, columns, value", "double", "int64")),
    ],
)
def test_the_first_difference_is_named(
    summary: dict[str, Any], values: list[Any], found: tuple[str, str, str] | None, tmp_path: Path
) -> None:
    before = {"wall_s": 1.0, "runs": [{"recall": 0.5, "wall_s": 3.0}]}
    old = written(tmp_path / "old", before, [0.0, math.nan, None])
    expected = [] if found is None else [Difference(*found)]
    assert differences(old, written(tmp_path / "new", summary, values))[:1] == expected


def test_all_differences_are_listed_and_those_of_further_rows_are_counted(tmp_path: Path) -> None:
    old = written(tmp_path / "old", {"recall": 0.5, "runs": [{"sent": 1}]}, [1, 2, 3, 4])
    new = written(tmp_path / "new", {"recall": 1.0, "runs": [{"sent": 2}, {}]}, [1, 0, 3, 0])
    (new / "log.jsonl").write_text("{}\n", encoding="utf-8")
    assert [str(each) for each in differences(old, new)] == [
        "events.parquet, rows[1], value: 2 before, 0 now (1 more)",
        "log.jsonl: absent before, there now",
        "summary.json, recall: 0.5 before, 1.0 now",
        "summary.json, runs: 1 entries before, 2 entries now",
        "summary.json, runs[0], sent: 1 before, 2 now",
    ]


def test_a_file_that_one_has_alone_is_a_difference(tmp_path: Path) -> None:
    old, new = (written(tmp_path / name, {}, [1]) for name in ("old", "new"))
    (new / "runs").mkdir()
    (new / "runs" / "transitions.jsonl").write_text("{}\n", encoding="utf-8")
    assert differences(old, new) == [Difference("runs/transitions.jsonl", "absent", "there")]
