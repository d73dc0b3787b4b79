"""Loads code of others by reference: from a module, from a file, or from an installed package.

A reference is `module:Name` or `path/to/file.py:Name`. A file is executed once, under a name that follows
from its path alone, so that processes elsewhere that were sent the file import it under the same one.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from bypass.errors import UnusableMechanism

log = logging.getLogger(__name__)

_sources: dict[str, bytes] = {}  # of files that were executed, by the name of the module
_named: set[str] = set()  # modules that references have led to


def absolute(reference: str, folder: Path) -> str:
    """The same reference with an absolute path; `folder` is the one that a relative path starts from."""
    path = file_of(reference)
    return reference if path is None else f"{os.path.abspath(folder / path)}:{reference.rpartition(':')[2]}"


def file_of(reference: str) -> Path | None:
    """The file that a reference names; None if it names a module, or is no reference."""
    path, _, name = reference.rpartition(":")
    return Path(path) if path.endswith(".py") and name.isidentifier() else None


def module_of(reference: str) -> str | None:
    """The module that a reference names; None if it names a file, or is no reference."""
    where, colon, _ = reference.rpartition(":")
    return where if colon and file_of(reference) is None else None


def load(reference: str) -> Any:
    """Load the object that a reference names; relative paths start from the working directory. Raises
    UnusableMechanism."""
    where, _, name = reference.rpartition(":")
    try:
        if where.endswith(".py"):
            return getattr(_executed(Path(where)), name)
        found = getattr(importlib.import_module(where), name)
        note_module(where)
        return found
    except (ImportError, AttributeError, OSError, ValueError) as error:
        raise UnusableMechanism(
            f"{reference}: expected module:Class, an import path, or file.py:Class ({_line(error)})"
        ) from error
    except Exception as error:  # the code of others may raise anything
        raise UnusableMechanism(
            f"{reference}: {type(error).__name__}: {_line(error)}: expected a module that can be imported"
        ) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def module_name(path: Path) -> str:
    """The name of the module that a file becomes. No other file has the same."""
    whole = os.path.abspath(path)
    stem = re.sub(r"\W", "_", path.stem)
    return f"{stem}_{hashlib.sha256(whole.encode()).hexdigest()[:10]}"


def _executed(path: Path) -> ModuleType:
    """The module of a file: executed anew only if the file has changed. Raises OSError, and what it
    raises."""
    name = module_name(path)
    known = sys.modules.get(name)
    try:
        source = path.read_bytes()
    except OSError:
        if known is None and importlib.util.find_spec(name) is None:
            raise
        return importlib.import_module(name)  # it was sent here
    if known is not None and _sources.setdefault(name, source) == source:
        return known
    module = ModuleType(name)
    module.__file__ = os.path.abspath(path)
    sys.modules[name] = module
    try:
        code = compile(source, module.__file__, "exec")
        exec(code, vars(module))  # noqa: S102 - whoever wrote the reference wants that
    except BaseException:
        del sys.modules[name]
        raise
    _sources[name] = source
    return module


def executed_files() -> dict[str, bytes]:
    """The contents of all files that were executed here, by the names of their modules."""
    return dict(_sources)


def note_module(name: str) -> None:
    """Remember that something of a module is used that was brought: `local_modules` lists it if need be."""
    _named.add(name)


def local_modules() -> dict[str, Path]:
    """Find the modules that were brought and are not installed, with what they import from beside them.

    Each is a file or, for a package, a folder, by its name at the top level.
    """
    brought = [_top_level(name) for name in _named if name not in _sources]
    roots = {place.parent for _, place in brought if place is not None and not _is_installed(place)}
    found = (_top_level(name) for name in tuple(sys.modules) if "." not in name)
    return {name: place for name, place in found if place is not None and place.parent in roots}


def _top_level(name: str) -> tuple[str, Path | None]:
    """The name of a module's outermost package, and where that is; None if it has no file, or is ours."""
    top = name.partition(".")[0]
    module = sys.modules.get(top)
    if top in _sources or top in ("__main__", __name__.partition(".")[0]):
        return top, None
    if file := getattr(module, "__file__", None):
        path = Path(file)
        return top, path.parent if path.stem == "__init__" else path
    folders = [*getattr(module, "__path__", ())]
    return top, Path(folders[0]) if folders else None


def _is_installed(place: Path) -> bool:
    folders = {"site-packages", "dist-packages"}
    return bool(folders & {*place.parts}) or place.is_relative_to(sysconfig.get_path("stdlib"))


def installed_names(group: str) -> list[str]:
    """The names that installed packages offer in a group of entry points. Nothing is imported."""
    return sorted({each.name for each in _entry_points(group)})


class Offer(NamedTuple):
    """An entry point: the module that it leads to, and the version of the distribution that has it, by its
    name."""

    module: str
    distribution: dict[str, str]


def offers(group: str, names: Iterable[str]) -> list[Offer]:
    """Find the entry points of a group with these names; nothing is imported."""
    wanted = set(names)
    return [
        Offer(entry.module, {entry.dist.name: entry.dist.version} if entry.dist else {})
        for entry in _entry_points(group)
        if entry.name in wanted
    ]


def load_installed(group: str, name: str) -> Any:
    """Load the object that an installed package offers under a name. None if there is none or, with a
    warning, if loading it fails."""
    for entry in _entry_points(group):
        if entry.name == name:
            try:
                return entry.load()
            except Exception as error:  # the code of others may raise anything
                log.warning(
                    "entry point %s = %s in %s is left out: %s: %s",
                    entry.name, entry.value, group, type(error).__name__, _line(error),
                )  # fmt: skip
    return None


def _entry_points(group: str) -> Iterable[Any]:
    from importlib.metadata import entry_points  # takes a while to import, and is seldom asked

    return entry_points(group=group)
