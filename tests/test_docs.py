"""The reference pages name everything that there is, and link to pages and sections that exist.

After a change that is meant, `python tests/test_docs.py` records anew what the commands in docs/evaluation.md
and docs/timeliness.md print.
"""

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import click
import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from bypass import testing
from bypass.cli.group import commands
from bypass.core.adaptation import TOPICS
from bypass.ingest.compression import Compression
from bypass.ingest.parsers.parser import PARSERS, find_parser
from bypass.ingest.parsers.schema import ParserSchema
from bypass.ingest.security.standard import STANDARDS
from bypass.ingest.security.suite import SUITES
from bypass.mechanisms import Registry
from bypass.mechanisms.families import DISSEMINATION, FAMILIES, GATEWAY_SELECTION, MODE, STORAGE, Family
from bypass.mechanisms.modes import ALL, LOCAL, NONE, OTHERS
from bypass.mechanisms.registry import SIDES
from bypass.models.churn import CHURN
from bypass.models.compute.engines import LocalEngine
from bypass.models.maps import MAPS, load_map, write_map
from bypass.models.mobility import MOBILITY, Darmstadt
from bypass.models.queueing.network.network import (
    BrokerNetwork,
    BrokerNode,
    NetworkLink,
    PublisherNode,
    Subscriber,
)
from bypass.models.radio.radio import BluetoothModel, RadioModel
from bypass.models.storage import STORAGE_WORKLOADS
from bypass.models.storage.latency import LatencyRatios
from bypass.models.storage.store_adaptation import STORE_TOPICS
from bypass.models.traces import write_trace
from bypass.models.traces.manifest import Manifest
from bypass.models.traces.statistics import statistics
from bypass.models.workloads import WORKLOADS
from bypass.scenarios import load, run
from bypass.scenarios.evaluation import evaluate
from bypass.scenarios.experiments.checks import Check
from bypass.scenarios.experiments.infrastructure import (
    BackhaulCut,
    BackhaulSettings,
    EdgeEnergy,
    EdgeOutage,
    InfrastructureSettings,
)
from bypass.scenarios.experiments.models import Publishing
from bypass.scenarios.experiments.rulebooks import load_rules, rulebook_names
from bypass.scenarios.experiments.schema import RuleSettings, Scenario, Step, scheme_parameters
from bypass.scenarios.experiments.script import Script, ScriptStep
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.report.result import Result, timeline
from bypass.scenarios.runs.experiment import Experiment
from bypass.sim.cellular import CellularModel
from bypass.sim.ledger import COLUMNS
from bypass.support.extensions import load as load_reference
from bypass.transitions import Firing, Record, Rule, RuleBook
from bypass.transitions.rules.rules import DECISION, NEXT_DECISION

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
SHOWING = [ROOT / "docs" / name for name in ("evaluation.md", "timeliness.md")]
# What commands of a page print stands in the fence that follows them.
SHOWN = re.compile(
    r"<!-- (?P<name>\S+) -->\n```yaml\n(?P<file>.*?)^```"
    r"|(?P<code>^```python\n.*?^```)"
    r"|(?P<lines>(?:^    bypass [^\n]*\n)+)"
    r"|^```\n(?P<printed>.*?)^```",
    re.DOTALL | re.MULTILINE,
)


def words(page: str) -> set[str]:
    """The words that a page sets in code, and their parts: `{model: map}` has three."""
    return words_of((ROOT / "docs" / page).read_text())


def words_of(text: str) -> set[str]:
    quoted = re.findall(r"`([^`\n]+)`", text)
    return {word for code in quoted for word in (code, *re.findall(r"[\w-]+", code))}


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_every_parameter_of_every_scheme_is_documented() -> None:
    assert set(scheme_parameters(Registry())) <= words("filter-schemes.md")


def rows(page: str, section: str) -> list[list[str]]:
    """The cells of the tables in a section, without their heads."""
    text = (ROOT / "docs" / page).read_text()
    _, _, rest = text.partition(f"{section}\n")
    assert rest, section
    lines = re.split(r"^#", rest, maxsplit=1, flags=re.MULTILINE)[0].splitlines()
    found = [line.strip("|").split("|") for line in lines if re.match(r"\| `", line)]
    return [[cell.strip() for cell in row] for row in found]


