"""External storage: one node keeps everything, and all others ask it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.storage.base import StorageMechanism
from bypass.mechanisms.storage.object_server import ObjectServer
from bypass.objects.catalogue import ObjectCatalogue
from bypass.objects.metadata import Metadata, ObjectKey, Replica, StoredObject, Tombstone
from bypass.objects.node_store import NodeStore
from bypass.objects.query import MOST_ON_A_PAGE, ObjectQuery, Page, PageCursor
from bypass.ports.storage import FLOOD, NODE
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import (
    LONGEST_DATA,
    MOST_NAMED,
    Ask,
    Delete,
    DigestKind,
    FoundObjects,
    Insert,
    JoinRequest,
    OperationStatus,
    StateDigest,
    StorageMessage,
    Withdraw,
)
from bypass.support.units import MICROSECONDS
from bypass.transitions import MechanismState

MOST_QUERIES_EACH = 1024
"""Queries of one subscriber that a server keeps."""

MOST_ELSEWHERE = 4096
"""Objects that a server lists although others keep their bytes."""

OFFER_S = 60.0
"""Nodes make sure so often (s), about, that the server knows their queries and large objects."""

FRESH_S = 5.0
"""A client that began so lately registers its queries anyway, and need not be asked to."""


class NodeServerStore:
    """The store of a server on a node: objects are copies in the node's own store, queries are in memory.

    Nothing that was acknowledged goes for something new: without room there is a refusal. Of an object that
    no message can hold there is the metadata alone, of at most `most_elsewhere`. Queries are forgotten
    `grace_us` after their windows have ended.
    """

    def __init__(self, store: NodeStore, most_elsewhere: int = MOST_ELSEWHERE) -> None:
        self._store = store
        self._most_elsewhere = most_elsewhere
        self._elsewhere: set[ObjectKey] = set()
        self._catalogue = ObjectCatalogue()
        self._counts: dict[int, int] = {}  # queries by subscriber
        for metadata in (*store.own, *store.replicas):
            self._catalogue.add(metadata)

    def insert(self, metadata: Metadata, data: bytes | None) -> tuple[OperationStatus, bool]:
        """Keep an object; see ServerStore."""
        known = self._catalogue.get(metadata.key)
        if known is not None:
            same = (known.digest, known.commitment) == (metadata.digest, metadata.commitment)
            return (OperationStatus.OK if same else OperationStatus.REFUSED), False
        if self._store.tombstones.hides(metadata):
            return OperationStatus.REFUSED, False
        if metadata.key not in self._store:  # it is there if it is the server's own
            if data is None and metadata.size > LONGEST_DATA:
                if len(self._elsewhere) >= self._most_elsewhere:
                    return OperationStatus.QUOTA, False
                self._elsewhere.add(metadata.key)
                return OperationStatus.OK, self._catalogue.add(metadata)
            if data is None or not metadata.describes(data):
                return OperationStatus.REFUSED, False
            if metadata.size > self._store.room:
                return OperationStatus.QUOTA, False
            self._store.copy(StoredObject(metadata, data))
        return OperationStatus.OK, self._catalogue.add(metadata)

    def delete(self, key: ObjectKey, opening: bytes) -> OperationStatus:
        """Forget an object for good; see ServerStore."""
        known = self._catalogue.get(key)
        if known is not None and not known.opened_by(opening):
            return OperationStatus.NOT_OWNER
        self._store.bury(Tombstone(key, opening))
        self.forget(key)
        return OperationStatus.OK

    def bury(self, tombstone: Tombstone) -> None:
        """List an object no longer whose commitment a tombstone opens."""
        known = self._catalogue.get(tombstone.key)
        if known is not None and known.opened_by(tombstone.opening):
            self.forget(tombstone.key)

    def forget(self, key: ObjectKey) -> None:
        """Serve an object no longer, because it is deleted in the node's store."""
        self._catalogue.remove(key)
        self._elsewhere.discard(key)

    def data(self, key: ObjectKey) -> bytes | None:
        """The bytes of an object; None if it is not here."""
        stored = self._store.get(key)
        return None if stored is None else stored.data

    def page(self, query: ObjectQuery, after: PageCursor | None, limit: int, since_us: int | None) -> Page:
        """A page of the past."""
        return self._catalogue.page(query, after, limit, since_us)

    def add_query(self, query: ObjectQuery) -> OperationStatus:
        """Keep a query; QUOTA if there are too many of its subscriber."""
        if self._catalogue.query(query.id) is None:
            if self._counts.get(query.subscriber, 0) >= MOST_QUERIES_EACH:
                return OperationStatus.QUOTA
            self._counts[query.subscriber] = self._counts.get(query.subscriber, 0) + 1
        self._catalogue.add_query(query)
        return OperationStatus.OK

    def remove_query(self, number: int) -> ObjectQuery | None:
        """Forget a query, if it is kept."""
        query = self._catalogue.remove_query(number)
        if query is not None:
            self._counts[query.subscriber] -= 1
        return query

    def concerned(self, metadata: Metadata) -> Iterable[ObjectQuery]:
        """The queries that an object matches."""
        return self._catalogue.concerned(metadata)

    def query(self, number: int) -> ObjectQuery | None:
        """A query that is kept; None if it is not."""
        return self._catalogue.query(number)

    def expire(self, before_us: int) -> None:
        """Forget queries whose windows ended at `before_us` or earlier."""
        for query in self._catalogue.expire(before_us):
            self._counts[query.subscriber] -= 1


