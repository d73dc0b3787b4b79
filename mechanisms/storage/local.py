"""Local storage: objects stay with their owners, queries are flooded and kept by everybody."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.storage.base import StorageMechanism
from bypass.mechanisms.storage.comparison import NeighbourComparison
from bypass.mechanisms.storage.shared_state import SharedState
from bypass.objects.catalogue import ObjectCatalogue
from bypass.objects.metadata import Metadata, ObjectKey, Replica, StoredObject
from bypass.objects.query import MOST_ON_A_PAGE, ObjectQuery, PageCursor
from bypass.ports.storage import FLOOD, HOP, NODE
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import (
    Ask,
    FoundObjects,
    JoinRequest,
    NodeState,
    OperationStatus,
    Remove,
    StorageMessage,
    Withdraw,
)
from bypass.support.units import MICROSECONDS
from bypass.transitions import MechanismState
from bypass.transitions.recent import Recent

OK = OperationStatus.OK

MARGIN_US = 30 * MICROSECONDS
"""A query that is asked again is told of what was published so long before it was asked last, or later."""

FRESH_S = 5.0
"""For so long after a switch, some nodes may follow the decision before it."""


class _AnsweredQueries(Recent[int, ObjectQuery]):
    """The queries of which pages were answered lately, by number."""

    LIMIT = 1024


class Local(StorageMechanism):
    """Stores objects at their owners alone; who asks, asks everybody.

    Insertions and deletions send nothing but notifications. A newcomer asks its neighbours for the queries
    that they know, up to `join_retries` times; each answers with probability `join_coin`, after a random time
    up to `join_delay_s`. An object that was adopted is served like an own one. Neighbours compare what they
    know of queries every `repair_s` seconds (0: never), since floods get lost. A page is taken for complete
    after `settle_s` seconds; queries are kept for `grace_s` after their windows have ended.
    """

    flag: ClassVar[int] = 1
    needs: ClassVar[frozenset[str]] = frozenset((NODE, FLOOD, HOP))
    answers_once: ClassVar[bool] = True

    join_coin: Annotated[float, MechanismState("join_coin"), Field(gt=0, le=1)] = 0.5
    join_delay_s: Annotated[float, MechanismState("join_delay_s"), Field(ge=0, le=60)] = 0.5
    join_retries: Annotated[int, MechanismState("join_retries"), Field(ge=0, le=100)] = 3
    repair_s: Annotated[float, MechanismState("repair_s"), Field(ge=0)] = 10.0
    settle_s: Annotated[float, MechanismState("settle_s"), Field(ge=0, le=60)] = 1.0
    grace_s: Annotated[float, MechanismState("grace_s"), Field(ge=0)] = 30.0

    def start(self) -> None:
        super().start()
        self._served = ObjectCatalogue()  # own objects, adopted ones, and everybody's queries
        self._shared = SharedState(self._served, self.store.tombstones)
        self.comparison = NeighbourComparison(
            self.host, self._shared, self.tell_neighbours, lambda: self.join_delay_s
        )
        self._answered = _AnsweredQueries()
        self._joined = False
        self._began: float = self.host.now()
        for metadata in self.store.own:
            self.serve(metadata)
        # Of these there may be copies, of earlier mechanisms; of what is inserted from now on there are none.
        self._copied = {metadata.key for metadata in self.store.own}

    def begin(self) -> None:
        """Join, and compare from time to time."""
        for query in self.queries.live():
            self._shared.add(query, 0)
        self._join(self.join_retries)
        self._compare_later()

    @property
    def compare_s(self) -> float:
        return self.repair_s

    def compare(self) -> None:
        """Forget queries that are over, before others are told of them."""
        self._shared.expire(self.now_us() - round(self.grace_s * MICROSECONDS))
        super().compare()

    # -- what the application does ------------------------------------------------------------------------

    def insert(self, op: int, stored: StoredObject, active: bool | None) -> None:  # noqa: ARG002 - no copies
        """Serve an object from here, and notify those whose queries it matches."""
        metadata = self.served_as(stored.metadata)
        if self.serve(metadata):
            for query in self._served.concerned(metadata):
                self._notify(query, (metadata,))
        self.host.link.done(op, OK)

    def delete(self, op: int, metadata: Metadata, opening: bytes) -> None:
        """Forget an object; holders of copies are told."""
        self._served.remove(metadata.key)
        if metadata.key in self._copied:
            self._copied.discard(metadata.key)
            self.host.link.flood(Remove(metadata.key, opening))
        self.host.link.done(op, OK)

    def ask(
        self,
        op: int,
        query: ObjectQuery,
        after: PageCursor | None,
        limit: int,
        since_us: int | None,
        live: bool,
    ) -> None:
        """Flood a query; what owners answer until it has settled is its page."""
        request = Ask(op, query, None, None, after, limit, since_us, live, self.now_us() if live else 0)
        self.host.link.flood(request)
        self.asked(request)
        # After a switch some may not have listened, and answers to the page before may still fill the air.
        if limit and (after is not None or self.host.now() - self._began < FRESH_S):
            self.host.after(self.settle_s, self._flood_again, request)
        elif limit:
            self.host.after(self.settle_s, self._settled, op)
        else:
            self.host.link.done(op, OK)

    def withdraw(self, op: int, query: ObjectQuery) -> None:
        """Flood that a query is over."""
        self._shared.withdraw(query.id)
        self.host.link.flood(Withdraw(op, query.id))
        self.host.link.done(op, OK)

    def retrieve(self, op: int, metadata: Metadata) -> None:
        """Fetch an object from who serves it: whoever adopted it, or its owner."""
        holders = [NodeAddress(each.node) for each in metadata.replicas if each.node is not None]
        self.fetches.begin(op, metadata, (*holders, NodeAddress(metadata.key.owner)))

    # -- what others say ----------------------------------------------------------------------------------

    def take(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:  # noqa: ARG002
        """Keep and answer queries; help newcomers."""
        if isinstance(body, Ask):
            self.asked(body)
        elif isinstance(body, Withdraw):
            if body.query >> 32 == origin.node:
                self._shared.withdraw(body.query)
        elif isinstance(body, JoinRequest):
            draw = self.host.random("join")
            if draw.random() < self.join_coin:
                self.host.after(self.join_delay_s * draw.random(), self._help, origin)

    def removed(self, key: ObjectKey) -> None:
        """A copy that was served from here is deleted."""
        self._served.remove(key)

    def serve(self, metadata: Metadata) -> bool:
        """Answer queries with an object from now on; whether that is new."""
        return self._served.add(metadata)

    def served_as(self, metadata: Metadata) -> Metadata:
        """Metadata as it is told: of an adopted object it says who has it."""
        if metadata.key.owner == self.host.id:
            return metadata
        return replace(metadata, replicas=(Replica(self.host.id),))

    def asked(self, request: Ask) -> None:
        """Keep a query that somebody has asked, and answer with the page of what is served here."""
        query = request.query
        if request.live and not self._over(query):
            self._shared.add(query, request.at_us)
        if not request.limit:
            return
        limit = min(request.limit, MOST_ON_A_PAGE)
        page = self._served.page(query, request.after, limit, request.since_us)
        if page.items:
            if request.op:
                self._answered[query.id] = query
            found = FoundObjects(request.op, query.id, page.items, page.next, page.more)
            self._tell(query, found)

    def _flood_again(self, request: Ask) -> None:
        self.host.link.flood(request)
        self.host.after(self.settle_s, self._settled, request.op)

    def _settled(self, op: int) -> None:
        self.host.link.done(op, OK)

    def _notify(self, query: ObjectQuery, items: tuple[Metadata, ...]) -> None:
        self._tell(query, FoundObjects(0, query.id, items))

    def _tell(self, query: ObjectQuery, found: FoundObjects) -> None:
        if query.subscriber == self.host.id:
            self.host.link.matched(found)
        else:
            self.host.link.send(found, (NodeAddress(query.subscriber),))

    # -- joining and repairing ----------------------------------------------------------------------------

    def _join(self, left: int) -> None:
        if not self._joined:
            self.tell_neighbours(JoinRequest())
            if left:
                self.host.after(2 * self.join_delay_s + 0.5, self._join, left - 1)

    def _help(self, newcomer: NodeAddress) -> None:
        for part in self._shared.parts():
            self.host.link.send(part, (newcomer,))

    def learn(self, state: NodeState) -> None:
        """Keep what is new, and match new queries against what is served here."""
        self._joined = True
        super().learn(state)
        for number in state.withdrawn:
            self._shared.withdraw(number)
        for record in state.queries:
            query, known_us = record.query, self._shared.asked_us(record.query.id)
            if not self._over(query) and self._shared.add(query, record.at_us):
                # Of a query that was known, what came since it was asked last may have been missed.
                self.match_all(query, None if known_us is None else known_us - MARGIN_US)

    def match_all(self, query: ObjectQuery, since_us: int | None = None) -> None:
        """Tell of all that is served here and matches a query that was not known here before, or has missed
        something."""
        page = self._served.page(query, None, MOST_ON_A_PAGE, since_us)
        while page.items:
            self._notify(query, page.items)
            page = self._served.page(query, page.next, MOST_ON_A_PAGE, since_us)

    def tell_again(self, query: int, since_us: int) -> None:
        """Tell of all that is served here and was published since then, if the query is still known, or was
        answered lately."""
        known = self._served.query(query) or self._answered.get(query)
        if known is not None and not self._shared.is_withdrawn(query):
            self.match_all(known, since_us)

    def _over(self, query: ObjectQuery) -> bool:
        return query.window.ended(self.now_us() - round(self.grace_s * MICROSECONDS))
