import itertools
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bypass.models.compute.engines import LocalEngine, WorkerLost, WorkProgress, unwatched
from bypass.models.request import InvalidRequest
from bypass.scenarios import InvalidScenario, run
from bypass.scenarios.experiments import inputs
from bypass.scenarios.experiments.provenance import input_hashes
from bypass.scenarios.runs.sweep import InvalidSweep, Sweep, SweepFailed, sweep
from bypass.scenarios.runs.sweep_tables import FIGURES, RESULTS

pytestmark = pytest.mark.slow

# Members cannot be moved without state transfer, which turns out when the plan is executed.
FILE = """
about: Two phases
clients: 8
duration: 20
mobility: {model: rwp, width: 300, height: 300}
filter: {scheme: ste, alpha: 1.0}
timeline:
  - {at: 10, phase: cells, plan: {plan: two, actions: [{proxy: filter, to: grid, members: [0, 1]}]}}
"""
GRID = {"filter.alpha": [0.5, 4.0]}
KEPT = ("results.parquet", "means.parquet", "means.json")


class CountingEngine(LocalEngine):
    """Notes the keys of the runs that it carries out."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []

    def run(self, function: Any, pieces: Any, progress: WorkProgress = unwatched) -> list[Any]:
        keys = super().run(function, pieces, progress)
        self.ran += keys
        return keys


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(FILE)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Two values of alpha with three seeds."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "mine.yaml").write_text(FILE)
    return sweep(folder / "mine.yaml", seeds=[1, 2, 9], grid=GRID, out=folder / "out", engine=LocalEngine())


def here(scenario: Path, **options: Any) -> tuple[Sweep, list[str]]:
    """A sweep in this process beside the scenario's file; and the runs that were carried out, sorted."""
    engine = CountingEngine()
    options = {"seeds": [1, 2], "out": scenario.parent / "out", **options}
    return sweep(scenario, engine=engine, **options), sorted(engine.ran)


def files(scenario: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (scenario.parent / "out" / "runs").iterdir()}


# -- figures --------------------------------------------------------------------------------------------


def test_a_row_for_each_phase_of_each_run(finished: Sweep) -> None:
    table = pq.read_table(finished.folder / "results.parquet")
    assert table.to_pylist() == finished.results
    assert table.column_names == ["filter.alpha", *RESULTS]
    identity = [
        tuple(row[key] for key in ("filter.alpha", "seed", "number", "phase")) for row in finished.results
    ]
    phases = [(0, "ste"), (1, "cells")]
    assert identity == [
        (alpha, seed, *phase) for alpha, seed, phase in itertools.product((0.5, 4.0), (1, 2, 9), phases)
    ]
    assert {(row["variant"], row["outcome"], row["error"]) for row in finished.results} == {
        ("mine", "done", None)
    }
    assert finished.failed == []


def test_the_figures_are_those_of_a_single_run(finished: Sweep) -> None:
    changes = {"filter.alpha": 4.0}
    summary = run(finished.folder.parent / "mine.yaml", seed=2, set=changes).summary()
    rows = [row for row in finished.results if (row["filter.alpha"], row["seed"]) == (4.0, 2)]
    assert len(rows) == 2
    for row, phase in zip(rows, summary["phases"], strict=True):
        flat = {key: value for key, value in phase.items() if not isinstance(value, dict)}
        for group in ("delay_ms", "traffic"):
            flat |= {f"{group}_{key}": value for key, value in phase[group].items()}
        # every figure of a phase is in the table, but for mechanisms and further percentiles
        assert set(flat) - {"name", "start_s", "end_s"} == set(FIGURES)
        assert {key: row[key] for key in FIGURES} == {key: flat[key] for key in FIGURES}
        assert (row["start_s"], row["end_s"]) == (phase["start_s"], phase["end_s"])


def test_means_of_runs_and_the_deviation_of_their_means(finished: Sweep) -> None:
    assert len(finished.means) == 4
    assert pq.read_table(finished.folder / "means.parquet").to_pylist() == finished.means
    assert json.loads((finished.folder / "means.json").read_text()) == finished.means
    for row in finished.means:
        point = {key: row[key] for key in ("filter.alpha", "number", "phase")}
        own = [each for each in finished.results if point.items() <= each.items()]
        assert (row["runs"], row["failed"]) == (3, 0)
        for figure in FIGURES:
            a, b, c = (each[figure] for each in own)
            mean = (a + b + c) / 3
            assert row[figure] == pytest.approx(mean, rel=1e-12)
            spread = ((a - mean) ** 2 + (b - mean) ** 2 + (c - mean) ** 2) / 2
            assert row[f"{figure}_std"] == pytest.approx(spread**0.5, rel=1e-9, abs=1e-12)
    # not a comparison of zeros
    assert all(row["traffic_cellular_up"] > 0 and row["precision_std"] > 0 for row in finished.means)


