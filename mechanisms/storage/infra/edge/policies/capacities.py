"""The sizes of an edge's stores, as parameters that change while it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated

from pydantic import Field

from bypass.mechanisms.caches.base import MOST_ENTRIES
from bypass.ports.edge import StoreSizes
from bypass.transitions import Mechanism, MechanismState

MOST_ADDRESSES = 1_000_000

Entries = Annotated[int, MechanismState(), Field(ge=1, le=MOST_ENTRIES)]


class CapacityMechanism(Mechanism, ABC):
    """Says how many entries each store of an edge has; see `bypass.ports.edge.Capacities`."""

    @abstractmethod
    def sizes(self) -> StoreSizes:
        """The sizes that hold now."""


class FixedCapacities(CapacityMechanism):
    """Gives each store as many entries as a parameter says."""

    local: Entries = 100
    prefetch_metadata: Entries = 100
    prefetch_data: Entries = 100
    global_metadata: Entries = 100
    global_data: Entries = 100
    addresses: Annotated[int, MechanismState(), Field(ge=0, le=MOST_ADDRESSES)] = 100

    def sizes(self) -> StoreSizes:
        return StoreSizes(
            self.local,
            self.prefetch_metadata,
            self.prefetch_data,
            self.global_metadata,
            self.global_data,
            self.addresses,
        )
