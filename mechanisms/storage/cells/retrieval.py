"""Fetches an object's bytes from one copy after the other, the nearest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bypass.mechanisms.storage.cells.state.placement import tag_cells
from bypass.mechanisms.storage.cells.state.replica_list import candidates
from bypass.objects.metadata import Metadata, Replica, StoredObject
from bypass.places.cell_grid import CellGrid
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import AddReplica, OperationStatus
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells


class ReplicaRetrieval:
    """The retrievals of a node. Who has retrieved an object keeps it and registers as one who has a copy.

    Copies that say no, or cannot be reached, are passed over at once; a silent one when the client tries
    again: then the search begins with the next one.
    """

    def __init__(self, node: Cells) -> None:
        self._node = node
        self._attempts: Recent[int, tuple[Metadata, int]] = Recent()

    def retrieve(self, op: int, metadata: Metadata, grid: CellGrid, cell: int) -> None:
        """Begin to fetch an object, or go on with the next copy if an answer has taken too long."""
        _, attempt = self._attempts.get(op, (metadata, 0))
        self._attempts[op] = metadata, attempt + 1
        copies = candidates(metadata.replicas, grid, cell, metadata.key.owner)
        if not copies:
            copies = [Replica(None, each) for each in tag_cells(grid, metadata)]
        first = attempt % len(copies)
        here = self._node.host.id  # it is not in the own store
        holders = [
            NodeAddress(each.node, each.cell)
            for each in (*copies[first:], *copies[:first])
            if each.node != here
        ]
        self._node.fetches.begin(op, metadata, holders)

    def done(self, op: int, status: OperationStatus, detail: str = "", data: bytes | None = None) -> None:
        """Bytes have come, or there is no copy left: keep them, register, and tell the client."""
        metadata, _ = self._attempts.pop(op, (None, 0))
        if metadata is not None and data is not None:
            self._keep(StoredObject(metadata, data))
        self._node.host.link.done(op, status, detail, data)

    def _keep(self, stored: StoredObject) -> None:
        node = self._node
        metadata = stored.metadata
        if node.store.copy(stored) and node.grid is not None:
            body = AddReplica(0, metadata.key, Replica(node.host.id, node.cell), metadata.tags)
            node.send(body, (NodeAddress(None, cell) for cell in tag_cells(node.grid, metadata)))
