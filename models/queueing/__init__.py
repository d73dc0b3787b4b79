"""How long events take when those who send and receive them are ON only part of the time."""

from typing import TYPE_CHECKING

from bypass.lazy import lazy_names
from bypass.models.queueing.centre import Centre, InvalidCentre, Unreachable, Unstable

if TYPE_CHECKING:
    from bypass.models.queueing.chain import Chain
    from bypass.models.queueing.connectivity import (
        Connectivity,
        InvalidConnectivity,
        Journey,
        Means,
        read_connectivity,
        write_connectivity,
    )
    from bypass.models.queueing.lifetimes import Fate, discarded_late, dropped_waiting
    from bypass.models.queueing.network import InvalidNetwork, Network
    from bypass.models.queueing.path import Breakdown, Part, break_down, compose, largest_rate, longest_off
    from bypass.models.queueing.periods import InvalidPeriods, Periods
    from bypass.models.queueing.routing import Route, routes
    from bypass.models.queueing.simulation import Simulated, simulate
    from bypass.models.queueing.slides import ROWS, Row
    from bypass.models.queueing.sojourn import Sojourn
    from bypass.models.queueing.study import Compared, sweep_paths
    from bypass.models.queueing.waiting import DelayEstimator
else:
    __getattr__ = lazy_names(  # live and simulated brokers estimate delays without scipy and engines
        __name__,
        {
            "ROWS": "bypass.models.queueing.slides",
            "Breakdown": "bypass.models.queueing.path",
            "Chain": "bypass.models.queueing.chain",
            "Compared": "bypass.models.queueing.study",
            "Connectivity": "bypass.models.queueing.connectivity",
            "DelayEstimator": "bypass.models.queueing.waiting",
            "Fate": "bypass.models.queueing.lifetimes",
            "InvalidConnectivity": "bypass.models.queueing.connectivity",
            "InvalidNetwork": "bypass.models.queueing.network",
            "InvalidPeriods": "bypass.models.queueing.periods",
            "Journey": "bypass.models.queueing.connectivity",
            "Means": "bypass.models.queueing.connectivity",
            "Network": "bypass.models.queueing.network",
            "Part": "bypass.models.queueing.path",
            "Periods": "bypass.models.queueing.periods",
            "Route": "bypass.models.queueing.routing",
            "Row": "bypass.models.queueing.slides",
            "Simulated": "bypass.models.queueing.simulation",
            "Sojourn": "bypass.models.queueing.sojourn",
            "break_down": "bypass.models.queueing.path",
            "compose": "bypass.models.queueing.path",
            "discarded_late": "bypass.models.queueing.lifetimes",
            "dropped_waiting": "bypass.models.queueing.lifetimes",
            "largest_rate": "bypass.models.queueing.path",
            "longest_off": "bypass.models.queueing.path",
            "read_connectivity": "bypass.models.queueing.connectivity",
            "routes": "bypass.models.queueing.routing",
            "simulate": "bypass.models.queueing.simulation",
            "sweep_paths": "bypass.models.queueing.study",
            "write_connectivity": "bypass.models.queueing.connectivity",
        },
    )

__all__ = [
    "ROWS",
    "Breakdown",
    "Centre",
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
    "Network",
    "Part",
    "Periods",
    "Route",
    "Row",
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
