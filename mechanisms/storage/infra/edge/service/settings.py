"""The settings of an edge: caches, periods, retries and limits."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bypass.mechanisms.caches.base import MOST_ENTRIES
from bypass.mechanisms.storage.infra.edge.caches import CacheSizes
from bypass.mechanisms.storage.infra.edge.mechanisms import EdgeMechanisms
from bypass.mechanisms.storage.infra.edge.needs import TimeEnvelope
from bypass.mechanisms.storage.infra.edge.policies.insertion import MOST_BATCHES
from bypass.mechanisms.storage.infra.edge.retrieval_cycle import RetrievalSettings
from bypass.objects.metadata import MOST_REPLICAS
from bypass.protocol.edge import MOST_CELLS
from bypass.support.validation import Misfit

Entries = Annotated[int, Field(ge=1, le=MOST_ENTRIES)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Count = Annotated[int, Field(ge=1, le=65_536)]
Retries = Annotated[int, Field(ge=0, le=16)]


class EdgeSettings(BaseModel):
    """All that can be set of an edge's service. Times are in seconds, sizes of caches in entries.

    Those that Vieira 2018 has a key for begin with its sample values, caches with 100 entries each; the
    reader of its properties file has the keys. Names of mechanisms are looked up when an edge begins.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    # caches
    local_entries: Entries = 100
    prefetch_metadata_entries: Entries = 100
    prefetch_data_entries: Entries = 100
    global_metadata_entries: Entries = 100
    global_data_entries: Entries = 100
    eviction: str = "w-tiny-lfu"
    partition: str = "amc"
    """Of all caches but those for what others send ahead, which are never divided."""
    most_puts: Entries = 10
    """Puts above the limit of a world's part of the full global cache, after which it is divided anew."""

    # clients
    addresses: Annotated[int, Field(ge=0, le=1_000_000)] = 100
    address_ttl_s: Seconds = 300.0
    client_timeout_s: Seconds = 3.0
    client_retries: Retries = 1
    client_requests: Count = 64
    """Fetches from clients that are under way at once."""
    cell_data_period_s: Seconds = 20.0
    """As that of the clients."""
    cell_map: str = "fixed-cells"
    cells: Annotated[int, Field(ge=1, le=MOST_CELLS)] = 9
    """Of `fixed-cells`."""
    clients_per_cell: Annotated[int, Field(ge=1, le=4096)] = 10
    """Of `cells-by-clients`."""
    cells_hold_s: Annotated[float, Field(ge=0, le=86_400)] = 60.0
    """The least time between two changes of a world's number of cells by `cells-by-clients`."""
    parked_per_cell: Count = 256
    """Messages for one cell that wait for a stable client."""
    pending_per_client: Count = 64
    """Notifications of one client that has left which are kept."""
    pending_ttl_s: Seconds = 300.0
    """The time for which notifications of a client that has left are kept."""

    # popular items
    retrieval_period_s: Seconds = 30.0
    first_retrieval_s: Seconds | None = None
    """From the first data of a cell to the first decision, which fetches nothing; None: a period."""
    retrieval_slack_s: Annotated[float, Field(ge=0, le=86_400)] = 3.0
    most_popular: Count = 100
    most_requests: Count | None = None
    """Items that are asked for in one cycle; None: all popular ones that are not here."""
    active_window: Annotated[int, Field(ge=0, le=65_536)] = 3
    ranking: str = "popular"
    insertion: str = "batches"
    batches: Annotated[int, Field(ge=1, le=MOST_BATCHES)] = 3
    known_items: Entries = 65_536
    """Items whose popularity is known."""
    most_replicas: Annotated[int, Field(ge=1, le=MOST_REPLICAS)] = 10

    # other edges
    edge_timeout_s: Seconds = 3.0
    edge_retries: Retries = 1
    edge_requests: Count = 64
    """Fetches from other edges that are under way at once."""
    needs_period_s: Seconds = 60.0
    slot_s: Seconds = 60.0
    slot_guard_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    envelope: TimeEnvelope = TimeEnvelope.BY_TAG
    consumption_notices: bool = True
    consumed_ignored: Annotated[int, Field(ge=0, le=65_536)] = 5
    provisioning: str = "needs"
    distances: dict[int, float] = {}
    """How far away other edges are, by number, in any unit: the nearest come first."""
    arrivals: bool = False
    """Whether items are sent ahead to edges at which clients are expected."""
    arrivals_ahead_s: Seconds = 30.0
    arrivals_most: Count = 16
    """Items that are sent ahead for one client."""

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.retrieval_slack_s >= self.retrieval_period_s:
            raise Misfit(
                ("retrieval_slack_s",),
                f"is {self.retrieval_slack_s}: expected less than retrieval_period_s, "
                f"which is {self.retrieval_period_s}",
            )
        if 2 * self.slot_guard_s >= self.slot_s:
            raise Misfit(
                ("slot_guard_s",),
                f"is {self.slot_guard_s}: expected less than half of slot_s, which is {self.slot_s}",
            )
        return self

    @property
    def cache_sizes(self) -> CacheSizes:
        """The capacities of the caches."""
        return CacheSizes(
            self.local_entries,
            self.prefetch_metadata_entries,
            self.prefetch_data_entries,
            self.global_metadata_entries,
            self.global_data_entries,
            self.most_puts,
        )

    @property
    def retrieval(self) -> RetrievalSettings:
        """The settings of the retrieval cycle."""
        return RetrievalSettings(
            self.retrieval_period_s,
            self.retrieval_slack_s,
            self.most_popular,
            self.active_window,
            self.first_retrieval_s,
            self.most_requests,
        )

    @property
    def first_mechanisms(self) -> EdgeMechanisms:
        """The mechanisms to begin with."""
        return EdgeMechanisms(
            self.eviction,
            self.partition,
            self.insertion,
            self.ranking,
            self.provisioning,
            cell_map=self.cell_map,
            arrivals=self.arrivals,
        )

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """The values of parameters that mechanisms begin with, by proxy."""
        sizes = self.cache_sizes
        return {
            "insertion": {"count": self.batches},
            "slots": {"length_s": self.slot_s, "guard_s": self.slot_guard_s},
            "cell-map": {
                "count": self.cells,
                "per_cell": self.clients_per_cell,
                "hold_s": self.cells_hold_s,
            },
            "capacities": {
                "local": sizes.local,
                "prefetch_metadata": sizes.prefetch_metadata,
                "prefetch_data": sizes.prefetch_data,
                "global_metadata": sizes.global_metadata,
                "global_data": sizes.global_data,
                "addresses": self.addresses,
            },
        }
