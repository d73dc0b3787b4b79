"""The base of the broker's part of every filter scheme.

Clients import this module with every scheme and never use it, so it imports nothing that computes with
arrays.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from bypass.places.region import Region
from bypass.protocol.messages import ContextMessage, Publish
from bypass.transitions import Mechanism, MechanismState, TransferState

if TYPE_CHECKING:
    from bypass.mechanisms.filters.base.grace import Grace
    from bypass.mechanisms.filters.indexes.index import Index
    from bypass.mechanisms.filters.indexes.table import SubscriptionTable
    from bypass.support.arrays import Ints
else:
    Grace = Index = SubscriptionTable = Any  # what the broker hands over is of these classes

MissingContext = Literal["ignore", "unfiltered", "wait"]
WAITING_EVENTS = 100
WAITING_SECONDS = 5.0


class FilterBroker(Mechanism):
    """Decides which subscriptions an event concerns, by the places of subscribers and event.

    `resolver`: look context up at each event instead of keeping an index; the selection is the same.
    `missing_context`: what happens to subscriptions whose owner's place is not known yet: they are left out
    (`ignore`), served by attributes alone with the client filtering (`unfiltered`), or served late (`wait`).
    """

    scheme: ClassVar[Any] = None
    """The `FilterScheme` that it is the broker's part of."""

    channels_by_place: ClassVar[bool] = False
    """Whether clients listen to the channels of attraction points: where there are none, it is of no use."""

    reports_places: ClassVar[bool] = True
    """Whether clients report where they are, as they move: else those that are watched find out themselves
    when they pass a border."""

    table: Annotated[SubscriptionTable, TransferState("table")]
    grace: Annotated[Grace, TransferState("grace")]
    region: Annotated[Region, TransferState("region")]
    resolver: Annotated[bool, MechanismState("resolver")] = False
    missing_context: Annotated[MissingContext, MechanismState("missing_context")] = "ignore"

    index: Index
    areas: Index | None = None
    """The subscriptions with areas; None as long as there were none."""

    def start(self) -> None:
        self.clients: set[int] = set()
        self.unplaced = 0  # events that did not say what this scheme needs to know
        self._missing: dict[int, deque[tuple[float, Publish]]] = {}
        self.index = self.make_index()

    def stop(self) -> None:
        if self.index in self.table.listeners:  # else it was never in use: a transition to it has failed
            for index in self.indexes:
                self.grace.retire(index)

    @abstractmethod
    def make_index(self) -> Index:
        """An empty index of this scheme's kind, for the parameters as they are now."""

    def make_area_index(self) -> Index:
        """An empty index of subscriptions with areas. It may find rows in whose areas an event does not lie:
        their owners test it."""
        from bypass.mechanisms.filters.indexes.areas.index import AreaIndex

        return AreaIndex(self.table, self.resolver, self.table.interests)

    @property
    def indexes(self) -> tuple[Index, ...]:
        """The indexes in use, that of the scheme first."""
        return (self.index,) if self.areas is None else (self.index, self.areas)

    # -- members (partial transitions) --------------------------------------------------------------------

    def members(self) -> Collection[Hashable]:
        return self.clients

    def admit(self, members: Collection[Hashable] | None, source: Mechanism | None) -> None:
        assert isinstance(source, FilterBroker)
        if members is None:
            admitted = set(source.clients)
        else:
            admitted = {member for member in members if isinstance(member, int)}
        for client in admitted & source._missing.keys():
            self._missing[client] = source._missing[client].copy()  # what waits there goes on waiting here
        self._take(self.table.located(admitted))
        self._take_areas(self.table.with_areas(admitted))
        self.clients |= admitted
        self.host.after(0.0, self.welcome, admitted)

    def release(self, members: Collection[Hashable]) -> None:
        gone = {member for member in members if isinstance(member, int)}
        self.clients -= gone
        for client in gone:
            self._missing.pop(client, None)
        # Who has just said where it is, is served by the other scheme as well as ever; others need the grace.
        now = self.host.now()
        fresh = {client for client in gone if (place := self.table.place(client)) and place[2] >= now}
        self.index.removed(self.table.located(fresh))
        self.grace.release(self.index, self.table.located(gone - fresh))
        if self.areas is not None:
            self.grace.release(self.areas, self.table.with_areas(gone))

    def welcome(self, clients: Iterable[int]) -> None:
        """Bootstrap after the switch: tell new members what they must know. Nothing, by default."""

    # -- what clients say ---------------------------------------------------------------------------------

    def connected(self, client: int) -> None:
        """A client that nobody serves yet is served here from now on."""
        self.clients.add(client)

    def gone(self, client: int) -> None:
        """The client has left for good."""
        self.clients.discard(client)
        self._missing.pop(client, None)

    def reconnected(self, client: int) -> None:
        """The client is back and may not know any more what it was told. Nothing, by default."""

    def subscribed(self, client: int, row: int) -> None:  # noqa: ARG002 - for schemes that answer
        """The table has a new row of one of this scheme's clients."""
        rows = self.table.placed(row)
        if len(rows):
            self._take(rows)
        elif self.table.is_for_schemes(row):
            first = self.areas is None
            self._take_areas(self.table.one(row))
            if first:
                self.host.link.watch_indexes()

    def unsubscribed(self) -> None:
        """A row of one of this scheme's clients has left the table. Nothing, by default."""

    def context_arrived(self, client: int, message: ContextMessage) -> None:
        """A client says where it is: one of this scheme, or one that has another scheme still."""
        place = self.place_of(message)
        if place is not None:
            vector = getattr(message, "vector", None)
            elsewhere = self.table.locate(client, *place, self.host.now(), vector)
            self._found(client)
            if elsewhere:
                self.relocated(client)

    def place_of(self, message: ContextMessage) -> tuple[float, float] | None:
        """Where a message says that its sender is; None if it does not, or in words of another scheme."""
        place: tuple[float, float] | None = getattr(message, "location", None)
        return place

    def relocated(self, client: int) -> None:
        """A client is at another place than before, which the table knows. Nothing, by default."""

    # -- matching -----------------------------------------------------------------------------------------

    def match(self, publication: Publish) -> Ints:
        """The rows concerned, ascending."""
        rows = self.index.match(publication)
        return rows if rows is not None and not self._missing else self._matched(publication, rows)

    def match_many(self, publications: Sequence[Publish]) -> Iterator[Ints]:
        """Give for one event after the other what `match` does, when it is asked for."""
        if type(self).match is not FilterBroker.match:  # a rule of the scheme's own
            return map(self.match, publications)
        return map(self._matched, publications, self.index.match_many(publications))

    def match_among(self, publication: Publish, rows: Ints) -> Ints:
        """Those of these ascending rows that `match` would give."""
        if type(self).match is not FilterBroker.match:  # a rule of the scheme's own
            from bypass.mechanisms.filters.indexes.index import common

            return common(self.match(publication), rows)
        return self._matched(publication, self.index.among(publication, rows))

    def _matched(self, publication: Publish, rows: Ints | None) -> Ints:
        if self._missing:
            self._remember(publication)
        if rows is None:
            self.unplaced += 1
            return self.table.none
        return rows

    def unfiltered(self) -> Ints:
        """Rows that get every event by its attributes, because their owner's place is not known."""
        if self.missing_context != "unfiltered" or not self._missing:
            return self.table.none
        return self.table.with_place_unknown(self._missing)

    def match_areas(self, publications: Sequence[Publish]) -> Iterator[Ints]:
        """Give for one event after the other the rows with areas that it may concern, when asked for it."""
        if self.areas is not None:
            for rows in self.areas.match_many(publications):
                yield self.table.none if rows is None else rows

    # -- parameters ---------------------------------------------------------------------------------------

    def set_resolver(self, value: bool) -> None:
        """Look context up at each event, or keep it in an index."""
        self.resolver = value
        self.rebuild()

    def use_region(self, region: Region) -> None:
        """The region has other places now."""
        self.region = region

    def rebuild(self) -> None:
        """A new index for changed parameters, with the same rows; the old one has its grace period."""
        outgoing = self.indexes
        self.index = self.make_index()
        self.areas = None
        self._take(self.table.located(self.clients))
        self._take_areas(self.table.with_areas(self.clients))
        for index in outgoing:
            self.grace.retire(index)
        self.host.link.watch_indexes()

    # -- internals ----------------------------------------------------------------------------------------

    def tell(self, client: int, message: ContextMessage) -> None:
        """Send a message of this scheme to one client."""
        self.host.link.send(client, message, self)

    def _take(self, rows: Ints) -> None:
        """Index rows whose owner's place is known, remember the owners of the others."""
        known = self.table.known[rows]
        self.index.insert(rows[known])
        self.grace.keep(self.index, rows)
        for client in set(self.table.client[rows[~known]].tolist()):
            self._missing.setdefault(client, deque(maxlen=WAITING_EVENTS))

    def _take_areas(self, rows: Ints) -> None:
        """Index rows with areas, unless these move with an owner whose place is not known: such owners are
        remembered."""
        if not len(rows):
            return
        if self.areas is None:
            self.areas = self.make_area_index()
        unplaced = self.table.unplaced(rows)
        self.areas.insert(rows[~unplaced])
        self.grace.keep(self.areas, rows)
        for client in set(self.table.client[rows[unplaced]].tolist()):
            self._missing.setdefault(client, deque(maxlen=WAITING_EVENTS))

    def _found(self, client: int) -> None:
        """The place of a client is known now: serve what was waiting for it, oldest first."""
        waiting = self._missing.pop(client, None)
        if waiting is None:
            return
        self._take(self.table.located((client,)))
        self._take_areas(self.table.with_areas((client,)))
        for at, publication in waiting:
            if self.host.now() - at <= WAITING_SECONDS:
                for index in self.indexes:
                    found = index.match(publication)
                    if found is not None:
                        own = found[self.table.client[found] == client]
                        self.host.link.deliver(publication, own)

    def _remember(self, publication: Publish) -> None:
        if self.missing_context == "wait":
            now = self.host.now()
            for waiting in self._missing.values():
                waiting.append((now, publication))
