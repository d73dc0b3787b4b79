"""Fetches an object's bytes from one copy after the other, the nearest first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bypass.mechanisms.storage.cells.state.placement import tag_cells
from bypass.mechanisms.storage.cells.state.replica_list import candidates
from bypass.objects.metadata import Metadata, Replica, StoredObject
from bypass.places.cell_grid import CellGrid
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import AddReplica, FoundObjects, OperationStatus, Retrieve, StorageMessage
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells


class ReplicaRetrieval:
    """The retrievals of a node. Who has retrieved an object keeps it and registers as one who has a copy.

    Copies that say no, or cannot be reached, are passed over at once; a silent one when the client tries
    again: then the search begins with the next one. The list of copies may be old, or there is none because
    another mechanism told of the object: so the cells of its tags are asked last, which answer with theirs.
    """

    def __init__(self, node: Cells) -> None:
        self._node = node
        self._attempts: Recent[int, tuple[Metadata, int]] = Recent()
        self._referred: Recent[int, None] = Recent()  # operations whose lists of copies are those of a cell

    def retrieve(self, op: int, metadata: Metadata, grid: CellGrid, cell: int) -> None:
        """Begin to fetch an object, or go on with the next copy if an answer has taken too long."""
        _, attempt = self._attempts.get(op, (metadata, 0))
        self._attempts[op] = metadata, attempt + 1
        self._referred.pop(op, None)
        self._node.fetches.begin(op, metadata, self.holders(metadata, attempt, grid, cell))

    def holders(self, metadata: Metadata, attempt: int, grid: CellGrid, cell: int) -> list[NodeAddress]:
        """The holders of an object in the order in which an attempt asks them, counted from 0."""
        copies = candidates(metadata.replicas, grid, cell, metadata.key.owner)
        first = attempt % max(len(copies), 1)
        cells = [NodeAddress(None, each) for each in tag_cells(grid, metadata)]
        return [*self._addresses((*copies[first:], *copies[:first])), *cells]

    def takes(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> bool:
        """Take a message if it is about lists of copies; whether it is."""
        if isinstance(body, FoundObjects):
            return self._referred_to(body)
        return isinstance(body, Retrieve) and self._refers(body, origin, target)

    def _refers(self, body: Retrieve, origin: NodeAddress, target: NodeAddress | None) -> bool:
        """Answer a node that asks this cell for an object, whose bytes are not here, with the list of copies.
        Whether there is one."""
        if target is None or target.node is not None or body.key in self._node.store:
            return False
        for state in self._node.service.states.values():
            known = state.catalogue.get(body.key)
            if known is not None and known.replicas:
                self._node.host.link.send(FoundObjects(body.op, 0, (known,)), (origin,))
                return True
        return False

    def _referred_to(self, found: FoundObjects) -> bool:
        """A cell has answered with its list of copies: ask these, once. Whether this was such an answer."""
        metadata, _ = self._attempts.get(found.op, (None, 0))
        if metadata is None or found.query:
            return False
        node = self._node
        known = next((each for each in found.items if each.key == metadata.key), None)
        if known is None or known.digest != metadata.digest or found.op in self._referred:
            node.fetches.denied(found.op)
        elif node.grid is not None and node.cell is not None:
            self._referred[found.op] = None
            copies = candidates(known.replicas, node.grid, node.cell, known.key.owner)
            node.fetches.refer(found.op, self._addresses(copies))
        return True

    def _addresses(self, copies: Iterable[Replica]) -> list[NodeAddress]:
        here = self._node.host.id  # it is not in the own store
        return [NodeAddress(each.node, each.cell) for each in copies if each.node != here]

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
            node.cell_copies.fetched(metadata.key)
            body = AddReplica(0, metadata.key, Replica(node.host.id, node.cell), metadata.tags)
            node.send(body, (NodeAddress(None, cell) for cell in tag_cells(node.grid, metadata)))
