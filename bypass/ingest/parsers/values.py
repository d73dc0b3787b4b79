"""Values of measurements by type, strictly: none is changed into one that means something else.

Values that are no numbers (NaN, infinities) are refused: JSON cannot say them, and the same content has to
give the same measurements in every form; nor do they compare or add up in queries.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from math import isfinite

from bypass.errors import shown
from bypass.ingest.rejection import Rejected

SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1
"""The numbers that a Long can be."""


def _long(value: object) -> int:
    if type(value) is int and SMALLEST <= value <= LARGEST:
        return value
    raise Rejected("parse", "value", f"{shown(value)}: expected a whole number of 64 bits")


def _double(value: object) -> float:
    if type(value) is float and isfinite(value):
        return value
    if type(value) is int and SMALLEST <= value <= LARGEST:
        return float(value)
    raise Rejected("parse", "value", f"{shown(value)}: expected a finite number")


def _string(value: object) -> str:
    if type(value) is str:
        return value
    raise Rejected("parse", "value", f"{shown(value)}: expected text")


def _bytes(value: object) -> bytes:
    """Take bytes, or Base64 in forms that have none."""
    if type(value) is bytes:
        return value
    if type(value) is str:
        try:
            return b64decode(value, validate=True)
        except ValueError:
            pass
    raise Rejected("parse", "value", f"{shown(value)}: expected bytes, or Base64")


READERS: Mapping[str, Callable[[object], int | float | str | bytes]] = {
    "Long": _long,
    "Double": _double,
    "String": _string,
    "Bytes": _bytes,
}
"""Functions that check a value, by its type. They raise Rejected."""


_LONGEST_NUMBER = 400  # more than the digits of any double
_WRITTEN: Mapping[str | None, tuple[type[int] | type[float], re.Pattern[str]]] = {
    "Long": (int, re.compile(r"[+-]?[0-9]+")),
    "Double": (float, re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")),
}


def written(text: str, kind: str | None) -> object:
    """Read a value that is written as text, in forms without types. Raises Rejected for a number that is
    none."""
    if kind not in _WRITTEN:
        return text
    number, form = _WRITTEN[kind]
    if len(text) > _LONGEST_NUMBER or not form.fullmatch(text):  # Python would take "1_000" and " 5" as well
        raise Rejected("parse", "value", f"{shown(text)}: expected a {kind}")
    return number(text)
