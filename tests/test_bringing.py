"""Things of others, by file, by module and by what is installed: found where they are, and nowhere else."""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from bypass.core.rule_sources import read_rules
from bypass.errors import UnusableMechanism
from bypass.live.broker.config_file import load_config
from bypass.live.config_files import InvalidConfig
from bypass.mechanisms import Registry
from bypass.scenarios.evaluation import InvalidEvaluation, parse_schemes
from bypass.scenarios.experiments.inputs import origin
from bypass.scenarios.experiments.rulebooks import load_rules
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import InvalidScenario, load
from bypass.scenarios.runs.runner import run
from bypass.support.extensions import absolute, executed_files, file_of, module_name, module_of
from bypass.support.extensions import load as load_reference
from bypass.transitions import Action, Plan, UnknownMechanism, UnknownProxy
from tests.vicinity import Vicinity, row

MODELS = '''
import numpy as np
from bypass.models.churn import ChurnModel, Presence
from bypass.models.mobility import RandomWaypoint
from bypass.models.workloads import Workload


class Strollers(RandomWaypoint):
    """Slow ones."""

    slower: float = 2.0


class Corner(Workload):
    """Everything happens in a corner."""

    def targets(self, draws, world, /):
        return draws * (world.width / 10, world.height / 10)


class Latecomers(ChurnModel):
    """All come after a while."""

    after: float = 2.0

    def presence(self, clients, end_us, seed):
        joins = np.full(clients, round(self.after * 1e6), np.int64)
        return Presence.once(joins, np.full(clients, end_us), end_us)


class Shifts(ChurnModel):
    """All are there for three seconds, and away for two."""

    @property
    def mean_away(self):
        return 2.0

    def presence(self, clients, end_us, seed):
        moments = np.arange(0, end_us, 1_000_000)
        own = moments[np.isin(moments // 1_000_000 % 5, (0, 3))]
        return Presence(np.arange(clients + 1) * len(own), np.tile(own, clients))
'''
NEARBY = """
from bypass.mechanisms.dissemination import Flooding


class Rumour(Flooding):
    flag = 70
"""
SCHEME = """
from typing import Annotated
from bypass import FilterScheme, MechanismState
from bypass.mechanisms.filters import Radial
from bypass.transitions import AtomicTransition, auto_transfer


class Shifted(FilterScheme):
    class Client(Radial.Client):
        pass

    class Broker(Radial.Broker):
        pass


class Noted(AtomicTransition[Radial.Broker, Shifted.Broker]):
    def transfer_state(self, a, b):
        auto_transfer(a, b)
"""
RULES = """
from bypass import Rule, RuleBook

BOOK = RuleBook(parameters={"limit": 3}, rules=(Rule(rule="crowd", on="density", when="count > limit"),))
LIST = [Rule(rule="lonely", on="density", when="count == 0")]
"""
SCENARIO = """
about: All of it is somebody else's.
mechanisms: [own/scheme.py:Shifted, own/scheme.py:Noted]
clients: 8
duration: 10
mobility: {model: "own/models.py:Strollers", slower: 3}
workload: {model: "own/models.py:Corner", radius: 300}
filter: {scheme: radial}
rules: {use: ["own/rules.py:BOOK", "own/rules.py:LIST"], parameters: {limit: 5}}
timeline:
  - at: 5
    plan: {plan: shift, actions: [{proxy: filter, to: shifted}]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A scenario with files of its own, in a folder that is not where tests run."""
    (tmp_path / "own").mkdir()
    for name, text in (("models", MODELS), ("scheme", SCHEME), ("rules", RULES)):
        (tmp_path / "own" / f"{name}.py").write_text(text)
    (tmp_path / "mine.yaml").write_text(SCENARIO)
    return tmp_path


def test_a_scenario_is_made_of_files_beside_it(folder: Path) -> None:
    scenario = load(folder / "mine.yaml")
    assert scenario.mechanisms[0] == f"{folder}/own/scheme.py:Shifted"
    assert type(scenario.mobility.build()).__name__ == "Strollers"
    experiment = Experiment(scenario, seed=1)
    result = experiment.run()
    assert [phase.mechanisms["filter"]["name"] for phase in result.phases] == ["radial", "shifted"]
    assert result.phases[1].events > 0
    (record,) = [r for r in experiment.system.broker.engine.records if r.target == "shifted"]
    assert record.custom == "Noted"
    assert experiment._rules is not None
    assert {rule.rule for rule in experiment._rules._rules["density"]} == {"crowd", "lonely"}


