"""The pictures of a report: what is drawn of a run, and what compares runs."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from bypass.scenarios.figures.measures import Columns, between, precision, recall
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.page import heading, paragraph, pictures
from bypass.scenarios.report.pictures_nearby import spread_maps, taking_part
from bypass.scenarios.report.plots.bars import bars
from bypass.scenarios.report.plots.boxes import boxes
from bypass.scenarios.report.plots.captions import (
    MOST_LINES,
    PROXIES,
    Line,
    run_colours,
    run_lines,
    told_by,
    uses_radios,
)
from bypass.scenarios.report.plots.executions import spreads
from bypass.scenarios.report.plots.maps.world import METRIC_CELL_M, metric_map, transition_map
from bypass.scenarios.report.plots.style import SMALL, WIDE, mechanism_colour
from bypass.scenarios.report.plots.time.around_transition import around_transition
from bypass.scenarios.report.plots.time.series import (
    delay_over_time,
    means_over_time,
    over_time,
    traffic_over_time,
)
from bypass.scenarios.report.plots.time.spread import spread
from bypass.scenarios.report.plots.time.time_axis import stretches, told_apart
from bypass.scenarios.report.result import Result
from bypass.scenarios.report.tables import whole

TRAFFIC = {
    "cellular_up": "Cellular upload",
    "cellular_down": "Cellular download",
    "adhoc_up": "Ad hoc upload",
    "adhoc_down": "Ad hoc download",
    "context_up": "Context upload",
    "context_down": "Context download",
}
METRICS = {"recall": recall, "precision": precision}
NO_SHARES = (
    "No event concerned a subscriber or reached anybody: there is neither recall nor precision to show."
)
NO_TRAFFIC = "No client sent or received anything."
BOXES = "Box: 25th to 75th percentile. Line: median. Whiskers: 2.5 and 97.5. Circle: mean."


def over_the_run(run: Run) -> Iterator[Markup]:
    """Recall, precision, traffic and who takes part; where radios are used, delays and their traffic too."""
    proxy = told_by(run)
    told = "scheme that serves by default" if proxy == "filter" else f"{PROXIES[proxy]} of most clients"
    yield paragraph(
        "Thick line: mean. Thin line: median. Dark band: 25th to 75th percentile. Light band: 5th to 95th."
        f" Dashed: transitions. Colours: the {told}."
    )
    yield pictures((over_time(run, m, values(run.events)) for m, values in METRICS.items()), NO_SHARES)
    by_radio = uses_radios(run)
    kinds = ("context", "cellular", "adhoc") if by_radio else ("context", "all")
    drawn = [traffic_over_time(run, kind) for kind in kinds]
    if by_radio:
        drawn.insert(0, delay_over_time(run))
    if run.attendance:
        drawn.append(taking_part(run))
    yield pictures(drawn, NO_TRAFFIC)


def around_transitions(result: Result) -> Iterator[Markup]:
    """Zooms on the transitions of the timeline, runs over each other, and how they spread to clients."""
    main = result.main
    runs = result.runs if len(result.runs) <= MOST_LINES else {"": main}
    lines = dict(zip(runs, run_lines(list(runs.values())), strict=True))
    drawn = []
    for view, (_, _, label, mechanism) in zip(main.around, stretches(main)[1:], strict=True):
        same = {name: other for name, run in runs.items() for other in run.around if other.at_s == view.at_s}
        own = lines if len(same) > 1 else {name: Line(mechanism_colour(mechanism), "-") for name in same}
        drawn.append(around_transition(label, same, own))
    yield paragraph("Mean recall and precision of the events published in each tenth of a second.")
    yield pictures(drawn, "Too few events were published near the transitions.", "small")
    known = spreads(main)
    records = [each.broker.record for each in known]
    titles = told_apart((f"{record.plan} {record.target}", record.at) for record in records)
    followed = [spread(title, each, main.scenario.clients) for title, each in zip(titles, known, strict=True)]
    nearby = list(spread_maps(main))
    if any(followed) or any(nearby):
        yield heading(3, "How transitions reach clients")
    if any(followed):
        yield pictures(followed, "", "small")
    if any(nearby):
        yield paragraph(
            "Left: where clients were when they followed. Lines: attraction points. Delays count from the"
            " moment at which the broker decided."
        )
        yield pictures(nearby, "")


def moved_clients(run: Run) -> Iterator[Markup]:
    """Where clients changed their mechanisms one by one."""
    yield paragraph(
        "Colour: the mechanism that a client changed to. Lines: attraction points; dotted: areas of plans."
    )
    yield pictures((transition_map(run, proxy) for proxy in PROXIES), "No client changed by itself.")


def distribution(run: Run) -> Iterator[Markup]:
    """Boxes of each phase."""
    yield paragraph(BOXES)
    yield pictures(
        (
            boxes(
                metric,
                [
                    (label, mechanism_colour(mechanism), getattr(phase, metric))
                    for (_, _, label, mechanism), phase in zip(stretches(run), run.phases, strict=True)
                ],
            )
            for metric in METRICS
        ),
        NO_SHARES,
    )


def by_place(run: Run) -> Iterator[Markup]:
    """Maps of each phase."""
    yield _maps([(label, run, between(run.events, start, end)) for start, end, label, _ in stretches(run)])


def comparing(result: Result) -> Iterator[Markup]:
    """Boxes and bars of each run; courses and maps if they are few."""
    runs = result.runs
    wholes = [whole(name, run) for name, run in runs.items()]
    coloured = list(zip(wholes, run_colours(list(runs.values())), strict=True))
    yield paragraph(BOXES)
    yield pictures(
        (
            boxes(metric, [(each.name, colour, getattr(each, metric)) for each, colour in coloured])
            for metric in METRICS
        ),
        NO_SHARES,
    )
    yield pictures(
        (
            bars(
                name,
                "kbit/s per client",
                [(each.name, colour, each.traffic[key]) for each, colour in coloured],
            )
            for key, name in TRAFFIC.items()
        ),
        NO_TRAFFIC,
    )
    if len(runs) > MOST_LINES:
        yield paragraph(f"{len(runs)} runs are too many to tell apart as lines in one plot.", "empty")
        return
    yield heading(3, "Runs over time")
    yield pictures(
        (
            means_over_time(runs, result.main, metric, {n: values(r.events) for n, r in runs.items()})
            for metric, values in METRICS.items()
        ),
        NO_SHARES,
    )
    if not any(run.around for run in runs.values()):
        yield heading(3, "Runs by place")
        yield _maps([(name, run, run.events) for name, run in runs.items()])


def _maps(parts: list[tuple[str, Run, Columns]]) -> Markup:
    """Recall and precision by place, for each part of the events under its title; a single one is large."""
    width, kind = (WIDE, "") if len(parts) == 1 else (SMALL, "small")
    drawn = [
        metric_map(
            f"{metric.capitalize()}, {title}", run.region, events["x"], events["y"], values(events), width
        )
        for title, run, events in parts
        for metric, values in METRICS.items()
    ]
    words = f"Means by the place of events, in cells of {METRIC_CELL_M:g} m. Lines: attraction points."
    return paragraph(words) + pictures(drawn, NO_SHARES, kind)
