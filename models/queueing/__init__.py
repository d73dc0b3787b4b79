"""Delays of events whose senders and receivers are ON only part of the time."""

from typing import TYPE_CHECKING

from bypass.models.queueing.centre import Centre, InvalidCentre, Unreachable, Unstable
from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.models.queueing.chain import Chain
    from bypass.models.queueing.lifetimes import Fate, discarded_late, dropped_waiting
    from bypass.models.queueing.network.network import BrokerNetwork, InvalidNetwork
    from bypass.models.queueing.network.routing import Route, routes
    from bypass.models.queueing.path import (
        Breakdown,
        CentreShare,
        break_down,
        compose,
        largest_rate,
        longest_off,
    )
    from bypass.models.queueing.published_figures import ROWS, PublishedRow
    from bypass.models.queueing.simulation.connectivity import (
        Connectivity,
        InvalidConnectivity,
        Journey,
        Means,
        read_connectivity,
        write_connectivity,
    )
    from bypass.models.queueing.simulation.periods import InvalidPeriods, Periods
    from bypass.models.queueing.simulation.simulation import Simulated, simulate
    from bypass.models.queueing.sojourn import Sojourn
    from bypass.models.queueing.study import Compared, sweep_paths
    from bypass.models.queueing.waiting import DelayEstimator
else:
    __getattr__ = lazy_names(  # live and simulated brokers estimate delays without scipy and engines
        __name__,
        {
            "ROWS": "bypass.models.queueing.published_figures",
            "Breakdown": "bypass.models.queueing.path",
            "Chain": "bypass.models.queueing.chain",
            "Compared": "bypass.models.queueing.study",
            "Connectivity": "bypass.models.queueing.simulation.connectivity",
            "DelayEstimator": "bypass.models.queueing.waiting",
            "Fate": "bypass.models.queueing.lifetimes",
            "InvalidConnectivity": "bypass.models.queueing.simulation.connectivity",
            "InvalidNetwork": "bypass.models.queueing.network.network",
            "InvalidPeriods": "bypass.models.queueing.simulation.periods",
            "Journey": "bypass.models.queueing.simulation.connectivity",
            "Means": "bypass.models.queueing.simulation.connectivity",
            "BrokerNetwork": "bypass.models.queueing.network.network",
            "CentreShare": "bypass.models.queueing.path",
            "Periods": "bypass.models.queueing.simulation.periods",
            "Route": "bypass.models.queueing.network.routing",
            "PublishedRow": "bypass.models.queueing.published_figures",
            "Simulated": "bypass.models.queueing.simulation.simulation",
            "Sojourn": "bypass.models.queueing.sojourn",
            "break_down": "bypass.models.queueing.path",
            "compose": "bypass.models.queueing.path",
            "discarded_late": "bypass.models.queueing.lifetimes",
            "dropped_waiting": "bypass.models.queueing.lifetimes",
            "largest_rate": "bypass.models.queueing.path",
            "longest_off": "bypass.models.queueing.path",
            "read_connectivity": "bypass.models.queueing.simulation.connectivity",
            "routes": "bypass.models.queueing.network.routing",
            "simulate": "bypass.models.queueing.simulation.simulation",
            "sweep_paths": "bypass.models.queueing.study",
            "write_connectivity": "bypass.models.queueing.simulation.connectivity",
        },
    )

__all__ = [
    "ROWS",
    "Breakdown",
    "BrokerNetwork",
    "Centre",
    "CentreShare",
    "Chain",
    "Compared",
    "Connectivity",
    "DelayEstimator",
    "Fate",
    "InvalidCentre",
    "InvalidConnectivity",
    "InvalidNetwork",
    "InvalidPeriods",
    "Journey",
    "Means",
    "Periods",
    "PublishedRow",
    "Route",
    "Simulated",
    "Sojourn",
    "Unreachable",
    "Unstable",
    "break_down",
    "compose",
    "discarded_late",
    "dropped_waiting",
    "largest_rate",
    "longest_off",
    "read_connectivity",
    "routes",
    "simulate",
    "sweep_paths",
    "write_connectivity",
]