def test_the_same_seed_gives_the_same_figures_and_what_is_written_repeats_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(folder / "mine.yaml", seed=3)
    first.write(folder / "out")
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    again = run(folder / "out" / "experiment.yaml")
    again.write(folder / "again")
    figures = [json.loads((folder / each / "summary.json").read_text()) for each in ("out", "again")]
    assert figures[0]["phases"] == figures[1]["phases"]
    found = json.loads((folder / "out" / "provenance.json").read_text())
    assert {Path(path).name for path in found["inputs"]} == {"models.py", "scheme.py", "rules.py"}


@pytest.mark.slow
def test_several_runs_are_in_processes_of_their_own_that_find_the_files(folder: Path) -> None:
    more = "runs:\n  near: {filter.scheme: shifted}\n  far: {workload.model: ar}\n"
    (folder / "several.yaml").write_text(SCENARIO.replace("clients: 8", "clients: 4") + more)
    result = run(folder / "several.yaml")
    assert result.runs["near"].phases[0].mechanisms["filter"]["name"] == "shifted"


def test_other_contents_are_another_origin(folder: Path) -> None:
    before = origin(load(folder / "mine.yaml"))
    (folder / "own" / "models.py").write_text(f"{MODELS}\n# changed\n")
    assert origin(load(folder / "mine.yaml"))["inputs"] != before["inputs"]


def test_a_path_on_the_command_line_is_one_from_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "own")
    changes = {"mechanisms": ["scheme.py:Shifted"], "filter.scheme": "shifted"}
    scenario = load("partial-transitions", changes={**changes, "runs": {}, "checks": [], "main": ""})
    assert scenario.mechanisms == (f"{folder}/own/scheme.py:Shifted",)


def test_a_file_is_executed_from_its_path_and_from_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not from the working directory, nor from where modules are imported from."""
    for place in ("here", "path", "beside"):
        (tmp_path / place).mkdir()
    for place in ("here", "path"):
        (tmp_path / place / "scheme.py").write_text("raise AssertionError('executed')\n")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(str(tmp_path / "path"))
    (tmp_path / "beside" / "mine.yaml").write_text("about: x\nmechanisms: ['scheme.py:Shifted']\n")
    with pytest.raises(InvalidScenario, match=r"mechanisms.0 is .*/beside/scheme.py:Shifted: expected"):
        load(tmp_path / "beside" / "mine.yaml")
    (tmp_path / "beside" / "scheme.py").write_text(SCHEME)
    load(tmp_path / "beside" / "mine.yaml")


def test_files_of_the_same_name_are_different_modules(tmp_path: Path) -> None:
    for place, value in (("a", 1), ("b", 2)):
        (tmp_path / place).mkdir()
        (tmp_path / place / "same.py").write_text(f"VALUE = {value}\n")
    values = [load_reference(f"{tmp_path / place / 'same.py'}:VALUE") for place in "ab"]
    assert values == [1, 2]
    assert module_name(tmp_path / "a" / "same.py") != module_name(tmp_path / "b" / "same.py")


def test_a_file_is_executed_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "some-thing.py"
    path.write_text("THING = object()\n")
    first = load_reference(f"{path}:THING")
    assert load_reference(f"{path}:THING") is first
    path.write_text("THING = 2\n")
    assert load_reference(f"{path}:THING") == 2
    assert executed_files()[module_name(path)] == b"THING = 2\n"
    assert module_name(path).isidentifier()


def test_what_was_sent_here_is_imported_under_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine of a cluster, where the path leads nowhere."""
    path = tmp_path / "elsewhere" / "thing.py"
    (tmp_path / "sent").mkdir()
    (tmp_path / "sent" / f"{module_name(path)}.py").write_text("THING = 3\n")
    with pytest.raises(UnusableMechanism, match="No such file"):
        load_reference(f"{path}:THING")
    monkeypatch.syspath_prepend(str(tmp_path / "sent"))
    assert load_reference(f"{path}:THING") == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("raise OSError('no disk')", "expected module:Class, an import path, or file.py:Class (no disk)"),
        ("1 / 0", "ZeroDivisionError: division by zero: expected a module that can be imported"),
        ("class :", "SyntaxError: invalid syntax"),
        ("import no_such_module", "No module named 'no_such_module'"),
        ("", "has no attribute 'Thing'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(f"{text}\n")
    with pytest.raises(UnusableMechanism) as refused:
        Registry([f"{path}:Thing"])
    assert str(refused.value).startswith(f"{path}:Thing: ")
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)
    assert module_name(path) not in sys.modules or text == ""


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"mobility": {"model": "own/models.py:Corner"}}, "mobility.model is .*: expected a subclass of Mob"),
        (
            {"mobility": {"model": "own/models.py:Nobody"}},
            "mobility.model is .*Nobody: expected module",
        ),
        ({"mobility": {"model": "nobody"}}, "mobility.model is 'nobody': expected one of darmstadt"),
        ({"mobility.pace": 3}, "mobility.pace is unknown: expected one of model, .*slower"),
        (
            {"workload": {"model": "own/models.py:Strollers"}},
            "workload.model is .*: expected a subclass of",
        ),
        (
            {"churn": {"model": "bypass.models.churn:ChurnModel"}},
            "churn.model is .* lacks presence: ",
        ),
        ({"rules.use": ["density", "own/rules.py:BOOK"], "rules.parameters": {}}, None),
        ({"rules": {"use": ["own/rules.py:LIST"] * 2}}, "there is one of this name already"),
        ({"rules.use": ["own/rules.py:NONE"]}, "rules.use is .*: expected module:name, an import path, or"),
    ],
)
def test_what_does_not_fit_is_named_with_its_key(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], problem: str | None
) -> None:
    monkeypatch.chdir(folder)
    if problem is None:
        load(folder / "mine.yaml", changes=change)
        return
    with pytest.raises(InvalidScenario, match=problem) as refused:
        load(folder / "mine.yaml", changes=change)
    assert "\n" not in str(refused.value)


