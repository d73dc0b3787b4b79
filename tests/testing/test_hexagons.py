"""A scheme in a file of its own is tested in a few lines."""

from bypass.testing.suites.filter_schemes import FilterSchemeSuite


class TestHexagons(FilterSchemeSuite):
    mechanism = "examples/hexagons.py:Hexagons"
    capabilities = {"beyond": 600.0}  # six sides: cells tell no more
