import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bypass.cli.group import INTERRUPTED
from bypass.scenarios import builtin_names
from tests.command import bypass, on_a_terminal, refusal

pytestmark = pytest.mark.slow

TINY = """
about: A first sentence. And a second one.
clients: 15
duration: 10
timeline:
  - {at: 5, phase: cells, plan: {plan: to-cells, actions: [{proxy: filter, to: grid, set: {grid: 3}}]}}
checks:
  - {name: all arrives, source: nowhere, stated: all, value: phases.0.recall, low: 0.0}
  - {name: more than all, source: nowhere, stated: "200 %", value: phases.0.recall, low: 2.0}
  - {name: nobody switched, source: nowhere, stated: "?", value: extra.near_border}
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small experiment in the current directory, which is empty otherwise."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


# -- runs -----------------------------------------------------------------------------------------------


def test_a_run_writes_its_files_and_prints_its_phases(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("run", tiny, "--seed", 3) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("tiny: 15 clients, 10 s, seed 3, simulated in ")
    assert lines[1].split("  ")[0] == "phase"
    assert [line.split()[:3] for line in lines[2:4]] == [["radial", "0", "5"], ["cells", "5", "10"]]
    assert lines[5].startswith("1 of 3 checked figures hold.")
    assert lines[6] == f"report: {Path('out/tiny-seed3/report.html')}"
    assert err == ""
    written = {path.name for path in Path("out/tiny-seed3").iterdir()}
    assert written == {
        "report.html",
        "summary.json",
        "events.parquet",
        "timeline.parquet",
        "transitions.jsonl",
        "experiment.yaml",
        "provenance.json",
    }


def test_a_run_with_a_store_prints_what_was_owed_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody publishes events there: events have neither recall nor delay."""
    short = ("--clients", 6, "--duration", 80, "--set", "objects.operations={first_half: 60}")
    assert bypass("run", "storage-transitions", *short, "--out", tmp_path) == 0
    lines = capsys.readouterr()[0].splitlines()
    assert lines[1].split() == ["phase", "from", "s", "owed", "recall", "%"]
    store = json.loads((tmp_path / "summary.json").read_text())["extra"]
    assert [line.split()[0] for line in lines[2:6]] == ["local", "cells", "server", "local-again"]
    owed = [int(line.split()[2]) for line in lines[2:6]]
    assert owed == [phase["owed"] for phase in store["store_phases"].values()]
    assert lines[6].startswith(f"{store['objects']} objects, {store['acknowledged']} acknowledged, 0 lost;")
    assert store["owed"] > 0
    assert f" {store['owed']} notifications owed, {store['doubled']} told twice; " in lines[6]
    assert lines[6].endswith(" MB by radio")


def test_options_change_the_run_and_the_timeline_stretches(tiny: Path, tmp_path: Path) -> None:
    options = ("--duration", 20, "--clients", 12, "--set", "filter.scheme=ste", "--set", "filter.alpha=2")
    assert bypass("run", tiny, *options, "--out", tmp_path / "deep" / "er") == 0
    summary = json.loads((tmp_path / "deep" / "er" / "summary.json").read_text())
    assert (summary["scenario"], summary["seed"]) == ("tiny", 1)
    assert (summary["clients"], summary["duration_s"]) == (12, 20.0)
    assert [(phase["start_s"], phase["end_s"]) for phase in summary["phases"]] == [(0.0, 10.0), (10.0, 20.0)]
    first = summary["phases"][0]["mechanisms"]["filter"]
    assert (first["name"], first["parameters"]["alpha"]) == ("ste", 2.0)


def test_every_run_of_a_comparison_has_its_table(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tiny.open("a") as file:
        file.write("runs: {coarse: {}, fine: {timeline.0.plan.actions.0.set.grid: 6}}\nmain: fine\n")
    assert bypass("run", "tiny.yaml") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines if "clients" in line] == ["coarse", "fine"]
    summary = json.loads(Path("out/tiny-seed1/summary.json").read_text())
    assert set(summary["runs"]) == {"coarse", "fine"}
    assert Path("out/tiny-seed1/runs/coarse/events.parquet").is_file()