def test_a_churn_model_of_ones_own_says_who_is_there(folder: Path) -> None:
    changes = {"churn": {"model": f"{folder}/own/models.py:Latecomers", "after": 4.0}, "rules": {}}
    experiment = Experiment(load(folder / "mine.yaml", changes=changes), seed=1)
    assert min(each.at for each in experiment.run().attendance if each.joins) >= 4.0


def test_a_churn_model_of_ones_own_may_have_durable_sessions(folder: Path) -> None:
    """Events that are published while a client is away arrive when it returns."""
    changes = {"churn": {"model": f"{folder}/own/models.py:Shifts", "durable": True}, "rules": {}}
    experiment = Experiment(load(folder / "mine.yaml", changes=changes), seed=1)
    assert experiment.run().phases[0].events > 0
    assert (experiment._end, experiment.system.waiting) == (10 + 10 * 2.0, 0)
    changes["churn"]["model"] = f"{folder}/own/models.py:Latecomers"
    with pytest.raises(
        InvalidScenario, match=r"churn.durable is true with model .*: expected on-off, who go"
    ):
        load(folder / "mine.yaml", changes=changes)


LORA = """
from bypass.mechanisms.transports import RadioTransport
from bypass.models.radio.radio import RadioModel


class Lora(RadioTransport):
    radio = "lora"
    {model}
"""


def with_transport(folder: Path, line: str, more: str = "") -> Path:
    (folder / "lora.py").write_text(LORA.replace("{model}", line))
    (folder / "far.yaml").write_text(
        "about: x\nmechanisms: [lora.py:Lora]\nclients: 8\nduration: 6\n"
        "begin: [{proxy: transport, to: lora}, {proxy: direct, to: broadcast}, {proxy: mode, to: ad-hoc}]\n"
        f"{more}"
    )
    return folder / "far.yaml"


@pytest.mark.parametrize("line", ["model = RadioModel(reach=900, interference=900, exponent=3)", ""])
def test_a_transport_of_ones_own_has_a_radio_of_its_own(tmp_path: Path, line: str) -> None:
    more = "" if line else "radios: {lora: {reach: 900, interference: 900, exponent: 3}}\n"
    path = with_transport(tmp_path, line, more)
    result = run(path)
    result.write(tmp_path / "out")
    assert result.runs["far"].local["frames"] > 0
    assert "lora 900 m" in result.report(tmp_path / "out").read_text()
    assert load(tmp_path / "out" / "experiment.yaml").all_radios == load(path).all_radios


