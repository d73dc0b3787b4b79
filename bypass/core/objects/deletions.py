"""A client's deletions: each is tried until it is answered, also by the node's next client."""

from __future__ import annotations

from bypass.core.objects.kept_objects import Undeleted
from bypass.core.objects.operations import FOREVER, Ended, OperationResult, Operations
from bypass.errors import UnknownObject
from bypass.objects.metadata import ObjectKey, Tombstone
from bypass.objects.node_store import NodeStore
from bypass.ports.storage import Storage
from bypass.protocol.storage import OperationStatus

MOST_UNDELETED = 1024
"""Deletions without an answer that are remembered; the oldest go first."""


class Deletions:
    """The deletions of one client. `undeleted` are those that an earlier one of the node has left without an
    answer."""

    def __init__(
        self, store: NodeStore, operations: Operations, storage: Storage, undeleted: Undeleted
    ) -> None:
        self.undeleted: Undeleted = dict(undeleted)
        self._store = store
        self._operations = operations
        self._storage = storage
        self._trying: set[ObjectKey] = set()

    def begin(self, key: ObjectKey, ended: Ended) -> int:
        """Delete an own object, or go on with a deletion that had no answer. Gives the operation's number.

        Raises UnknownObject and QuotaExceeded.
        """
        known = self.undeleted.get(key)
        if known is None:
            metadata = self._store.metadata(key)
            if metadata is None:
                raise UnknownObject(f"object {key}: expected one that is stored")
            known = metadata, self._store.secret(key)
        metadata, secret = known
        self._store.bury(Tombstone(key, secret))

        def deletion_ended(result: OperationResult) -> None:
            if result.status == OperationStatus.TIMEOUT:  # the application is told; it goes on being tried
                self._operations.begin(attempt, deleted_at_last, retries=FOREVER)
            else:
                deleted_at_last(result)
            ended(result)

        def attempt(op: int) -> None:
            self._storage.delete(op, metadata, secret)

        def deleted_at_last(_: OperationResult) -> None:
            self.undeleted.pop(key, None)
            self._trying.discard(key)

        number = self._operations.begin(attempt, deletion_ended)
        self._trying.add(key)
        self.undeleted[key] = known
        if len(self.undeleted) > MOST_UNDELETED:
            del self.undeleted[next(iter(self.undeleted))]
        return number

    def waiting(self) -> list[ObjectKey]:
        """The objects whose deletion had no answer and is not being tried."""
        return [key for key in self.undeleted if key not in self._trying]
