"""Fetches an object's bytes from one copy after the other, the nearest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bypass.errors import InvalidObject
from bypass.mechanisms.storage.cells.state.placement import tag_cells
from bypass.mechanisms.storage.cells.state.replica_list import candidates
from bypass.objects.metadata import Metadata, Replica, StoredObject
from bypass.places.cell_grid import CellGrid
from bypass.ports.host import Timer
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import AddReplica, OperationStatus, Retrieve, Retrieved
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells

SLOWEST_BYTES_PER_S = 50_000
"""A copy has so much longer to arrive the larger the object is."""


@dataclass(slots=True)
class _Walk:
    """A retrieval: the copies that were not tried yet; `refused` if all others have said that they lack it."""

    metadata: Metadata
    left: list[Replica]
    tried: NodeAddress | None = None
    refused: bool = True
    timer: Timer | None = None


class _Walks(Recent[int, _Walk]):
    """Retrievals by the number of the operation. The client gives up what takes too long."""

    LIMIT = 1024


class ReplicaRetrieval:
    """The retrievals of a node. Who has retrieved an object keeps it and registers as one who has a copy."""

    def __init__(self, node: Cells) -> None:
        self.forged = 0
        self._node = node
        self._walks = _Walks()

    def retrieve(self, op: int, metadata: Metadata, grid: CellGrid, cell: int) -> None:
        """Begin to fetch an object, or go on with the next copy if an answer has taken too long."""
        walk = self._walks.get(op)
        if walk is None:
            walk = _Walk(metadata, candidates(metadata.replicas, grid, cell, metadata.key.owner))
            self._walks[op] = walk
        else:
            walk.refused = False
        self._next(op, walk)

    def retrieved(self, answer: Retrieved) -> None:
        """A node has sent the object, or says that it has none."""
        walk = self._walks.get(answer.op)
        if walk is None:
            return
        if answer.data is None:
            self._next(answer.op, walk)
            return
        try:
            stored = StoredObject(walk.metadata, answer.data)
        except InvalidObject:
            self.forged += 1
            self._next(answer.op, walk)
            return
        self._end(answer.op, walk)
        self._keep(stored)
        self._node.host.link.done(answer.op, OperationStatus.OK, data=answer.data)

    def undeliverable(self, request: Retrieve, target: NodeAddress) -> None:
        """A node that had a copy is not where it was."""
        walk = self._walks.get(request.op)
        if walk is not None and walk.tried == target:
            walk.refused = False
            self._next(request.op, walk)

    def _next(self, op: int, walk: _Walk) -> None:
        if walk.timer is not None:
            walk.timer.cancel()
        if not walk.left:
            self._end(op, walk)
            if walk.refused:
                self._node.host.link.done(op, OperationStatus.NOT_FOUND, "no copy is left")
            return
        copy = walk.left.pop(0)
        walk.tried = NodeAddress(copy.node, copy.cell)
        self._node.host.link.send(Retrieve(op, walk.metadata.key), (walk.tried,))
        wait = self._node.retrieve_wait_s + walk.metadata.size / SLOWEST_BYTES_PER_S
        walk.timer = self._node.host.after(wait, self._silent, op, walk, walk.tried)

    def _silent(self, op: int, walk: _Walk, tried: NodeAddress) -> None:
        if self._walks.get(op) is walk and walk.tried == tried:
            walk.refused = False
            self._next(op, walk)

    def _end(self, op: int, walk: _Walk) -> None:
        del self._walks[op]
        if walk.timer is not None:
            walk.timer.cancel()

    def _keep(self, stored: StoredObject) -> None:
        node = self._node
        metadata = stored.metadata
        if node.store.copy(stored) and node.grid is not None:
            body = AddReplica(0, metadata.key, Replica(node.host.id, node.cell), metadata.tags)
            node.send(body, (NodeAddress(None, cell) for cell in tag_cells(node.grid, metadata)))
