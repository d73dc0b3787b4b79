"""The code of others that an experiment runs: modules by the hash of their source, packages by version."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from bypass.scenarios.experiments.provenance import hash_of

OWN = "bypass"
"""Its files have a hash of their own."""


class Dependencies:
    """The modules that are named, or that those named or `files` import, with all that they import in turn.

    Sources are read, nothing is imported. `modules` has the hash of each by its name. Where a module belongs
    to an installed distribution that was not named, its version stands for it, in `distributions`. What the
    interpreter and this library bring is left out, and so is what cannot be found: it was not imported.
    Raises OSError for a source that cannot be read.
    """

    def __init__(self, named: Iterable[str], files: Iterable[Path]) -> None:
        self.modules: dict[str, str] = {}
        self.distributions: dict[str, str] = {}
        named = list(named)
        self._followed = {_top(name) for name in named}
        waiting = [*named, *(name for file in files for name in _imports(file, ""))]
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += self._add(name)

    def _add(self, name: str) -> list[str]:
        """Note a module; gives what it needs in turn: its packages, and what it imports."""
        top = _top(name)
        if top == OWN or top in sys.stdlib_module_names:
            return []
        spec = _found(name)
        if spec is None:
            return []
        installed = _distributions(top, _found(top))
        self.distributions |= installed
        if installed and top not in self._followed:
            return []
        needed = [name.rpartition(".")[0]] if "." in name else []
        if spec.origin is not None and Path(spec.origin).is_file():
            source = Path(spec.origin)
            self.modules[name] = hash_of(source)
            is_package = spec.submodule_search_locations is not None
            needed += _imports(source, name if is_package else name.rpartition(".")[0])
        return needed


def _top(name: str) -> str:
    return name.partition(".")[0]


def _found(name: str) -> ModuleSpec | None:
    """Where a module is, None if it is nowhere. Its packages are not imported for that."""
    try:
        spec = importlib.util.find_spec(_top(name))
    except (ImportError, ValueError):
        return None
    whole = _top(name)
    for part in name.split(".")[1:]:
        if spec is None or spec.submodule_search_locations is None:
            return None
        whole = f"{whole}.{part}"
        spec = PathFinder.find_spec(whole, list(spec.submodule_search_locations))
    return spec


def _imports(source: Path, package: str) -> Iterator[str]:
    """The names that a source may import, wherever it does; a name that is none of a module is harmless."""
    if source.suffix != ".py":
        return
    try:
        tree = ast.parse(source.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue  # beyond the top
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


@cache
def _all_distributions() -> dict[str, list[str]]:
    return dict(importlib.metadata.packages_distributions())


def _distributions(top: str, spec: ModuleSpec | None) -> dict[str, str]:
    """The installed distributions that a top-level module is of, with their versions; none for one that is
    merely linked to from where others are installed, and may change without another version."""
    found = {}
    for name in _all_distributions().get(top, ()):
        distribution = importlib.metadata.distribution(name)
        where = Path(str(distribution.locate_file(""))).resolve()
        places = [] if spec is None else [*(spec.submodule_search_locations or ()), spec.origin or ""]
        if any(place and Path(place).resolve().is_relative_to(where) for place in places):
            found[name] = distribution.version
    return found
