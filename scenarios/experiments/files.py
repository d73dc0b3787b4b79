"""Experiment files: finds and reads the built-in ones and others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bypass.errors import BypassError, shown
from bypass.support.extensions import absolute

BUILTIN = Path(__file__).parents[1] / "builtin"


class InvalidScenario(BypassError):
    """An experiment file, or a change to one, that cannot be run."""


def builtin_names() -> list[str]:
    """The scenarios that come with the library."""
    return sorted(path.stem for path in BUILTIN.glob("*.yaml"))


def read(scenario: str | Path) -> dict[str, Any]:
    """Read a built-in scenario or a YAML file. Nothing is checked but that it has keys.

    Files that it refers to as `file.py:Name` are found from where it is. Raises InvalidScenario.
    """
    from bypass.transitions.yaml_text import load_yaml  # names of scenarios are listed without it

    path = Path(scenario)
    if path.suffix not in (".yaml", ".yml"):
        if str(scenario) not in builtin_names():
            known = ", ".join(builtin_names())
            raise InvalidScenario(
                f"scenario {shown(str(scenario))} is unknown: expected a YAML file or one of {known}"
            )
        path = BUILTIN / f"{scenario}.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidScenario(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidScenario(f"{path} is no text in UTF-8: {error.reason} at byte {error.start}") from None
    data = load_yaml(str(path), text, InvalidScenario)
    if not isinstance(data, dict):
        raise InvalidScenario(f"{path} holds {shown(data)}: expected keys and values")
    return {"name": path.stem, **_from(path.parent, data)}


def _from(folder: Path, data: Any) -> Any:
    """The same data with references to files that hold wherever it is used."""
    if isinstance(data, str):
        return absolute(data, folder)
    if isinstance(data, dict):
        return {key: _from(folder, value) for key, value in data.items()}
    return [_from(folder, value) for value in data] if isinstance(data, list) else data
