"""Scenarios out of files: keys changed as asked, everything checked, and in one line what is wrong."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from bypass.misfit import first_misfit
from bypass.models.network.radio import RadioModel
from bypass.scenarios.checks import Check
from bypass.scenarios.files import InvalidScenario, builtin_names, read
from bypass.scenarios.schema import LocationSettings, RuleSettings, Scenario, Step, WorldSize
from bypass.sim.cellular import CellularModel
from bypass.transitions import Action, Plan

__all__ = ["InvalidScenario", "builtin_names", "load", "variants"]


def load(
    scenario: str | Path,
    *,
    changes: Mapping[str, Any] | None = None,
    duration: float | None = None,
    clients: int | None = None,
) -> Scenario:
    """A built-in scenario or a YAML file, with changes: dotted keys to values.

    Another `duration` stretches or shrinks the timeline with it; runs of a duration of their own become no
    longer than that. Raises InvalidScenario, also if the file makes no sense before the changes.
    """
    source, data = str(scenario), read(scenario)
    loaded = _validated(source, data)
    if duration is not None:
        for step, before in zip(data.get("timeline", ()), loaded.timeline, strict=True):
            step["at"] = before.at * duration / loaded.duration
        for changed in data.get("runs", {}).values():
            if "duration" in changed:
                changed["duration"] = min(changed["duration"], duration)
        data["duration"] = duration
    if clients is not None:
        data["clients"] = clients
    loaded = _validated(source, _changed(source, data, changes or {}))
    variants(loaded)
    return loaded


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
        experiments[name] = _validated(source, _changed(source, data, changes))
    return experiments


def _changed(source: str, data: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(data)
    for key, value in changes.items():
        *parents, last = key.split(".")
        place: Any = changed
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
    return changed


def _validated(source: str, data: dict[str, Any]) -> Scenario:
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
        "rules": RuleSettings,
        "begin": Action,
        "plan": Plan,
        "actions": Action,
    }
    names = [part for part in path if part in groups]
    return list((groups[names[-1]] if names else Scenario).model_fields)
