"""The file with a live edge's configuration: in YAML, or the properties file of Vieira 2018."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bypass.live.config_files import InvalidConfig, read_text, read_yaml, references_beside
from bypass.live.edge.config import EdgeConfig, OtherEdge
from bypass.live.edge.properties import from_properties, key_of
from bypass.support.validation import first_misfit
from bypass.transitions.validation import KeyPath

PROPERTIES = ".properties"

_PATHS = ("keys", "group", "store")


def load_edge_config(path: str | Path) -> EdgeConfig:
    """Read a configuration: one whose name ends with `.properties` has the keys of the source, others are
    YAML with the fields of `EdgeConfig`. Relative paths in it are relative to its folder, defaults included.
    Raises InvalidConfig, which names the key as it is in the file."""
    path = Path(path)
    if path.suffix == PROPERTIES:
        data, numbers = from_properties(str(path), read_text(path, "properties"))
        found = _checked(str(path), data, partial(key_of, numbers))
    else:
        data = read_yaml(path)
        if "mechanisms" in data:
            data["mechanisms"] = references_beside(path.parent, data["mechanisms"])
        found = _checked(str(path), data, lambda keys: ".".join(map(str, keys)))
    beside = path.parent
    edges = tuple(
        each if each.key is None else each.model_copy(update={"key": beside / each.key})
        for each in found.edges
    )
    paths = {name: beside / getattr(found, name) for name in _PATHS}
    return found.model_copy(update=paths | {"edges": edges})


def _checked(where: str, data: dict[str, Any], shown_key: Callable[[KeyPath], str]) -> EdgeConfig:
    try:
        return EdgeConfig.model_validate(data)
    except ValidationError as error:
        misfit = first_misfit(error, lambda keys: (OtherEdge if keys else EdgeConfig).model_fields)
        key = f": {shown_key(misfit.path)}" if misfit.path else ""
        raise InvalidConfig(f"{where}{key} {misfit.args[0]}") from None
