"""The report of a scenario: one HTML page that holds everything, for any screen and for paper."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

from bypass.mechanisms.families import TRANSPORT
from bypass.scenarios.experiments.checks import CheckVerdict
from bypass.scenarios.experiments.files import InvalidScenario
from bypass.scenarios.experiments.inputs import EXPERIMENT, experiment_text
from bypass.scenarios.experiments.provenance import FILE as PROVENANCE
from bypass.scenarios.experiments.provenance import library_version
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.labels import in_order
from bypass.scenarios.report.page import (
    details,
    facts,
    heading,
    page,
    paragraph,
    pictures,
    preformatted,
    rendered,
    span,
)
from bypass.scenarios.report.pictures import (
    NO_TRAFFIC,
    around_transitions,
    by_place,
    comparing,
    distribution,
    moved_clients,
    over_the_run,
)
from bypass.scenarios.report.pictures_edges import edges
from bypass.scenarios.report.pictures_nearby import gateways, in_use, taking_part
from bypass.scenarios.report.pictures_stored import stores, switches
from bypass.scenarios.report.plots.captions import uses_radios
from bypass.scenarios.report.plots.executions import single_executions
from bypass.scenarios.report.plots.time.series import traffic_over_time
from bypass.scenarios.report.result import Result
from bypass.scenarios.report.tables import (
    gateway_table,
    grouped,
    phase_table,
    rule_table,
    run_table,
    verdict_table,
)
from bypass.scenarios.runs.loader import builtin_names, load
from bypass.sim.radio_kinds import radio_models
from bypass.transitions.rules.rule_engine import KEPT_FIRINGS


def write_report(result: Result, directory: Path) -> Path:
    """Write `report.html` into the directory, which must exist, and give its path."""
    path = directory / "report.html"
    path.write_text(page(f"{result.scenario.name}: report", _parts(result)), encoding="utf-8")
    return path


def in_notebook(result: Result) -> str:
    """The HTML that a notebook shows of a result: the verdict, and the phases of its runs."""
    tables = [(name, phase_table(run.phases)) for name, run in result.runs.items()]
    return rendered("notebook.html", result=result, verdict=verdict_line(result.verdicts), tables=tables)


def _parts(result: Result) -> Iterator[Markup]:
    main = result.main
    yield Markup("<header>{}{}\n{}\n{}</header>").format(
        heading(1, result.scenario.name),
        paragraph(result.scenario.about, "about"),
        paragraph(verdict_line(result.verdicts), "verdict"),
        _facts(result),
    )
    if result.verdicts:
        yield heading(2, "Checked figures")
        yield verdict_table(result)
    yield from _of_events(result) if main.store is None else _of_store(result)
    yield heading(2, "Run it again")
    yield from rerun(result.scenario)


def _of_store(result: Result) -> Iterator[Markup]:
    """The sections of runs in which clients stored objects; nobody published events."""
    main = result.main
    yield heading(2, "Stores")
    yield from stores(result)
    yield from switches(main)
    yield from edges(result)
    yield heading(2, "Over time")
    yield pictures(
        [traffic_over_time(main, "adhoc"), taking_part(main) if main.attendance else None], NO_TRAFFIC
    )
    yield from _rules(main)


def _rules(main: Run) -> Iterator[Markup]:
    """The rules that fired, if any did."""
    if main.firings:
        yield heading(2, "Rules that fired")
        if len(main.firings) == KEPT_FIRINGS:
            yield paragraph(f"Of the latest {grouped(KEPT_FIRINGS)} times.")
        yield rule_table(main.firings)


def _of_events(result: Result) -> Iterator[Markup]:
    """The sections of runs in which clients published events."""
    main = result.main
    name = next(name for name, run in result.runs.items() if run is main)
    yield heading(2, f"Phases of run {name}" if len(result.runs) > 1 else "Phases")
    yield phase_table(main.phases)
    yield heading(2, "Over time")
    yield from over_the_run(main)
    if main.around:
        yield heading(2, "Around transitions")
        yield from around_transitions(result)
    if single_executions(main):
        yield heading(2, "Clients that changed one by one")
        yield from moved_clients(main)
    if uses_radios(main):
        yield heading(2, "Clients nearby")
        yield from in_use(main)
    if any(len(run.gateways.events["gateways"]) for run in result.runs.values()):
        yield heading(2, "Gateways")
        yield gateway_table(result)
        yield from gateways(result)
    yield from _rules(main)
    yield heading(2, "Distribution")
    yield from distribution(main)
    yield heading(2, "By place")
    yield from by_place(main)
    if len(result.runs) > 1:
        yield heading(2, "Runs compared")
        yield run_table(result.runs)
        for name, run in result.runs.items():
            if len(run.phases) > 1 and run is not main:
                yield details(f"Phases of run {name}", phase_table(run.phases))
        yield from comparing(result)


def verdict_line(verdicts: Sequence[CheckVerdict]) -> str:
    """How many figures hold, and by name those that do not."""
    if not verdicts:
        return "This scenario checks no figures."
    kinds = Counter(verdict.verdict for verdict in verdicts)
    holding = kinds["holds"]
    if holding == len(verdicts):
        return f"All {holding} checked figures hold." + _settled_line(verdicts)
    words = f"{holding} of {len(verdicts)} checked figures hold."
    for kind, text in (
        ("differs", "What differs"),
        ("unknown", "What was not measured"),
        ("explained", "What differs for a known reason"),
    ):
        names = [
            f"{verdict.check.name} ({verdict.check.missing})" if verdict.check.missing else verdict.check.name
            for verdict in verdicts
            if verdict.verdict == kind
        ]
        if names:
            words += f" {text}: {'; '.join(names)}."
    return words + _settled_line(verdicts)


def _settled_line(verdicts: Sequence[CheckVerdict]) -> str:
    """The explanations that are needed no more, by the names of their checks."""
    names = [verdict.check.name for verdict in verdicts if verdict.settled]
    return f" What holds again, though a difference is explained: {'; '.join(names)}." if names else ""


def _facts(result: Result) -> Markup:
    main = result.main
    items: list[tuple[str, str, str]] = [
        ("seed", str(main.seed), ""),
        ("clients", grouped(main.scenario.clients), ""),
        ("simulated time", span(main.scenario.duration), ""),
        ("computing time", f"{sum(run.wall_s for run in result.runs.values()):.1f} s", "wall"),
        ("events", grouped(len(main.events["id"])), "")
        if main.store is None
        else ("objects", grouped(main.store.objects), ""),
        *in_order(main),
    ]
    reaches = dict.fromkeys(reach for run in result.runs.values() for reach in _reaches(run))
    if reaches:
        items.append(("radio reach", ", ".join(reaches), ""))
    alone = single_executions(main)
    if alone:
        targets = ", ".join(sorted({each.record.target for each in alone}))
        items.append(("partial transitions", f"{grouped(len(alone))}, to {targets}", "wide"))
    if len(result.runs) > 1:
        items.append(("runs", ", ".join(result.runs), "wide"))
    return facts(items)


def _reaches(run: Run) -> list[str]:
    """How far the radios reach that clients of a run had on."""
    used = {mechanism for course in run.courses("transport") for _, mechanism in course}
    registry = run.scenario.registry()
    for name in used:
        registry.find("client", "transport", name)  # among what is installed, too
    transports = registry.kinds(TRANSPORT)
    models = radio_models(run.scenario.all_radios, transports.values())
    return [f"{name} {models[each.radio].reach:g} m" for name, each in transports.items() if name in used]


def rerun(scenario: Scenario) -> Iterator[Markup]:
    """The command that gives the same result again, and all parameters."""
    if _as_built_in(scenario):
        duration = repr(scenario.duration).removesuffix(".0")
        yield preformatted(
            f"bypass run {shlex.quote(scenario.name)} --seed {scenario.seed} --duration {duration}"
        )
    else:
        yield preformatted(f"bypass run {EXPERIMENT}")
    yield paragraph(f"Made with bypass {library_version()}; {PROVENANCE} says of what.", "note")
    yield details(f"Parameters, as in {EXPERIMENT}", preformatted(experiment_text(scenario)))


def _as_built_in(scenario: Scenario) -> bool:
    """Whether the scenario is one of the library's, unchanged but for its seed and duration."""
    if scenario.name not in builtin_names():
        return False
    try:
        known = load(scenario.name, duration=scenario.duration)
    except InvalidScenario:  # by itself it does not fit into this duration
        return False
    return known.model_copy(update={"seed": scenario.seed}) == scenario
