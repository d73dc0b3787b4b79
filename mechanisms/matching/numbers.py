"""Numbers and texts as kernels compare them: between two floats."""

from __future__ import annotations

import math
import sys

EXACT = 2**53
"""Whole numbers up to here are floats, too."""

KEY_BYTES = 6  # of a text; a float tells whole numbers of so many bytes apart

Bounds = tuple[float, float]


def bounds_of(value: float) -> Bounds:
    """The floats beside a number: twice itself if it is one, else those before and after it."""
    if value.__class__ is float or -EXACT <= value <= EXACT:
        near = float(value)
        return near, near
    try:
        near = float(value)
    except OverflowError:
        most = sys.float_info.max
        return (most, math.inf) if value > 0 else (-math.inf, -most)
    if near == value:  # compared exactly
        return near, near
    return (near, math.nextafter(near, math.inf)) if near < value else (math.nextafter(near, -math.inf), near)


def bounds_of_text(text: str) -> Bounds:
    """Numbers that order texts as their first letters do: all that begin alike lie between the same two."""
    key = text[:KEY_BYTES].encode("utf-8", "surrogatepass")[:KEY_BYTES].ljust(KEY_BYTES, b"\0")
    number = float(int.from_bytes(key, "big"))
    return number, number + 1.0
