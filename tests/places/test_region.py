"""The part of the world that a broker serves."""

from __future__ import annotations

import math

import pytest

from bypass.errors import InvalidLocation
from bypass.places.region import Place, Region


@pytest.mark.parametrize(
    "area", [(0.0, 0.0, 0.0, 1.0), (0.0, 1.0, 1.0, 1.0), (2.0, 0.0, 1.0, 1.0), (0.0, 0.0, math.nan, 1.0)]
)
def test_an_area_has_an_inside(area: tuple[float, float, float, float]) -> None:
    with pytest.raises(InvalidLocation, match=r"expected finite \(x0, y0, x1, y1\) with x0 < x1 and y0 < y1"):
        Region(area)


@pytest.mark.parametrize("area", [(0.0, 0.0, math.inf, 1.0), (-math.inf, 0.0, 0.0, 1.0)])
def test_an_area_has_an_end(area: tuple[float, float, float, float]) -> None:
    with pytest.raises(InvalidLocation):
        Region(area)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan])
def test_a_place_has_an_inside(radius: float) -> None:
    with pytest.raises(InvalidLocation, match="place 'park': radius"):
        Place("park", 0.0, 0.0, radius)


@pytest.mark.parametrize("place", [(math.nan, 0.0, 1.0), (0.0, math.inf, 1.0), (0.0, 0.0, math.inf)])
def test_a_place_is_somewhere(place: tuple[float, float, float]) -> None:
    with pytest.raises(InvalidLocation, match="place 'park'"):
        Place("park", *place)


def test_no_generation_comes_twice() -> None:
    region = Region((0.0, 0.0, 1.0, 1.0))
    numbers = [region.next_generation() for _ in range(100)]
    assert len(set(numbers)) == 100
    assert Region((0.0, 0.0, 1.0, 1.0)) == region
