"""Routing mechanisms: how bodies of storage messages get to nodes and cells over several hops."""

from typing import TYPE_CHECKING

from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.mechanisms.routing.base import RoutingMechanism
    from bypass.mechanisms.routing.cells import CellRouting
    from bypass.mechanisms.routing.dsdv import Dsdv
    from bypass.mechanisms.routing.one_hop import OneHop
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "CellRouting": "bypass.mechanisms.routing.cells",
            "Dsdv": "bypass.mechanisms.routing.dsdv",
            "OneHop": "bypass.mechanisms.routing.one_hop",
            "RoutingMechanism": "bypass.mechanisms.routing.base",
        },
    )

__all__ = [
    "CellRouting",
    "Dsdv",
    "OneHop",
    "RoutingMechanism",
]
