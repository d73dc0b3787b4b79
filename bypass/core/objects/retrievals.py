"""A client's retrievals: each ends with the bytes that the owner has published, or fails."""

from __future__ import annotations

from bypass.core.objects.operations import Ended, OperationResult, Operations
from bypass.objects.metadata import Metadata
from bypass.objects.node_store import NodeStore
from bypass.ports.host import Host
from bypass.ports.storage import Storage
from bypass.protocol.storage import OperationStatus

SLOWEST_BYTES_PER_S = 50_000
"""An operation with an object's bytes may take longer: as if they came so fast at least."""

REBUILDING_S = 10.0
"""For so long after a switch, or a return, an index that lacks an object may hear of it yet."""


class Retrievals:
    """The retrievals of one client that have not ended.

    `rebuilt_s` is when holders and subscribers began to fill indexes anew. `forged` counts answers whose
    bytes are not those of the object.
    """

    def __init__(self, host: Host, store: NodeStore, operations: Operations, storage: Storage) -> None:
        self.forged = 0
        self.rebuilt_s = float("-inf")
        self._host = host
        self._store = store
        self._operations = operations
        self._storage = storage
        self._wanted: dict[int, Metadata] = {}

    def begin(self, metadata: Metadata, ended: Ended) -> int:
        """Fetch an object that is elsewhere. Gives the operation's number. Raises QuotaExceeded."""

        def attempt(op: int) -> None:
            if self._store.tombstones.hides(metadata):
                why = f"object {metadata.key} was deleted: expected one that is stored"
                self._operations.done(op, OperationStatus.NOT_FOUND, why)
                return
            self._wanted[op] = metadata
            self._storage.retrieve(op, metadata)

        def retrieval_ended(result: OperationResult) -> None:
            self._wanted.pop(result.op, None)
            ended(result)

        return self._operations.begin(attempt, retrieval_ended, extra_s=transfer_s(metadata))

    def admit(self, op: int, status: OperationStatus, data: bytes | None) -> bool:
        """Whether an answer ends its operation: not one with other bytes than the object's, nor, while
        indexes are rebuilt, that there is none."""
        wanted = self._wanted.get(op)
        if wanted is None:
            return True
        if status == OperationStatus.NOT_FOUND:
            return self._host.now() - self.rebuilt_s >= REBUILDING_S  # else it is tried again
        if status == OperationStatus.OK and (data is None or not wanted.describes(data)):
            self.forged += 1
            return False
        return True


def transfer_s(metadata: Metadata) -> float:
    """How long an object's bytes may take (s)."""
    return metadata.size / SLOWEST_BYTES_PER_S
