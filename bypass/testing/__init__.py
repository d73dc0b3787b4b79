"""Parts of tests of one's own mechanisms: hypothesis strategies, suites to derive from, a state machine, and
small systems, simulated and live. Needs the extra `testing`: importing it without raises MissingExtra."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from bypass.errors import MissingExtra
from bypass.support.lazy import lazy_names

if find_spec("hypothesis") is None:
    raise MissingExtra("hypothesis")

if TYPE_CHECKING:
    from bypass.testing.machine import SystemMachine
    from bypass.testing.replay import write_replay
    from bypass.testing.rules import LocatedSubscriber
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
    from bypass.testing.suites.caches import CacheSuite
    from bypass.testing.suites.dissemination import DisseminationSuite
    from bypass.testing.suites.edges.insertions import InsertionSuite
    from bypass.testing.suites.edges.provisionings import ProvisioningSuite
    from bypass.testing.suites.edges.rankings import RankingSuite
    from bypass.testing.suites.filter_schemes import FilterSchemeSuite
    from bypass.testing.suites.gateway_logics import GatewayLogicSuite
    from bypass.testing.suites.gateway_selections import GatewaySelectionSuite
    from bypass.testing.suites.matchings import MatchingSuite
    from bypass.testing.suites.models.churn import ChurnSuite
    from bypass.testing.suites.models.mobility import MobilitySuite
    from bypass.testing.suites.models.workloads import WorkloadSuite
    from bypass.testing.suites.modes import ModeSuite
    from bypass.testing.suites.partitions import PartitionSuite
    from bypass.testing.suites.pipeline.connectors import ConnectorSuite
    from bypass.testing.suites.pipeline.logs import LogSuite
    from bypass.testing.suites.pipeline.parsers import ParserSuite
    from bypass.testing.suites.pipeline.precompute import PrecomputeSuite
    from bypass.testing.suites.pipeline.protection import FrameProtectionSuite
    from bypass.testing.suites.routing import RoutingSuite
    from bypass.testing.suites.storage import StorageSuite
    from bypass.testing.suites.suite import UnknownCapability
    from bypass.testing.suites.transports import TransportSuite
    from bypass.testing.worlds.live import LiveWorld
    from bypass.testing.worlds.simulated import SimulatedWorld
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "CacheSuite": "bypass.testing.suites.caches",
            "ChurnSuite": "bypass.testing.suites.models.churn",
            "ConnectorSuite": "bypass.testing.suites.pipeline.connectors",
            "DisseminationSuite": "bypass.testing.suites.dissemination",
            "FilterSchemeSuite": "bypass.testing.suites.filter_schemes",
            "FrameProtectionSuite": "bypass.testing.suites.pipeline.protection",
            "GatewayLogicSuite": "bypass.testing.suites.gateway_logics",
            "GatewaySelectionSuite": "bypass.testing.suites.gateway_selections",
            "InsertionSuite": "bypass.testing.suites.edges.insertions",
            "LiveWorld": "bypass.testing.worlds.live",
            "LocatedSubscriber": "bypass.testing.rules",
            "LogSuite": "bypass.testing.suites.pipeline.logs",
            "MatchingSuite": "bypass.testing.suites.matchings",
            "MobilitySuite": "bypass.testing.suites.models.mobility",
            "ModeSuite": "bypass.testing.suites.modes",
            "ParserSuite": "bypass.testing.suites.pipeline.parsers",
            "PartitionSuite": "bypass.testing.suites.partitions",
            "PrecomputeSuite": "bypass.testing.suites.pipeline.precompute",
            "ProvisioningSuite": "bypass.testing.suites.edges.provisionings",
            "RankingSuite": "bypass.testing.suites.edges.rankings",
            "RoutingSuite": "bypass.testing.suites.routing",
            "SimulatedWorld": "bypass.testing.worlds.simulated",
            "StorageSuite": "bypass.testing.suites.storage",
            "SystemMachine": "bypass.testing.machine",
            "TransportSuite": "bypass.testing.suites.transports",
            "UnknownCapability": "bypass.testing.suites.suite",
            "Waypoint": "bypass.testing.strategies",
            "WorkloadSuite": "bypass.testing.suites.models.workloads",
            "events": "bypass.testing.strategies",
            "filters": "bypass.testing.strategies",
            "places": "bypass.testing.strategies",
            "plans": "bypass.testing.strategies",
            "radii": "bypass.testing.strategies",
            "scenarios": "bypass.testing.strategies",
            "subscriptions": "bypass.testing.strategies",
            "walks": "bypass.testing.strategies",
            "write_replay": "bypass.testing.replay",
        },
    )

__all__ = [
    "CacheSuite",
    "ChurnSuite",
    "ConnectorSuite",
    "DisseminationSuite",
    "FilterSchemeSuite",
    "FrameProtectionSuite",
    "GatewayLogicSuite",
    "GatewaySelectionSuite",
    "InsertionSuite",
    "LiveWorld",
    "LocatedSubscriber",
    "LogSuite",
    "MatchingSuite",
    "MobilitySuite",
    "ModeSuite",
    "ParserSuite",
    "PartitionSuite",
    "PrecomputeSuite",
    "ProvisioningSuite",
    "RankingSuite",
    "RoutingSuite",
    "SimulatedWorld",
    "StorageSuite",
    "SystemMachine",
    "TransportSuite",
    "UnknownCapability",
    "Waypoint",
    "WorkloadSuite",
    "events",
    "filters",
    "places",
    "plans",
    "radii",
    "scenarios",
    "subscriptions",
    "walks",
    "write_replay",
]
