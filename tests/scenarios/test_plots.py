from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER
from bypass.places.areas import Area
from bypass.places.region import Place, Region
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.figures.gateway_watch import GatewayUse
from bypass.scenarios.figures.measures import Around, Stats, precision, recall
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.figures.usage import ClientExecution
from bypass.scenarios.report.plots.aggregate import time_edges
from bypass.scenarios.report.plots.bars import bars
from bypass.scenarios.report.plots.boxes import boxes
from bypass.scenarios.report.plots.captions import MOST_LINES, Line, run_colours, run_lines, told_by, used_in
from bypass.scenarios.report.plots.executions import TransitionSpread, single_executions, spreads
from bypass.scenarios.report.plots.maps.world import draw_world, metric_map, transition_map
from bypass.scenarios.report.plots.style import SMALL, Picture, mechanism_colour, sheet, to_svg
from bypass.scenarios.report.plots.time.around_transition import around_transition
from bypass.scenarios.report.plots.time.series import (
    delay_over_time,
    means_over_time,
    over_time,
    traffic_over_time,
    traffic_rate,
)
from bypass.scenarios.report.plots.time.spread import spread
from bypass.scenarios.report.plots.time.time_axis import stretches
from bypass.scenarios.runs.experiment import Experiment
from bypass.support.arrays import Floats
from bypass.transitions import Record

REGION = Region((0.0, 0.0, 100.0, 60.0), (Place("park", 50.0, 30.0, 20.0),))
NAN = float("nan")


def experiment(**changes: object) -> Run:
    scenario = Scenario.model_validate(
        {
            "name": "tiny",
            "about": "a tiny run",
            "clients": 20,
            "duration": 12,
            "timeline": [
                {
                    "at": 6,
                    "phase": "grid",
                    "plan": {
                        "plan": "T1",
                        "actions": [{"proxy": "filter", "to": "grid", "set": {"grid": 5}}],
                    },
                }
            ],
            **changes,
        }
    )
    return Experiment(scenario, 1).run()


@pytest.fixture(scope="module")
def run() -> Run:
    return experiment()


def texts(picture: Picture | None) -> list[str]:
    assert picture is not None
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture.svg)


@given(arrays(np.int64, 12, elements=st.integers(0, 10**6)), st.floats(11.01, 12))
def test_traffic_rates_add_up_to_the_bytes(sent: Floats, duration: float) -> None:
    scenario = Scenario(name="n", about="a", clients=7, duration=duration)
    empty = np.zeros(12, np.int64)
    ways = {"events_up": sent, "context_up": 2 * sent, "adhoc_up": 5 * sent}
    traffic = ways | {name.replace("_up", "_down"): empty for name in ways}
    some = replace(RUN_WITHOUT_ANYTHING, scenario=scenario, traffic=traffic)
    edges = time_edges(duration)
    for kind, factor in (("context", 2), ("cellular", 3), ("adhoc", 5), ("all", 8)):
        kbit = (traffic_rate(some, kind, "up", edges) * np.diff(edges)).sum() * 7
        assert kbit == pytest.approx(factor * sent.sum() * 8 / 1000)
        assert not traffic_rate(some, kind, "down", edges).any()


# -- style ---------------------------------------------------------------------------------------------------


def test_every_scheme_has_its_own_colour() -> None:
    schemes = Registry().kinds(FILTER)
    assert len({mechanism_colour(name) for name in schemes}) == len(schemes)
    assert mechanism_colour("a scheme of tomorrow") == mechanism_colour("a scheme of tomorrow")


def picture_of(value: float) -> str:
    with sheet(SMALL, 2) as figure:
        axes = figure.subplots()
        axes.plot([0, 1, 2], [0, value, 0], marker="o")
        axes.set_title("a $b_1 & <c>")
        return to_svg(figure, 'a "b" <c>')


def test_svg_stands_for_itself() -> None:
    svg = picture_of(1)
    assert svg.startswith("<svg ")
    assert svg.endswith("</svg>")
    assert "http" not in svg
    assert "var(--ink)" in svg
    assert "#010203" not in svg
    assert 'aria-label="a &quot;b&quot; &lt;c&gt;"' in svg
    assert "a $b_1 &amp; &lt;c&gt;" in svg  # names are not mathematics
    assert svg == picture_of(1)


