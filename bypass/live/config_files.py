"""Reading files of configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bypass.errors import BypassError, UnusableMechanism, shown
from bypass.mechanisms import Registry
from bypass.support.extensions import absolute
from bypass.support.validation import Misfit
from bypass.transitions.yaml_text import NotYaml, parse_yaml


class InvalidConfig(BypassError):
    """A configuration that nothing can run with."""


def read_text(path: Path, kind: str) -> str:
    """Read a file of a kind. Raises InvalidConfig."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidConfig(f"{path}: {error.strerror}: expected a {kind} file") from None
    except UnicodeDecodeError as error:
        raise InvalidConfig(f"{path}: byte {error.start}: expected text in UTF-8") from None


def read_yaml(path: Path) -> dict[str, Any]:
    """Read the keys and values of a YAML file. Raises InvalidConfig."""
    data = parsed(str(path), read_text(path, "YAML"))
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InvalidConfig(f"{path}: {shown(data)}: expected keys and values")
    return data


def parsed(where: str, text: str) -> Any:
    """Parse YAML. Raises InvalidConfig."""
    try:
        return parse_yaml(text)
    except NotYaml as error:
        raise InvalidConfig(f"{where}: {error}: expected YAML") from None


def references_beside(folder: Path, named: Any) -> Any:
    """Make a reference, or each of a list, relative to a folder; what is none stays as it is."""
    if isinstance(named, list):
        return [references_beside(folder, each) for each in named]
    return absolute(named, folder) if isinstance(named, str) else named


def check_mechanisms(references: tuple[str, ...]) -> tuple[str, ...]:
    """Give references to mechanisms that can be used together. Raises Misfit for the first that cannot."""
    for i, reference in enumerate(references):
        try:
            Registry(references[: i + 1])
        except UnusableMechanism as error:
            expected = str(error).removeprefix(f"{reference}: ")
            raise Misfit((i,), f"is {shown(reference)}: {expected}") from None
    return references
