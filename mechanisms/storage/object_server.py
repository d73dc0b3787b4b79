"""The logic of a node that is the server of a store: it answers every request, and tells subscribers.

A `ServerStore` keeps the objects and queries. A live broker has a service of its own, with a store on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

from bypass.objects.metadata import Metadata, ObjectKey
from bypass.objects.query import MOST_ON_A_PAGE, ObjectQuery, Page, PageCursor
from bypass.protocol.storage import (
    Acknowledge,
    Ask,
    Delete,
    FoundObjects,
    Insert,
    OperationStatus,
    Retrieve,
    Retrieved,
    StorageMessage,
    Withdraw,
)

Send: TypeAlias = Callable[[StorageMessage, int], None]
"""Sends a message to the node with a number."""


class ServerStore(Protocol):
    """The objects, tombstones and queries that a server keeps."""

    def insert(self, metadata: Metadata, data: bytes | None) -> tuple[OperationStatus, bool]:
        """Keep an object: the status to answer, and whether its key is new here.

        One that is there already is OK and not new; REFUSED if it was deleted or its owner has another one
        of that name, QUOTA if there is no room.
        """

    def delete(self, key: ObjectKey, opening: bytes) -> OperationStatus:
        """Forget an object for good, also if it comes later; NOT_OWNER if `opening` does not open it."""

    def data(self, key: ObjectKey) -> bytes | None:
        """The bytes of an object; None if it is not here."""

    def page(self, query: ObjectQuery, after: PageCursor | None, limit: int, since_us: int | None) -> Page:
        """A page of the past."""

    def add_query(self, query: ObjectQuery) -> OperationStatus:
        """Keep a query; QUOTA if there is no room for more of its subscriber."""

    def remove_query(self, number: int) -> ObjectQuery | None:
        """Forget a query, if it is kept."""

    def concerned(self, metadata: Metadata) -> Iterable[ObjectQuery]:
        """The queries that an object matches."""


class ObjectServer:
    """Answers the requests of nodes out of a store, by `send`.

    A page is its own acknowledgement, so that none is taken for complete whose objects were lost. Objects are
    taken from anybody, since they may have been adopted; queries are taken from, and withdrawn by, their
    subscribers alone.
    """

    def __init__(self, store: ServerStore, send: Send, now_us: Callable[[], int]) -> None:
        self._store = store
        self._send = send
        self._now_us = now_us

    def take(self, body: StorageMessage, sender: int) -> bool:
        """Do what a node asks for, and answer; false if the message is not for a server."""
        if isinstance(body, Insert):
            self._insert(body, sender)
        elif isinstance(body, Delete):
            self._acknowledge(body.op, self._store.delete(body.key, body.opening), sender)
        elif isinstance(body, Ask):
            self._ask(body, sender)
        elif isinstance(body, Withdraw):
            self._withdraw(body, sender)
        elif isinstance(body, Retrieve):
            self._send(Retrieved(body.op, body.key, self._store.data(body.key)), sender)
        else:
            return False
        return True

    def _insert(self, body: Insert, sender: int) -> None:
        metadata = body.metadata
        status, new = self._store.insert(metadata, body.data)
        self._acknowledge(body.op, status, sender)
        if new:
            for query in self._store.concerned(metadata):
                self._send(FoundObjects(0, query.id, (metadata,)), query.subscriber)

    def _ask(self, body: Ask, sender: int) -> None:
        query = body.query
        if query.subscriber != sender:
            self._acknowledge(body.op, OperationStatus.NOT_OWNER, sender)
            return
        if body.live and not query.window.ended(self._now_us()):
            status = self._store.add_query(query)
            if status != OperationStatus.OK:
                self._acknowledge(body.op, status, sender)
                return
        if body.limit:
            limit = min(body.limit, MOST_ON_A_PAGE)
            page = self._store.page(query, body.after, limit, body.since_us)
            self._send(FoundObjects(body.op, query.id, page.items, page.next, page.more), sender)
        else:
            self._acknowledge(body.op, OperationStatus.OK, sender)

    def _withdraw(self, body: Withdraw, sender: int) -> None:
        if body.query >> 32 == sender:
            self._store.remove_query(body.query)
            self._acknowledge(body.op, OperationStatus.OK, sender)
        else:
            self._acknowledge(body.op, OperationStatus.NOT_OWNER, sender)

    def _acknowledge(self, op: int, status: OperationStatus, node: int) -> None:
        if op:
            self._send(Acknowledge(op, status), node)
