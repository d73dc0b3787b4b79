import json
import os
import select
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from bypass.cli.group import INTERRUPTED
from bypass.scenarios.runs.runner import run
from tests.command import COMMAND, bypass, on_a_terminal

# Sweeps start Spark.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

ONE_CORE = ("--master", "local[1]")  # each of its workers would import everything

# Members cannot be moved without state transfer, which turns out when the plan is executed.
TINY = """
about: Two phases
clients: 8
duration: 20
mobility: {model: rwp, width: 300, height: 300}
filter: {scheme: ste}
timeline:
  - {at: 10, phase: cells, plan: {plan: two, actions: [{proxy: filter, to: grid, members: [0, 1]}]}}
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small experiment in the current directory, which is empty otherwise."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def test_a_sweep_prints_means_and_is_run_once(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = (
        "--seeds",
        "1..2,5",
        "--grid",
        "filter.alpha=0.5, 4",
        "--grid",
        "clients=6,8",
        "--set",
        "grace=0",
    )
    assert bypass("sweep", tiny, *options, "--master", "local[2]", "--out", "out") == 0
    out, err = capsys.readouterr()
    title, *rows, last = out.splitlines()
    assert title.split()[:5] == ["filter.alpha", "clients", "variant", "phase", "runs"]
    assert [row.split()[:5] for row in rows] == [
        [alpha, clients, "tiny", phase, "3"]
        for alpha in ("0.5", "4")
        for clients in ("6", "8")
        for phase in ("ste", "cells")
    ]
    assert len({len(row) for row in (title, *rows)}) == 1
    assert last == "results: out/results.parquet"
    assert err == ""
    (first, *_) = json.loads(Path("out/means.json").read_text())
    assert f"{100 * first['recall']:.1f} ± {100 * first['recall_std']:.1f}" in rows[0]
    assert len(list(Path("out/runs").iterdir())) == 12

    monkeypatch.setenv("JAVA_HOME", str(tiny))  # where nothing can be started any more
    assert bypass("sweep", tiny, *options, "--out", "out") == 0
    assert capsys.readouterr().out == out
    assert bypass("sweep", tiny, *options, "--seeds", "6", "--out", "out") == 2


def test_options_reach_the_runs(tiny: Path) -> None:
    options = ("--duration", 10, "--clients", 5, "--set", "filter.alpha=3")
    assert bypass("sweep", tiny, "--seeds", "4", "--seeds", "2", *options, *ONE_CORE, "--out", "out") == 0
    records = {path.name: json.loads(path.read_text()) for path in Path("out/runs").iterdir()}
    assert sorted(record["seed"] for record in records.values()) == [2, 4]
    expected = run(tiny, seed=2, duration=10, clients=5, set={"filter.alpha": 3}).summary()
    (record,) = [record for record in records.values() if record["seed"] == 2]
    del expected["wall_s"], record["summary"]["wall_s"]
    assert record["summary"] == expected


def test_runs_that_failed_are_listed(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--seeds", "1,2", "--grid", "state_transfer=true,false", *ONE_CORE, "--out", "out")
    for _ in range(2):
        assert bypass("sweep", tiny, *options) == 1
        out, err = capsys.readouterr()
        assert [row.split()[:4] for row in out.splitlines()[1:4]] == [
            ["True", "tiny", "ste", "2"],
            ["True", "tiny", "cells", "2"],
            ["False", "tiny", "-", "0"],
        ]
        assert err.splitlines() == [
            f"bypass: failed: state_transfer=False variant=tiny seed={seed}: InvalidPlan:"
            " plan 'two' names members: expected none, without state transfer"
            for seed in (1, 2)
        ]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--seeds", "1-3"], "--seeds '1-3': expected a range such as 1..10 or a list such as 1,4,9"),
        (["--seeds", "3..1"], "--seeds '3..1': expected a range such as 1..10 or a list such as 1,4,9"),
        (["--seeds", "1,"], "--seeds '1,': expected a range such as 1..10 or a list such as 1,4,9"),
        (["--seeds", "1..3,2"], "seeds has 2 2 times: expected different values"),
        (["--seeds", f"{2**64}"], f"seed is {2**64}: expected 0 to 2**64 - 1"),
        ([], "Missing option '--seeds'."),
        (
            ["--seeds", "1", "--grid", "clients"],
            "--grid 'clients': expected KEY=VALUE,VALUE, such as filter.alpha=0.5,1.5",
        ),
        (
            ["--seeds", "1", "--grid", "clients=1", "--grid", "clients=2"],
            "--grid 'clients=2': clients has a grid already: expected all values in one",
        ),
        (["--seeds", "1", "--grid", "clients="], "grid key 'clients' has no values: expected at least one"),
        (
            ["--seeds", "1", "--grid", "clients=5,0"],
            "grid point clients=0: tiny.yaml: clients is 0: expected greater than or equal to 1",
        ),
        (["--seeds", "1", "--clients", "0"], "tiny.yaml: clients is 0: expected greater than or equal to 1"),
        (
            ["--seeds", "1", "--master", "here"],
            "master is 'here': expected local[N], spark://HOST:PORT, yarn or k8s://URL",
        ),
    ],
)
def test_mistakes_take_one_line(
    tiny: Path, capsys: pytest.CaptureFixture[str], options: list[str], complaint: str
) -> None:
    assert bypass("sweep", "tiny.yaml", *options, "--out", "out") == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"bypass: error: {complaint}\n")
    assert list(tiny.parent.iterdir()) == [tiny]


def test_a_file_in_the_way(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("sweep", tiny, "--seeds", "1", "--out", tiny) == 2
    assert capsys.readouterr().err == f"bypass: error: {tiny}: is in the way: expected a directory\n"


def test_a_missing_java_takes_one_line(tiny: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {
        "PATH": "/none"
    }
    command = [*COMMAND, "sweep", "tiny.yaml", "--seeds", "1", "--out", "out"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "bypass: error: Spark needs Java and there is none: install Java 17"
        " (Debian: apt install openjdk-17-jre-headless) or set JAVA_HOME\n"
    )
    assert list(tiny.parent.iterdir()) == [tiny]


# -- a terminal and Spark -------------------------------------------------------------------------------


def descendants(process: int) -> set[int]:
    """The ids of the processes that a process has started, and they."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it may just have ended
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def wait_for_end(process: int) -> None:
    """Until a process that is not our child has ended."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(process)
        ended, _, _ = select.select([handle], [], [], 60)
        os.close(handle)
        assert ended, f"process {process} goes on"


def test_an_interruption_leaves_whole_files_and_no_process(tiny: Path) -> None:
    options = ("--seeds", "1..200", "--duration", "100", "--out", "out")
    started: set[int] = set()
    code, seen = on_a_terminal(
        "sweep",
        "tiny.yaml",
        *options,
        interrupt_at=r" [1-9]\d*%",
        before=lambda process: started.update(descendants(process)),
    )
    assert code == INTERRUPTED, seen
    assert seen.splitlines()[-1] == "bypass: interrupted"
    assert "Traceback" not in seen
    assert len(started) > 1  # Java, and Python for its tasks
    for each in started:
        wait_for_end(each)
    records = [json.loads(path.read_text()) for path in Path("out/runs").glob("[!.]*")]
    assert 0 < len(records) < 200
    assert {record["outcome"] for record in records} == {"done"}
    assert [path.name for path in Path("out").iterdir()] == ["runs"]
