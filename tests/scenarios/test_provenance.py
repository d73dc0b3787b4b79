"""The files beside a result say where it comes from, and give the same result again."""

from __future__ import annotations

import json
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from bypass.models.maps import street_grid, write_map
from bypass.scenarios import run
from bypass.scenarios.experiments.dependencies import Dependencies
from bypass.scenarios.experiments.inputs import input_files, origin, parameters
from bypass.scenarios.experiments.provenance import code_hash, git_state, input_hashes
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.report.result import FILES, Result
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import InvalidScenario, load

ONE = """
about: One run
clients: 6
duration: 12
filter: {scheme: ste, alpha: 1.0}
mobility: {model: rwp, width: 300, height: 300}
timeline:
  - {at: 6, phase: cells, plan: {plan: two, actions: [{proxy: filter, to: grid}]}}
"""
SEVERAL = """
about: Several runs, which differ in their models
clients: 6
duration: 8
runs:
  town: {mobility.model: map, mobility.map: town.json, mobility.targets: random}
  anywhere: {mobility: {model: rwp, width: 300}, workload.rate: 2, seed: 5}
  placed: {workload.model: rnd, churn: {model: recorded, path: there.csv}}
main: anywhere
checks: [{name: n, source: s, stated: x, value: phases.0.recall, low: 0.1}]
"""
RULES = "rules: [{rule: noted, on: location, when: area >= 0}]\n"
THERE = Path(__file__).parents[1] / "models" / "connectivity.csv"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with experiments whose inputs are beside them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.yaml").write_text(ONE)
    (tmp_path / "several.yaml").write_text(SEVERAL)
    (tmp_path / "mine.yaml").write_text(RULES)
    (tmp_path / "there.csv").write_bytes(THERE.read_bytes())
    write_map(street_grid(), tmp_path / "town.json")
    return tmp_path


def summary(folder: Path) -> dict[str, Any]:
    """All figures but how long it took."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: timeless(item) for key, item in value.items() if key != "wall_s"}
        return [timeless(item) for item in value] if isinstance(value, list) else value

    found: dict[str, Any] = timeless(json.loads((folder / "summary.json").read_text()))
    return found


def here(file: str | Path) -> Result:
    """The result of a scenario's runs, one after the other in this process."""
    scenario = load(file)
    return Result(
        scenario, {name: Experiment(each, each.seed).run() for name, each in variants(scenario).items()}
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seed": 7, "duration": 9.0, "clients": 5},
        {"set": {"filter.alpha": 2.5, "mobility": {"model": "map", "map": "town.json"}}},
    ],
)
def test_what_is_written_beside_a_result_repeats_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """Also from another directory, where relative paths would lead nowhere."""
    changes = {"rules.use": "mine.yaml", **options.get("set", {})}
    run("one.yaml", **{**options, "set": changes}).write(folder / "first")
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    run(folder / "first" / "experiment.yaml").write(folder / "again")
    assert summary(folder / "again") == summary(folder / "first")
    written = [(folder / place / "experiment.yaml").read_text() for place in ("first", "again")]
    assert written[0] == written[1]


def test_several_runs_are_repeated_with_models_and_seeds_of_their_own(folder: Path) -> None:
    first = here("several.yaml")
    first.write(folder / "first")
    here(folder / "first" / "experiment.yaml").write(folder / "again")
    assert summary(folder / "again") == summary(folder / "first")
    assert first.runs["anywhere"].seed == 5
    assert summary(folder / "first")["runs"]["town"]["seed"] == 1


def test_parameters_have_defaults_of_models_and_absolute_paths(folder: Path) -> None:
    given = parameters(load("several.yaml"))
    assert given["network"]["latency"] == load("several.yaml").network.latency
    assert given["runs"]["town"]["mobility"]["map"] == str(folder / "town.json")
    assert given["runs"]["town"]["mobility"]["warmup"] == 480.0
    assert given["runs"]["placed"]["churn"]["path"] == str(folder / "there.csv")
    assert given["runs"]["placed"]["workload"]["model"] == "rnd"
    assert input_files(load("several.yaml")) == [Path("town.json"), Path("there.csv")]