def test_ids_are_those_referred_to_and_differ_between_pictures() -> None:
    ids = [set(re.findall(r' id="([^"]+)"', picture_of(value))) for value in (1, 2)]
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', picture_of(1)))
    assert used
    assert ids[0] == used
    assert not ids[0] & ids[1]


def test_runs_are_told_apart_by_their_schemes_if_they_can(run: Run) -> None:
    radial, grid = (
        experiment(timeline=[], duration=3, filter={"scheme": scheme}) for scheme in ("radial", "grid")
    )
    assert [line.color for line in run_lines([radial, grid])] == [
        mechanism_colour("radial"),
        mechanism_colour("grid"),
    ]
    for runs in ([radial, radial], [radial, grid, run]):
        lines = run_lines(runs)
        assert len({line.color for line in lines}) == len(runs)
        assert len({line.linestyle for line in lines}) == len(runs)
        assert run_colours(runs) == [line.color for line in lines]
    many = run_colours([radial] * MOST_LINES + [run])
    assert set(many[:-1]) == {mechanism_colour("radial")}
    assert many[-1] != mechanism_colour("radial")


def using(run: Run, *phases: dict[str, str]) -> Run:
    """The run with as many phases, in which these mechanisms are used behind these proxies."""
    return replace(
        run,
        phases=tuple(
            replace(
                run.phases[0], mechanisms={p: {"name": name, "parameters": {}} for p, name in own.items()}
            )
            for own in phases
        ),
    )


def test_phases_are_told_by_the_first_proxy_that_changes(run: Run) -> None:
    radial, gossip, flooding = {"filter": "radial"}, {"direct": "gossip"}, {"direct": "flooding"}
    assert told_by(using(run, radial, {"filter": "grid"} | gossip)) == "filter"
    assert told_by(using(run, radial | gossip, radial | flooding)) == "direct"
    assert told_by(using(run, radial, radial | {"mode": "augment"})) == "mode"
    assert told_by(using(run, radial | gossip)) == "filter"
    # Where the broker serves nobody, its scheme says nothing, whatever it is.
    alone = {"mode": "ad-hoc"}
    assert told_by(using(run, radial | gossip | alone)) == "direct"
    assert told_by(using(run, radial | gossip | alone, {"filter": "grid"} | gossip | alone)) == "direct"
    assert used_in(using(run, radial).phases[0], "mode") == "cloud"
    assert used_in(using(run, radial).phases[0], "direct") == "nothing"


def test_runs_are_told_apart_by_whatever_differs(run: Run) -> None:
    names = ("gossip", "flooding", "plan-b")
    runs = [using(run, {"filter": "radial", "direct": name}) for name in names]
    assert run_colours(runs) == [mechanism_colour(name) for name in names]
    silent = run_lines([using(run, {"filter": "radial"}), runs[0]])
    assert mechanism_colour("nothing") not in {line.color for line in silent}
    both = run_colours(runs * 3)
    assert both == [mechanism_colour(name) for name in names] * 3
    changing = using(run, {"filter": "radial", "direct": "gossip"}, {"filter": "radial"})
    assert run_colours([*runs * 3, changing])[-1] not in both


# -- pictures of a run ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "values"), [("recall", recall), ("precision", precision)])
def test_courses_name_phases_and_transitions(
    run: Run, metric: str, values: Callable[[dict[str, Floats]], Floats]
) -> None:
    assert [label for _, _, label, _ in stretches(run)] == ["radial", "T1 grid"]
    words = texts(over_time(run, metric, values(run.events)))
    assert {"radial", "T1 grid", "time (s)", f"{metric} of events"} <= set(words)
    words = texts(means_over_time({"a": run, "b": run}, run, metric, {n: values(run.events) for n in "ab"}))
    assert {"T1 grid", "a", "b", f"mean {metric}"} <= set(words)


def test_phases_have_the_colours_of_what_changes(run: Run) -> None:
    nearby = using(run, {"filter": "radial", "direct": "gossip"}, {"filter": "radial", "direct": "flooding"})
    nearby = replace(nearby, phases=(nearby.phases[0], replace(nearby.phases[1], start_s=6.0, end_s=12.0)))
    assert [mechanism for *_, mechanism in stretches(nearby)] == ["gossip", "flooding"]
    drawn = delay_over_time(nearby)
    assert {"delay of events (ms)", "T1 radial"} <= set(texts(drawn))
    assert drawn is not None
    for name in ("gossip", "flooding"):
        assert mechanism_colour(name).lower() in drawn.svg
    assert mechanism_colour("radial").lower() not in drawn.svg
    nobody = {name: column[:0] for name, column in run.events.items()}
    assert delay_over_time(replace(run, events=nobody)) is None