def test_a_single_run_has_no_deviation(scenario: Path) -> None:
    found, _ = here(scenario, seeds=[3])
    assert [row["recall_std"] for row in found.means] == [None, None]
    assert [row["runs"] for row in found.means] == [1, 1]


def test_what_is_no_number_does_not_count(scenario: Path) -> None:
    # Nobody is in reach of anybody with some seeds, so that some runs have no recall.
    small = {"clients": 2, "workload.radius": 90, "timeline": []}
    found, _ = here(scenario, seeds=range(16), set=small)
    known = [row["recall"] for row in found.results if row["recall"] is not None]
    assert 1 < len(known) < 16
    (row,) = found.means
    assert row["runs"] == 16
    assert row["recall"] == pytest.approx(np.mean(known))
    assert row["recall_std"] == pytest.approx(np.std(known, ddof=1))


def test_a_comparison_is_run_variant_by_variant(scenario: Path) -> None:
    scenario.write_text(FILE + "runs: {near: {workload.radius: 50}, far: {workload.radius: 150}}\n")
    found, ran = here(scenario, grid={"clients": [6, 9]})
    assert len(ran) == 2 * 2 * 2
    assert [(row["clients"], row["variant"], row["phase"]) for row in found.means] == list(
        itertools.product((6, 9), ("near", "far"), ("ste", "cells"))
    )
    by_variant = {row["variant"]: row["deliveries"] for row in found.means}
    assert by_variant["near"] < by_variant["far"]


@pytest.mark.parametrize(
    ("key", "values", "column"),
    [
        ("mobility.speed", [[1, 2], [1, 3]], ["[1, 2]", "[1, 3]"]),
        ("workload", [{"model": "ar"}, {"model": "rnd"}], ['{"model": "ar"}', '{"model": "rnd"}']),
        ("workload.model", ["ar", "rnd"], ["ar", "rnd"]),
        ("grace", [0, 0.5], [0.0, 0.5]),
    ],
)
def test_values_of_any_kind(scenario: Path, key: str, values: list[Any], column: list[Any]) -> None:
    found, _ = here(scenario, seeds=[1], grid={key: values}, duration=4)
    assert [row[key] for row in found.means[::2]] == values
    for name in ("results", "means"):
        assert pq.read_table(found.folder / f"{name}.parquet")[key].to_pylist()[::2] == column


# -- what is kept ---------------------------------------------------------------------------------------


def test_what_is_done_is_not_run_again(scenario: Path) -> None:
    first, ran = here(scenario, grid=GRID)
    assert sorted(f"{key}.json" for key in ran) == sorted(files(scenario))
    tables = {name: (first.folder / name).read_bytes() for name in KEPT}
    told: list[tuple[int, int]] = []
    again, ran = here(scenario, grid=GRID, progress=lambda *numbers: told.append(numbers))
    assert ran == []
    assert told == [(4, 4)]
    assert again == first
    assert {name: (first.folder / name).read_bytes() for name in KEPT} == tables


def test_a_run_that_is_missing_or_broken_is_run_again_alone(scenario: Path) -> None:
    _, ran = here(scenario, grid=GRID)
    before = files(scenario)
    folder = scenario.parent / "out" / "runs"
    (folder / f"{ran[1]}.json").unlink()
    (folder / f"{ran[2]}.json").write_text('{"outcome": "do')
    (folder / f".{ran[2]}.leftover").write_text("{")
    told: list[tuple[int, int]] = []
    _, again = here(scenario, grid=GRID, progress=lambda *numbers: told.append(numbers))
    assert again == ran[1:3]
    assert told == [(2, 4), (3, 4), (4, 4)]
    assert set(files(scenario)) == set(before)


def test_a_longer_sweep_goes_on_from_a_shorter_one(scenario: Path) -> None:
    _, short = here(scenario)
    found, added = here(scenario, seeds=[1, 2, 3])
    assert len(added) == 1
    assert not set(added) & set(short)
    assert {row["seed"] for row in found.results} == {1, 2, 3}


