"""Docstrings of the product say what a thing is or does; none of them begins like a riddle."""

from __future__ import annotations

import ast
import re

from tests.product import modules

RIDDLE = re.compile(r"(What|Who|Whom|Whose|Whoever|Whatever|That which)\b")

RIDDLES = '''
def f():
    """Whatever it is."""

A = 1
"""What it is."""

def g():
    """Whether it is."""
'''


def docstrings(source: str) -> list[str]:
    """All docstrings of a module, those of constants and fields included."""
    expressions = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr)]
    values = [each.value for each in expressions if isinstance(each, ast.Constant)]
    return [value.strip() for value in values if isinstance(value, str)]


def riddles(source: str) -> list[str]:
    """The first lines of docstrings that leave their subject open."""
    return [text.splitlines()[0] for text in docstrings(source) if RIDDLE.match(text)]


def test_riddles_are_found() -> None:
    assert sorted(riddles(RIDDLES)) == ["What it is.", "Whatever it is."]


def test_docstrings_name_their_subject() -> None:
    assert len(modules()) > 200
    found = {path: riddles(source) for path, source in modules().items()}
    assert {path: lines for path, lines in found.items() if lines} == {}
