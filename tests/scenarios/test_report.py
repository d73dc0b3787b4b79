from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bypass.scenarios.experiments.inputs import experiment_text, parameters
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.report.labels import mechanism_columns
from bypass.scenarios.report.page import number, span
from bypass.scenarios.report.pictures import comparing
from bypass.scenarios.report.pictures_nearby import gateways
from bypass.scenarios.report.plots.style import mechanism_colour
from bypass.scenarios.report.report import rerun, verdict_line, write_report
from bypass.scenarios.report.result import Result
from bypass.scenarios.report.tables import rule_table
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import load
from bypass.transitions import Firing

pytestmark = pytest.mark.slow

VOID = {"meta", "br"}


def step(at: float, scheme: str, plan: str = "T") -> dict[str, Any]:
    return {"at": at, "phase": scheme, "plan": {"plan": plan, "actions": [{"proxy": "filter", "to": scheme}]}}


def scenario(**changes: Any) -> Scenario:
    tiny = {"name": "tiny", "about": "a tiny run", "clients": 20, "duration": 20}
    return Scenario.model_validate(tiny | changes)


def run(tiny: Scenario) -> Result:
    return Result(tiny, {name: Experiment(each, 1).run() for name, each in variants(tiny).items()})


def report(result: Result, directory: Path) -> str:
    return write_report(result, directory).read_text(encoding="utf-8")


