"""Location filter schemes: who gets an event, by the places of subscribers and event.

Each scheme has a broker's part and a client's part of the same name, so that one plan moves both.
"""

from bypass.mechanisms.filters.attract import Attract, AttractClient
from bypass.mechanisms.filters.base.broker import FilterBroker
from bypass.mechanisms.filters.base.client import FilterClient
from bypass.mechanisms.filters.base.grace import Grace
from bypass.mechanisms.filters.egrid import Egrid, EgridClient
from bypass.mechanisms.filters.grid import Grid, GridClient
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.mechanisms.filters.multi import Multi, MultiClient
from bypass.mechanisms.filters.radial import Radial, RadialClient
from bypass.mechanisms.filters.ste import Ste, SteClient

BROKER_PARTS: tuple[type[FilterBroker], ...] = (Radial, Ste, Grid, Egrid, Attract, Multi)
CLIENT_PARTS: tuple[type[FilterClient], ...] = (
    RadialClient,
    SteClient,
    GridClient,
    EgridClient,
    AttractClient,
    MultiClient,
)

__all__ = [
    "BROKER_PARTS",
    "CLIENT_PARTS",
    "Attract",
    "AttractClient",
    "Egrid",
    "EgridClient",
    "FilterBroker",
    "FilterClient",
    "Grace",
    "Grid",
    "GridClient",
    "Multi",
    "MultiClient",
    "Radial",
    "RadialClient",
    "Ste",
    "SteClient",
    "SubscriptionTable",
]
