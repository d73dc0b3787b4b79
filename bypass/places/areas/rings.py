"""Checks of points, lines and rings that areas are made of, in whole numbers: no rounding decides whether a
ring is simple.

Vertices, edges, holes and polygons are counted from 0 in errors.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from itertools import pairwise
from math import isfinite
from numbers import Real
from typing import Any

from bypass.errors import InvalidArea, shown

MOST_VERTICES = 4096
MOST_PARTS = 256
LARGEST = 1e8
"""Metres: larger coordinates are refused."""

METRES, DEGREES = 1_000, 1_000_000_000
"""So many units of a whole number are a metre, or a degree: coordinates are rounded to these."""

TURN = 360 * DEGREES
Whole = tuple[int, int]
Edge = tuple[int, int]
"""The numbers of a ring, and of the edge in it: that from the vertex of this number to the next one."""


def length(what: str, value: Any, most: float = LARGEST) -> float:
    """A length in metres, to whole millimetres. Raises InvalidArea unless it is above 0 and at most
    `most`."""
    if not isinstance(value, Real) or not 0.0005 < float(value) <= most:
        raise InvalidArea(f"{what} {shown(value)}: expected metres above 0 and at most {most:g}")
    return round(float(value) * METRES) / METRES


def angle(what: str, value: Any, least: float, most: float) -> float:
    """An angle in degrees, to whole millionths. Raises InvalidArea for one that is not within these."""
    if not isinstance(value, Real) or not least <= float(value) <= most:
        raise InvalidArea(f"{what} {shown(value)}: expected degrees from {least:g} to {most:g}")
    return round(float(value) * 1_000_000) / 1_000_000


def whole(what: str, point: Any, degrees: bool) -> Whole:
    """A point in whole numbers. Raises InvalidArea unless it has two numbers that are a place."""
    try:
        x, y = point
        real = isinstance(x, Real) and isinstance(y, Real)
    except (TypeError, ValueError):
        real = False
    if not real:
        expected = "longitude and latitude" if degrees else "x and y"
        raise InvalidArea(f"{what} {shown(point)}: expected {expected}")
    x, y = float(x), float(y)
    if not (isfinite(x) and isfinite(y)):
        raise InvalidArea(f"{what} ({x}, {y}): expected finite numbers")
    if not degrees:
        if abs(x) > LARGEST or abs(y) > LARGEST:
            raise InvalidArea(f"{what} ({x}, {y}): expected metres from {-LARGEST:g} to {LARGEST:g}")
        return round(x * METRES), round(y * METRES)
    if abs(y) > 90.0:
        swapped = ", are latitude and longitude in the wrong order?" if abs(x) <= 90.0 else ""
        raise InvalidArea(f"{what} ({x}, {y}): latitude {y}: expected -90..90{swapped}")
    if abs(y) == 90.0:
        raise InvalidArea(f"{what} ({x}, {y}): expected a place that is not a pole")
    if abs(x) > 540.0:
        raise InvalidArea(f"{what} ({x}, {y}): longitude {x}: expected -540..540")
    return round(x * DEGREES), round(y * DEGREES)


def whole_points(what: str, points: Iterable[Any], degrees: bool) -> list[Whole]:
    """Points of a line or ring in whole numbers; longitudes go on beyond 180 rather than jump. Raises
    InvalidArea for one that is no place, and for too many."""
    if isinstance(points, (str, bytes)) or not isinstance(points, Iterable):
        raise InvalidArea(f"{what} {shown(points)}: expected points")
    points = list(points)
    if not degrees and (quick := _quickly(points)) is not None:
        return quick
    found: list[Whole] = []
    for number, point in enumerate(points):
        if number > MOST_VERTICES:  # one more is the first again at the end of a ring
            raise InvalidArea(f"{what} of more than {MOST_VERTICES} vertices: expected at most that")
        x, y = whole(f"{what}: vertex {number}", point, degrees)
        if degrees and found:
            x -= TURN * round((x - found[-1][0]) / TURN)  # half a turn stays as it is: the even is 0
        found.append((x, y))
    return found


def _quickly(points: list[Any]) -> list[Whole] | None:
    """Points in metres in whole numbers; None if something is wrong with one, or there are too many."""
    try:
        found = [(round(x * METRES), round(y * METRES)) for x, y in points]
    except (TypeError, ValueError, ArithmeticError):
        return None
    most = round(LARGEST * METRES)
    numbers = [number for point in found for number in point]
    if len(found) > MOST_VERTICES or (numbers and not -most <= min(numbers) <= max(numbers) <= most):
        return None
    return found


def whole_line(what: str, points: Iterable[Any], degrees: bool) -> list[Whole]:
    """The points of a line. Raises InvalidArea for one, or for one that follows upon itself."""
    line = whole_points(what, points, degrees)
    if not 2 <= len(line) <= MOST_VERTICES:
        raise InvalidArea(f"{what} of {len(line)} vertices: expected from 2 to {MOST_VERTICES}")
    for number, (before, after) in enumerate(pairwise(line), 1):
        if before == after:
            raise InvalidArea(
                f"{what}: vertex {number} {_at(after, degrees)}: expected another than vertex {number - 1}"
            )
    return line


def whole_ring(what: str, points: Iterable[Any], degrees: bool) -> list[Whole]:
    """The vertices of a ring, each once. Raises InvalidArea for fewer than three, and for one that
    repeats."""
    ring = whole_points(what, points, degrees)
    if len(ring) > 1 and ring[-1] == ring[0]:
        ring.pop()
    if len(ring) < 3:
        raise InvalidArea(f"{what} of {len(ring)} vertices: expected at least 3")
    if len(ring) > MOST_VERTICES:
        raise InvalidArea(f"{what} of more than {MOST_VERTICES} vertices: expected at most that")
    if degrees and abs(ring[-1][0] - ring[0][0]) > TURN // 2:  # also one that is closed a turn later
        raise InvalidArea(f"{what}: goes around a pole: expected one that does not")
    seen: dict[Whole, int] = {}
    for number, vertex in enumerate(ring) if len(set(ring)) < len(ring) else ():
        if (first := seen.setdefault(vertex, number)) != number:
            raise InvalidArea(
                f"{what}: vertex {number} {_at(vertex, degrees)}: expected another than vertex {first}"
            )
    return ring


def check_polygon(what: str, names: Sequence[str], rings: Sequence[Sequence[Whole]], degrees: bool) -> None:
    """Raise InvalidArea for a polygon whose rings, of these names, are not simple, cross each other, or are
    no holes in the first one."""
    for name, ring in zip(names, rings, strict=True):
        (ax, ay), (bx, by) = ring[:2]
        if all((bx - ax) * (y - ay) == (by - ay) * (x - ax) for x, y in ring):
            raise InvalidArea(f"{name} of size 0: expected vertices that are not on one line")
    if len(rings) == 1 and _is_star(rings[0]):
        return
    found = first_crossing(rings)
    if found is not None:
        first, second = (_edge(names, rings, edge, degrees) for edge in sorted(found))
        raise InvalidArea(f"{what}: {first} meets {second}: expected edges that meet at their ends alone")
    if len(rings) > 1:
        _check_holes(names, rings, degrees)


def first_crossing(rings: Sequence[Sequence[Whole]]) -> tuple[Edge, Edge] | None:
    """Two edges of simple or other rings that have more in common than a vertex of both; None if there are
    none.

    A line sweeps over the plane from left to right and holds the edges that it meets in their order from
    below. Two that meet are next to each other before they do.
    """
    ends: dict[Whole, list[Edge]] = {}
    starts: dict[Whole, list[Edge]] = {}
    lines: dict[Edge, tuple[int, int, int, int]] = {}
    for number, ring in enumerate(rings):
        for index, a in enumerate(ring):
            b = ring[(index + 1) % len(ring)]
            low, high = (a, b) if a < b else (b, a)
            lines[number, index] = (*low, *high)
            starts.setdefault(low, []).append((number, index))
            ends.setdefault(high, []).append((number, index))

    def side(edge: Edge, point: Whole) -> int:
        """Above 0 for a point above the edge."""
        ax, ay, bx, by = lines[edge]
        return (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax)

    def meet(first: Edge, second: Edge) -> bool:
        ax, ay, bx, by = lines[first]
        cx, cy, dx, dy = lines[second]
        a, b, c, d = (ax, ay), (bx, by), (cx, cy), (dx, dy)
        if a in (c, d) or b in (c, d):
            return False  # whether they lie upon each other is seen where the later one starts
        return _opposite(side(first, c), side(first, d)) and _opposite(side(second, a), side(second, b))

    def steeper(first: Edge, second: Edge) -> int:
        """Above 0 if the first of two edges that start at one point is above the second."""
        return -side(first, lines[second][2:])

    active: list[Edge] = []
    for point in sorted(ends.keys() | starts.keys()):
        at = bisect_left(active, True, key=lambda edge: side(edge, point) <= 0)
        after = at
        while after < len(active) and side(active[after], point) == 0:
            if lines[active[after]][2:] != point:
                return active[after], (starts.get(point) or ends[point])[0]
            after += 1
        begun = starts.get(point, [])
        if len(begun) > 1:
            begun = sorted(begun, key=cmp_to_key(steeper))
            for one, two in pairwise(begun):
                if side(one, lines[two][2:]) == 0:
                    return one, two
        active[at:after] = begun
        last = at + len(begun)
        for index in {at, last}:
            if 0 < index < len(active) and meet(active[index - 1], active[index]):
                return active[index - 1], active[index]
    return None


def as_numbers(points: Iterable[Whole], degrees: bool) -> array[float]:
    """x and y of points in turn, in metres or degrees."""
    unit = DEGREES if degrees else METRES
    return array("d", [number / unit for point in points for number in point])


def _opposite(one: int, other: int) -> bool:
    return (one <= 0 <= other) or (other <= 0 <= one)


def _is_star(ring: Sequence[Whole]) -> bool:
    """Whether all of a ring is seen from the mean of its vertices: such a ring is simple, and most rings are
    such."""
    count = len(ring)
    mx, my = sum([x for x, _ in ring]), sum([y for _, y in ring])
    ax, ay = ring[-1][0] * count - mx, ring[-1][1] * count - my
    left = right = turns = 0
    for x, y in ring:
        bx, by = x * count - mx, y * count - my
        turn = ax * by - ay * bx
        if turn > 0:
            left += 1
            turns += ay < 0 <= by
        elif turn < 0:
            right += 1
            turns += by < 0 <= ay
        ax, ay = bx, by
    return turns == 1 and count in (left, right)


def _check_holes(names: Sequence[str], rings: Sequence[Sequence[Whole]], degrees: bool) -> None:
    from bypass.places.areas.polygons import in_rings, ring_bounds

    flat = [[number for point in ring for number in point] for ring in rings]
    bounds = [ring_bounds(ring) for ring in flat]
    vertices = [set(ring) for ring in rings]
    for hole in range(1, len(rings)):
        for other in range(len(rings)):
            if other == hole or (other and not _within(bounds[hole], bounds[other])):
                continue
            # Rings do not cross: a vertex that is not one of both tells where the hole is.
            number, vertex = next(
                ((n, v) for n, v in enumerate(rings[hole]) if v not in vertices[other]), (0, rings[hole][0])
            )
            if in_rings([flat[other]], *vertex) != (other == 0):
                where = "inside the outer ring" if other == 0 else f"outside {names[other]}"
                raise InvalidArea(
                    f"{names[hole]}: vertex {number} {_at(vertex, degrees)}: expected one {where}"
                )


def _within(inner: tuple[float, ...], outer: tuple[float, ...]) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def _edge(names: Sequence[str], rings: Sequence[Sequence[Whole]], edge: Edge, degrees: bool) -> str:
    ring, number = edge
    ends = [_at(rings[ring][each % len(rings[ring])], degrees) for each in (number, number + 1)]
    return f"edge {number} of {names[ring]} from {ends[0]} to {ends[1]}"


def _at(point: Whole, degrees: bool) -> str:
    unit = DEGREES if degrees else METRES
    return f"({point[0] / unit}, {point[1] / unit})"
