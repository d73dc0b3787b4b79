"""A turn is told what has happened: nobody else writes into what it collects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

BROKER = Path(__file__).parents[2] / "bypass/live/broker"
TURN = BROKER / "delivery/turn.py"
MODULES = sorted(path for path in BROKER.rglob("*.py") if path != TURN)


def attributes(tree: ast.AST) -> Iterator[ast.Attribute]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))


def is_own(attribute: ast.Attribute) -> bool:
    return isinstance(attribute.value, ast.Name) and attribute.value.id in ("self", "cls")


def fields() -> set[str]:
    """The fields of a turn, and the batch under any name."""
    tree = ast.parse(TURN.read_text())
    own = {each.attr for each in attributes(tree) if isinstance(each.ctx, ast.Store) and is_own(each)}
    return {name for name in own if name.startswith("_")} | {"batch"}


def intrusions(source: str, kept: set[str]) -> list[str]:
    found = (each for each in attributes(ast.parse(source)) if each.attr in kept)
    return [ast.unparse(each) for each in found if not is_own(each)]


def test_a_turn_keeps_its_fields_to_itself() -> None:
    assert {"_batch", "_messages", "_confirmed", "_taken", "_logged", "_changes"} <= fields()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(BROKER).as_posix())
def test_nobody_reaches_into_a_turn(path: Path) -> None:
    assert intrusions(path.read_text(), fields()) == []


@pytest.mark.parametrize("line", ["deliveries.turn.batch.released(done)", "turn._taken.add(1)"])
def test_who_did_would_be_found(line: str) -> None:
    assert intrusions(line, fields())
