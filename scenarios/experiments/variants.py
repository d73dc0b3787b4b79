"""Changes to scenarios: other values at dotted keys, everything checked, and the runs that are compared."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from bypass.models.radio.radio import RadioModel
from bypass.models.storage.latency import LatencyRatios
from bypass.scenarios.experiments.checks import Check
from bypass.scenarios.experiments.files import InvalidScenario
from bypass.scenarios.experiments.infrastructure import (
    BackhaulCut,
    BackhaulSettings,
    EdgeEnergy,
    EdgeOutage,
    InfrastructureSettings,
)
from bypass.scenarios.experiments.models import WorldSize
from bypass.scenarios.experiments.schema import LocationSettings, RuleSettings, Scenario, Step
from bypass.scenarios.experiments.script import Script, ScriptStep
from bypass.sim.cellular import CellularModel
from bypass.support.validation import first_misfit
from bypass.transitions import Action, Plan


def variants(scenario: Scenario) -> dict[str, Scenario]:
    """The experiments that a scenario compares, by name; itself, under its own name, if it compares none.

    Raises InvalidScenario if a run changes a key to something impossible.
    """
    if not scenario.runs:
        return {scenario.name: scenario}
    data = scenario.model_dump(mode="json")
    data["runs"], data["checks"], data["main"], data["baseline"] = {}, [], "", ""
    experiments = {}
    for name, changes in scenario.runs.items():
        source = f"{scenario.name}: run {name}"
        experiments[name] = validated(source, changed(source, data, changes))
    return experiments


def reduction(asked: Scenario, whole: Scenario) -> str:
    """Say in what a scenario is less than it was before changes, itself or one of its runs; empty if it is
    not.

    Figures of a shorter run, or of fewer clients, prove nothing about those that checks are for.
    """
    runs, before = variants(asked), variants(whole)
    pairs = [
        ("", asked, whole),
        *((f" in run {name}", runs.get(name), each) for name, each in before.items()),
    ]
    for where, mine, theirs in pairs:
        if mine is None:
            return f"nothing{where}: expected all runs of the scenario"
        if mine.duration < theirs.duration:
            return (
                f"a duration of {mine.duration:g} s{where}: expected at least the scenario's,"
                f" {theirs.duration:g} s"
            )
        if mine.clients < theirs.clients:
            return f"{mine.clients} clients{where}: expected at least the scenario's, {theirs.clients}"
    return ""


def changed(source: str, data: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario's data with other values at dotted keys. Raises InvalidScenario."""
    copied = copy.deepcopy(data)
    for key, value in changes.items():
        *parents, last = key.split(".")
        place: Any = copied
        for parent in parents:
            if isinstance(place, list) and parent.isdecimal() and int(parent) < len(place):
                place = place[int(parent)]
            elif isinstance(place, dict):
                place = place.setdefault(parent, {})
            else:
                raise InvalidScenario(f"{source}: key {key!r}: there is no {parent!r} in it")
        if not isinstance(place, dict):
            raise InvalidScenario(f"{source}: key {key!r}: there is no {last!r} in it")
        place[last] = value
    return copied


def validated(source: str, data: dict[str, Any]) -> Scenario:
    """The scenario that a file describes. Raises InvalidScenario, with what is wrong first."""
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise InvalidScenario(f"{source}: {first_misfit(error, _known_keys)}") from None


def _known_keys(path: tuple[int | str, ...]) -> list[str]:
    """The keys that a group of keys may have; those of the whole file for a group that is not listed."""
    groups: dict[int | str, type[BaseModel]] = {
        "timeline": Step,
        "checks": Check,
        "world": WorldSize,
        "location": LocationSettings,
        "network": CellularModel,
        "wifi": RadioModel,
        "bluetooth": RadioModel,
        "radios": RadioModel,
        "rules": RuleSettings,
        "begin": Action,
        "infrastructure": InfrastructureSettings,
        "backhaul": BackhaulSettings,
        "cuts": BackhaulCut,
        "outages": EdgeOutage,
        "energy": EdgeEnergy,
        "latency": LatencyRatios,
        "script": Script,
        "steps": ScriptStep,
        "plan": Plan,
        "actions": Action,
    }
    names = [part for part in path if part in groups]
    return list((groups[names[-1]] if names else Scenario).model_fields)
