"""Live queries: the clients that are told of objects as they arrive, and those that are behind.

A client confirms the number of arrival up to which it has everything. WINDOW objects may be unconfirmed; a
client with more to come is behind, and its objects are read from the store when it has confirmed some. So
nothing is kept for a client that is away: it asks again from the number that it has reached.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from bypass.live.broker.objects.arrivals import FoundArrivals
from bypass.live.broker.objects.changes import ArrivedObject
from bypass.objects.query import ObjectQuery
from bypass.objects.query_index import QueryIndex

WINDOW, WINDOW_BYTES = 128, 262_144
"""Objects, and bytes of their metadata, that may be on their way to one query at a time."""


@dataclass(slots=True)
class LiveQuery:
    """A query of a client on a connection, told of all that has arrived from `began` up to the number `told`.

    `unconfirmed` are numbers and sizes of what is on its way. It is `behind` if there may be more in the
    store, and `reading` while that is read."""

    query: ObjectQuery
    client: int
    route: bytes
    began: int
    told: int
    unconfirmed: deque[tuple[int, int]] = field(default_factory=deque)
    unconfirmed_bytes: int = 0
    behind: bool = True
    reading: bool = False

    @property
    def room(self) -> int:
        """The number of objects that may be sent before the client confirms others."""
        return 0 if self.unconfirmed_bytes >= WINDOW_BYTES else WINDOW - len(self.unconfirmed)

    def sent(self, matches: list[ArrivedObject]) -> None:
        """Note that the client was sent objects."""
        self.unconfirmed.extend((each.arrival, len(each.record)) for each in matches)
        self.unconfirmed_bytes += sum(len(each.record) for each in matches)
        self.told = max(self.told, matches[-1].arrival)

    def confirm(self, arrival: int) -> None:
        """Note that the client has everything up to a number of arrival."""
        while self.unconfirmed and self.unconfirmed[0][0] <= arrival:
            self.unconfirmed_bytes -= self.unconfirmed.popleft()[1]


class LiveQueries:
    """All queries that go on, by client. `send(live, matches)` tells a client of objects."""

    def __init__(self, send: Callable[[LiveQuery, list[ArrivedObject]], None]) -> None:
        self.held_back = 0  # times that a client had not taken enough to be told of an object at once
        self.latest = 0  # the number of the latest arrival that was told to whom it concerned
        self._send = send
        self._index = QueryIndex()
        self._by_number: dict[int, LiveQuery] = {}

    def __len__(self) -> int:
        return len(self._by_number)

    def __iter__(self) -> Iterator[LiveQuery]:
        return iter(self._by_number.values())

    def count(self, client: int) -> int:
        """The number of live queries of a client."""
        return sum(each.client == client for each in self._by_number.values())

    def get(self, number: int) -> LiveQuery | None:
        """The live query with a number; None if there is none."""
        return self._by_number.get(number)

    def add(self, query: ObjectQuery, client: int, route: bytes, since: int) -> LiveQuery:
        """Begin a live query behind the number of arrival `since`, in place of one of its number."""
        self._index.add(query)
        live = self._by_number[query.id] = LiveQuery(query, client, route, since, since)
        live.behind = since < self.latest
        return live

    def remove(self, number: int) -> bool:
        """End a live query. Whether there was one."""
        self._index.remove(number)
        return self._by_number.pop(number, None) is not None

    def arrived(self, arrivals: list[ArrivedObject]) -> None:
        """Send arrived objects, in this order, to the clients that are not behind."""
        together: dict[int, list[ArrivedObject]] = {}
        for each in arrivals:
            self.latest = max(self.latest, each.arrival)
            for query in self._index.concerned(each.metadata):
                together.setdefault(query.id, []).append(each)
        for number, matches in together.items():
            self._tell(self._by_number[number], matches)

    def found(self, live: LiveQuery, found: FoundArrivals) -> None:
        """Send the objects that were read for a query that is behind."""
        live.reading = False
        if found.matches:
            live.sent(found.matches)
            self._send(live, found.matches)
        live.told = max(live.told, found.reached)
        live.behind = not found.ended or self.latest > live.told

    def _tell(self, live: LiveQuery, matches: list[ArrivedObject]) -> None:
        fresh = [each for each in matches if each.arrival > live.told]
        if live.behind or live.reading or not fresh:
            live.behind = live.behind or bool(fresh)  # they are in the store by now, and read from there
            return
        if len(fresh) > live.room:
            live.behind = True
            self.held_back += 1
            fresh = fresh[: live.room]
        if fresh:
            live.sent(fresh)
            self._send(live, fresh)
