"""Checked figures: ranges, explanations, and paths that are verified before anything runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from pydantic import ValidationError

from bypass.scenarios.experiments.checks import Check, figure, judge, unexplained
from bypass.scenarios.experiments.files import InvalidScenario
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.report.report import verdict_line
from bypass.scenarios.report.result import Result
from bypass.scenarios.report.tables import verdict_table
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import builtin_names, load
from bypass.scenarios.runs.paths import check_paths
from bypass.scenarios.runs.runner import run
from bypass.transitions.yaml_text import dump_yaml
from tests.command import bypass, refusal

pytestmark = pytest.mark.slow

FIGURES = {"a": 6.0, "b": 2.0, "c": 4.0, "d": 8.0, "none": math.nan}


def check(**keys: Any) -> Check:
    return Check.model_validate({"name": "n", "source": "s", "stated": "x", "value": "a"} | keys)


def verdict(**keys: Any) -> str:
    return judge([check(**keys)], FIGURES.__getitem__)[0].verdict


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ({}, 6.0),
        ({"minus": "b"}, 4.0),
        ({"over": "b"}, 3.0),
        ({"minus": "b", "over": "c"}, 1.0),
        ({"minus": "c", "over": "b", "minus_over": "d"}, 2.5),
        ({"among": ["b", "d"]}, 6.0),
    ],
)
def test_a_check_compares_a_figure_a_difference_a_ratio_or_a_range(
    keys: dict[str, Any], value: float
) -> None:
    assert check(**keys).of(FIGURES.__getitem__) == value


@pytest.mark.parametrize("keys", [{"minus_over": "b"}, {"among": ["b"], "minus": "c"}])
def test_forms_that_do_not_go_together_are_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        check(**keys)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"low": 6}, "holds"),
        ({"high": 6}, "holds"),
        ({"above": 6}, "differs"),
        ({"below": 6}, "differs"),
        ({"above": 5.9, "below": 6.1}, "holds"),
        ({"minus": "a", "above": 0}, "differs"),  # equal is not more
        ({"value": "none"}, "unknown"),
        ({"value": "missing"}, "unknown"),
        ({"among": ["none"]}, "unknown"),
        ({"over": "zero"}, "unknown"),
    ],
)
def test_what_is_more_is_not_equal(keys: dict[str, Any], expected: str) -> None:
    assert verdict(**keys) == expected


def test_a_difference_in_the_range_of_its_explanation_is_explained_and_no_other() -> None:
    because = {"low": 5, "high": 7, "reason": "it is so"}
    assert verdict(high=5, explained=because) == "explained"
    assert verdict(high=5, explained=because | {"high": 5.5}) == "differs"
    assert verdict(value="none", explained=because) == "unknown"
    (settled,) = judge([check(high=7, explained=because)], FIGURES.__getitem__)
    assert settled.settled
    assert "What holds again, though a difference is explained: n." in verdict_line([settled])
    (known,) = judge([check(high=5, explained=because)], FIGURES.__getitem__)
    assert "What differs for a known reason: n." in verdict_line([known])
    assert unexplained([settled, known]) == []


@pytest.mark.parametrize("keys", [{"reason": ""}, {"low": 8}, {"high": math.inf}, {"low": None}])
def test_an_explanation_has_a_range_and_a_reason(keys: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        check(explained={"low": 5, "high": 7, "reason": "it is so"} | keys)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"low": 0, "high": 0}, "exactly 0"),
        ({"low": -0.5, "high": 2}, "-0.5 to 2"),
        ({"above": 1}, "above 1"),
        ({"above": 1, "high": 2}, "above 1 and at most 2"),
        ({}, "any"),
    ],
)
def test_a_range_is_told_in_words(keys: dict[str, Any], words: str) -> None:
    assert check(**keys).expected == words


def test_percentiles_with_a_point_in_their_names_are_found() -> None:
    assert figure({"recall": {"p2.5": 0.5, "p5": 0.6}}, "recall.p2.5") == 0.5
    with pytest.raises(KeyError, match="p3"):
        figure({"recall": {"p2.5": 0.5}}, "recall.p3.5")


# -- paths ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", builtin_names())
def test_every_check_of_a_built_in_scenario_finds_its_figures(name: str) -> None:
    scenario = load(name)
    assert scenario.checks
    check_paths(scenario)


TINY = {
    "name": "tiny",
    "about": "a tiny run",
    "clients": 20,
    "duration": 4,
    "timeline": [{"at": 2, "plan": {"plan": "T1", "actions": [{"proxy": "filter", "to": "grid"}]}}],
    "rules": {"use": "borders"},
    "runs": {"one": {}, "two": {"workload.model": "lbs"}},
    "baseline": "one",
}


def tiny(*paths: str) -> Scenario:
    checks = [{"name": path, "source": "s", "stated": "x", "value": path} for path in paths]
    return Scenario.model_validate(TINY | {"checks": checks})


def test_the_paths_that_are_expected_are_those_that_a_run_has() -> None:
    """Every number of a run can be compared by its path, which is known before the run."""
    made = Result(tiny(), {name: Experiment(each, 1).run() for name, each in variants(tiny()).items()})
    summary = made.summary()
    assert [phase["name"] for phase in summary["phases"]] == ["radial", "grid"]
    paths = [path for path in numbers(summary) if "mechanisms" not in path and ".rules." not in path]
    assert len(paths) > 200
    check_paths(tiny(*paths))


def numbers(data: Any, path: str = "") -> list[str]:
    """The paths of all numbers."""
    if isinstance(data, dict):
        return [each for key, item in data.items() for each in numbers(item, f"{path}.{key}")]
    if isinstance(data, list):
        return [each for i, item in enumerate(data) for each in numbers(item, f"{path}.{i}")]
    return [path[1:]] if isinstance(data, int | float) or data is None else []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("phases.0.recal", "there is no 'recal' in the summary"),
        ("phases.ste.recall", "there is no 'ste' in the summary"),
        ("runs.three.phases.0.recall", "there is no 'three' in the summary"),
        ("extra.transitions.1.recall_lowest", "there is no '1' in the summary"),
        ("extra.usage.gateway.smoke", "there is no 'smoke' in the summary"),
        ("phases.0", "expected one that ends at a number"),
        ("phases.0.name", "expected one that ends at a number"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_before_anything_runs(path: str, reason: str) -> None:
    with pytest.raises(InvalidScenario, match=f"check {path!r}: path {path!r}: {reason}"):
        run(tiny(path), progress=lambda *_: pytest.fail("it ran"))


def written(path: Path, *checks: str) -> Path:
    """A file with a single run and so many checks."""
    keys = tiny(*checks).model_dump(mode="json") | {"runs": {}, "baseline": ""}
    path.write_text(dump_yaml(keys), encoding="utf-8")
    return path


def test_a_figure_that_changes_take_away_is_not_measured(tmp_path: Path) -> None:
    """The reason goes with the check: into the verdict, and into a file that gives the same again."""
    mine = written(tmp_path / "tiny.yaml", "phases.grid.recall", "phases.0.events")
    result = run(mine, set={"timeline": []})
    lost, kept = result.verdicts
    assert lost.check.missing == "path 'phases.grid.recall': there is no 'grid' in the summary"
    assert (lost.verdict, kept.verdict, kept.check.missing) == ("unknown", "holds", "")
    assert verdict_line(result.verdicts).endswith(f"not measured: {lost.check.name} ({lost.check.missing}).")
    assert f"not measured: {escape(lost.check.missing)}" in verdict_table(result)
    result.write(tmp_path / "out")
    repeated = load(tmp_path / "out" / "experiment.yaml")
    check_paths(repeated)
    assert repeated.checks == result.scenario.checks
    assert load(mine, changes={"timeline": []}).checks == result.scenario.checks
    back = load(tmp_path / "out" / "experiment.yaml", changes={"timeline": TINY["timeline"]})
    assert [check.missing for check in back.checks] == ["", ""]


def test_changes_hide_no_mistake_of_the_file(tmp_path: Path) -> None:
    mine = written(tmp_path / "tiny.yaml", "phases.0.recal")
    with pytest.raises(InvalidScenario, match="there is no 'recal' in the summary"):
        run(mine, duration=2, progress=lambda *_: pytest.fail("it ran"))


# -- the report and the command ---------------------------------------------------------------------------

FILE = """
about: a run of a few seconds
clients: 15
duration: 4
checks:
  - {{name: recall, source: s, stated: "1", value: phases.0.recall, {bounds}}}
