"""Gateways: clients that get an event from the broker and pass it on to others nearby.

The broker chooses them anew for each event; a client that is chosen relays. What chooses is imported by
brokers alone.
"""

from typing import TYPE_CHECKING

from bypass.mechanisms.gateways.logic import Relay, RelayLogic
from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.mechanisms.gateways.history import History
    from bypass.mechanisms.gateways.leach import DkcLeach, SkcLeach
    from bypass.mechanisms.gateways.selection import GatewayChoice, TooFewGateways
    from bypass.mechanisms.gateways.wca import CsWca
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "CsWca": "bypass.mechanisms.gateways.wca",
            "DkcLeach": "bypass.mechanisms.gateways.leach",
            "GatewayChoice": "bypass.mechanisms.gateways.selection",
            "History": "bypass.mechanisms.gateways.history",
            "SkcLeach": "bypass.mechanisms.gateways.leach",
            "TooFewGateways": "bypass.mechanisms.gateways.selection",
        },
    )

__all__ = [
    "CsWca",
    "DkcLeach",
    "GatewayChoice",
    "History",
    "Relay",
    "RelayLogic",
    "SkcLeach",
    "TooFewGateways",
]
