"""How long events take when those who send and receive them are ON only part of the time."""

from typing import TYPE_CHECKING

from bypass.lazy import lazy_names
from bypass.models.queueing.centre import Centre, InvalidCentre, Unreachable, Unstable

if TYPE_CHECKING:
    from bypass.models.queueing.chain import Chain
    from bypass.models.queueing.lifetimes import Fate, discarded_late, dropped_waiting
    from bypass.models.queueing.network import InvalidNetwork, Network
    from bypass.models.queueing.path import Breakdown, Part, break_down, compose, largest_rate, longest_off
    from bypass.models.queueing.routing import Route, routes
    from bypass.models.queueing.slides import ROWS, Row
    from bypass.models.queueing.sojourn import Sojourn
    from bypass.models.queueing.waiting import DelayEstimator
else:
    __getattr__ = lazy_names(  # the simulator estimates delays without scipy
        __name__,
        {
            "ROWS": "bypass.models.queueing.slides",
            "Breakdown": "bypass.models.queueing.path",
            "Chain": "bypass.models.queueing.chain",
            "DelayEstimator": "bypass.models.queueing.waiting",
            "Fate": "bypass.models.queueing.lifetimes",
            "InvalidNetwork": "bypass.models.queueing.network",
            "Network": "bypass.models.queueing.network",
            "Part": "bypass.models.queueing.path",
            "Route": "bypass.models.queueing.routing",
            "Row": "bypass.models.queueing.slides",
            "Sojourn": "bypass.models.queueing.sojourn",
            "break_down": "bypass.models.queueing.path",
            "compose": "bypass.models.queueing.path",
            "discarded_late": "bypass.models.queueing.lifetimes",
            "dropped_waiting": "bypass.models.queueing.lifetimes",
            "largest_rate": "bypass.models.queueing.path",
            "longest_off": "bypass.models.queueing.path",
            "routes": "bypass.models.queueing.routing",
        },
    )

__all__ = [
    "ROWS",
    "Breakdown",
    "Centre",
    "Chain",
    "DelayEstimator",
    "Fate",
    "InvalidCentre",
    "InvalidNetwork",
    "Network",
    "Part",
    "Route",
    "Row",
    "Sojourn",
    "Unreachable",
    "Unstable",
    "break_down",
    "compose",
    "discarded_late",
    "dropped_waiting",
    "largest_rate",
    "longest_off",
    "routes",
]