@pytest.mark.parametrize(
    ("before", "after"), [("clients: 8", "clients: 9"), ("alpha: 1.0", "alpha: 3.0"), ("at: 10", "at: 11")]
)
def test_another_scenario_shares_no_results(scenario: Path, before: str, after: str) -> None:
    first, ran = here(scenario)
    scenario.write_text(FILE.replace(before, after))
    second, other = here(scenario)
    assert len(other) == 2
    assert not set(ran) & set(other)
    assert len(second.results) == len(first.results)
    assert second.results != first.results


# -- runs that fail -------------------------------------------------------------------------------------


def test_a_run_that_fails_stops_no_other_and_is_tried_again(scenario: Path) -> None:
    options: dict[str, Any] = {"grid": {"state_transfer": [False, True]}}
    found, ran = here(scenario, **options)
    assert len(ran) == 4
    error = "InvalidPlan: plan 'two' names members: expected none, without state transfer"
    assert [(row["seed"], row["phase"], row["error"]) for row in found.failed] == [
        (1, None, error),
        (2, None, error),
    ]
    assert pq.read_table(found.folder / "results.parquet").num_rows == 2 + 2 * 2
    assert all(row[figure] is None for row in found.failed for figure in FIGURES)
    assert [(row["state_transfer"], row["runs"], row["failed"]) for row in found.means] == [
        (False, 0, 2),
        (True, 2, 0),
        (True, 2, 0),
    ]
    (kept,) = [text for name, text in files(scenario).items() if "False-seed=1" in name]
    record = json.loads(kept)
    assert (record["outcome"], record["summary"]) == ("failed", None)
    assert record["error"]["type"] == "InvalidPlan"
    assert record["error"]["traceback"].startswith("Traceback (most recent call last):\n")
    _, again = here(scenario, **options)
    assert again == [key for key in ran if "False" in key]


class DyingEngine(LocalEngine):
    """Has workers that die of the first piece."""

    def run(self, function: Any, pieces: Any, progress: WorkProgress = unwatched) -> list[Any]:
        super().run(function, pieces[1:], progress)
        raise WorkerLost("piece 0: workers died of it 3 times: expected a result")


def test_a_run_that_kills_its_worker_has_failed(scenario: Path) -> None:
    found = sweep(scenario, seeds=[1, 2], out=scenario.parent / "out", engine=DyingEngine())
    assert [(row["seed"], row["error"]) for row in found.failed] == [
        (1, "WorkerLost: piece 0: workers died of it 3 times: expected a result")
    ]
    assert {row["seed"] for row in found.results if row["outcome"] == "done"} == {2}
    _, again = here(scenario)
    assert len(again) == 1


class ElsewhereEngine(LocalEngine):
    """Has workers that do not share our disk."""

    def run(self, function: Any, pieces: Any, progress: WorkProgress = unwatched) -> list[Any]:
        return super().run(function, [(trial, f"{folder}-of-another") for trial, folder in pieces], progress)


def test_workers_without_the_folder_say_so(scenario: Path) -> None:
    out = scenario.parent / "out"
    with pytest.raises(SweepFailed, match=r"out/runs-of-another is not there on .*: expected a folder that"):
        sweep(scenario, seeds=[1], out=out, engine=ElsewhereEngine())
    (scenario.parent / "out" / "runs-of-another").mkdir()
    with pytest.raises(SweepFailed, match=r"out/runs lacks mine-seed=1-\w+.json: expected a folder that all"):
        sweep(scenario, seeds=[1], out=out, engine=ElsewhereEngine())
    assert [path.name for path in out.glob("*.*")] == []


# -- mistakes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        (
            {"grid": {"filter.alpha": [1, -1]}},
            InvalidSweep,
            "grid point filter.alpha=-1: {file}: filter.alpha is -1: ",
        ),
        (
            {"grid": {"clients": [9], "duration": [30, 5]}},
            InvalidSweep,
            "grid point clients=9, duration=5: {file}: timeline.0.at is 10.0: expected ascending times",
        ),
        (
            {"grid": {"filter.alhpa": [1]}},
            InvalidSweep,
            "grid point filter.alhpa=1: {file}: filter.alhpa is unknown",
        ),
        ({"grid": {"clients": []}}, InvalidSweep, "grid key 'clients' has no values: expected at least one"),
        (
            {"grid": {"clients": [3, 4, 3]}},
            InvalidSweep,
            "grid key 'clients' has 3 2 times: expected different",
        ),
        ({"grid": {"clients": [3]}, "set": {"clients": 4}}, InvalidSweep, "grid key 'clients' is set, too: "),
        (
            {"grid": {"phase": ["a"]}},
            InvalidSweep,
            "grid key 'phase' has the name of a column of the results",
        ),
        ({"seeds": []}, InvalidSweep, "seeds has no values: expected at least one"),
        ({"seeds": [4, 1, 4]}, InvalidSweep, "seeds has 4 2 times: expected different values"),
        ({"seeds": [1, -1]}, InvalidRequest, "seed is -1: expected 0 to 2**64 - 1"),
        ({"set": {"filter.alpha": -1}}, InvalidScenario, "{file}: filter.alpha is -1: "),
        ({"duration": 0}, InvalidScenario, "{file}: duration is 0: expected greater than 0"),
        ({"clients": 1}, InvalidScenario, "{file}: timeline.0.plan moves member 1: expected clients"),
    ],
)
def test_everything_is_checked_before_anything_runs(
    scenario: Path, options: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error) as refused:
        here(scenario, **options)
    assert str(refused.value).startswith(complaint.format(file=scenario))
    assert list(scenario.parent.iterdir()) == [scenario]


