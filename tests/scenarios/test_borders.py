"""How far points are from the borders of places."""

from __future__ import annotations

import numpy as np
import pytest

from bypass.places.areas import Area
from bypass.places.region import Place
from bypass.scenarios.figures.borders import beyond_border
from bypass.scenarios.figures.figures import distance_to_border, share_inside, share_near_border

RING = Area.polygon(
    [(0, 0), (100, 0), (100, 100), (0, 100)], holes=[[(40, 40), (60, 40), (60, 60), (40, 60)]]
)
X, Y = np.array([50.0, 20.0, 120.0, 100.0, 50.0]), np.array([50.0, 50.0, 50.0, 100.0, 36.0])


def test_points_in_a_hole_are_outside_and_the_border_is_inside() -> None:
    assert beyond_border(Place.of_area("ring", RING), X, Y).tolist() == pytest.approx([10, -20, 20, 0, -4])


def test_a_circle_is_as_without_an_area() -> None:
    plain, as_area = Place("disc", 10.0, 0.0, 30.0), Place.of_area("disc", Area.circle((10, 0), 30))
    assert beyond_border(plain, X, Y) == pytest.approx(np.hypot(X - 10, Y) - 30)
    assert beyond_border(as_area, X, Y) == pytest.approx(beyond_border(plain, X, Y), abs=0.2)  # chords


def test_the_nearest_border_counts() -> None:
    places = (Place.of_area("ring", RING), Place("disc", 50.0, 50.0, 5.0))
    assert distance_to_border(X, Y, places).tolist() == pytest.approx([-5, -20, 20, 0, -4])
    assert share_inside(X, Y, places, 0) == 0.8
    assert share_near_border(X, Y, places, 4) == pytest.approx(0.4)
