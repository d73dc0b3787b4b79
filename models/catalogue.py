"""Models by name: those built in, what installed packages offer, and what a reference leads to."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TypeVar

from bypass.errors import UnusableMechanism, shown
from bypass.support.extensions import load, load_installed

M = TypeVar("M")

INSTALLED_MODELS = "bypass.models"
INSTALLED_WORKLOADS = "bypass.workloads"
"""The groups of entry points by which installed packages offer models of mobility and churn, and
workloads."""


def find_model(name: str, builtin: Mapping[str, type[M]], base: type[M], group: str) -> type[M] | None:
    """The model with a name, or the class behind a reference, `module:Class` or `file.py:Class`.

    None if nobody has heard of the name. Raises UnusableMechanism for what is no such model.
    """
    if name in builtin:
        return builtin[name]
    found = load(name) if ":" in name else load_installed(group, name)
    if found is None:
        return None
    if not (isinstance(found, type) and issubclass(found, base)):
        raise UnusableMechanism(f"{name}: {shown(found)}: expected a subclass of {base.__name__}")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
        raise UnusableMechanism(f"{name}: {found.__name__} lacks {missing}: expected methods of these names")
    return found