OWN = """
from typing import Annotated
from pydantic import Field
from bypass import MechanismState
from bypass.mechanisms.dissemination import Gossip
from bypass.mechanisms.filters import Ste


class Steep(Ste):
    alpha: Annotated[float, MechanismState(), Field(ge=0)] = 1.0


class Whisper(Gossip):
    flag = 70
    p: Annotated[float, MechanismState("p"), Field(ge=0, le=1)] = 1.0
"""
USING = """
about: Mechanisms whose parameters nobody sets
mechanisms: [own.py:Steep, own.py:Whisper]
clients: 30
duration: 9
world: {width: 300, height: 300}
mobility: {model: rwp, width: 300, height: 300}
begin:
  - {proxy: transport, to: wifi}
  - {proxy: direct, to: whisper}
  - {proxy: mode, to: augment}
timeline:
  - {at: 3, phase: cones, plan: {plan: one, actions: [{proxy: filter, to: steep}]}}
  - {at: 6, phase: back, plan: {plan: two, actions: [{proxy: direct, to: broadcast}]}}
  - {at: 7, phase: again, plan: {plan: three, actions: [{proxy: direct, to: whisper, members: [1, 2]}]}}
"""


def test_another_default_of_a_mechanism_changes_nothing_in_what_is_repeated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that is there from the beginning, or comes by a plan; plans stay as long as they were."""
    (folder / "own.py").write_text(OWN)
    (folder / "using.yaml").write_text(USING)
    here("using.yaml").write(folder / "first")
    (folder / "own.py").write_text(OWN.replace("= 1.0", "= 0.2"))
    here("using.yaml").write(folder / "other")
    here(folder / "first" / "experiment.yaml").write(folder / "again")
    first, other, again = (summary(folder / name) for name in ("first", "other", "again"))
    assert again == first
    for phase in (0, 1, 3):
        assert other["phases"][phase]["precision"] != first["phases"][phase]["precision"]
    given = parameters(load("one.yaml"))["defaults"]
    assert (given["filter"]["ste"]["alpha"], given["gateway-selection"]["cs-wca"]["range_m"]) == (1.5, 70.4)
    assert given["filter"]["grid"].keys() >= {"grid", "missing_context"}


@pytest.mark.parametrize(
    ("defaults", "problem"),
    [
        ("{filters: {}}", "defaults.filters is unknown: expected one of direct, filter, gateway"),
        ("{filter: {hexagons: {}}}", "defaults.filter.hexagons is unknown: expected one of attract"),
        ("{filter: {ste: {beta: 1}}}", "defaults.filter.ste.beta is unknown: expected one of alpha"),
        ("{filter: {ste: {alpha: -1}}}", "defaults.filter.ste.alpha is -1: expected"),
    ],
)
def test_defaults_of_what_is_not_there_are_refused(folder: Path, defaults: str, problem: str) -> None:
    (folder / "one.yaml").write_text(f"{ONE}defaults: {defaults}\n")
    with pytest.raises(InvalidScenario, match=problem):
        load("one.yaml")


def test_runs_with_mechanisms_of_their_own_have_defaults_of_their_own(folder: Path) -> None:
    (folder / "own.py").write_text(OWN)
    runs = "runs: {plain: {}, steep: {mechanisms: ['own.py:Steep'], filter.scheme: steep}}\n"
    (folder / "one.yaml").write_text(ONE + runs)
    here("one.yaml").write(folder / "first")
    written = load(folder / "first" / "experiment.yaml")
    assert written.runs["steep"]["defaults"]["filter"]["steep"]["alpha"] == 1.0
    assert "steep" not in written.runs["plain"]["defaults"]["filter"]
    assert parameters(written) == parameters(load(folder / "first" / "experiment.yaml"))


def test_provenance_says_what_was_asked_and_of_what(folder: Path) -> None:

    run("one.yaml", seed=4, duration=5.0, set={"rules.use": "mine.yaml"}).write(folder / "out")
    found = json.loads((folder / "out" / "provenance.json").read_text())
    assert found["asked"]["set"] == {"rules.use": "mine.yaml"}
    assert (found["asked"]["scenario"], found["asked"]["duration"]) == ("one.yaml", 5.0)
    assert found["seeds"] == {"one": 4}
    assert found["code"] == code_hash()
    assert found["inputs"] == input_hashes([folder / "mine.yaml"])
    assert found["parameters"]["seed"] == 4
    assert found["parameters"]["workload"]["rate"] == 1.0
    assert {"version", "git", "machine", "made", "modules"} <= set(found)


def test_files_of_an_earlier_result_go_and_others_stay(folder: Path) -> None:
    out = folder / "out"
    for name in (
        *FILES,
        "runs/old/events.parquet",
        "runs/old/summary.json",
        "runs/mine/notes.txt",
        "notes.txt",
    ):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("old")
    here("one.yaml").write(out)
    assert not (out / "runs" / "old").exists()
    assert not (out / "rules.jsonl").exists()
    assert not (out / "report.html").exists()
    assert (out / "runs" / "mine" / "notes.txt").read_text() == (out / "notes.txt").read_text() == "old"


def test_hashes_are_of_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trace").mkdir()
    file = tmp_path / "trace" / "part"
    module = tmp_path / "named_for_a_hash.py"
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    for text in ("a = 1", "a = 2", "a = 1"):
        file.write_text(text)
        module.write_text(text)
        seen.append((input_hashes([tmp_path / "trace", file]), Dependencies([module.stem], []).modules))
    assert seen[0] == seen[2]
    assert seen[0] != seen[1]
    assert all(a != b for a, b in zip(seen[0][0].values(), seen[1][0].values(), strict=True))
    assert seen[0][1] != seen[1][1]


def test_the_modules_that_a_scenario_names_are_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "rules_of_mine.py").write_text("RULES = []\n")
    (tmp_path / "x.yaml").write_text("about: x\nclients: 2\nrules: {use: 'rules_of_mine:RULES'}\n")
    assert list(origin(load(tmp_path / "x.yaml"))["modules"]) == ["rules_of_mine"]


def test_what_code_imports_belongs_to_it_up_to_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also inside of functions and packages, in circles, and where a file is no Python at all. Nothing of it
    is imported, nor what cannot be found."""
    monkeypatch.syspath_prepend(tmp_path)
    sources = {
        "named_one.py": "import json\nimport numpy as np\nfrom parcel.inner import deep\nimport bypass\n",
        "parcel/__init__.py": "raise AssertionError('imported')\n",
        "parcel/unused.py": "",
        "parcel/inner/__init__.py": "",
        "parcel/inner/deep.py": "def f():\n    from .. import aside\n    import not_there.at_all\n",
        "parcel/aside.py": "from ... import beyond\nfrom loose import thing\nimport named_one\n",
        "loose/thing.py": "this is no Python",
        "own.py": "import only_of_a_file\n",
        "only_of_a_file.py": "",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = Dependencies(["named_one"], [tmp_path / "own.py"])
    assert sorted(found.modules) == [
        *("loose.thing", "named_one", "only_of_a_file", "parcel", "parcel.aside", "parcel.inner"),
        "parcel.inner.deep",
    ]
    assert found.distributions == {"numpy": version("numpy")}


def test_git_says_whether_something_has_changed(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@x")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    assert git_state(tmp_path) is None
    (tmp_path / "__init__.py").write_text("")
    git("init")
    assert git_state(tmp_path) is None  # which has nothing of it
    git("add", ".")
    git("commit", "-m", "x")
    clean = git_state(tmp_path)
    assert clean is not None
    assert clean["changed"] is False
    (tmp_path / "__init__.py").write_text("x = 1")
    assert git_state(tmp_path) == clean | {"changed": True}