class Reader(HTMLParser):
    """Checks that tags are closed in order; collects text and what is referred to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.references: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert len(set(reader.ids)) == len(reader.ids)
    for reference in reader.references:
        assert reference.startswith(("#", "data:image/png;base64,"))
    assert "http" not in html
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)
    return reader


def words(html: str) -> str:
    return " ".join(" ".join(read(html).text).split())


def headings(html: str) -> list[str]:
    return [unescape(text) for text in re.findall(r"<h2>(.*?)</h2>", html)]


CHECKS = [
    {"name": "good", "source": "1.1", "stated": "about 0.98", "value": "phases.0.recall", "low": 0.5},
    {
        "name": "bad",
        "source": "1.2",
        "stated": "777 at most",
        "value": "phases.0.events",
        "high": 7,
        "note": "so",
    },
    {"name": "absent", "source": "1.3", "stated": "42", "value": "phases.nowhere.recall"},
    {
        "name": "less",
        "source": "1.4",
        "stated": "a > b",
        "value": "phases.0.recall",
        "minus": "phases.1.precision",
        "over": "phases.0.precision",
        "low": -10,
        "high": 10,
    },
]


@pytest.fixture(scope="module")
def result() -> Result:
    return run(scenario(timeline=[step(8, "grid", "T1"), step(14, "egrid", "T2")], checks=CHECKS))


@pytest.fixture(scope="module")
def path(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(result, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def html(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_report_is_one_file_of_reasonable_size(path: Path) -> None:
    assert path.name == "report.html"
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_size < 2_000_000


def test_sections_come_in_order(html: str) -> None:
    read(html)
    assert headings(html) == [
        "Checked figures",
        "Phases",
        "Over time",
        "Around transitions",
        "Distribution",
        "By place",
        "Run it again",
    ]


def test_the_head_says_what_was_run(html: str, result: Result) -> None:
    text = words(html)
    assert text.index("a tiny run") < text.index("2 of 4 checked figures") < text.index("Checked figures")
    assert "What differs: bad. What was not measured: absent." in text
    for fact in ("seed 1", "clients 20", "simulated time 20 s", "radial → grid → egrid"):
        assert fact in text
    assert f"events {len(result.main.events['id'])}" in text


def test_both_numbers_of_every_verdict_are_there_and_differences_come_first(
    html: str, result: Result
) -> None:
    rows = re.findall(r"<tr>(.*?)</tr>", html[: html.index("<h2>Phases")], flags=re.DOTALL)[1:]
    cells = [[unescape(re.sub(r"<[^>]+>", " ", cell)).split() for cell in row.split("<td")] for row in rows]
    by_name = {row[0][0]: " ".join(" ".join(cell) for cell in row) for row in cells}
    assert list(by_name) == ["bad", "absent", "good", "less"]
    for verdict in result.verdicts:
        row = by_name[verdict.check.name]
        assert verdict.check.source in row
        assert verdict.check.stated in row
        assert number(verdict.value) in row
    assert "✗ differs" in by_name["bad"]
    assert "so" in by_name["bad"]
    assert "at most 7" in by_name["bad"]
    assert "? not measured" in by_name["absent"]
    assert "✓ holds" in by_name["good"]
    first, second = result.phases[0], result.phases[1]
    parts = [number(each) for each in (first.recall.mean, second.precision.mean, first.precision.mean)]
    assert f"= ({parts[0]} − {parts[1]}) / {parts[2]}" in by_name["less"]


def test_every_phase_is_in_the_table(html: str, result: Result) -> None:
    table = html[html.index("<h2>Phases") : html.index("<h2>Over time")]
    for phase in result.phases:
        assert f'<th scope="row">{phase.name}</th>' in table
        assert f"{phase.recall.mean:.3f}" in table
        assert f"{phase.delay_ms.percentile(95):.1f}" in table
        assert f"{phase.traffic['coordination']:.3f}" in table
    assert "ad hoc" not in table


def test_the_same_result_gives_the_same_report_but_for_the_computing_time(
    html: str, result: Result, tmp_path: Path
) -> None:
    again = replace(result.main, wall_s=result.main.wall_s + 100)
    other = report(Result(result.scenario, {"tiny": again}), tmp_path)
    wall = re.compile(r'<div class="wall">.*?</div>')
    assert other != html
    assert wall.sub("", other) == wall.sub("", html)


def test_the_parameters_give_the_same_scenario(html: str, result: Result, tmp_path: Path) -> None:
    shown = re.findall(r"<pre>(.*?)</pre>", html, flags=re.DOTALL)
    assert unescape(shown[0]) == "bypass run experiment.yaml"
    assert unescape(shown[1]) == experiment_text(result.scenario)
    file = tmp_path / "tiny.yaml"
    file.write_text(unescape(shown[1]), encoding="utf-8")
    assert parameters(load(file)) == parameters(result.scenario)


@pytest.mark.parametrize(
    ("changes", "command"),
    [
        ({}, "bypass run total-transitions --seed 7 --duration 20.5"),
        ({"grace": 2}, "bypass run experiment.yaml"),
    ],
)
def test_a_built_in_scenario_is_rerun_by_name_if_it_is_unchanged(
    changes: dict[str, Any], command: str
) -> None:
    known = load("total-transitions", duration=20.5, changes={**changes, "seed": 7})
    assert f"<pre>{command}</pre>" in "".join(rerun(known))


def test_a_built_in_scenario_that_is_too_short_unless_changed_is_rerun_by_its_file() -> None:
    known = load("thyme-static", duration=100, changes={"objects.posts.duration": 20})
    assert "<pre>bypass run experiment.yaml</pre>" in "".join(rerun(known))


def test_names_are_text_not_html(tmp_path: Path) -> None:
    evil = "<script>&\"'$x_1"
    steps = [step(5, "grid", evil) | {"phase": evil}]
    check = {
        "name": evil,
        "source": evil,
        "stated": evil,
        "value": "phases.0.recall",
        "high": -1,
        "note": evil,
    }
    tiny = scenario(duration=10, phase=evil, timeline=steps, about=evil, checks=[check])
    runs = {evil: run(tiny).main, "b": run(tiny).main}
    html = report(Result(tiny.model_copy(update={"name": evil}), runs), tmp_path)
    reader = read(html)
    assert "script" not in reader.tags
    assert words(html).count(evil) > 10


def test_without_transitions_there_is_nothing_around_them(tmp_path: Path) -> None:
    html = report(run(scenario(duration=5)), tmp_path)
    assert words(html).count("This scenario checks no figures.") == 1
    assert headings(html) == ["Phases", "Over time", "Distribution", "By place", "Run it again"]


def test_pictures_of_a_plan_that_is_executed_twice_say_when(tmp_path: Path) -> None:
    steps = [step(2, "grid"), step(4, "radial", "back"), step(6, "grid")]
    html = report(run(scenario(duration=8, timeline=steps)), tmp_path)
    for part in html.split('<div class="plots')[1:]:
        titles = re.findall('<div class="title">(.*?)</div>', part)
        assert len(set(titles)) == len(titles)
    assert html.count('<div class="title">T grid at 6 s</div>') == 2  # around it, and how it reached clients


def test_a_phase_without_events_is_told_in_words(tmp_path: Path) -> None:
    html = report(run(scenario(duration=10, timeline=[step(1, "grid")], workload={"start": 5})), tmp_path)
    text = words(html)
    assert "Too few events were published near the transitions." in text
    assert "no values" in text


def test_a_run_without_any_events_is_told_in_words(tmp_path: Path) -> None:
    tiny = scenario(duration=3, clients=1, workload={"start": 2.9999999})
    result = run(tiny)
    assert len(result.main.events["id"]) == 0
    assert words(report(result, tmp_path)).count("there is neither recall nor precision to show") == 3


def test_a_single_event_is_enough(result: Result, tmp_path: Path) -> None:
    main = result.main
    concerned = np.flatnonzero(main.events["subscribers"])[:1]
    single = replace(main, events={name: column[concerned] for name, column in main.events.items()})
    html = report(Result(result.scenario, {"tiny": single}), tmp_path)
    assert "events 1 " in words(html)


def test_a_world_without_a_map(tmp_path: Path) -> None:
    result = run(scenario(duration=5, mobility={"model": "rwp"}))
    assert result.main.region.places == ()
    assert "By place" in headings(report(result, tmp_path))


def test_partial_transitions_have_a_map(tmp_path: Path) -> None:
    result = run(scenario(duration=10, clients=60, rules={"use": "borders"}))
    html = report(result, tmp_path)
    assert "Clients that changed one by one" in headings(html)
    assert "Filter scheme:" in words(html)
    assert "Dissemination:" not in words(html)
    assert re.search(r"partial transitions \d+, to attract", words(html))


# -- clients nearby ------------------------------------------------------------------------------------------

NEARBY = [
    {"proxy": "transport", "to": "wifi"},
    {"proxy": "direct", "to": "gossip"},
    {"proxy": "mode", "to": "offload"},
]
WIFI = {"name": "wifi", "parameters": {}}
GATEWAYS = [
    {"proxy": "transport", "to": "wifi"},
    {"proxy": "mode", "to": "gateway"},
    {"proxy": "gateway-logic", "to": "relay"},
    {"proxy": "gateway-selection", "to": "skc-leach", "set": {"share": 0.4, "serves": "channels"}},
]


def direct(at: float, to: str, **spread: Any) -> dict[str, Any]:
    plan = {"plan": "T", "actions": [{"proxy": "direct", "to": to}]}
    return {"at": at, "phase": to, "plan": plan, **spread}


@pytest.fixture(scope="module")
def nearby(tmp_path_factory: pytest.TempPathFactory) -> str:
    steps = [direct(4, "flooding"), direct(7, "broadcast", spread="healing", initiators=40)]
    result = run(scenario(clients=40, duration=10, begin=NEARBY, timeline=steps))
    return report(result, tmp_path_factory.mktemp("nearby"))


def test_clients_nearby_have_a_section_of_their_own(nearby: str) -> None:
    assert "Clients nearby" in headings(nearby)
    assert "Gateways" not in headings(nearby)
    assert "Rules that fired" not in headings(nearby)
    assert "Clients that changed one by one" not in headings(nearby)
    text = words(nearby)
    assert "Dissemination, client by client" in text
    assert "Dissemination, shares of clients" in text
    assert "Mode, shares" not in text  # it stays the same
    assert re.search(r"Radios sent [\d\u202f]+ frames\.", text)


def test_how_a_step_reached_clients_nearby_is_drawn(nearby: str) -> None:
    followed = re.findall(r"<figcaption>(\d+) of 40 clients followed", nearby)
    assert followed == ["40", "40"]
    assert words(nearby).count("delay (ms)") >= 2


def test_the_head_says_what_changed_nearby(nearby: str) -> None:
    text = words(nearby)
    assert "dissemination gossip → flooding → broadcast" in text
    assert "filter scheme radial" in text
    assert "transport wifi" in text
    assert "Colours: the dissemination of most clients." in text


def test_radios_have_columns_and_courses_of_their_own(nearby: str) -> None:
    table = nearby[nearby.index("<h2>Phases") : nearby.index("<h2>Over time")]
    assert "ad hoc up" in table
    assert re.findall(r'class="chip"[^>]*></span>(\w+)', table) == [
        "radial", "gossip", "radial", "flooding", "radial", "broadcast",
    ]  # fmt: skip
    for title in ("Delay", "Cellular traffic", "Ad hoc traffic"):
        assert f'<div class="title">{title}</div>' in nearby
    assert "All traffic" not in nearby


def test_without_a_broker_its_scheme_is_not_mentioned(tmp_path: Path) -> None:
    alone = [*NEARBY[:2], {"proxy": "mode", "to": "ad-hoc"}]
    runs = {"gossip": {}, "flooding": {"begin.1.to": "flooding"}}
    html = report(run(scenario(clients=20, duration=4, begin=alone, runs=runs, phase="all")), tmp_path)
    assert "radial" not in html[: html.index("<h2>Run it again")]
    compared = html[html.index("<h2>Runs compared") :]
    for name in runs:
        assert f"background: {mechanism_colour(name)}" in compared
        assert mechanism_colour(name).lower() in compared


@pytest.fixture(scope="module")
def relayed() -> Result:
    runs = {
        "none": {"begin.3.to": "nothing", "begin.3.set": {}},
        "some": {},
        "few": {"begin.3.set.share": 0.1},
    }
    return run(
        scenario(
            clients=80,
            duration=6,
            filter={"extension": "max"},
            begin=GATEWAYS,
            rules={"use": "cx-gateway"},
            runs=runs,
            main="some",
            baseline="none",
        )
    )


@pytest.fixture(scope="module")
def relayed_html(relayed: Result, tmp_path_factory: pytest.TempPathFactory) -> str:
    return report(relayed, tmp_path_factory.mktemp("relayed"))


def test_gateways_have_a_table_maps_and_lorenz_curves(relayed: Result, relayed_html: str) -> None:
    html = relayed_html
    section = html[html.index("<h2>Gateways") : html.index("<h2>Rules that fired")]
    rows = re.findall(r'<th scope="row">(\w+)</th>', section)
    assert rows == ["some", "few"]  # without gateways there is nothing to say
    figures = relayed.summary()["runs"]
    for name in rows:
        extra = figures[name]["extra"]
        row = section[section.index(f">{name}</th>") :].partition("</tr>")[0]
        assert f"{extra['gateways']['per_event']:.2f}" in row
        assert f"{extra['gateways']['fairness']:.2f}" in row
        assert f"{100 * extra['cellular_download_saved']:.1f} %".replace("-", "−") in row
        assert f"{name} ({extra['gateways']['fairness']:.2f})" in section
    assert re.findall(r'<div class="title">(.*?)</div>', section)[:2] == [
        "Gateways an event",
        "Copies a client",
    ]


def test_gateways_that_only_another_run_has_are_shown_too(relayed: Result) -> None:
    other = Result(relayed.scenario.model_copy(update={"main": "none"}), relayed.runs)
    html = "".join(gateways(other))
    assert "Gateways an event" not in html
    assert "Turns of gateways" in html


def test_rules_that_fired_are_counted(relayed: Result, relayed_html: str) -> None:
    section = relayed_html[relayed_html.index("<h2>Rules") : relayed_html.index("<h2>Distribution")]
    counts = Counter(firing.rule for firing in relayed.main.firings)
    assert counts["enter"] > 0
    for rule, times in counts.items():
        last = [firing for firing in relayed.main.firings if firing.rule == rule][-1]
        row = section[section.index(f">{rule}</th>") :].partition("</tr>")[0]
        assert f'data-of="times">{times}<' in row
        assert last.why in unescape(row)
    assert "latest" not in section


def test_rules_that_failed_say_so() -> None:
    facts: dict[str, Any] = {}
    firings = [
        Firing(1.0, "a", "location", 1, facts, why="good", plan="p", outcomes=("done",)),
        Firing(2.0, "a", "location", 1, facts, why="bad", plan="p", outcomes=("done", "failed")),
        Firing(3.0, "a", "location", 2, facts, error="no <such> fact"),
        Firing(4.0, "b", "density", 2, facts, why="x < y"),
    ]
    rows = re.findall(r"<tr><th scope=.row.>.*?</tr>", rule_table(firings))
    cells = [re.findall(r">([^<>]*)</t[hd]>", row) for row in rows]
    assert cells == [
        ["a", "location", "3", "2", "2", "3.0", "no &lt;such&gt; fact"],
        ["b", "density", "1", "1", "0", "4.0", "x &lt; y"],
    ]


def test_who_comes_and_goes_is_drawn(tmp_path: Path) -> None:
    churn = {"model": "ramp", "start": 5, "end": 5}
    text = words(report(run(scenario(duration=6, churn=churn)), tmp_path))
    assert "Clients taking part" in text
    assert re.search(r"In the mean \d+ % of 20 clients", text)
    assert "Clients nearby" not in text


def test_tables_show_what_tells_rows_apart(relayed: Result) -> None:
    phase = relayed.main.phases[0]
    first: dict[str, Any] = {"p": 0.4, "jitter": 0.005, "geofence": True}
    gossip = {"name": "gossip", "parameters": first}
    other = {"name": "gossip", "parameters": first | {"p": 0.7, "geofence": False}}
    phases = [
        replace(phase, mechanisms={"filter": phase.mechanisms["filter"], "direct": each, "transport": wifi})
        for each, wifi in ((gossip, WIFI), (other, WIFI))
    ]
    columns, rows = mechanism_columns(phases)
    assert [column.name for column in columns] == ["scheme", "nearby"]
    nearby = [re.sub("<[^>]*>", "", row[1]) for row in rows]
    assert nearby == ["gossip (p 0.4, geofence on)", "gossip (p 0.7, geofence off)"]
    phases[1] = replace(phases[1], mechanisms={"filter": phase.mechanisms["filter"]})
    _, rows = mechanism_columns(phases)
    assert re.sub("<[^>]*>", " ", rows[1][1]).split() == ["nothing", "nothing"]


# -- several runs --------------------------------------------------------------------------------------------


def several(names: Iterable[str], **changes: Any) -> Result:
    runs = {name: {} if i % 2 else {"timeline": [step(3, "ste")]} for i, name in enumerate(names)}
    return run(scenario(duration=6, runs=runs, **changes))


def test_runs_are_compared_even_if_their_phases_differ(tmp_path: Path) -> None:
    result = several(
        ["first", "second", "third"], main="second", timeline=[step(2, "grid"), step(4, "egrid")]
    )
    html = report(result, tmp_path)
    text = words(html)
    assert "Phases of run second" in headings(html)
    assert "Runs compared" in headings(html)
    compared = html[html.index("<h2>Runs compared") :]
    for name in ("first", "second", "third"):
        assert f'<th scope="row">{name}</th>' in compared
    assert "Phases of run first" in text
    assert "Phases of run third" in text
    assert "Mean recall" in text
    assert "too many" not in text
    assert "runs first, second, third" in text


def test_many_runs_are_compared_without_lines(result: Result) -> None:
    many = {f"run-{i}": result.main for i in range(7)}
    text = words("".join(comparing(Result(result.scenario, many))))
    assert "7 runs are too many to tell apart as lines in one plot." in text
    assert "Mean recall" not in text
    assert "run-6" in text


def test_the_verdict_line_counts(result: Result) -> None:
    good = [verdict for verdict in result.verdicts if verdict.verdict == "holds"]
    assert verdict_line(good) == "All 2 checked figures hold."


def test_numbers_are_short_and_tell_near_values_apart() -> None:
    shown = [number(value) for value in (0.75004, 0.7501, 0, -0.05, 13520.4, -4382, float("nan"))]
    assert shown == ["0.75", "0.7501", "0", "−0.05", "13\u202f520", "−4\u202f382", "–"]
    assert [span(value) for value in (0.5, 119, 120, 150, 1500)] == [
        "0.5 s",
        "119 s",
        "2 min",
        "2 min 30 s",
        "25 min",
    ]