@pytest.mark.parametrize(
    ("section", "family"), [("## Mechanisms", DISSEMINATION), ("## Gateways", GATEWAY_SELECTION)]
)
def test_every_parameter_of_mechanisms_nearby_is_documented_with_its_default(
    section: str, family: Family
) -> None:
    mechanisms = Registry().kinds(family).values()
    names = {kind.name for kind in mechanisms}
    table = {row[0].strip("`"): row for row in rows("dissemination.md", section)}
    assert names <= set(table)
    documented = {}
    for name, (_, of, _, default, *_) in ((n, row) for n, row in table.items() if n not in names):
        first, *others = default.split(", of ")
        own = dict(each.rsplit(" ", 1) for each in others)
        for kind in names if of == "all" else of.split(", "):
            documented[kind, name] = own.get(kind, first).strip("`")
    assert documented == {
        (kind.name, name): said_value(parameter.default)
        for kind in mechanisms
        for name, parameter in kind.parameters().items()
    }


def test_every_family_is_in_the_page_about_extending() -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    section = page.partition("## Mechanisms\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    table = {row[0]: row for row in ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)}
    assert table.keys() == {family.name for family in FAMILIES}
    for family in FAMILIES:
        _, base, places, define = table[family.name]
        assert base == f"`{family.base.rpartition(':')[2]}`"
        assert set(re.findall(r"`(\S+)`", places)) == {proxy.name for proxy in family.proxies}
        assert {proxy.side for proxy in family.proxies} == {
            s for s in ("client", "broker", "edge", "pipeline", "connector") if s in places
        }
        kind = load_reference(family.base)
        left = {name for name in dir(kind) if getattr(getattr(kind, name), "__isabstractmethod__", False)}
        assert left <= words_of(define)


def test_the_program_in_the_page_about_extending_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "extending.md").read_text().partition("## In a program")[2]
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(ROOT)
    exec(program, {})
    assert capsys.readouterr().out == "heard by everybody else\n" * 9


def test_the_message_and_the_names_in_the_page_about_ingestion_are_those_there_are() -> None:
    page = (ROOT / "docs" / "ingest.md").read_text()
    (shown,) = re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    parsed = find_parser("json")(ParserSchema()).parse(shown.encode(), 0)
    assert (parsed.device, [each.metric for each in parsed.measurements]) == ("truck-7", ["speed", "door"])
    assert {*PARSERS, *SUITES, *STANDARDS, *get_args(Compression)} <= words("ingest.md")


TESTED = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs" / "testing.md").read_text(), re.DOTALL | re.MULTILINE
)


QUICK: dict[type, str] = {
    testing.CacheSuite: "test_nothing_is_evicted_while_there_is_room",
    testing.ChurnSuite: "test_the_seed_decides",
    testing.ConnectorSuite: "test_what_is_acknowledged_is_in_the_log",
    testing.DisseminationSuite: "test_everybody_in_reach_hears",
    testing.FilterSchemeSuite: "test_nobody_whom_an_event_concerns_misses_it",
    testing.FrameProtectionSuite: "test_what_is_sealed_is_opened",
    testing.GatewayLogicSuite: "test_everybody_hears_once",
    testing.GatewaySelectionSuite: "test_everybody_is_a_gateway_or_has_one",
    testing.InsertionSuite: "test_the_same_cycle_has_the_same_batches",
    testing.LogSuite: "test_messages_of_a_device_stay_in_order",
    testing.MatchingSuite: "test_it_stops_listening",
    testing.MobilitySuite: "test_a_longer_run_begins_like_a_shorter_one",
    testing.ModeSuite: "test_everybody_is_told_once",
    testing.ParserSuite: "test_what_is_written_is_read",
    testing.PartitionSuite: "test_nothing_is_evicted_while_there_is_room",
    testing.PrecomputeSuite: "test_each_message_has_one_end",
    testing.ProvisioningSuite: "test_subscriptions_are_served_where_nothing_else_asks_for_room",
    testing.RankingSuite: "test_an_item_alone_is_chosen",
    testing.RoutingSuite: "test_who_never_was_there_is_reported",
    testing.StorageSuite: "test_objects_can_be_retrieved",
    testing.TransportSuite: "test_devices_nearby_hear_each_other",
    testing.WorkloadSuite: "test_events_are_in_the_world_and_in_time",
}


