"""The built-in filter schemes pass the suite that others' schemes are tested with."""

from __future__ import annotations

import pytest

from bypass.testing.rules import (
    LocatedSubscriber,
    Point,
    ahead,
    cells_around,
    places_or_radius,
    same_cell,
    same_places,
)
from bypass.testing.suites.filter_schemes import Crowd, FilterSchemeSuite

pytestmark = pytest.mark.slow


class BuiltIn(FilterSchemeSuite):
    examples = 8
    test_it_serves_live_as_well = None  # type: ignore[assignment] # tests/conformance has every pair of them


class TestRadial(BuiltIn):
    mechanism = "radial"
    capabilities = {"exact": True}


class TestSte(BuiltIn):
    mechanism = "ste"

    def rule(self, who: LocatedSubscriber, at: Point) -> bool:
        return ahead(who, at)


class TestGrid(BuiltIn):
    mechanism = "grid"

    def rule(self, who: LocatedSubscriber, at: Point) -> bool:
        return same_cell(who, at)


class TestEgrid(BuiltIn):
    mechanism = "egrid"

    def rule(self, who: LocatedSubscriber, at: Point) -> bool | None:
        return cells_around(who, at)

    def test_who_touches_fewer_cells_keeps_those_it_has(self) -> None:
        """It stays in its cell and nothing is missing: it asks for nothing, and hears of more for a while."""
        crowd: Crowd = [((100.0, 0.0), [100]), ((180.0, 0.0), [None])]
        world = self._perform(crowd, [[(0, (0.0, 0.0))]], [(0.0, 0.0)])
        far = world.publish("publisher", (200.0, 0.0))
        beyond = world.publish("publisher", (400.0, 0.0))
        world.settle()
        assert [world.heard(event) for event in (far, beyond)] == [[("p0", 1), ("p1", 2)], [("p1", 2)]]
        assert [world.selected(event) for event in (far, beyond)] == [[("p1", 2)], [("p1", 2)]]
        assert [world.possible(event) for event in (far, beyond)] == [[("p0", 1), ("p1", 2)], [("p1", 2)]]


class TestAttract(BuiltIn):
    mechanism = "attract"

    def rule(self, who: LocatedSubscriber, at: Point) -> bool:
        return same_places(who, at)


class TestMulti(BuiltIn):
    mechanism = "multi"

    def rule(self, who: LocatedSubscriber, at: Point) -> bool:
        return places_or_radius(who, at)