def test_a_mistake_in_the_file_is_not_the_grids(scenario: Path) -> None:
    scenario.write_text(FILE.replace("clients: 8", "clients: 0"))
    with pytest.raises(InvalidScenario) as refused:
        here(scenario, grid={"clients": [5, 6]})
    assert str(refused.value).startswith(f"{scenario}: clients is 0: ")


@pytest.mark.parametrize("own", ["filter.alpha: 3", "filter: {scheme: ste, alpha: 3}"])
def test_a_key_that_a_run_sets_cannot_be_in_the_grid(scenario: Path, own: str) -> None:
    scenario.write_text(f"{FILE}runs: {{low: {{}}, high: {{{own}}}}}\n")
    with pytest.raises(InvalidSweep) as refused:
        here(scenario, grid=GRID)
    assert str(refused.value) == "grid key 'filter.alpha' is set by run 'high' of mine, too: expected another"
    assert not (scenario.parent / "out").exists()


# -- Spark ----------------------------------------------------------------------------------------------


def test_a_sweep_that_is_killed_goes_on_where_it_was(scenario: Path) -> None:
    out = scenario.parent / "out"
    code = (
        "import sys; from bypass.scenarios.runs.sweep import sweep\n"
        "sweep(sys.argv[1], seeds=range(1, 200), duration=600, out=sys.argv[2], master='local[1]',"
        " progress=lambda done, _: done and print(done, flush=True))"
    )
    command = [sys.executable, "-c", code, str(scenario), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # the first run is done
        process.send_signal(signal.SIGKILL)
    kept = files(scenario)
    whole = {name: json.loads(text) for name, text in kept.items() if not name.startswith(".")}
    assert 0 < len(whole) < 199
    assert {record["outcome"] for record in whole.values()} == {"done"}
    seeds = sorted(record["seed"] for record in whole.values())
    options: dict[str, Any] = {"seeds": [*seeds, 200], "duration": 600}
    _, ran = here(scenario, **options)
    assert len(ran) == 1
    assert "seed=200" in ran[0]
    # what Spark's workers did is what this process does
    mine = sweep(scenario, out=scenario.parent / "other", engine=LocalEngine(), seeds=seeds[:1], duration=600)
    theirs, _ = here(scenario, seeds=seeds[:1], duration=600)
    assert theirs.results == mine.results


# -- what other code or inputs gave -----------------------------------------------------------------------


def test_a_run_is_done_again_if_an_input_has_changed(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old outcome goes: there is one file for each run."""
    rules = scenario.parent / "mine-rules.yaml"
    rules.write_text("rules: [{rule: noted, on: location, when: area >= 0}]")
    monkeypatch.chdir(scenario.parent)
    options: dict[str, Any] = {"seeds": [1], "set": {"rules.use": "mine-rules.yaml"}}
    assert len(here(scenario, **options)[1]) == 1
    assert here(scenario, **options)[1] == []
    rules.write_text("rules: [{rule: noticed, on: location, when: area >= 0}]")
    assert len(here(scenario, **options)[1]) == 1
    assert len(files(scenario)) == 1
    found = json.loads((scenario.parent / "out" / "provenance.json").read_text())
    assert found["inputs"] == input_hashes([rules])


def test_a_run_is_done_again_with_other_code(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes of other code are removed, also of seeds not asked for; those of the same code are kept."""
    here(scenario, seeds=[1, 2])
    assert here(scenario, seeds=[1])[1] == []
    assert len(files(scenario)) == 2
    monkeypatch.setattr(inputs, "code_hash", lambda: "other")
    ran = here(scenario, seeds=[1])[1]
    assert len(ran) == 1
    assert [name.removesuffix(".json") for name in files(scenario)] == ran
