from typing import Any

import pytest

from bypass.errors import OperatorConflict, UnknownOperator
from bypass.events.attributes import FLOAT, INTEGER, SET, STRING, AttributeType
from bypass.events.operators import OPERATORS, OperatorRegistry

ab, abc, cd = frozenset("ab"), frozenset("abc"), frozenset("cd")


@pytest.mark.parametrize(
    ("kind", "name", "candidate", "value", "passes"),
    [
        (INTEGER, "=", 12, 12, True),
        (INTEGER, "!=", 12, 12, False),
        (INTEGER, "<", 11, 12, True),
        (INTEGER, "<=", 12, 12, True),
        (INTEGER, ">", 12, 12, False),
        (INTEGER, ">=", 12.5, 12, True),
        (INTEGER, "in", 2, frozenset({1, 2}), True),
        (FLOAT, "=", 12, 12.0, True),
        (FLOAT, "<", 12.5, 12.0, False),
        (FLOAT, "in", 2.5, frozenset({1.5}), False),
        (STRING, "=", "a", "a", True),
        (STRING, "!=", "a", "b", True),
        (STRING, "<", "a", "b", True),
        (STRING, "<=", "b", "b", True),
        (STRING, ">", "a", "b", False),
        (STRING, ">=", "b", "a", True),
        (STRING, "prefix", "monster", "mon", True),
        (STRING, "prefix", "mon", "monster", False),
        (STRING, "suffix", "monster", "ster", True),
        (STRING, "contains", "monster", "nst", True),
        (STRING, "contains", "nst", "monster", False),
        (STRING, "in", "a", ab, True),
        (SET, "=", ab, frozenset("ba"), True),
        (SET, "!=", ab, abc, True),
        (SET, "in", ab, abc, True),
        (SET, "in", abc, ab, False),
        (SET, "intersects", abc, cd, True),
        (SET, "intersects", ab, cd, False),
        (SET, "contains", ab, "a", True),
        (SET, "contains", ab, "c", False),
    ],
)
def test_built_in_operators(kind: AttributeType, name: str, candidate: Any, value: Any, passes: bool) -> None:
    assert OPERATORS.get(kind, name)(candidate, value) is passes


def test_an_unknown_operator_lists_the_known_ones() -> None:
    with pytest.raises(
        UnknownOperator, match="operator 'near' of type integer: expected one of = != < <= > >= in"
    ):
        OPERATORS.get(INTEGER, "near")
    with pytest.raises(UnknownOperator, match="expected one of no operator at all"):
        OPERATORS.get(AttributeType("shapeless", object), "=")


def test_an_operator_is_registered_once() -> None:
    registry = OperatorRegistry()

    def divides(candidate: int, value: int) -> bool:
        return value % candidate == 0

    registry.register(INTEGER, "divides", divides)
    registry.register(INTEGER, "divides", divides)
    with pytest.raises(OperatorConflict, match="operator 'divides' of type integer"):
        registry.register(INTEGER, "divides", lambda candidate, value: False)
    assert registry.get(INTEGER, "divides") is divides
    with pytest.raises(UnknownOperator):
        registry.get(FLOAT, "divides")