def test_labels_without_room_are_cut() -> None:
    steps = [
        {"at": at, "phase": "long name", "plan": {"plan": "p", "actions": [{"proxy": "filter", "to": to}]}}
        for at, to in ((8.5, "grid"), (9.9, "ste"), (10.0, "grid"))
    ]
    words = texts(traffic_over_time(experiment(timeline=steps), "all"))
    assert "radial" in words
    assert [word for word in words if word.startswith("p ")] == ["p long…", "p long name…"]


def test_nothing_known_is_no_picture(run: Run) -> None:
    unknown = np.full(len(run.events["id"]), NAN)
    assert over_time(run, "recall", unknown) is None
    assert metric_map("recall", REGION, unknown, unknown, unknown, SMALL) is None
    assert boxes("recall", [("a", "red", Stats.of(unknown))]) is None
    assert bars("traffic", "kbit/s", [("a", "red", 0.0)]) is None
    silent = replace(run, traffic={name: 0 * column for name, column in run.traffic.items()})
    assert traffic_over_time(silent, "all") is None
    nobody = {name: column[:0] for name, column in run.events.items()}
    assert around_transition("T1", {"a": Around.of(nobody, 6.0, "grid")}, {"a": Line("red", "-")}) is None
    assert transition_map(replace(run, executions=()), "filter") is None


def test_a_single_event_is_a_picture(run: Run) -> None:
    first = int(np.flatnonzero(~np.isnan(recall(run.events)))[0])
    single = {name: column[first : first + 1] for name, column in run.events.items()}
    alone = replace(run, events=single)
    assert over_time(alone, "recall", recall(single)) is not None
    assert metric_map("recall", run.region, single["x"], single["y"], recall(single), SMALL) is not None
    assert boxes("recall", [("a", "red", Stats.of(recall(single)))]) is not None


def test_boxes_say_who_has_no_values() -> None:
    known, unknown = Stats.of(np.array([0.0, 0.5, 1.0])), Stats.of(np.array([NAN]))
    words = texts(boxes("recall", [("known", "red", known), ("unknown", "blue", unknown)]))
    assert words.count("no values") == 1
    assert {"known", "unknown"} <= set(words)


def test_bars_show_their_values() -> None:
    words = texts(bars("traffic", "kbit/s", [("a", "red", 34.0), ("b", "red", 0.0), ("c", "red", 123.4)]))
    assert {"34.0", "0", "123", "kbit/s"} <= set(words)


def test_zooms_name_the_lowest_recall_of_each_run(run: Run) -> None:
    view, line = run.around[0], Line("red", "-")
    lowest = f"{view.summary()['recall_lowest']:.2f}"
    alone = around_transition("T1 grid", {"": view}, {"": line})
    assert alone is not None
    assert alone.note == f"Lowest recall {lowest}."
    both = around_transition("T1 grid", {"a": view, "b": view}, {"a": line, "b": line})
    assert both is not None
    assert both.note == f"Lowest recall: a {lowest}, b {lowest}."
    assert {"a", "b", "time after the transition (s)"} <= set(texts(both))


# -- transitions ---------------------------------------------------------------------------------------------


def executed(
    number: str,
    host: str,
    at: float,
    kind: Literal["total", "partial"] = "total",
    outcome: Literal["done", "failed"] = "done",
) -> ClientExecution:
    record = Record(number, "P", "", "", host, at, "filter", kind, "radial", "grid", outcome=outcome)
    x, y = (NAN, NAN) if host == "broker" else (45.0, 35.0)
    return ClientExecution(record, x, y)


RUN_WITHOUT_ANYTHING = Run(
    scenario=Scenario(name="n", about="a"),
    seed=1,
    wall_s=0.0,
    phases=(),
    events={},
    traffic={},
    client_traffic={},
    executions=(),
    around=(),
    region=REGION,
    fastest=2.0,
    begun={},
    attendance=(),
    gateways=GatewayUse({}, np.zeros(0, np.int64)),
    firings=(),
    local={},
    plans_sent=0,
)


