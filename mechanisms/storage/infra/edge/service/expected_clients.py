"""Items that are sent ahead to edges at which clients of this area are expected."""

from __future__ import annotations

from bypass.mechanisms.storage.infra.edge.caches import EdgeCaches
from bypass.mechanisms.storage.infra.edge.mobility.arrivals import ArrivalPrefetch
from bypass.mechanisms.storage.infra.edge.mobility.movement import ClientMovement
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.edge.service.exchange import AreaExchange
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.objects.query import ObjectQuery
from bypass.ports.host import Lease
from bypass.protocol.edge import ItemKey

MOST_LOOKS = 4
"""Times in `arrivals_ahead_s` at which the edge looks who leaves."""


class ExpectedClients:
    """Notes where clients are, and what they want; with `arrivals`, sends it ahead, out of turn: there are
    few items, and they must be there before the client is."""

    def __init__(
        self,
        host: Lease,
        movement: ClientMovement,
        caches: EdgeCaches,
        popularity: PopularityTable,
        exchange: AreaExchange,
        settings: EdgeSettings,
    ) -> None:
        self._host = host
        self._movement = movement
        self._exchange = exchange
        self._settings = settings
        self._prefetch: ArrivalPrefetch | None = None
        if settings.arrivals:
            self._prefetch = ArrivalPrefetch(
                host.id, movement, caches, popularity, settings.arrivals_ahead_s, settings.arrivals_most
            )

    def start(self) -> None:
        """Begin to look who leaves."""
        if self._prefetch is not None:
            self._host.after(self._settings.arrivals_ahead_s / MOST_LOOKS, self._look)

    def elsewhere(self, client: int) -> int | None:
        """The edge at which a client is; None if it is this one, or not known."""
        place = self._movement.place(client)
        return None if place is None or place[0] == self._host.id else place[0]

    def heard(self, client: int, edge: int) -> bool:
        """Note that a client is at an edge, this one or another. Whether it was not known to be there."""
        place = self._movement.place(client)
        self._movement.heard(client, edge)
        return place is None or place[0] != edge

    def left(self, client: int, edge: int) -> None:
        """Note that a client is not at an edge any more."""
        self._movement.left(client, edge)

    def asked(self, client: int, query: ObjectQuery) -> None:
        """Note a query of a client."""
        if self._prefetch is not None:
            self._prefetch.asked(client, query)

    def used(self, client: int, key: ItemKey) -> None:
        """Note that a client has an item."""
        if self._prefetch is not None:
            self._prefetch.used(client, key)

    def _look(self) -> None:
        self.start()
        if self._prefetch is not None:
            for each in self._prefetch.due():
                self._exchange.send(each.edge, each.items)
