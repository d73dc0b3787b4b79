"""Parts that the bodies of messages share: checks, which raise ValueError and name the field, and lengths."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from bypass.errors import shown


def required(body: Any, field: str) -> Any:
    if not body.HasField(field):
        raise ValueError(f"{field} is missing")
    return getattr(body, field)


def finite(what: str, numbers: Sequence[float], length: int) -> tuple[Any, ...]:
    if len(numbers) != length or not all(map(isfinite, numbers)):
        raise ValueError(f"{what} {shown(list(numbers))}: expected {length} finite numbers")
    return tuple(numbers)


def read_pair(what: str, body: Any, x: str, y: str) -> tuple[Any, ...] | None:
    """Both or neither."""
    if not (body.HasField(x) or body.HasField(y)):
        return None
    return finite(what, (required(body, x), required(body, y)), 2)


def rectangle(what: str, bounds: Sequence[float]) -> tuple[Any, ...]:
    """The outermost cells of a grid reach to infinity, so bounds may be infinite."""
    if len(bounds) != 4 or not (bounds[0] < bounds[2] and bounds[1] < bounds[3]):
        raise ValueError(f"{what} {shown(list(bounds))}: expected x0 < x1 and y0 < y1 as [x0, y0, x1, y1]")
    return tuple(bounds)


def extend(what: str, field: Any, numbers: Sequence[int]) -> None:
    try:
        field.extend(numbers)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} {shown(numbers)}: {error}") from error


def varint(number: int) -> bytes:
    """A number that is not negative, as lengths are written."""
    if number < len(_SHORT):
        return _SHORT[number]
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_SHORT = tuple(bytes((n,) if n < 0x80 else (n & 0x7F | 0x80, n >> 7)) for n in range(2048))
"""Nearly all lengths: to look one up takes a third of the time that making it does."""