def test_clients_follow_the_broker_or_change_one_by_one() -> None:
    run = replace(
        RUN_WITHOUT_ANYTHING,
        executions=(
            executed("all", "broker", 10.0),
            executed("one", "broker", 11.0, kind="partial"),
            executed("all", "client-1", 10.1),
            executed("all", "client-2", 10.3),
            executed("all", "client-3", 10.3, outcome="failed"),
            executed("one", "client-1", 11.2),
            executed("lost", "broker", 12.0, outcome="failed"),
        ),
    )
    (total,) = spreads(run)
    assert total.broker.record.id == "all"
    assert total.delays_s == pytest.approx([0.1, 0.3])
    assert [(each.record.id, each.record.host) for each in single_executions(run)] == [("one", "client-1")]
    drawn = transition_map(run, "filter")
    assert drawn is not None
    assert drawn.title == "Filter scheme: 1 transitions"
    assert transition_map(run, "direct") is None
    assert {"to grid", "x (m)", "y (m)"} <= set(texts(drawn))


def nearby(target: str, at: float, who: str = "") -> ClientExecution:
    record = Record("n", "P", who, "", "client-1", at, "direct", "total", "gossip", target)
    return ClientExecution(replace(record, outcome="done"), 45.0, 35.0)


def test_who_follows_the_timeline_does_not_change_by_itself() -> None:
    plans = [{"plan": to, "actions": [{"proxy": "direct", "to": to}]} for to in ("flooding", "plan-b")]
    scenario = Scenario.model_validate(
        {
            "name": "n",
            "about": "a",
            "duration": 30,
            "timeline": [
                {"at": 10, "plan": plans[0], "spread": "healing"},
                {"at": 20, "plan": plans[1], "spread": "healing"},
            ],
        }
    )
    empty = experiment(duration=3, clients=1, timeline=[]).phases[0]
    phases = [replace(empty, start_s=at, end_s=at + 10.0) for at in (0.0, 10.0, 20.0)]
    following = [nearby("flooding", 10.0), nearby("flooding", 25.0, "self-healing"), nearby("plan-b", 29.0)]
    alone = [nearby("flooding", 9.0), nearby("flooding", 25.0), nearby("plan-b", 15.0, "self-healing")]
    run = replace(
        RUN_WITHOUT_ANYTHING,
        scenario=scenario,
        phases=tuple(phases),
        executions=(*following, *alone, nearby("nothing", 1.0)),
    )
    assert single_executions(run) == [*alone, nearby("nothing", 1.0)]
    drawn = transition_map(run, "direct")
    assert drawn is not None
    assert drawn.title == "Dissemination: 4 transitions"
    assert {"to flooding", "to plan-b", "to nothing"} <= set(texts(drawn))


def test_spread_says_how_many_followed_and_when() -> None:
    followed = spread(
        "all radial", TransitionSpread(executed("all", "broker", 10.0), np.array([0.1, 0.2, 0.4])), 5
    )
    assert followed is not None
    assert followed.title == "all radial"
    assert followed.note == "3 of 5 clients followed, half of them within 200 ms, the last after 400 ms."
    assert spread("all radial", TransitionSpread(executed("all", "broker", 10.0), np.array([])), 5) is None


def test_clients_of_a_run_all_follow(run: Run) -> None:
    (total,) = spreads(run)
    assert len(total.delays_s) == run.scenario.clients
    assert (total.delays_s > 0).all()
    assert single_executions(run) == []


def test_maps_draw_the_outlines_of_places() -> None:
    yard = Area.polygon([(10, 10), (40, 10), (40, 40)], holes=[[(30, 15), (35, 15), (35, 20)]])
    two = Area.polygons([([(50, 10), (60, 10), (60, 20)], []), ([(70, 10), (80, 10), (80, 20)], [])])
    places = (Place.of_area("yard", yard), Place.of_area("two", two), Place("disc", 20.0, 50.0, 5.0))
    axes = Figure().subplots()
    draw_world(axes, Region(REGION.area, places))
    shapes = [patch.get_path() for patch in axes.patches]
    assert [len(path.to_polygons()) for path in shapes[:3]] == [2, 1, 1]  # the hole is a ring of its own
    assert isinstance(axes.patches[-1], Circle)
    assert len(shapes) == 4