@pytest.mark.parametrize(
    ("line", "more", "problem"),
    [
        (
            "",
            "",
            "radios has .*: transport 'lora': radio 'lora': expected one of wifi, bluetooth, or one",
        ),
        (
            "radio = None",
            "",
            "mechanisms.0 is .*lora.py:Lora: radio None: expected the name of the radio",
        ),
        ("model = 3", "", "radio 'lora': model 3: expected a RadioModel"),
        ("radio, model = 'wifi', RadioModel()", "", "radio 'wifi': it has a model already: expected a radio"),
        ("", "radios: {wifi: {}}\n", "radios.wifi is no further radio: expected a name other than wifi, bl"),
        ("", "radios: {lora: {rech: 3}}\n", "radios.lora.rech is unknown: expected one of reach, interferen"),
    ],
)
def test_a_transport_without_a_radio_is_refused_in_one_line(
    tmp_path: Path, line: str, more: str, problem: str
) -> None:
    with pytest.raises(InvalidScenario, match=problem) as refused:
        load(with_transport(tmp_path, line, more))
    assert "\n" not in str(refused.value)


def test_rule_books_that_contradict_each_other_are_refused(folder: Path) -> None:
    (folder / "own" / "more.py").write_text(RULES.replace('"limit": 3', '"limit": 4').replace("crowd", "mob"))
    changes = {"rules.use": [f"{folder}/own/rules.py:BOOK", f"{folder}/own/more.py:BOOK"]}
    with pytest.raises(InvalidScenario, match="'limit' of parameters is 3 and 4: expected one value"):
        load(folder / "mine.yaml", changes=changes)


def test_references_are_told_apart() -> None:
    assert absolute("a/b.py:C", Path("/x")) == "/x/a/b.py:C"
    assert absolute("../b.py:C", Path("/x/y")) == "/x/b.py:C"
    assert absolute("a.b:C", Path("/x")) == "a.b:C"
    assert absolute("see b.py: it says", Path("/x")) == "see b.py: it says"
    assert (file_of("a/b.py:C"), file_of("a.b:C"), file_of("hexagons")) == (Path("a/b.py"), None, None)
    assert (module_of("a/b.py:C"), module_of("a.b:C"), module_of("hexagons")) == (None, "a.b", None)


# -- a live broker --------------------------------------------------------------------------------------


def test_a_configuration_names_files_beside_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "own")
    (folder / "rules.yaml").write_text("rules: []\n")
    (folder / "broker.yaml").write_text(
        "mechanisms: own/scheme.py:Shifted\nscheme: shifted\nrules: [rules.yaml, own/rules.py:BOOK]\n"
    )
    config = load_config(folder / "broker.yaml", {})
    assert config.mechanisms == (f"{folder}/own/scheme.py:Shifted",)
    assert config.rule_sources == (folder / "rules.yaml", f"{folder}/own/rules.py:BOOK")
    assert config.registry.flags.given == {"shifted": 64}
    own = load_config(folder / "broker.yaml", {"BYPASS_BROKER_MECHANISMS": "scheme.py:Shifted"})
    assert own.mechanisms == ("scheme.py:Shifted",)
    (folder / "broker.yaml").write_text("mechanisms: [own/scheme.py:Other]\n")
    with pytest.raises(InvalidConfig, match=r"broker.yaml: mechanisms.0 is '.*py:Other': expected module"):
        load_config(folder / "broker.yaml", {})


