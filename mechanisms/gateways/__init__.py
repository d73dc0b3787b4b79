"""Gateways: clients that get an event from the broker and pass it on to others nearby.

The broker chooses them anew for each event (`SELECTIONS`); a client that is chosen relays (`LOGICS`).
"""

from bypass.mechanisms.gateways.history import History
from bypass.mechanisms.gateways.leach import DkcLeach, SkcLeach
from bypass.mechanisms.gateways.logic import Relay
from bypass.mechanisms.gateways.selection import GatewayChoice, TooFewGateways
from bypass.mechanisms.gateways.wca import CsWca
from bypass.transitions import Mechanism

SELECTIONS: tuple[type[GatewayChoice], ...] = (DkcLeach, SkcLeach, CsWca)
LOGICS: tuple[type[Mechanism], ...] = (Relay,)

__all__ = [
    "LOGICS",
    "SELECTIONS",
    "CsWca",
    "DkcLeach",
    "GatewayChoice",
    "History",
    "Relay",
    "SkcLeach",
    "TooFewGateways",
]
