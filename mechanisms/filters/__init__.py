"""Location filter schemes: who gets an event, by the places of subscribers and event.

Each scheme has a client's part and a broker's part of the same name, so that one plan moves both.
"""

from typing import TYPE_CHECKING

from bypass.mechanisms.filters.attract import Attract
from bypass.mechanisms.filters.base.broker import FilterBroker
from bypass.mechanisms.filters.base.client import FilterClient
from bypass.mechanisms.filters.base.scheme import FilterScheme
from bypass.mechanisms.filters.egrid import Egrid
from bypass.mechanisms.filters.grid import Grid
from bypass.mechanisms.filters.multi import Multi
from bypass.mechanisms.filters.radial import Radial
from bypass.mechanisms.filters.ste import Ste
from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.mechanisms.filters.indexes.keys import KeyIndex
else:  # brokers need it
    __getattr__ = lazy_names(__name__, {"KeyIndex": "bypass.mechanisms.filters.indexes.keys"})

__all__ = [
    "Attract",
    "Egrid",
    "FilterBroker",
    "FilterClient",
    "FilterScheme",
    "Grid",
    "KeyIndex",
    "Multi",
    "Radial",
    "Ste",
]
