"""Looks up the paths of checks before anything runs, in the figures that a scenario will have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bypass.mechanisms.modes import AdHoc
from bypass.places.region import Region
from bypass.scenarios.experiments.checks import Check, find
from bypass.scenarios.experiments.files import InvalidScenario
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.figures.gateway_watch import EVENT_COLUMNS, GatewayUse
from bypass.scenarios.figures.infrastructure import no_infrastructure_figures
from bypass.scenarios.figures.measures import Around, Phase, Stats
from bypass.scenarios.figures.outcome import LOCAL_COUNTERS, TRAFFIC_COLUMNS, Run, ScriptCounts, rates
from bypass.scenarios.figures.storage import no_store_figures
from bypass.scenarios.report.result import assembled
from bypass.sim.cellular import Traffic
from bypass.sim.ledger import COLUMNS


def check_paths(scenario: Scenario) -> None:
    """Raises InvalidScenario if a check looks for a figure that no run of the scenario can have.

    Checks that say themselves that theirs is `missing` are passed over.
    """
    for check, reason in _looked_up(scenario):
        if reason and not check.missing:
            raise InvalidScenario(f"{scenario.name}: check {check.name!r}: {reason}")


def mark_missing(scenario: Scenario) -> Scenario:
    """The scenario with the reason at each check that looks for a figure that no run can have."""
    checks = tuple(
        check if check.missing == reason else check.model_copy(update={"missing": reason})
        for check, reason in _looked_up(scenario)
    )
    return scenario.model_copy(update={"checks": checks})


def _looked_up(scenario: Scenario) -> Iterator[tuple[Check, str]]:
    """Each check, and why there will be no such figure; empty if there may be one."""
    if scenario.checks:
        shape = _shape(scenario)
        for check in scenario.checks:
            yield check, next(filter(None, (_misfit(shape, path) for path in check.paths)), "")


def _misfit(shape: dict[str, Any], path: str) -> str:
    try:
        place = find(shape, path)
    except KeyError as error:
        return f"path {path!r}: there is no {error.args[0]!r} in the summary"
    if place is None or (isinstance(place, int | float) and not isinstance(place, bool)):
        return ""
    return f"path {path!r}: expected one that ends at a number"


def _shape(scenario: Scenario) -> dict[str, Any]:
    """The summary of runs in which nothing happened."""
    return assembled(scenario, {name: _blank(each).summary() for name, each in variants(scenario).items()})


def _blank(scenario: Scenario) -> Run:
    """A run in which nobody did anything."""
    events = {name: np.empty(0, kind) for name, kind in COLUMNS.items()}
    nothing = np.zeros((len(Traffic) + 1, scenario.clients), np.int64)
    starts = [0.0, *(step.at for step in scenario.timeline)]
    none = Stats.of(np.empty(0))
    phases = tuple(
        Phase(name, at, at, {}, none, none, none, 0, 0, rates(nothing, nothing, 0.0))
        for name, at in zip(_phase_names(scenario), starts, strict=True)
    )
    attractions = scenario.mobility.build().attractions
    return Run(
        scenario=scenario,
        seed=0,
        wall_s=0.0,
        phases=phases,
        events=events,
        traffic={name: np.zeros(1, np.int64) for name in TRAFFIC_COLUMNS},
        client_traffic={way: np.zeros(scenario.clients, np.int64) for way in ("up", "down")},
        executions=(),
        around=tuple(Around.of(events, phase.start_s, phase.name) for phase in phases[1:]),
        region=Region(
            (0.0, 0.0, scenario.world.width, scenario.world.height),
            tuple(p.place() for p in attractions),
        ),
        fastest=0.0,
        begun={},
        attendance=(),
        gateways=GatewayUse(
            {name: np.empty(0) for name in EVENT_COLUMNS}, np.zeros(scenario.clients, np.int64)
        ),
        firings=(),
        local=dict.fromkeys(LOCAL_COUNTERS, 0),
        plans_sent=0,
        script=None if scenario.script is None else ScriptCounts(0, 0, 0),
        store=None
        if scenario.objects is None
        else no_store_figures(
            [(phase.name, phase.start_s) for phase in phases], scenario.objects.stage_starts
        ),
        infrastructure=None
        if scenario.infrastructure is None
        else no_infrastructure_figures(scenario.infrastructure, scenario.duration),
    )


def _phase_names(scenario: Scenario) -> list[str]:
    """The names of the phases; those that have none are named for the mechanism that is in use."""
    begun = {action.proxy: action.to or "" for action in scenario.begin}
    alone = begun.get("mode") == AdHoc.name and "direct" in begun
    proxy, used = ("direct", begun["direct"]) if alone else ("filter", scenario.filter.scheme)
    if scenario.objects is not None:
        proxy, used = "storage", scenario.objects.storage
    names = [scenario.phase or used]
    for step in scenario.timeline:
        for action in step.plan.actions:
            if action.proxy == proxy and action.to is not None and not action.is_partial:
                used = action.to
        names.append(step.phase or used)
    return names