class ExternalStorage(StorageMechanism):
    """Sends everything to the node with the number `server`, which stores, matches and answers.

    The server is one of the nodes, known to all before. It acknowledges what it has stored. When it was away
    it asks all others for their queries; since one may not hear that, subscribers offer theirs now and then.
    Queries are kept for `grace_s` after their windows have ended. Objects that no message can hold stay with
    their owner, or who has adopted them, and the server tells of them.
    """

    name: ClassVar[str] = "server"
    flag: ClassVar[int] = 3
    needs: ClassVar[frozenset[str]] = frozenset((NODE, FLOOD))

    server: Annotated[int, MechanismState("server"), Field(ge=0, lt=2**32)] = 0
    grace_s: Annotated[float, MechanismState("grace_s"), Field(ge=0)] = 30.0

    def start(self) -> None:
        super().start()
        self._began = self.host.now()
        self._known_us = self._offered_us = (
            self.now_us()
        )  # until then, the server knew all queries of this node
        self._served: NodeServerStore | None = None
        self._serve()

    def set_server(self, server: int) -> None:
        """Another node is the server from now on; what one that is none any more has stays in its store."""
        self.server = server
        if hasattr(self, "_began"):
            self._serve()
            self.host.after(0.0, self._moved)

    def begin(self) -> None:
        """Have others register their queries, if this is the server."""
        super().begin()
        self._have_registered()
        self._offer_later()

    # -- what the application does ------------------------------------------------------------------------

    def insert(self, op: int, stored: StoredObject, active: bool | None) -> None:  # noqa: ARG002 - one copy
        """Send an object to the server; of a large one the metadata, which says who has it."""
        self._request(_insertion(op, stored.metadata, stored.data, self.host.id))

    def delete(self, op: int, metadata: Metadata, opening: bytes) -> None:
        """Have the server delete an object."""
        self._request(Delete(op, metadata.key, opening, metadata.tags))

    def ask(
        self,
        op: int,
        query: ObjectQuery,
        after: PageCursor | None,
        limit: int,
        since_us: int | None,
        live: bool,
    ) -> None:
        """Ask the server."""
        self._request(Ask(op, query, None, None, after, limit, since_us, live))

    def withdraw(self, op: int, query: ObjectQuery) -> None:
        """Have the server forget a query."""
        self._request(Withdraw(op, query.id))

    def retrieve(self, op: int, metadata: Metadata) -> None:
        """Fetch an object from the server, or from those who have it if the server does not."""
        nodes = (self.server, *(each.node for each in metadata.replicas), metadata.key.owner)
        self.fetches.begin(op, metadata, (NodeAddress(each) for each in nodes if each is not None))

    # -- what others say ----------------------------------------------------------------------------------

    def found(self, answer: FoundObjects) -> None:
        """The server has found something; a page is an answer, too."""
        super().found(answer)
        if answer.op:
            self.host.link.done(answer.op, OperationStatus.OK)

    def take(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:  # noqa: ARG002
        """Serve, if this is the server; register again, if the server has begun anew."""
        if isinstance(body, StateDigest):
            self._compared(body, origin)
        elif self._served is not None and origin.node is not None:
            self._logic.take(body, origin.node)
        elif (
            isinstance(body, JoinRequest)
            and origin.node == self.server
            and self.host.now() - self._began > FRESH_S
        ):
            self.host.link.recover(self._known_us)

    def bury(self, tombstone: Tombstone) -> None:
        super().bury(tombstone)
        if self._served is not None:
            self._served.bury(tombstone)

    def tell_again(self, query: int, since_us: int) -> None:
        """Tell of all that was published since then, if this is the server and the query is still kept."""
        known = None if self._served is None else self._served.query(query)
        if self._served is None or known is None:
            return
        page = self._served.page(known, None, MOST_ON_A_PAGE, since_us)
        while page.items:
            self._answer(FoundObjects(0, query, page.items), known.subscriber)
            page = self._served.page(known, page.next, MOST_ON_A_PAGE, since_us)

    def _request(self, body: StorageMessage) -> None:
        self.host.link.send(body, (NodeAddress(self.server),))

    def _serve(self) -> None:
        if self.host.id != self.server:
            self._served = None
        elif self._served is None:
            self._served = NodeServerStore(self.store)
            self._logic = ObjectServer(self._served, self._answer, self.now_us)

    def _moved(self) -> None:
        self._have_registered()
        self.host.link.recover(self.now_us())

    def _offer_later(self) -> None:
        self.host.after(OFFER_S * (0.5 + self.host.random("offers").random()), self._offer)

    def _offer(self) -> None:
        """Ask the server which of the queries of this node it does not know, and tell it of large objects."""
        for metadata in self.store.own:
            if metadata.size > LONGEST_DATA:
                self._request(_insertion(0, metadata, b"", self.host.id))
        queries = [query.id for query in self.queries.live()]
        self._offered_us = self.now_us()
        for first in range(0, len(queries), MOST_NAMED):
            self._request(StateDigest(0, tuple(queries[first : first + MOST_NAMED])))
        self._offer_later()

    def _compared(self, digest: StateDigest, origin: NodeAddress) -> None:
        """A subscriber offers its queries, or the server says which of them it lacks."""
        if digest.kind is DigestKind.OFFER and self._served is not None:
            lacking = tuple(each for each in digest.entries if self._served.query(each) is None)
            self.host.link.send(StateDigest(0, lacking, DigestKind.WANTED), (origin,))
        elif digest.kind is DigestKind.WANTED and origin.node == self.server:
            if digest.entries:
                self.host.link.recover(self._known_us)
            else:
                self._known_us = self._offered_us

    def _have_registered(self) -> None:
        if self._served is not None:
            self.host.link.flood(JoinRequest())
            self._expire()

    def _answer(self, body: StorageMessage, node: int) -> None:
        self.host.link.send(body, (NodeAddress(node),))

    def _expire(self) -> None:
        if self._served is not None:
            self._served.expire(self.now_us() - round(self.grace_s * MICROSECONDS))
            self.host.after(max(self.grace_s, 1.0), self._expire)


def _insertion(op: int, metadata: Metadata, data: bytes, node: int) -> Insert:
    """The message that tells a server of an object at a node."""
    if metadata.size <= LONGEST_DATA:
        return Insert(op, metadata, data)
    return Insert(
        op, metadata if node == metadata.key.owner else replace(metadata, replicas=(Replica(node),))
    )
