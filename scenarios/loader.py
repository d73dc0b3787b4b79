"""Finding experiment files, changing keys in them, and saying in one line what is wrong with them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from bypass.errors import BypassError, shown
from bypass.scenarios.schema import Check, LocationSettings, Scenario, Step, WorldSize
from bypass.sim.cellular import CellularModel
from bypass.transitions import Action, Plan, TransitionError

BUILTIN = Path(__file__).parent / "builtin"


class InvalidScenario(BypassError):
    """An experiment file, or a change to one, that cannot be run."""


def builtin_names() -> list[str]:
    """The scenarios that come with the library."""
    return sorted(path.stem for path in BUILTIN.glob("*.yaml"))


def load(
    scenario: str | Path,
    *,
    changes: Mapping[str, Any] | None = None,
    duration: float | None = None,
    clients: int | None = None,
) -> Scenario:
    """A built-in scenario or a YAML file, with changes: dotted keys to values.

    Another `duration` stretches or shrinks the timeline with it. Raises InvalidScenario.
    """
    source, data = _read(scenario)
    if duration is not None:
        _stretch(source, data, duration)
    if clients is not None:
        data["clients"] = clients
    return _validated(source, _changed(source, data, changes or {}))


def variants(scenario: Scenario) -> dict[str, Scenario]:
    """The experiments that a scenario compares, by name; itself, under its own name, if it compares none.

    Raises InvalidScenario if a run changes a key to something impossible.
    """
    if not scenario.runs:
        return {scenario.name: scenario}
    data = scenario.model_dump(mode="json")
    data["runs"], data["checks"], data["main"] = {}, [], ""
    return {
        name: _validated(f"{scenario.name}: run {name}", _changed(scenario.name, data, changes))
        for name, changes in scenario.runs.items()
    }


def _read(scenario: str | Path) -> tuple[str, dict[str, Any]]:
    path = Path(scenario)
    if path.suffix not in (".yaml", ".yml"):
        if str(scenario) not in builtin_names():
            known = ", ".join(builtin_names())
            raise InvalidScenario(
                f"scenario {str(scenario)!r} is unknown: expected a YAML file or one of {known}"
            )
        path = BUILTIN / f"{scenario}.yaml"
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidScenario(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidScenario(f"{path}: is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise InvalidScenario(f"{path}: holds {shown(data)}: expected keys and values")
    data.setdefault("name", path.stem)
    return path.name, data


def _stretch(source: str, data: dict[str, Any], duration: float) -> None:
    before = data.get("duration", Scenario.model_fields["duration"].default)
    try:
        factor = duration / before
        for step in data.get("timeline", ()):
            step["at"] *= factor
    except (TypeError, KeyError, ZeroDivisionError):
        _validated(source, data)  # says what is wrong with duration or timeline
        raise
    data["duration"] = duration


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
                raise InvalidScenario(f"{source}: key {key!r}: {parent!r} is not a group of keys")
        if not isinstance(place, dict):
            raise InvalidScenario(f"{source}: key {key!r}: {last!r} is not in a group of keys")
        place[last] = value
    return changed


def _validated(source: str, data: dict[str, Any]) -> Scenario:
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            known = _known_keys(problem["loc"][:-1])
            message = f"key {key!r} is unknown: expected one of {', '.join(known)}"
        elif problem["type"] == "missing":
            message = f"key {key!r} is missing"
        elif problem["type"] == "value_error":
            reason = problem["msg"].removeprefix("Value error, ")
            message = f"{key}: {reason}" if key else reason
        else:
            message = f"{key} is {shown(problem['input'])}: {problem['msg']}"
        raise InvalidScenario(f"{source}: {message}") from None
    except TransitionError as error:
        raise InvalidScenario(f"{source}: {error}") from None


def _known_keys(path: tuple[int | str, ...]) -> list[str]:
    """The keys that a group of keys may have; those of the whole file for a group that is not listed."""
    groups: dict[int | str, type[BaseModel]] = {
        "timeline": Step,
        "checks": Check,
        "world": WorldSize,
        "location": LocationSettings,
        "network": CellularModel,
        "plan": Plan,
        "actions": Action,
    }
    names = [part for part in path if part in groups]
    return list((groups[names[-1]] if names else Scenario).model_fields)
