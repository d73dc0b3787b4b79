"""The stamp of cached kernels covers all that our own are made from."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import bypass
from bypass.support.kernel_cache import MARKS


@cache
def source(module: str) -> str | None:
    """The text of one of our modules."""
    path = Path(bypass.__file__).parent.joinpath(*module.split(".")[1:])
    for file in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
        if file.is_file():
            return file.read_text()
    return None


@cache
def definitions(module: str) -> dict[str, ast.stmt]:
    """The statements of a module that give names to what it defines and imports."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(source(module) or "").body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {
                name.id: node for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
            }
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node for alias in node.names}
    return found


def seen(module: str, name: str, known: set[tuple[str, str]]) -> None:
    """Add the names that the definition of a name is made from, with the modules that define them."""
    node = definitions(module).get(name)
    if node is None or (module, name) in known:
        return
    if isinstance(node, ast.ImportFrom):
        home = node.module or ""
        if home.partition(".")[0] == "bypass":
            assert source(f"{home}.{name}") is None, f"{module} has {name}: kernels import names, not modules"
            seen(home, name, known)
        return
    known.add((module, name))
    for each in names(node):
        seen(module, each, known)


def names(node: ast.AST) -> Iterator[str]:
    """The names below a node, but for those in annotations and decorators: they are not compiled."""
    if isinstance(node, ast.Name):
        yield node.id
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list"):
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    yield from names(part)


def modules() -> Iterator[str]:
    root = Path(bypass.__file__).parent
    for folder, _, names in os.walk(root, followlinks=True):
        for name in names:
            if name.endswith(".py"):
                parts = Path(folder, name).relative_to(root.parent).with_suffix("").parts
                yield ".".join(parts).removesuffix(".__init__")


def test_all_that_our_kernels_are_made_from_is_in_modules_that_the_stamp_covers() -> None:
    known: set[tuple[str, str]] = set()
    for module in modules():
        for name, node in definitions(module).items():
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(each, ast.Name) and each.id == "kernel" for each in node.decorator_list
            ):
                seen(module, name, known)
    assert len({module for module, _ in known}) > 30
    missing = sorted(
        f"{module}.{name}"
        for module, name in known
        if not any(mark.decode() in (source(module) or "") for mark in MARKS)
    )
    assert not missing, f"expected a comment '# compiled into kernels' in the modules of {missing}"
