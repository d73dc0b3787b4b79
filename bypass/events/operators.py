"""Operators that filters apply: functions of the event's value (left) and the filter's value (right)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from bypass.errors import OperatorConflict, UnknownOperator
from bypass.events.attributes import (
    ANYTHING,
    AREA,
    BOOLEAN,
    FLOAT,
    INTEGER,
    PLACE,
    SET,
    STRING,
    AttributeType,
)
from bypass.events.place_operators import area_within, areas_meet, place_within

Test: TypeAlias = Callable[[Any, Any], bool]

EXISTS = "exists"
ABSENT: Any = object()
"""Stands for the value of an attribute that an event does not have; of no attribute type."""


class OperatorRegistry:
    """The operators of one system by attribute type: those built in, and those an application registers.

    A name may mean different functions for different types.
    """

    def __init__(self) -> None:
        self._tests: dict[AttributeType, dict[str, Test]] = {
            kind: dict(tests) for kind, tests in _DEFAULTS.items()
        }

    def register(self, type: AttributeType, name: str, fn: Test) -> None:  # noqa: A002
        """Let filters on `type` use `name`: `fn(candidate, filter_value)` says whether the candidate passes.

        `fn` must be pure and must not raise for any value of the type. Registering the same function again
        changes nothing; raises OperatorConflict if the name stands for another one, because filters that
        exist have it already.
        """
        if self._tests.setdefault(type, {}).setdefault(name, fn) is not fn:
            raise OperatorConflict(f"operator {name!r} of type {type.name}: registered with another function")

    def get(self, type: AttributeType, name: str) -> Test:  # noqa: A002
        """The function behind `name`. Raises UnknownOperator, which lists those that the type has."""
        tests = self._tests.get(type, {})
        if name not in tests:
            known = " ".join(tests) or "no operator at all"
            raise UnknownOperator(f"operator {name!r} of type {type.name}: expected one of {known}")
        return tests[name]


def _one_of(candidate: Any, values: frozenset[Any]) -> bool:
    return candidate in values


def _present(candidate: Any, _: None) -> bool:
    return candidate is not ABSENT


def _intersects(candidate: frozenset[Any], values: frozenset[Any]) -> bool:
    return not candidate.isdisjoint(values)


_COMPARISONS: dict[str, Test] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": _one_of,
}

_DEFAULTS: dict[AttributeType, dict[str, Test]] = {
    INTEGER: _COMPARISONS,
    FLOAT: _COMPARISONS,
    STRING: _COMPARISONS | {"prefix": str.startswith, "suffix": str.endswith, "contains": operator.contains},
    BOOLEAN: {"=": operator.eq, "!=": operator.ne, "in": _one_of},
    ANYTHING: {EXISTS: _present},
    SET: {
        "=": operator.eq,
        "!=": operator.ne,
        "in": frozenset.issubset,
        "intersects": _intersects,
        "contains": operator.contains,
    },
    PLACE: {"=": operator.eq, "!=": operator.ne, "within": place_within, "intersects": place_within},
    AREA: {"=": operator.eq, "!=": operator.ne, "within": area_within, "intersects": areas_meet},
}

BUILT_IN = frozenset((kind, name) for kind, tests in _DEFAULTS.items() for name in tests)
"""Operators whose filter values are checked; what the others take is up to the application."""

OPERATORS = OperatorRegistry()
"""The operators of systems that are not given others."""
