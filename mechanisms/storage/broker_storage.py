"""External storage at a live broker: the broker keeps everything, durably, and its clients ask it."""

from __future__ import annotations

from typing import ClassVar

from bypass.mechanisms.storage.base import StorageMechanism
from bypass.objects.metadata import Metadata, StoredObject
from bypass.objects.query import ObjectQuery, PageCursor
from bypass.ports.storage import BROKER
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import (
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


class BrokerStorage(StorageMechanism):
    """Sends everything to the broker, which stores, matches and answers.

    An insertion is acknowledged when it is committed. The way there brings messages of any size, in order;
    those that are lost with a connection are sent again with the operation that they belong to.
    """

    name: ClassVar[str] = "broker"
    flag: ClassVar[int] = 9
    needs: ClassVar[frozenset[str]] = frozenset((BROKER,))

    @property
    def compare_s(self) -> float:
        return 0.0  # the broker alone decides what was deleted

    def insert(self, op: int, stored: StoredObject, active: bool | None) -> None:  # noqa: ARG002 - one copy
        """Send an object to the broker."""
        self.host.link.to_broker(Insert(op, stored.metadata, stored.data))

    def delete(self, op: int, metadata: Metadata, opening: bytes) -> None:
        """Have the broker delete an object."""
        self.host.link.to_broker(Delete(op, metadata.key, opening))

    def ask(
        self,
        op: int,
        query: ObjectQuery,
        after: PageCursor | None,
        limit: int,
        since_us: int | None,
        live: bool,
    ) -> None:
        """Ask the broker."""
        self.host.link.to_broker(Ask(op, query, None, None, after, limit, since_us, live))

    def withdraw(self, op: int, query: ObjectQuery) -> None:
        """Have the broker forget a query."""
        self.host.link.to_broker(Withdraw(op, query.id))

    def retrieve(self, op: int, metadata: Metadata) -> None:
        """Fetch an object from the broker."""
        self.host.link.to_broker(Retrieve(op, metadata.key))

    def received(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:
        """Take what the broker says; a page ends the operation that has asked for it, and so do bytes."""
        if isinstance(body, Retrieved):
            if body.data is None:
                detail = f"object {body.key}: expected one that is stored"
                self.host.link.done(body.op, OperationStatus.NOT_FOUND, detail)
            else:
                self.host.link.done(body.op, OperationStatus.OK, data=body.data)
            return
        super().received(body, origin, target)
        if isinstance(body, FoundObjects) and body.op:
            self.host.link.done(body.op, OperationStatus.OK)
