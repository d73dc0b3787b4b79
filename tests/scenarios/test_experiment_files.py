from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.errors import BypassError
from bypass.scenarios import InvalidScenario, builtin_names, load
from bypass.scenarios.experiments.variants import variants

FILE = """
about: Two transitions
duration: 100
timeline:
  - {at: 20, plan: {plan: one, actions: [{proxy: filter, to: ste}]}}
  - {at: 70, plan: {plan: two, actions: [{proxy: filter, to: grid, set: {grid: 4}}]}}
"""


def written(directory: Path, text: str) -> Path:
    path = directory / "mine.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", builtin_names())
def test_every_built_in_scenario_can_be_loaded_at_any_size(name: str) -> None:
    scenario = load(name, clients=15, duration=30)
    assert scenario.name == name
    for experiment in variants(scenario).values():
        assert experiment.clients == 15
        assert all(step.at < experiment.duration for step in experiment.timeline)


def test_a_file_is_named_for_itself_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert load(written(tmp_path, FILE)).name == "mine"
    assert load(written(tmp_path, FILE + "name: other\n")).name == "other"


@given(st.floats(3, 1e6))
def test_another_duration_stretches_the_timeline(
    tmp_path_factory: pytest.TempPathFactory, duration: float
) -> None:
    path = written(tmp_path_factory.getbasetemp(), FILE)
    scenario = load(path, duration=duration)
    assert scenario.duration == duration
    assert [step.at for step in scenario.timeline] == pytest.approx([0.2 * duration, 0.7 * duration])


def test_changes_come_last_and_reach_into_lists(tmp_path: Path) -> None:
    changes = {"timeline.0.at": 1, "clients": 7, "filter.alpha": 2, "mobility.speed": [1, 3]}
    scenario = load(written(tmp_path, FILE), changes=changes, duration=50, clients=9)
    assert [step.at for step in scenario.timeline] == [1.0, 35.0]
    assert scenario.clients == 7
    assert scenario.filter.parameters == {"alpha": 2}
    assert scenario.mobility.build().model_dump()["speed"] == (1.0, 3.0)


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("clients", "many", "clients is 'many': expected a valid integer"),
        ("filter.alhpa", 2, "filter.alhpa is unknown: expected scheme or one of alpha,"),
        ("filter.grid", 0, "filter.grid is 0: expected greater than or equal to 1"),
        ("filter.scheme", "gird", "filter.scheme is 'gird': expected one of radial, ste, grid,"),
        ("workload.radius", -5, "workload.radius is -5: expected greater than 0"),
        ("workload.radius", 2.5, "workload.radius is 2.5: expected whole metres"),
        ("workload.raduis", 5, "workload.raduis is unknown: expected one of model, start, rate,"),
        ("workload.payload", 10**6, "workload.payload is 1000000: expected at most 65536 bytes"),
        ("workload.model", "chess", "workload.model is 'chess': expected one of ar, lbs, rnd"),
        ("workload.start", 100, "workload.start is 100.0: expected less than the duration, 100.0 s"),
        ("mobility.pause", [9, 1], "mobility.pause is [9, 1]: (9.0, 1.0) is no range"),
        ("world.width", 20, "world is 20.0 by 1300.0 m: expected at least 1300.0 by 1300.0 m"),
        ("network.latncy", 1, "network.latncy is unknown: expected one of latency, jitter,"),
        ("network.latency", float("inf"), "network.latency is inf: expected a finite number"),
        ("location.interval", 0, "location.interval is 0: expected greater than or equal to 0.001"),
        ("grace", float("inf"), "grace is inf: expected a finite number"),
        ("duration", 50, "timeline.1.at is 70.0: expected ascending times before the end, 50.0 s"),
        ("timeline.1.at", 10, "timeline.1.at is 10.0: expected ascending times before the end, 100.0 s"),
        ("timeline.2.at", 80, "key 'timeline.2.at': there is no '2' in it"),
        ("timeline.0.when", 3, "timeline.0.when is unknown: expected one of at, phase, plan"),
        ("main", "fast", "main is 'fast': expected one of the runs, none"),
        ("runs", {"../fast": {}}, "runs has '../fast': expected names without spaces, slashes"),
        ("runs", {"fast": {"clients": 0}}, "mine: run fast: clients is 0: expected greater than"),
        ("colour", "red", "colour is unknown: expected one of name, about, mechanisms, seed,"),
    ],
)
def test_what_does_not_fit_is_named_with_key_value_and_expectation(
    tmp_path: Path, key: str, value: Any, complaint: str
) -> None:
    path = written(tmp_path, FILE)
    with pytest.raises(InvalidScenario) as refused:
        load(path, changes={key: value})
    text = str(refused.value)
    assert complaint in text
    assert "mine" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        ("{proxy: filtr, to: ste}", "there is no proxy 'filtr'; there are: direct, filter,"),
        ("{proxy: filter, to: stee}", "'filter' has no mechanism 'stee'; it has: attract,"),
        ("{proxy: filter, to: grid, set: {gird: 4}}", "'grid' has no parameter 'gird' (to be set to 4)"),
        ("{proxy: filter, to: grid, set: {grid: 0}}", "parameter 'grid' of 'grid' cannot be 0: "),
        ("{proxy: filter, to: grid, members: [400]}", "moves member 400: expected clients from 0 to 296"),
        ("{proxy: filter, too: grid}", "actions.0.too is unknown: expected one of proxy, to, set,"),
        ("{proxy: filter}", "an action needs `to`, a mechanism, or `set`"),
    ],
)
def test_plans_are_checked_when_the_file_is_read(tmp_path: Path, action: str, complaint: str) -> None:
    path = written(tmp_path, f"about: x\ntimeline: [{{at: 5, plan: {{plan: T, actions: [{action}]}}}}]")
    with pytest.raises(InvalidScenario) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}: timeline.0.plan")
    assert complaint in str(refused.value)