def test_progress_is_shown_on_a_terminal(tiny: Path) -> None:
    code, seen = on_a_terminal("run", tiny)
    assert code == 0
    assert "tiny" in seen
    assert "100%" in seen


def test_an_interruption_takes_one_line(tiny: Path) -> None:
    code, seen = on_a_terminal("run", tiny, "--duration", 2000, interrupt_at=" 1%")
    assert code == INTERRUPTED == 128 + signal.SIGINT, seen
    assert seen.splitlines()[-1] == "bypass: interrupted"
    assert "Traceback" not in seen
    assert list(tiny.parent.iterdir()) == [tiny]


# -- other commands -------------------------------------------------------------------------------------


def test_scenarios_are_listed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("scenarios") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == builtin_names()
    width = max(map(len, builtin_names()))
    assert all(line[width : width + 2] == "  " and line[width + 2] != " " for line in lines)


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("run", "--help") == 0
    text = capsys.readouterr().out
    for word in (
        "report.html",
        "summary.json",
        "transitions.jsonl",
        "Examples:",
        "Stretches",
        "out/SCENARIO-seedN",
    ):
        assert word in text


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass() == 0
    assert "Usage: bypass" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("--version") == 0
    assert capsys.readouterr().out.startswith("bypass 0.")


# -- mistakes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--duration", "0"], "tiny.yaml: duration is 0.0: expected greater than 0"),
        (["--duration", "-5"], "tiny.yaml: duration is -5.0: expected greater than 0"),
        (["--duration", "nan"], "tiny.yaml: duration is nan: expected a finite number"),
        (["--duration", "soon"], "Invalid value for '--duration': 'soon' is not a valid float."),
        (["--clients", "0"], "tiny.yaml: clients is 0: expected greater than or equal to 1"),
        (["--seed", "-1"], "seed is -1: expected 0 to 2**64 - 1"),
        (["--seed", str(2**64)], f"seed is {2**64}: expected 0 to 2**64 - 1"),
        (["--set", "clients"], "--set 'clients': expected KEY=VALUE, such as filter.alpha=2.0"),
        (["--set", "=4"], "--set '=4': expected KEY=VALUE, such as filter.alpha=2.0"),
        (["--sed", "3"], "No such option '--sed'. (Did you mean one of: '--seed', '--set'?)"),
        (["--set", "filter.grid=0"], "tiny.yaml: filter.grid is 0: expected greater than or equal to 1"),
    ],
)
def test_mistakes_take_one_line_and_write_nothing(
    tiny: Path, capsys: pytest.CaptureFixture[str], options: list[str], complaint: str
) -> None:
    assert refusal(capsys, "run", "tiny.yaml", *options) == complaint
    assert list(tiny.parent.iterdir()) == [tiny]


def test_a_value_that_is_not_yaml(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, "run", tiny, "--set", "filter=[").startswith("--set 'filter=[' is not YAML: ")


def test_a_scenario_that_nobody_knows(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "run", "total-transition")
    assert line.startswith("scenario 'total-transition' is unknown: expected a YAML file or one of ")
    assert "total-transitions" in line


def test_a_file_in_the_way_is_noticed_before_the_run(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, "run", tiny, "--out", tiny) == f"{tiny}: is in the way: expected a directory"
    line = refusal(capsys, "run", tiny, "--out", tiny / "below")
    assert line == f"{tiny}: is in the way: expected a directory"
    assert tiny.read_text() == TINY


def test_a_directory_that_nobody_may_write_to(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, "run", tiny, "--out", "/proc/here").startswith("/proc")


def test_a_missing_extra_says_how_to_get_it(tiny: Path) -> None:
    code = "import sys; sys.modules['pyarrow'] = None\nfrom bypass.cli import main; main()"
    command = [sys.executable, "-c", code, "run", "tiny.yaml"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert (
        done.stderr
        == "bypass: error: pyarrow is not installed: needs the extra lab: pip install 'bypass-pubsub[lab]'\n"
    )