"""
BECAUSE = {"low": 0, "high": 1, "reason": "few clients"}
EXPLAINED = f"explained: {json.dumps(BECAUSE)}"


def test_the_report_shows_why_a_figure_differs() -> None:
    scenario = Scenario.model_validate(
        TINY
        | {"runs": {}, "baseline": ""}
        | {"checks": [check(value="phases.1.recall", high=-1, explained=BECAUSE)]}
    )
    html = verdict_table(Result(scenario, {"tiny": Experiment(scenario, 1).run()}))
    assert "≠ differs, explained" in html
    assert "0 to 1 is explained: few clients" in html


@pytest.mark.parametrize(
    ("bounds", "strict", "code"),
    [
        ("low: 0", True, 0),
        ("below: 0", True, 1),
        ("below: 0", False, 0),
        (f"below: 0, {EXPLAINED}", True, 0),
        (f"low: 0, {EXPLAINED}", True, 0),
        ("minus: extra.near_border, low: 0", True, 1),  # nobody switched: there is no share of them
    ],
)
def test_a_strict_run_ends_with_1_if_a_difference_is_not_explained(
    bounds: str, strict: bool, code: int, tmp_path: Path
) -> None:
    file = tmp_path / "short.yaml"
    file.write_text(FILE.format(bounds=bounds), encoding="utf-8")
    assert bypass("run", file, "--out", tmp_path / "out", *(["--strict"] if strict else [])) == code
    assert (tmp_path / "out" / "report.html").exists()


def test_a_strict_run_ends_with_1_if_changes_take_a_figure_away(tmp_path: Path) -> None:
    mine = written(tmp_path / "tiny.yaml", "phases.grid.recall")
    assert bypass("run", mine, "--out", tmp_path / "out", "--strict", "--set", "timeline=[]") == 1


def test_a_strict_run_that_is_shortened_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for shorter in (["--duration", "100"], ["--set", "duration=100"]):
        line = refusal(capsys, "run", "ste-alpha", "--strict", *shorter, "--out", tmp_path / "out")
        assert line == "--strict with a duration of 100 s: expected at least the scenario's, 300 s"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("runs.late.duration=5", "a duration of 5 s in run late: expected at least the scenario's, 8 s"),
        ("runs.late.clients=4", "4 clients in run late: expected at least the scenario's, 6"),
        ("clients=5", "5 clients: expected at least the scenario's, 6"),
        ("runs={early: {}}", "nothing in run late: expected all runs of the scenario"),
        ("runs={}", "nothing in run early: expected all runs of the scenario"),
    ],
)
def test_a_strict_run_is_refused_if_one_of_its_runs_is_less(
    change: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.yaml"
    file.write_text("about: x\nclients: 6\nduration: 9\nruns: {early: {}, late: {duration: 8}}\n")
    options = (file, "--strict", "--out", tmp_path / "out")
    assert refusal(capsys, "run", *options, "--set", change) == f"--strict with {problem}"
    if change.startswith("clients"):
        assert refusal(capsys, "run", *options, "--clients", "5") == f"--strict with {problem}"
    assert not (tmp_path / "out").exists()