# -- installed packages ---------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with a package that offers mechanisms and models; some of it is broken."""
    place = tmp_path / "site"
    about = place / "strolling-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strolling\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[bypass.mechanisms]\nshifted = strolling:Shifted\nbroken = strolling_broken:Thing\n"
        "misnamed = strolling:Shifted\ncloud = strolling:Shifted\nrumour = strolling_nearby:Rumour\n"
        "noted = strolling:Noted\n"
        "[bypass.models]\nstrollers = strolling:Strollers\nlatecomers = strolling:Latecomers\n"
        "[bypass.workloads]\ncorner = strolling:Corner\n"
        "[bypass.rules]\ncrowds = strolling_rules:BOOK\nworse = strolling_broken:BOOK\n"
    )
    (place / "strolling.py").write_text(SCHEME + MODELS)
    (place / "strolling_nearby.py").write_text(NEARBY)
    (place / "strolling_rules.py").write_text(RULES)
    (place / "strolling_broken.py").write_text("raise RuntimeError('not today')\n")
    monkeypatch.syspath_prepend(str(place))
    (place / "beside_it.py").write_text("")
    for name in ("strolling", "strolling_nearby", "strolling_broken", "beside_it"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return place


def test_what_is_installed_is_found_by_its_name(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "about: x\nclients: 5\nduration: 6\nmobility: {model: strollers, slower: 4}\n"
        "workload: {model: corner, radius: 300}\nchurn: {model: latecomers}\n"
        "timeline:\n  - {at: 3, plan: {plan: p, actions: [{proxy: filter, to: shifted}]}}\n"
    )
    assert "strolling" not in sys.modules
    result = Experiment(load(tmp_path / "mine.yaml"), seed=1).run()
    assert [phase.mechanisms["filter"]["name"] for phase in result.phases] == ["radial", "shifted"]


def test_rules_that_are_installed_are_used_by_their_name(installed: Path, tmp_path: Path) -> None:
    for use, problem in (
        ("worse", "expected a usable entry point in bypass.rules"),
        ("nobody", "rules 'nobody': expected a YAML file, module:name or one of borders, .*, crowds, worse"),
    ):
        (tmp_path / "mine.yaml").write_text(f"about: x\nrules: {{use: {use}}}\n")
        with pytest.raises(InvalidScenario, match=problem):
            load(tmp_path / "mine.yaml")
    (tmp_path / "mine.yaml").write_text("about: x\nclients: 2\nrules: {use: [density, crowds]}\n")
    scenario = load(tmp_path / "mine.yaml")
    assert "crowd" in {rule.rule for rule in load_rules(scenario.rules.sources, {})[0].rules}
    assert "strolling_rules" in origin(scenario)["modules"]
    (tmp_path / "rules.yaml").write_text("rules: []\n")
    (tmp_path / "broker.yaml").write_text("rules: [crowds, rules.yaml]\n")
    config = load_config(tmp_path / "broker.yaml", {})
    assert config.rule_sources == ("crowds", tmp_path / "rules.yaml")
    assert [rule.rule for rule in read_rules(config.rule_sources[0])[0].rules] == ["crowd"]


def test_what_is_found_late_spreads_events_and_others_heal_to_it(installed: Path) -> None:
    """It was not there when clients began, nor when they learned which mechanisms frames may name."""
    world = Vicinity(row(4, 10.0), {"direct": "flooding", "mode": "augment"})
    world.subscribe_all(500)
    world.run()
    world.broker.execute(world.plan("direct", "rumour", 2, decision=world.broker.rollout.decide(0)))
    world.run()
    assert world.active("direct") == ["flooding", "flooding", "rumour", "flooding"]
    event = world.publish_local(2)
    world.run()
    assert world.active("direct") == ["rumour"] * 4
    assert {*world.receivers(event)} == {0, 1, 3}


def test_it_is_among_the_figures_of_a_run(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "about: x\nclients: 5\nduration: 6\n"
        "begin: [{proxy: gateway, to: broadcast}, {proxy: direct, to: rumour}]\n"
        "timeline:\n  - {at: 3, plan: {plan: p, actions: [{proxy: gateway, to: rumour}]}}\n"
    )
    summary = run(tmp_path / "mine.yaml").summary()
    assert summary["extra"]["usage"]["direct"]["rumour"] == 1.0
    assert "rumour" in summary["extra"]["areas"]["without"]


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("workload: {model: corner, radius: 300}", "strolling"),
        ("mobility: {model: strollers}", "strolling"),
        ("churn: {model: latecomers}", "strolling"),
        ("filter: {scheme: shifted}", "strolling"),
        ("mechanisms: [shifted]", "strolling"),
        ("begin: [{proxy: direct, to: rumour}]", "strolling_nearby"),
        ("timeline: [{at: 3, plan: {plan: p, actions: [{proxy: filter, to: shifted}]}}]", "strolling"),
        ("rules: {use: density}", "strolling_nearby"),  # what they change to shows when they run
        ("runs: {a: {workload.model: corner}, b: {}}", "strolling"),
    ],
)
def test_other_code_under_its_name_is_another_origin(
    installed: Path, tmp_path: Path, text: str, module: str
) -> None:
    """Also what that code imports, and another version of the package, whatever it has in it."""
    (tmp_path / "mine.yaml").write_text(f"about: x\nclients: 2\nduration: 6\n{text}\n")
    about = installed / "strolling-1.0.dist-info" / "METADATA"
    with (installed / f"{module}.py").open("a") as source:
        source.write("\nimport beside_it\n")
    scenario = load(tmp_path / "mine.yaml")
    seen = [origin(scenario)]
    assert origin(scenario) == seen[0]
    for path in (installed / f"{module}.py", installed / "beside_it.py", about):
        path.write_text(path.read_text().replace("1.0", "1.0.1") + "\n# changed\n")
        seen.append(origin(scenario))
        assert seen[-1] not in seen[:-1]
    (tmp_path / "mine.yaml").write_text("about: x\nclients: 2\nduration: 6\n")
    assert origin(load(tmp_path / "mine.yaml"))["modules"] == {}


