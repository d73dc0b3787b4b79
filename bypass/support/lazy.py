"""Names that a package offers but imports only at their first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from bypass.errors import MissingExtra, extra_of


def lazy_names(
    package: str, homes: Mapping[str, str], moved: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `homes` says in which module each name is defined.

    A name is looked up once; afterwards the package has it. Raises AttributeError for other names, which says
    in which package those are that have `moved`, and MissingExtra for one whose module needs what is not
    installed.
    """

    def get(name: str) -> Any:
        if moved and name in moved:
            raise AttributeError(f"{package}.{name} has moved: expected {moved[name]}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if extra_of(missing) is None:
                raise
            raise MissingExtra(missing) from error
        setattr(sys.modules[package], name, value)
        return value

    return get
