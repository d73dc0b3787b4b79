"""Items that are sent ahead to an edge at which a client is expected, before it arrives there."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from bypass.mechanisms.storage.infra.edge.caches import EdgeCaches
from bypass.mechanisms.storage.infra.edge.mobility.movement import MOST_CLIENTS, ClientMovement
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.objects.query import ObjectQuery
from bypass.protocol.edge import Item, ItemKey
from bypass.transitions.recent import Recent


class _Queries(Recent[int, ObjectQuery]):
    LIMIT = 64


class _Used(Recent[ItemKey, None]):
    LIMIT = 256


@dataclass(slots=True)
class _Wishes:
    """The queries of a client by number, items that it has, and when the visit began in which items were sent
    ahead last."""

    queries: _Queries = field(default_factory=_Queries)
    used: _Used = field(default_factory=_Used)
    sent_in: float | None = None


class ArrivalItems(NamedTuple):
    """Items for an edge at which a client is expected."""

    edge: int
    client: int
    items: tuple[Item, ...]


class ArrivalPrefetch:
    """Chooses items for the edge at which a client of the own area, `own`, is expected within `ahead_s`: at
    most `most_items` of others that its queries match, and that it has not used here, the most downloaded
    first.

    They are sent once in each visit of a client. Items without data, and those that were published in the
    area of the other edge, stay here. The latest 64 queries and 256 used items of a client are known, and
    those of as many clients as `movement` knows by default.
    """

    def __init__(
        self,
        own: int,
        movement: ClientMovement,
        caches: EdgeCaches,
        popularity: PopularityTable,
        ahead_s: float = 30.0,
        most_items: int = 16,
    ) -> None:
        self._own = own
        self._movement = movement
        self._caches = caches
        self._popularity = popularity
        self._ahead_s = ahead_s
        self._most_items = most_items
        self._clients: OrderedDict[int, _Wishes] = OrderedDict()

    def asked(self, client: int, query: ObjectQuery) -> None:
        """Know a query of a client."""
        queries = self._wishes(client).queries
        queries.pop(query.id, None)
        queries[query.id] = query

    def withdrawn(self, client: int, query: int) -> None:
        """Forget a query of a client; harmless if it is not known."""
        if client in self._clients:
            self._clients[client].queries.pop(query, None)

    def used(self, client: int, key: ItemKey) -> None:
        """Know that a client has an item."""
        used = self._wishes(client).used
        used.pop(key, None)
        used[key] = None

    def due(self) -> list[ArrivalItems]:
        """The items that are to be sent now, for the clients that asked the longest time ago first."""
        found = []
        for client, wishes in self._clients.items():
            place, expected = self._movement.place(client), self._movement.predicted(client)
            if place is None or expected is None or place[0] != self._own or place[1] == wishes.sent_in:
                continue
            if expected.edge != self._own and expected.in_s <= self._ahead_s:
                items = self._items_for(client, wishes, expected.edge)
                if items:
                    wishes.sent_in = place[1]
                    found.append(ArrivalItems(expected.edge, client, tuple(items)))
        return found

    def _items_for(self, client: int, wishes: _Wishes, edge: int) -> list[Item]:
        items: dict[ItemKey, Item] = {}
        for query in wishes.queries.values():
            for each in self._caches.matching(query):
                whole = each if each.data is not None else self._caches.find(each.key)
                if whole is not None and whole.data is not None and whole.metadata.source != edge:
                    items[whole.key] = whole
        wanted = [
            item
            for key, item in items.items()
            if key not in wishes.used and item.metadata.key.owner != client
        ]
        return self._popularity.order(wanted)[: self._most_items]

    def _wishes(self, client: int) -> _Wishes:
        found = self._clients.pop(client, None) or _Wishes()
        self._clients[client] = found
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        return found