@pytest.mark.parametrize("program", TESTED, ids=range(len(TESTED)))
def test_the_examples_in_the_page_about_testing_hold(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is executed, and of what it defines something is tried, with few examples."""
    code = [line for line in program.splitlines() if line and not line.startswith(("import", "from"))]
    assert len(code) <= 10
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    defined: dict[str, Any] = {"__name__": "shown"}
    exec(program, defined)
    few = settings(max_examples=2, stateful_step_count=4, deadline=None, database=None, derandomize=True)
    for name, value in defined.items():
        if isinstance(value, type) and value.__module__ == "shown":
            if issubclass(value, testing.SystemMachine):
                run_state_machine_as_test(value, settings=few)
            else:
                monkeypatch.setattr(value, "examples", 2)
                (quick,) = (test for suite, test in QUICK.items() if issubclass(value, suite))
                getattr(value(), quick)()
        elif name.startswith("test_"):
            few(value)()


def test_every_suite_and_capability_is_documented() -> None:
    documented = words("testing.md")
    assert {*testing.__all__} - {"Waypoint"} <= documented
    suites = [each for each in map(testing.__getattribute__, testing.__all__) if hasattr(each, "defaults")]
    assert {*suites} == {*QUICK}
    assert {name for suite in suites for name in suite.defaults} <= documented


def said_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else written(value)


def test_every_mechanism_nearby_is_documented() -> None:
    pages = {proxy: words(f"{proxy}.md") for proxy in ("routing", "storage")}
    pages |= {"stability": words("infrastructure.md"), "matching": words("matching.md")}
    others = words("dissemination.md")
    nearby = [each for side in SIDES for each in Registry().catalogue(side).items()]
    for proxy, kinds in nearby:
        own = {name for name, kind in kinds.items() if kind.__module__.startswith("bypass.")}
        assert proxy == "filter" or {proxy, *own} <= pages.get(proxy, others)


def test_every_parameter_of_a_store_is_documented() -> None:
    kinds = Registry().kinds(STORAGE).values()
    assert {name for kind in kinds for name in kind.parameters()} <= words("storage.md")


def test_modes_do_what_is_documented() -> None:
    ways = {"everything": ALL, "local events": LOCAL, "all others": OTHERS, "–": NONE}
    documented = {row[0]: (ways[row[1]], ways[row[2]]) for row in rows("dissemination.md", "## Hybrid modes")}
    assert documented == {
        f"`{mode.name}`": (mode.by_radio, mode.by_broker) for mode in Registry().kinds(MODE).values()
    }


def test_every_key_of_a_radio_is_documented_with_its_defaults() -> None:
    table = [row[:3] for row in rows("dissemination.md", "## The radio model")]
    assert table == [
        [f"`{name}`", *(said_value(getattr(model, name)) for model in (RadioModel(), BluetoothModel()))]
        for name in RadioModel.model_fields
    ]


def test_every_parameter_of_churn_is_documented_with_its_default() -> None:
    table = {row[0]: set(row[-1].split(", ")) - {""} for row in rows("scenarios.md", "### Churn")}
    assert table == {
        f"`{name}`": {
            f"`{each}`" if field.is_required() else f"`{each}` {written(field.default)}"
            for each, field in model.model_fields.items()
        }
        for name, model in CHURN.items()
    }


def test_every_topic_and_fact_is_documented() -> None:
    table = {row[0]: row[-1] for row in rows("adaptation.md", "### Topics and facts")}
    assert table.keys() == {f"`{topic}`" for topic in TOPICS}
    for topic, facts in TOPICS.items():
        assert set(re.findall(r"`(\w+)`", table[f"`{topic}`"])) == facts
    store = [re.findall(r"`(\w+)`", row[0]) for row in rows("adaptation.md", "## Nodes without a broker")]
    assert {name for names in store for name in names} == STORE_TOPICS["store"]
    assert {DECISION, NEXT_DECISION} <= words("adaptation.md")


def test_every_part_of_a_rule_and_of_its_record_is_documented() -> None:
    documented = words("adaptation.md")
    keys = {field.alias or name for name, field in Rule.model_fields.items()}
    assert {row[0].strip("`") for row in rows("adaptation.md", "## A rule book")} == keys - {"about"}
    assert keys | set(RuleBook.model_fields) | {field.name for field in fields(Firing)} <= documented


def test_every_rule_book_is_documented_with_its_parameters() -> None:
    table = {row[0].strip("`"): row[-1] for row in rows("adaptation.md", "## Built-in rule books")}
    assert sorted(table) == rulebook_names()
    for name, shown in table.items():
        book, _ = load_rules(name, {})
        assert set(re.findall(r"`(\w+)`", shown)) == set(book.parameters)


def test_what_the_page_of_rules_shows_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "adaptation.md").read_text()
    [python] = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "my_module.py").write_text(python)
    monkeypatch.syspath_prepend(tmp_path)
    changes = {"rules": {"use": "my_module:RULES"}, "runs": {}, "checks": [], "timeline": []}
    result = run(load("total-transitions", clients=20, duration=8, changes=changes | {"main": ""}))
    assert result.main.firings
    assert {(firing.rule, *firing.outcomes) for firing in result.main.firings} == {("hourly", "done")}
    book = re.search(r"^## A rule book\n\n((?:    .*\n)+)", page, re.MULTILINE)
    assert book is not None
    (tmp_path / "book.yaml").write_text(book[1])
    assert [rule.rule for rule in load_rules(str(tmp_path / "book.yaml"), {})[0].rules] == ["crowd"]


def test_the_rule_that_asks_for_the_delay_can_be_used(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "timeliness.md").read_text()
    book = re.search(r"^## In rules\n.*?\n\n((?:    [^\n]*\n)+)", page, re.MULTILINE | re.DOTALL)
    assert book is not None
    (tmp_path / "book.yaml").write_text(book[1])
    assert [rule.rule for rule in load_rules(str(tmp_path / "book.yaml"), {})[0].rules] == ["do-not-wait"]


def test_every_key_of_an_experiment_is_documented() -> None:
    models: list[Any] = [
        Scenario,
        Script,
        ScriptStep,
        Step,
        RuleSettings,
        CellularModel,
        Check,
        Publishing,
        InfrastructureSettings,
        BackhaulSettings,
        BackhaulCut,
        EdgeOutage,
        EdgeEnergy,
        LatencyRatios,
        *WORKLOADS.values(),
        *STORAGE_WORKLOADS.values(),
    ]
    known = {name for model in models for name in model.model_fields}
    names = {*MOBILITY, *WORKLOADS, *STORAGE_WORKLOADS, *CHURN}
    assert known | names <= words("scenarios.md")


def test_the_script_that_is_shown_loses_nothing(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "scenarios.md").read_text()
    (shown,) = re.findall(r"<!-- script.yaml -->\n```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "script.yaml").write_text(shown)
    figures = run(tmp_path / "script.yaml").summary()["extra"]["script"]
    assert figures == {"owed": 1, "lost": 0, "doubled": 0}
    assert figures.keys() <= words("scenarios.md")


@pytest.mark.parametrize("name", MOBILITY)
def test_every_parameter_of_a_mobility_model_is_documented_with_its_default(name: str) -> None:
    [row] = re.findall(rf"^\| `{name}` \|.*$", (ROOT / "docs" / "mobility.md").read_text(), re.MULTILINE)
    *_, parameters, _ = row.split("|")
    assert set(re.findall(r"`\w+`(?: \[[^]]*\]| [^,]+)?", parameters.strip())) == {
        f"`{each}`" if field.is_required() else f"`{each}` {written(field.default)}"
        for each, field in MOBILITY[name].model_fields.items()
    }


def written(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    return value if isinstance(value, str) else f"{value:g}"


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("map", "mobility.md"),
        ("traces", "mobility.md"),
        ("evaluate", "evaluation.md"),
        ("publications", "evaluation.md"),
        ("timeliness", "timeliness.md"),
    ],
)
def test_every_option_of_a_command_is_documented(name: str, page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    table = text[text.index(f"| option of `bypass {name}` |") :].partition("\n\n")[0]
    options = [each for each in commands.commands[name].params if isinstance(each, click.Option)]
    assert {option for each in options for option in each.opts} == set(re.findall(r"`(--[\w-]+)`", table))


def test_everything_in_maps_traces_and_statistics_is_documented(tmp_path: Path) -> None:
    documented = words("mobility.md")
    write_map(load_map("darmstadt"), tmp_path / "map.json")
    assert set(keys(json.loads((tmp_path / "map.json").read_text()))) | set(MAPS) <= documented
    assert set(Manifest.model_fields) <= documented
    figures = statistics(np.zeros((2, 2)), np.zeros((2, 2)), 1.0).summary()
    assert {re.sub(r"_(mean|p\d+)_", "_…_", figure) for figure in figures} <= documented
    assert {found[1] for figure in figures if (found := re.search(r"_(mean|p\d+)_", figure))} <= documented


def test_everything_that_an_evaluation_writes_is_documented(tmp_path: Path) -> None:
    trace = write_trace(
        Darmstadt(), "darmstadt", tmp_path / "da", clients=5, duration=10, seed=1, engine=LocalEngine()
    )
    out = evaluate(trace, ["radial"], out=tmp_path / "out", engine=LocalEngine()).out
    figures = {*keys(json.loads((out / "summary.json").read_text()))} - {"radial", "ar"}
    pieces = {*keys(json.loads((out / "pieces.json").read_text()))}
    events = {name.replace("radial/", "SCHEME/") for name in pq.read_table(out / "events").column_names}
    cells = {*pq.read_table(out / "cells").column_names}
    assert figures | pieces | events | cells <= words("evaluation.md")


def test_everything_in_networks_and_in_what_is_said_of_them_is_documented(tmp_path: Path) -> None:
    network = ROOT / "examples" / "metro.yaml"
    said(f"bypass timeliness {network} --lifetime 60 --out {tmp_path}")
    models = (BrokerNetwork, BrokerNode, NetworkLink, PublisherNode, Subscriber)
    written = {*keys(json.loads((tmp_path / "summary.json").read_text()))}
    assert written | {name for model in models for name in model.model_fields} <= words("timeliness.md")


def shown_anew(page: str, folder: Path) -> str:
    """The page with what its commands print, run one after the other in the folder."""
    printed = ""

    def anew(found: re.Match[str]) -> str:
        nonlocal printed
        if found["name"]:
            Path(found["name"]).write_text(found["file"])
        elif found["lines"]:
            printed = "".join(map(said, found["lines"].splitlines()))
        elif not found["code"]:
            return f"```\n{printed}```"
        return found[0]

    before = Path.cwd()
    os.chdir(folder)
    try:
        return SHOWN.sub(anew, page)
    finally:
        os.chdir(before)


def said(line: str) -> str:
    """The output of a command, with the time that it took made equal."""
    _, *words = shlex.split(line)
    done = CliRunner().invoke(commands, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    timeless = re.sub(r"(simulated|judged) in [\d.]+ s", r"\1 in 1.0 s", done.output)
    return re.sub(r"[\d.]+ million rows/s", "1.0 million rows/s", timeless)


@pytest.mark.parametrize("path", SHOWING, ids=lambda path: path.name)
def test_the_commands_of_a_page_print_what_is_shown(path: Path, tmp_path: Path) -> None:
    page = path.read_text()
    assert shown_anew(page, tmp_path) == page


@pytest.mark.parametrize("name", ["clients", "duration", "grace"])
def test_defaults_are_those_of_the_schema(name: str) -> None:
    row = f"| `{name}` | {Scenario.model_fields[name].default:g} |"
    assert row in (ROOT / "docs" / "scenarios.md").read_text()


def test_every_figure_and_column_is_documented() -> None:
    changes = {"runs": {"base": {}, "other": {}}, "main": "base", "baseline": "base"}
    compared = load("total-transitions", clients=10, duration=12, changes=changes)
    # As `run` does it with processes, which import everything.
    result = Result(compared, {name: Experiment(each, 1).run() for name, each in variants(compared).items()})
    summary = result.summary()
    del summary["runs"]
    for phase in summary["phases"]:
        del phase["mechanisms"], phase["percentiles"]
    extra = summary["extra"]
    for named in ("usage", "usage_crowded", "usage_last"):
        extra[named] = dict.fromkeys(extra[named])  # in it are mechanisms, by name
    extra["areas"] = dict.fromkeys(extra["areas"])  # and places
    extra["traffic"] = dict.fromkeys(way for way in extra["traffic"] if not way.endswith("_down"))
    documented = words("scenarios.md")
    assert set(keys(summary)) | {"mechanisms", "percentiles"} <= documented
    assert {*COLUMNS, "recall", "precision"} <= documented
    ways = {column for column in timeline(result.main) if column.endswith("_down")}
    assert set(timeline(result.main)) - ways <= documented


def test_every_part_of_a_record_is_documented() -> None:
    assert {field.name for field in fields(Record)} <= words("transitions.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]*#?[^)]*)\)", page.read_text()):
        if target.startswith("http"):
            continue
        name, _, section = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), target
        if section:
            titles = re.findall(r"^#+ (.*)$", linked.read_text(), re.MULTILINE)
            assert section in {re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles}, target


def record() -> None:
    for path in SHOWING:
        with TemporaryDirectory() as folder:
            path.write_text(shown_anew(path.read_text(), Path(folder)))


if __name__ == "__main__":
    record()
