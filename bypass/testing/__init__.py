"""What tests of mechanisms of your own are made of: hypothesis strategies, suites to derive from, and small
systems, simulated and live. Needs the extra `testing`: importing it without raises MissingExtra."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from bypass.errors import MissingExtra
from bypass.support.lazy import lazy_names

if find_spec("hypothesis") is None:
    raise MissingExtra("hypothesis")

if TYPE_CHECKING:
    from bypass.testing.dissemination import DisseminationSuite
    from bypass.testing.filter_schemes import FilterSchemeSuite
    from bypass.testing.gateways import GatewaySelectionSuite
    from bypass.testing.live import LiveWorld
    from bypass.testing.rules import Standing
    from bypass.testing.simulated import SimulatedWorld
    from bypass.testing.strategies import (
        Waypoint,
        events,
        filters,
        places,
        plans,
        radii,
        scenarios,
        subscriptions,
        walks,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "DisseminationSuite": "bypass.testing.dissemination",
            "FilterSchemeSuite": "bypass.testing.filter_schemes",
            "GatewaySelectionSuite": "bypass.testing.gateways",
            "LiveWorld": "bypass.testing.live",
            "SimulatedWorld": "bypass.testing.simulated",
            "Standing": "bypass.testing.rules",
            "Waypoint": "bypass.testing.strategies",
            "events": "bypass.testing.strategies",
            "filters": "bypass.testing.strategies",
            "places": "bypass.testing.strategies",
            "plans": "bypass.testing.strategies",
            "radii": "bypass.testing.strategies",
            "scenarios": "bypass.testing.strategies",
            "subscriptions": "bypass.testing.strategies",
            "walks": "bypass.testing.strategies",
        },
    )

__all__ = [
    "DisseminationSuite",
    "FilterSchemeSuite",
    "GatewaySelectionSuite",
    "LiveWorld",
    "SimulatedWorld",
    "Standing",
    "Waypoint",
    "events",
    "filters",
    "places",
    "plans",
    "radii",
    "scenarios",
    "subscriptions",
    "walks",
]