def test_nothing_of_it_is_imported_before_it_is_named(installed: Path) -> None:
    registry = Registry()
    assert "shifted" in registry.own_schemes()
    assert dict(registry.catalogue("client"))
    assert "strolling" not in sys.modules
    assert registry.find("client", "filter", "shifted").name == "shifted"
    assert registry.flags.of("shifted") == 64


def test_it_can_be_asked_for_by_its_name(installed: Path) -> None:
    assert Registry(["shifted"]).flags.given == {"shifted": 64}
    with pytest.raises(
        UnusableMechanism, match="or what is installed: broken, cloud, misnamed, noted, rumour, shifted"
    ):
        Registry(["strollers"])


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("broken", "entry point broken = strolling_broken:Thing in bypass.mechanisms is left out: Runt"),
        ("misnamed", "entry point misnamed in bypass.mechanisms is left out: .* plans call 'misnamed'"),
    ],
)
def test_a_broken_entry_point_is_a_warning_that_names_it(
    installed: Path, caplog: pytest.LogCaptureFixture, name: str, problem: str
) -> None:
    registry = Registry()
    for _ in range(2):
        with pytest.raises(UnknownMechanism, match=f"'filter' has no mechanism '{name}'"):
            registry.find("client", "filter", name)
    (record,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert caplog.text.count("\n") == 1
    assert re.search(problem, record.getMessage())


def test_a_live_broker_has_all_that_is_installed_and_can_be_used(
    installed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broker.yaml").write_text("scheme: shifted\n")
    config = load_config(tmp_path / "broker.yaml", {})
    assert config.registry.flags.given == {"shifted": 64}
    assert caplog.text.count("entry point broken = strolling_broken:Thing") == 1


def test_a_transition_that_is_installed_is_used_and_nobody_is_warned(
    installed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = Registry()
    registry.bring_installed()
    assert "entry point noted" not in caplog.text
    for each in (registry, Registry(["noted"])):
        world = Vicinity(row(1), registry=each)
        (record,) = world.broker.execute(world.plan("filter", "shifted"))
        assert record.custom == "Noted"


def test_an_installed_scheme_can_be_evaluated_by_its_name(installed: Path) -> None:
    (scheme,) = parse_schemes(["shifted"])
    assert (scheme.kind, scheme.flag) == ("shifted", 64)
    with pytest.raises(InvalidEvaluation, match="scheme 'rumour' is unknown: expected one of radial, ste"):
        parse_schemes(["rumour"])


@pytest.mark.parametrize(("proxy", "name"), [("mode", "cloud"), ("direct", "rumour"), ("nobody", "shifted")])
def test_what_is_known_where_its_proxy_is_is_not_looked_for_elsewhere(
    installed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, proxy: str, name: str
) -> None:
    (tmp_path / "nearby.py").write_text(NEARBY)
    registry = Registry([f"{tmp_path}/nearby.py:Rumour"])
    plan = Plan(plan="p", actions=(Action(proxy=proxy, to=name),))
    if proxy == "nobody":
        with pytest.raises(UnknownProxy):
            registry.check(plan)
    else:
        registry.check(plan)
        registry.prepare(Vicinity(row(1), registry=registry).broker.engine, "broker", plan.actions)
    assert caplog.text == ""
    assert not {"strolling", "strolling_nearby"} & sys.modules.keys()


def test_a_transition_between_classes_that_are_not_brought_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme, _, transition = SCHEME.partition("class Noted")
    (tmp_path / "apart_scheme.py").write_text(scheme)
    (tmp_path / "apart.py").write_text(
        "from apart_scheme import Shifted\nfrom bypass.mechanisms.filters import Radial\n"
        "from bypass.transitions import AtomicTransition, auto_transfer\n\n\n"
        f"class Noted{transition}"
    )
    monkeypatch.syspath_prepend(tmp_path)
    noted = f"{tmp_path}/apart.py:Noted"
    with pytest.raises(UnusableMechanism, match=r"Noted: apart_scheme:Shifted\.Broker: expected a class"):
        Registry([f"{tmp_path}/apart_scheme.py:Shifted", noted])
    Registry([noted, "apart_scheme:Shifted"])  # in whatever order
