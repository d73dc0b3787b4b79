"""The file with a live broker's configuration, and environment variables that count for more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bypass.errors import shown
from bypass.live.broker.config import (
    BrokerConfig,
    ConfigGroup,
    Limits,
    LogConfig,
    PlaceConfig,
    RegionConfig,
    is_rule_file,
)
from bypass.live.config_files import InvalidConfig, parsed, read_yaml, references_beside
from bypass.support.validation import first_misfit
from bypass.transitions.validation import KeyPath

PREFIX = "BYPASS_BROKER_"
"""How variables begin that change a key; `__` leads into a group, as in BYPASS_BROKER_LIMITS__CLIENTS."""

_PATHS = ("keys", "clients", "store")


def load_config(path: str | Path | None, environ: Mapping[str, str]) -> BrokerConfig:
    """Read a file (if any) and the environment, whose values are YAML and count for more.

    With a file, relative paths are relative to its folder, defaults included; those of the environment are
    relative to the working directory. Raises InvalidConfig.
    """
    data = {} if path is None else read_yaml(Path(path))
    variables = _override(data, environ)
    if path is not None:
        for name in _PATHS:
            value = data.get(name, BrokerConfig.model_fields[name].default)
            if (name,) not in variables and isinstance(value, str | Path):
                data[name] = Path(path).parent / value
        for name in {"mechanisms", "codec", "rules"} & data.keys():
            if (name,) not in variables:
                data[name] = _beside(Path(path).parent, data[name], files=name == "rules")
    try:
        return BrokerConfig.model_validate(data)
    except ValidationError as error:
        misfit = first_misfit(error, lambda path: _group(path).model_fields)
        keys = misfit.path
        where = "environment" if path is None else str(path)
        for length in range(len(keys), 0, -1):
            if keys[:length] in variables:
                where, keys = variables[keys[:length]], keys[length:]
                break
        key = f": {'.'.join(map(str, keys))}" if keys else ""
        raise InvalidConfig(f"{where}{key} {misfit.args[0]}") from None


def _beside(folder: Path, named: Any, files: bool) -> Any:
    """Make references, and names of files if these are `files`, relative to `folder`."""
    if files and isinstance(named, list):
        return [_beside(folder, each, files) for each in named]
    if files and isinstance(named, str) and is_rule_file(named):
        return str(folder / named)
    return references_beside(folder, named)


def _override(data: dict[str, Any], environ: Mapping[str, str]) -> dict[KeyPath, str]:
    """Change what variables change; gives the variable for each key that has one."""
    variables: dict[KeyPath, str] = {}
    for name in sorted(name for name in environ if name.startswith(PREFIX)):  # a group before what is in it
        keys = tuple(name.removeprefix(PREFIX).lower().split("__"))
        group = data
        for key in keys[:-1]:
            group = group.setdefault(key, {})
            if not isinstance(group, dict):
                raise InvalidConfig(f"{name}: {key}: {shown(group)}: expected a group of keys")
        group[keys[-1]] = parsed(name, environ[name])
        variables[keys] = name
    return variables


def _group(keys: KeyPath) -> type[ConfigGroup]:
    groups: dict[int | str, type[ConfigGroup]] = {
        "region": RegionConfig,
        "places": PlaceConfig,
        "limits": Limits,
        "log": LogConfig,
    }
    return next((groups[key] for key in reversed(keys) if key in groups), BrokerConfig)
