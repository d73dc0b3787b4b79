"""Predicates applied: to devices one by one, and to measurements as a condition of SQL.

Both decide as `bypass.events.matching` does. A test of a number looks at metadata that is written as one.
"""

from __future__ import annotations

import math
from typing import Any

from bypass.errors import shown
from bypass.events.attributes import ANYTHING, FLOAT, INTEGER, STRING
from bypass.events.filters import AnyOf, Filter, Subscription
from bypass.events.operators import ABSENT
from bypass.ingest.devices.record import DeviceRecord
from bypass.ingest.queries.invalid import InvalidSelection

DEVICE_FIELDS = ("id", "application", "region", "policy")
"""Attributes of a device besides its metadata."""

TEXTS = ("device", "metric", "type", "uom")
NUMBERS = ("time", "received")
VALUE = "value"
"""Attributes of a measurement: texts, times in milliseconds, and its value, a number or a text."""

_NUMBER = (INTEGER, FLOAT)
_FUNCTIONS = {"prefix": "starts_with", "suffix": "ends_with", "contains": "contains"}
_BELOW = {"<": "<=", "<=": "<=", ">": ">", ">=": ">"}
_ABOVE = {"<": "<", "<=": "<", ">": ">=", ">=": ">="}
"""Comparisons with the nearest number of a column's type, which is below or above the one that is meant."""


def check_devices(wanted: Subscription) -> None:
    """Refuse tests that no device can pass. Raises InvalidSelection."""
    for each in wanted.all_filters():
        if each.attribute.type not in (*_NUMBER, STRING, ANYTHING):
            raise InvalidSelection(f"test {each}: expected a number or a text")


def matches_device(device: DeviceRecord, wanted: Subscription) -> bool:
    """Whether a device passes."""
    return (
        all(_passes(device, each) for each in wanted.filters)
        and all(
            any(matches_device(device, part) for part in each.alternatives)
            for each in wanted.compounds
            if isinstance(each, AnyOf)
        )
        and not any(
            matches_device(device, each.of) for each in wanted.compounds if not isinstance(each, AnyOf)
        )
    )


def _passes(device: DeviceRecord, tested: Filter) -> bool:
    name, classes, test, wanted = tested.check
    value: Any = getattr(device, name) if name in DEVICE_FIELDS else device.metadata.get(name, ABSENT)
    if tested.attribute.type in _NUMBER and isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return False
        if not math.isfinite(value):
            return False
    return isinstance(value, classes) and test(value, wanted)


class MeasurementCondition:
    """A predicate over measurements as a condition of SQL, with parameters for all its values."""

    def __init__(self, wanted: Subscription) -> None:
        """Raises InvalidSelection for an attribute that measurements do not have, or not of that type."""
        self.parameters: dict[str, Any] = {}
        self.sql = self._all(wanted)

    def _all(self, wanted: Subscription) -> str:
        parts = [f"coalesce({self._test(each)}, false)" for each in wanted.filters]
        for each in wanted.compounds:
            if isinstance(each, AnyOf):
                parts.append("(" + " OR ".join(self._all(part) for part in each.alternatives) + ")")
            else:
                parts.append(f"NOT {self._all(each.of)}")
        return "(" + " AND ".join(parts) + ")"

    def _test(self, tested: Filter) -> str:
        name, kind = tested.attribute.name, tested.attribute.type
        if name == VALUE:
            if kind is ANYTHING:
                return "true"
            if kind in _NUMBER:
                return f"coalesce({self._number('long', tested)}, {self._number('double', tested)})"
            column = "label"
        elif name in TEXTS:
            if kind is ANYTHING:
                return f'"{name}" IS NOT NULL'
            column = name
        elif name in NUMBERS:
            if kind is ANYTHING:
                return "true"
            if kind not in _NUMBER:
                raise InvalidSelection(f"test {tested}: expected a number, milliseconds since 1970")
            return self._number(name, tested)
        else:
            known = ", ".join((*TEXTS, *NUMBERS, VALUE))
            raise InvalidSelection(f"attribute {shown(name)} of a measurement: expected one of {known}")
        if kind is not STRING:
            raise InvalidSelection(f"test {tested}: expected a text")
        if tested.op in _FUNCTIONS:
            return f'{_FUNCTIONS[tested.op]}("{column}", {self._parameter(tested.value)})'
        if tested.op == "in":
            return f'"{column}" IN ({", ".join(self._parameter(each) for each in sorted(tested.value))})'
        return f'"{column}" {tested.op} {self._parameter(tested.value)}'

    def _number(self, column: str, tested: Filter) -> str:
        if tested.op == "in":
            return "(" + " OR ".join(self._compare(column, "=", each) for each in tested.value) + ")"
        return self._compare(column, tested.op, tested.value)

    def _compare(self, column: str, operator: str, value: float) -> str:
        """Compare exactly, as Python does: no number is rounded to one that a column can have."""
        near = _double(value) if column == "double" else _long(value)
        if near != value:
            if operator in ("=", "!="):
                return f'if("{column}" IS NULL, NULL, {"true" if operator == "!=" else "false"})'
            operator = (_BELOW if near < value else _ABOVE)[operator]
        return f'"{column}" {operator} {self._parameter(near)}'

    def _parameter(self, value: Any) -> str:
        name = f"value{len(self.parameters)}"
        self.parameters[name] = value
        return f"${name}"


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _long(value: float) -> int:
    """The largest whole number that is not above a value, or one just beyond those that a column can have."""
    least, most = -(1 << 63) - 1, 1 << 63
    if not least <= value <= most:
        return least if value < least else most
    return math.floor(value)
