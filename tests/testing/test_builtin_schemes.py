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
from bypass.testing.suites.filter_schemes import FilterSchemeSuite

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

    def rule(self, who: LocatedSubscriber, at: Point) -> bool:
        return cells_around(who, at)


class TestAttract(BuiltIn):
    mechanism = "attract"

    def rule(self, who: LocatedSubscriber, at: Point) -> bool:
        return same_places(who, at)


class TestMulti(BuiltIn):
    mechanism = "multi"

    def rule(self, who: LocatedSubscriber, at: Point) -> bool:
        return places_or_radius(who, at)
