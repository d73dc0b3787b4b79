"""Polygons in well-known text and well-known bytes."""

from __future__ import annotations

import re
import struct
from struct import unpack_from
from typing import Any

from bypass.errors import InvalidArea, shown

Rings = list[list[list[tuple[float, ...]]]]

_HEAD = re.compile(r"\s*(?:SRID\s*=\s*\d+\s*;)?\s*(\w+)\s*(?:ZM|Z|M)?\s*(?=\()", re.IGNORECASE)
_TOKEN = re.compile(r"\s*([(),]|[^\s(),]+)")
_DIMENSIONS = {0: 2, 1: 3, 2: 3, 3: 4}
_LARGEST_COUNT = 1 << 20


def read_wkt(text: str) -> Rings:
    """The rings of a POLYGON or MULTIPOLYGON, not yet checked. Raises InvalidArea for another text."""
    if not isinstance(text, str):
        raise InvalidArea(f"well-known text {shown(text)}: expected a string")
    head = _HEAD.match(text)
    kind = head[1].upper() if head else ""
    if head is None or kind not in ("POLYGON", "MULTIPOLYGON"):
        raise InvalidArea(
            f"well-known text {shown(text)}: expected a POLYGON or MULTIPOLYGON that is not empty"
        )
    tokens = _TOKEN.findall(text, head.end())[::-1]
    try:
        found = _listed(tokens, 3 if kind == "MULTIPOLYGON" else 2)
    except (IndexError, ValueError) as error:
        rest = " ".join(tokens[::-1][:6]) or "its end"
        raise InvalidArea(
            f"well-known text {shown(text)}: expected numbers in brackets before {rest}"
        ) from error
    if tokens:
        raise InvalidArea(f"well-known text {shown(text)}: expected nothing after its end")
    return found if kind == "MULTIPOLYGON" else [found]


def _listed(tokens: list[str], depth: int) -> Any:
    """A list in brackets; `tokens` are in reverse. Raises IndexError or ValueError for something else."""
    if depth == 0:
        numbers = []
        while tokens[-1] not in "(),":
            numbers.append(float(tokens.pop()))
        if not 2 <= len(numbers) <= 4:
            raise ValueError
        return tuple(numbers[:2])
    _take(tokens, "(")
    found = [_listed(tokens, depth - 1)]
    while tokens[-1] == ",":
        tokens.pop()
        found.append(_listed(tokens, depth - 1))
    _take(tokens, ")")
    return found


def _take(tokens: list[str], expected: str) -> None:
    if tokens[-1] != expected:
        raise ValueError
    tokens.pop()


def read_wkb(data: bytes) -> Rings:
    """The rings of a Polygon or MultiPolygon, not yet checked. Raises InvalidArea for other bytes."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InvalidArea(f"well-known bytes {shown(data)}: expected bytes")
    data = bytes(data)
    try:
        found, end = _geometry(data, 0, (3, 6))
    except struct.error as error:
        raise InvalidArea(f"well-known bytes of {len(data)}: expected more of them") from error
    if end != len(data):
        raise InvalidArea(f"well-known bytes of {len(data)}: expected {end}")
    return found


def _geometry(data: bytes, at: int, kinds: tuple[int, ...]) -> tuple[Rings, int]:
    """The polygons of one geometry, and where it ends."""
    order = {0: ">", 1: "<"}.get(unpack_from("B", data, at)[0])
    if order is None:
        raise InvalidArea(
            f"well-known bytes: byte {data[at]} at {at}: expected 0 or 1 for the order of bytes"
        )
    (number,) = unpack_from(f"{order}I", data, at + 1)
    at += 5
    if number & 0x20000000:  # of a reference system, which is not ours to judge
        at += 4
    kind, thousands = number & 0xFF, (number & 0xFFFF) // 1000
    dimensions = (
        2 + bool(number & 0x80000000) + bool(number & 0x40000000)
        if number >> 28
        else _DIMENSIONS.get(thousands, 2)
    )
    kind = (number & 0xFFFF) % 1000
    if kind not in kinds:
        raise InvalidArea(f"well-known bytes of type {number}: expected a Polygon (3) or MultiPolygon (6)")
    (count,) = unpack_from(f"{order}I", data, at)
    at += 4
    found: Rings = [] if kind == 6 else [[]]
    for _ in range(_possible(count, data)):
        if kind == 6:
            part, at = _geometry(data, at, (3,))
            found += part
            continue
        (points,) = unpack_from(f"{order}I", data, at)
        numbers = unpack_from(f"{order}{dimensions * _possible(points, data)}d", data, at + 4)
        found[0].append([numbers[i : i + 2] for i in range(0, len(numbers), dimensions)])
        at += 4 + 8 * len(numbers)
    return found, at


def _possible(count: int, data: bytes) -> int:
    if count > len(data):
        raise InvalidArea(f"well-known bytes of {len(data)}: {count} parts or points: expected fewer")
    return count
