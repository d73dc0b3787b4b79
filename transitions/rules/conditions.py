"""Conditions: when a rule applies, as text that anybody may write and that can do nothing but compare."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any, Self

from bypass.transitions.errors import TransitionError, short

MAX_LENGTH = 1000
MAX_DEPTH = 40

_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod)
_ALLOWED = "names, numbers, texts, True, False, None, and, or, not, comparisons, in, + - * / %"
_EMPTY: dict[str, Any] = {"__builtins__": {}}


class InvalidRule(TransitionError):
    """A rule, its condition or its template is not one, or it cannot be applied to the facts."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A boolean expression over facts: `rho > delta + hysteresis and mode != 'high'`.

    It reads like Python and has names, constants, comparisons, and/or/not and arithmetic on numbers;
    `in` looks into a list. It cannot call, reach into or change anything. `names` are the facts that it
    asks for, in order.
    """

    text: str
    names: tuple[str, ...]
    _code: CodeType

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises InvalidRule."""
        text = text.strip()
        vetted = _Vetted(text)
        return cls(text, tuple(vetted.names), compile(vetted.tree, "<condition>", "eval"))

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Raises InvalidRule if a fact is missing, or of a kind that cannot be compared or computed with."""
        try:
            return bool(eval(self._code, _EMPTY, facts))  # noqa: S307 - nothing but what `_Vetted` lets pass
        except NameError as error:
            raise InvalidRule(f"condition {short(self.text)}: there is no fact {error.name!r}") from None
        except (TypeError, ArithmeticError) as error:
            problem = "division by zero" if isinstance(error, ZeroDivisionError) else error
            raise InvalidRule(f"condition {short(self.explain(facts), 200)}: {problem}") from None

    def explain(self, facts: Mapping[str, Any]) -> str:
        """The condition together with the values of its names, for people."""
        values = ", ".join(f"{name} = {told(facts[name], short)}" for name in self.names if name in facts)
        return f"{self.text} ({values})" if values else self.text


def told(value: Any, otherwise: Callable[[Any], str] = str) -> str:
    """A fact for people: fractions to six digits."""
    return f"{value:g}" if isinstance(value, float) else otherwise(value)


class _Vetted:
    """The syntax tree of a condition in which nothing is left that is not allowed."""

    def __init__(self, text: str) -> None:
        self.names: dict[str, None] = {}
        self._text = text
        if len(text) > MAX_LENGTH:
            raise self._refusal(f"it has {len(text)} characters, at most {MAX_LENGTH} are allowed")
        try:
            self.tree = ast.parse(text, mode="eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            problem = error.msg if isinstance(error, SyntaxError) else error
            raise self._refusal(f"it cannot be read: {problem}") from None
        self.tree.body = self._value(self.tree.body, 0)
        ast.fix_missing_locations(self.tree)

    def _value(self, node: ast.expr, depth: int) -> ast.expr:
        """`node`, if it and all below may be in a condition."""
        if depth > MAX_DEPTH:
            raise self._refusal(f"it is nested more than {MAX_DEPTH} deep")
        deeper = depth + 1
        match node:
            case ast.BoolOp(values=values):
                node.values = [self._value(value, deeper) for value in values]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                node.operand = self._value(operand, deeper)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                node.left = self._value(left, deeper)
                node.comparators = [
                    self._compared(node, op, value, deeper)
                    for op, value in zip(ops, comparators, strict=True)
                ]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                node.operand = self._number(operand, deeper)
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _ARITHMETIC):
                node.left, node.right = self._number(left, deeper), self._number(right, deeper)
            case ast.Name(id=name) if not name.startswith("_"):
                self.names[name] = None
            case ast.Constant(value=bool() | int() | float() | str() | None, kind=None):
                pass
            case _:
                raise self._foreign(node)
        return node

    def _compared(self, whole: ast.Compare, op: ast.cmpop, node: ast.expr, depth: int) -> ast.expr:
        """The right side of one comparison."""
        if isinstance(op, ast.In | ast.NotIn):
            if isinstance(node, ast.Tuple | ast.List):
                node.elts = [self._value(element, depth) for element in node.elts]
                return node
        elif not isinstance(op, _COMPARISONS):
            raise self._foreign(whole)
        return self._value(node, depth)

    def _number(self, node: ast.expr, depth: int) -> ast.expr:
        """An operand of arithmetic; a name gets a `+`, which refuses what is no number when it is evaluated.

        Otherwise a text could be multiplied, or be a format that says how much memory to fill.
        """
        self._value(node, depth)
        match node:
            case ast.Name():
                return ast.UnaryOp(op=ast.UAdd(), operand=node)
            case ast.BinOp() | ast.UnaryOp(op=ast.USub()):
                return node
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return node
        raise self._refusal(f"{self._piece(node)} is no number")

    def _foreign(self, node: ast.expr) -> InvalidRule:
        return self._refusal(f"{self._piece(node)} is not allowed; allowed are {_ALLOWED}")

    def _piece(self, node: ast.expr) -> str:
        return short(ast.get_source_segment(self._text, node), 40)

    def _refusal(self, problem: str) -> InvalidRule:
        return InvalidRule(f"condition {short(self._text)}: {problem}")