def test_events_at_attraction_points_need_some(tmp_path: Path) -> None:
    path = written(tmp_path, "about: x\nmobility: {model: rwp}\nworkload: {model: lbs}")
    with pytest.raises(InvalidScenario, match=r"workload.model is 'lbs': expected mobility on a map"):
        load(path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"[1, 2", "is not YAML: while parsing"),
        (b"about: x\nclients: 5\nclients: 6\n", "is not YAML: line 3: key 'clients' is in line 2 already"),
        (b"about: x\nwifi: {reach: 5, reach: 6}\n", "is not YAML: line 2: key 'reach' is in line 2 already"),
        (b"about: 2024-13-45", "is not YAML: month must be in 1..12"),
        (b"[" * 5000, "is not YAML: "),
        (b"!!python/object:os.system {}", "is not YAML: could not determine a constructor"),
        (b"5", "holds 5: expected keys and values"),
        (b"\xff\xfe", "is no text in UTF-8: invalid start byte at byte 0"),
        (b"{}", "about is missing"),
        (b"{about: x, timeline: 5}", "timeline is 5: expected a valid tuple"),
    ],
)
def test_files_that_are_no_scenario(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(InvalidScenario) as refused:
        load(path, duration=10)
    assert str(refused.value).startswith(str(path))
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_numbers_in_quotes_are_numbers_when_the_timeline_is_stretched(tmp_path: Path) -> None:
    scenario = load(written(tmp_path, FILE.replace("20", "'20'").replace("100", "'100'")), duration=50)
    assert [step.at for step in scenario.timeline] == [10.0, 35.0]


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidScenario, match=r"mine\.yaml cannot be read: No such file"):
        load(tmp_path / "mine.yaml")
    with pytest.raises(InvalidScenario, match="scenario 'mine' is unknown: expected a YAML file or one of"):
        load("mine")
    assert issubclass(InvalidScenario, BypassError)


def test_runs_are_experiments_of_their_own(tmp_path: Path) -> None:
    scenario = load(
        written(tmp_path, FILE + "runs: {a: {}, b: {clients: 3, filter.scheme: egrid}}\nmain: b\n")
    )
    experiments = variants(scenario)
    assert {name: (e.clients, e.filter.scheme) for name, e in experiments.items()} == {
        "a": (297, "radial"),
        "b": (3, "egrid"),
    }
    assert experiments["a"].timeline == scenario.timeline
    assert variants(experiments["a"]) == {"mine": experiments["a"]}
