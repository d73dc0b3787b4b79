"""Strategies of hypothesis for areas."""

from __future__ import annotations

from itertools import pairwise
from math import cos, pi, sin

from hypothesis import strategies as st

from bypass.places.areas import Area

_SPAN = 1000
_coordinates = st.integers(0, _SPAN)
_points = st.tuples(_coordinates, _coordinates)
_lengths = st.integers(1, _SPAN // 2)


@st.composite
def rings(draw: st.DrawFn, least: int = 3, most: int = 12) -> list[tuple[int, int]]:
    """Rings whose edges meet at their ends alone: stars, and hills over flat land or over water; whole
    metres."""
    count = draw(st.integers(least, most))
    if draw(st.booleans()):
        x, y = draw(st.tuples(st.integers(300, 700), st.integers(300, 700)))
        radii = draw(st.lists(st.integers(60, 300), min_size=count, max_size=count))
        turns = [2 * pi * number / count for number in range(count)]
        return [
            (round(x + r * cos(turn)), round(y + r * sin(turn))) for r, turn in zip(radii, turns, strict=True)
        ]
    xs = sorted(draw(st.lists(_coordinates, min_size=count, max_size=count, unique=True)))
    ys = draw(st.lists(st.integers(500, _SPAN), min_size=count, max_size=count))
    upper = list(zip(xs, ys, strict=True))
    if draw(st.booleans()):
        return [*upper, (xs[-1], 0), (xs[0], 0)]
    return upper + [(x, _SPAN - 1 - y) for x, y in upper[::-1]]


def polygon_areas() -> st.SearchStrategy[Area]:
    """Polygons around (500, 500), some with a hole there, in whole metres."""

    def with_hole(ring: list[tuple[int, int]], hole: int) -> Area:
        square = [(500 - hole, 500 - hole), (500 + hole, 500 - hole), (500, 500 + hole)]
        area = Area.polygon(ring)
        fits = all(area.contains(x, y) for x, y in square) and not any(
            area.crossings(*a, *b) for a, b in zip(square, [*square[1:], square[0]], strict=True)
        )
        touches = any(vertex in square for vertex in ring)
        return Area.polygon(ring, [square]) if fits and not touches and hole else area

    return st.builds(with_hole, rings(), st.integers(0, 40))


def areas() -> st.SearchStrategy[Area]:
    """Areas of every shape in metres, in and around a square of a kilometre; no named places."""
    corners = st.tuples(_points, _points).filter(lambda ab: ab[0][0] != ab[1][0] and ab[0][1] != ab[1][1])
    lines = st.lists(_points, min_size=2, max_size=6).filter(
        lambda line: all(a != b for a, b in pairwise(line))
    )
    degrees = st.integers(0, 359)
    return st.one_of(
        st.builds(Area.circle, _points, _lengths),
        st.builds(lambda ends: Area.box(*ends), corners),
        polygon_areas(),
        st.builds(Area.corridor, lines, _lengths),
        st.builds(Area.sector, _points, _lengths, degrees, st.integers(1, 360)),
    )
