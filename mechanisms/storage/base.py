"""The base of all storage mechanisms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from bypass.errors import InvalidObject, InvalidQuery
from bypass.mechanisms.storage.comparison import NeighbourComparison
from bypass.mechanisms.storage.fetching import ObjectFetches, piece
from bypass.mechanisms.storage.missed_matches import MissedMatches
from bypass.mechanisms.storage.shared_state import SharedState
from bypass.objects.catalogue import ObjectCatalogue
from bypass.objects.metadata import Metadata, ObjectKey, StoredObject, Tombstone
from bypass.objects.node_store import NodeStore
from bypass.objects.query import ObjectQuery, PageCursor
from bypass.ports.storage import OwnQueries
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import (
    Acknowledge,
    DigestKind,
    FoundObjects,
    NodeState,
    OperationStatus,
    Remove,
    Retrieve,
    Retrieved,
    StateDigest,
    StorageMessage,
)
from bypass.support.units import MICROSECONDS
from bypass.transitions import Mechanism, TransferState

COMPARE_S = 10.0
"""Neighbours compare what was deleted so often (s), unless a mechanism says otherwise."""


class StorageMechanism(Mechanism):
    """Stores objects among nodes, and tells who asks for them; see `bypass.ports.storage.Storage`.

    `flag` is a number from 1 to 127 that no other storage mechanism has; numbers from 64 on are free for
    mechanisms of one's own. `needs` are the services of its routing without which it does not work. What
    nodes have in their own store they give and remove for whoever asks, whatever mechanism runs: so objects
    stay reachable while some nodes have exchanged it and others have not. `fetches` brings objects from their
    holders, `missed` repeats notifications that came back.

    A tombstone that one node knows reaches all: whatever mechanism runs, neighbours compare theirs every
    `compare_s` seconds, and when something is new. So no copy brings a deleted object back, wherever it was
    when the object was deleted.
    """

    flag: ClassVar[int]
    needs: ClassVar[frozenset[str]] = frozenset()
    answers_once: ClassVar[bool] = False
    """Whether a node that asks for a page does not know who has to answer, and does not ask again."""
    keyed: ClassVar[bool] = False
    """Whether queries are found by a tag: one of which a conjunction has negations alone cannot be kept."""

    store: Annotated[NodeStore, TransferState("store")]
    queries: Annotated[OwnQueries, TransferState("queries")]

    @classmethod
    def check_state(cls, state: Mapping[str, Any]) -> None:
        """Raise InvalidQuery if a query of this node cannot be kept."""
        for query in state["queries"].live() if cls.keyed and "queries" in state else ():
            if not all(each.positive for each in query.formula.conjunctions()):
                raise InvalidQuery(
                    f"query {query.formula}: expected a tag without ~ in each alternative, for {cls.name!r}"
                )

    def start(self) -> None:
        """Have `begin` called as soon as others may be told."""
        self.fetches = ObjectFetches(self._send, self._done)
        self.missed = MissedMatches(self.host.after, self.tell_again)
        shared = SharedState(ObjectCatalogue(), self.store.tombstones)
        self.comparison = NeighbourComparison(self.host, shared, self.tell_neighbours)
        self.host.after(0.0, self.begin)

    def begin(self) -> None:
        """Build up what is not handed over, such as indexes, with the help of others; compare with neighbours
        from now on."""
        if self.compare_s:
            self.comparison.tell_soon()
            self._compare_later()

    @property
    def compare_s(self) -> float:
        """Seconds between two comparisons with neighbours, about; 0: there are none."""
        return COMPARE_S

    # -- what the application does ------------------------------------------------------------------------

    @abstractmethod
    def insert(self, op: int, stored: StoredObject, active: bool | None) -> None:
        """Store an object of this node, and tell those whose queries match it."""

    @abstractmethod
    def delete(self, op: int, metadata: Metadata, opening: bytes) -> None:
        """Remove an object of this node everywhere."""

    @abstractmethod
    def ask(
        self,
        op: int,
        query: ObjectQuery,
        after: PageCursor | None,
        limit: int,
        since_us: int | None,
        live: bool,
    ) -> None:
        """Ask for a page of the past, and register the query for what comes if it is `live`."""

    @abstractmethod
    def withdraw(self, op: int, query: ObjectQuery) -> None:
        """Forget a query of this node everywhere."""

    @abstractmethod
    def retrieve(self, op: int, metadata: Metadata) -> None:
        """Fetch the bytes of an object."""

    # -- what others say ----------------------------------------------------------------------------------

    def received(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:
        """Answer and sort what arrives; what only one mechanism understands goes to `take`."""
        if self.missed:
            self.missed.heard(origin.node)
        if isinstance(body, FoundObjects):
            self.found(body)
        elif isinstance(body, Retrieve):
            self.host.link.send(piece(body, self.store.get(body.key)), (origin,))
        elif isinstance(body, Retrieved):
            self.fetches.arrived(body, origin)
        elif isinstance(body, Acknowledge):
            self.acknowledged(body, origin)
        elif isinstance(body, Remove):
            self.bury(Tombstone(body.key, body.opening))
        elif isinstance(body, StateDigest) and body.kind is DigestKind.SHARED:
            if self.compare_s:
                self.comparison.digested(body)
        elif isinstance(body, NodeState) and body.cell is None:
            self.comparison.told(body)
            self.learn(body)
        else:
            self.take(body, origin, target)

    def found(self, answer: FoundObjects) -> None:
        """Objects were found for a query of this node: its client is told."""
        self.host.link.matched(answer)

    def acknowledged(self, answer: Acknowledge, origin: NodeAddress) -> None:  # noqa: ARG002 - mechanisms may ask
        """A node says what became of an operation. Ends it, by default."""
        self.host.link.done(answer.op, answer.status, answer.detail)

    def learn(self, state: NodeState) -> None:
        """A neighbour tells what all nodes are to know: bury what was deleted, and pass that on."""
        tombstones = self.store.tombstones
        news = [each for each in state.tombstones if each not in tombstones and tombstones.has_room(each)]
        for tombstone in news:
            self.bury(tombstone)
        if news and self.compare_s:
            self.comparison.tell_soon()

    def bury(self, tombstone: Tombstone) -> None:
        """Delete an object whose commitment a tombstone opens, here and for good. One that cannot be a
        tombstone is ignored."""
        try:
            if self.store.bury(tombstone):
                self.removed(tombstone.key)
        except InvalidObject:
            return

    def removed(self, key: ObjectKey) -> None:
        """A copy that was here is deleted, as its owner wanted. Nothing more, by default."""

    def take(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:
        """A message that not all mechanisms understand. Ignored, by default."""

    def undeliverable(self, body: StorageMessage, target: NodeAddress) -> None:
        """A message of this node did not reach one of its targets: of those for objects the next holder is
        asked, notifications are repeated later."""
        if isinstance(body, Retrieve):
            self.fetches.failed(body)
        else:
            self.doubtful(body, target)

    def doubtful(self, body: StorageMessage, target: NodeAddress) -> None:  # noqa: ARG002
        """A message of this node may not have reached one of its targets: notifications are repeated later,
        and answers if nobody asks for them again."""
        if isinstance(body, FoundObjects) and body.items and (self.answers_once or not body.op):
            self.missed.add(body)

    def tell_again(self, query: int, since_us: int) -> None:
        """Tell a subscriber that has missed something of all matches since then. Nothing, by default."""

    def surroundings_changed(self) -> None:
        """The own cell, or which cells around are populated, has changed. Nothing, by default."""

    # -- parts of all mechanisms --------------------------------------------------------------------------

    def now_us(self) -> int:
        """The time in microseconds, by which objects are published."""
        now: float = self.host.now()
        return round(now * MICROSECONDS)

    def compare(self) -> None:
        """Have neighbours compare what they know with what this node knows."""
        self.comparison.tell()
        self._compare_later()

    def _compare_later(self) -> None:
        if self.compare_s:
            jitter = 0.5 + self.host.random("repair").random()
            self.host.after(self.compare_s * jitter, self.compare)

    def tell_neighbours(self, body: StorageMessage) -> None:
        """Tell all in reach."""
        self.host.link.tell_neighbours(body)

    def _send(self, body: StorageMessage, targets: Sequence[NodeAddress]) -> None:
        self.host.link.send(body, targets)

    def _done(self, op: int, status: OperationStatus, detail: str = "", data: bytes | None = None) -> None:
        self.host.link.done(op, status, detail, data)
