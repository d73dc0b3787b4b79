"""The figures in docs/thesis.md are those of the record, and the record has what the scenarios compare."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bypass.scenarios.experiments.checks import Check
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.report.result import Result
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import builtin_names, load

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))  # as if a script of that folder ran

import fidelity
import fidelity_record as record


def test_the_page_shows_what_was_recorded() -> None:
    page = record.PAGE.read_text(encoding="utf-8")
    _, _, rest = page.partition(record.BEGIN + "\n")
    shown, _, _ = rest.partition(record.END)
    assert shown == record.section(), "run python benchmarks/fidelity_record.py"


@pytest.mark.parametrize("name", sorted(record.recorded()))
def test_every_figure_that_is_compared_was_measured(name: str) -> None:
    paths = {path for check in load(name).checks for path in check.paths}
    for seed, measured in record.recorded()[name].items():
        missing = paths - measured.figures.keys()
        assert not missing, f"{name}, seed {seed}: run python benchmarks/fidelity.py --record"
        assert measured.commits
        assert measured.machines


def test_only_scenarios_that_are_there_are_recorded() -> None:
    assert set(record.recorded()) <= set(builtin_names())


TINY = Scenario.model_validate(
    {
        "name": "tiny",
        "about": "a tiny run",
        "clients": 40,
        "duration": 4,
        "runs": {"one": {}, "two": {"filter.scheme": "grid"}},
        "baseline": "one",
        "checks": [
            {"name": "n", "source": "s", "stated": "x", "value": "runs.two.extra.recall_lost", "low": -1},
            {"name": "m", "source": "s", "stated": "x", "value": "runs.two.extra.near_border"},
        ],
    }
)


def measured(folder: Path, *seeds: int) -> list[record.Compared]:
    fidelity.measure(
        [trial for seed in seeds for trial in fidelity.trials_of(TINY, seed).values()], folder, processes=1
    )
    return record.compare(TINY.checks, {seed: fidelity.measured(TINY, seed, folder) for seed in seeds})


def test_what_was_measured_is_kept_and_seeds_are_added(tmp_path: Path) -> None:
    first, nothing = measured(tmp_path, 1)
    assert (first.verdict, nothing.verdict) == ("holds", "unknown")
    runs = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(runs) == 2
    stopped, kept = runs
    stopped.unlink()
    both, _ = measured(tmp_path, 1, 2)
    assert both.by_seed[1] == first.by_seed[1]
    assert both.ours == pytest.approx((both.by_seed[1].value + both.by_seed[2].value) / 2)
    assert len(list(tmp_path.iterdir())) == 4
    assert kept.stat().st_mtime_ns == runs[kept]


def test_runs_of_other_code_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bypass"
    folder.mkdir()
    (folder / "experiment.py").write_text("before", encoding="utf-8")
    monkeypatch.setattr(fidelity, "PACKAGE", folder)
    before = fidelity.deciding_code.__wrapped__()
    (folder / "experiment.py").write_text("after", encoding="utf-8")
    after = fidelity.deciding_code.__wrapped__()
    keys = set()
    for code in (before, after):
        monkeypatch.setattr(fidelity, "deciding_code", lambda code=code: code)
        keys.add(fidelity.trials_of(TINY, 1)["one"].key)
    assert len(keys) == 2


def test_a_scenario_is_what_its_runs_are_together(tmp_path: Path) -> None:
    check, _ = measured(tmp_path, 1)
    runs = {name: Experiment(each, 1).run() for name, each in variants(TINY).items()}
    assert check.ours == Result(TINY, runs).summary()["runs"]["two"]["extra"]["recall_lost"]


def test_what_holds_with_one_seed_alone_does_not_hold() -> None:
    check = Check(name="n", source="s", stated="x", value="a", low=1)
    found = {
        seed: record.Measured(commits=["c"], machines=["m"], wall_s=1.0, figures={"a": value})
        for seed, value in ((1, 2.0), (2, 0.0), (3, 3.0))
    }
    (compared,) = record.compare([check], found)
    assert (compared.verdict, compared.ours, compared.row[-1]) == ("differs", 2.0, "differs (2/3)")
    assert record.totals([compared]) == {"holds": 0, "explained": 0, "unknown": 0, "differs": 1}


@pytest.mark.parametrize("less", ["--duration", "--clients"])
@pytest.mark.parametrize("option", ["--strict", "--record"])
def test_short_runs_and_few_clients_prove_nothing(
    option: str, less: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ["fidelity.py", "--scenarios", "ste-alpha", less, "4", option]
    monkeypatch.setattr(sys, "argv", short)
    with pytest.raises(SystemExit) as end:
        fidelity.main()
    assert end.value.code == 2
    assert "expected ste-alpha in full" in capsys.readouterr().err


def test_a_strict_comparison_ends_with_1_if_a_difference_is_not_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fidelity, "load", lambda _name, **_changes: TINY)
    arguments = ["fidelity.py", "--scenarios", "ste-alpha", "--processes", "1", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    fidelity.main()
    monkeypatch.setattr(sys, "argv", [*arguments, "--strict"])
    with pytest.raises(SystemExit) as end:
        fidelity.main()
    assert end.value.code == 1
