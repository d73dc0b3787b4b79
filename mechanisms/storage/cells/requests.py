"""The operations of a node's own application: sent to cells, and done when all of these have answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bypass.mechanisms.storage.cells.state.conjunctions import cells_of, divide
from bypass.mechanisms.storage.cells.state.placement import tag_cells
from bypass.objects.metadata import Metadata, ObjectKey, Replica, StoredObject, Tombstone
from bypass.objects.query import ObjectQuery, PageCursor
from bypass.places.cell_grid import CellGrid
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import (
    LONGEST_DATA,
    Acknowledge,
    Ask,
    CopyObject,
    Delete,
    FoundObjects,
    Insert,
    OperationStatus,
    StorageMessage,
    Withdraw,
)
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells


@dataclass(slots=True)
class _Request:
    """An operation, and the cells or conjunctions that have not answered."""

    body: StorageMessage | None
    awaited: set[int]


class _Requests(Recent[int, _Request]):
    """Operations by number. The client gives up what is not answered, so old ones are forgotten."""

    LIMIT = 4096


class _OwnTombstones(Recent[ObjectKey, tuple[Metadata, Tombstone]]):
    """The own objects that were deleted lately."""

    LIMIT = 1024


class _ActiveEntries(Recent[ObjectKey, tuple[Replica, ...]]):
    """Where copies of own objects were put when they were inserted."""

    LIMIT = 65_536


class CellRequests:
    """Sends requests to cells, and tells the client when an operation has ended.

    An operation that is tried again goes to the cells alone that have not answered.
    """

    def __init__(self, node: Cells) -> None:
        self._node = node
        self._pending = _Requests()
        self._active = _ActiveEntries()
        self.deleted = _OwnTombstones()

    # -- objects ------------------------------------------------------------------------------------------

    def insert(self, op: int, stored: StoredObject, active: bool | None, grid: CellGrid, cell: int) -> None:
        """Send an object's metadata to the cells of its tags, its bytes to the own cell."""
        request = self._pending.get(op)
        if request is None:
            if stored.key not in self._active:
                self._active[stored.key] = self._replicate(stored, active, cell)
            metadata = replace(stored.metadata, replicas=self._active[stored.key])
            request = _Request(Insert(op, metadata), set(tag_cells(grid, metadata)))
        self._send(op, request)

    def delete(self, op: int, metadata: Metadata, opening: bytes, grid: CellGrid) -> None:
        """Have the cells of its tags forget an object."""
        self.deleted[metadata.key] = metadata, Tombstone(metadata.key, opening)
        request = self._pending.get(op)
        if request is None:
            body = Delete(op, metadata.key, opening, metadata.tags)
            request = _Request(body, set(tag_cells(grid, metadata)))
        self._send(op, request)

    def registered(self, metadata: Metadata, cell: int) -> Metadata:
        """The metadata of an object that is here, with its list of copies as cells should have it."""
        known = self._active.get(metadata.key)
        if known is None and metadata.replicas:
            return metadata
        return replace(metadata, replicas=known or (Replica(None, cell),))

    def _replicate(self, stored: StoredObject, active: bool | None, cell: int) -> tuple[Replica, ...]:
        """Put copies into the own cell, and give the entries that stand for them."""
        node = self._node
        mates = node.mates()
        mode = node.active if active is None else "off" if not active else node.active
        if active and mode == "off":
            mode = "cell"
        if stored.metadata.size > LONGEST_DATA:  # no message holds it: it is fetched in pieces
            mode = "off"
        if mode == "cell" and len(mates) < node.population_threshold:
            metadata = replace(stored.metadata, replicas=(Replica(None, cell),))
            copy = CopyObject(metadata, stored.data)
            if not (node.as_published or node.host.link.serving()):  # it is on its way, maybe alone here
                node.send(copy, (NodeAddress(None, cell),))
                return metadata.replicas
            node.service.state(cell).hold(metadata)
            if mates:
                node.host.link.tell_cell(copy)
            return metadata.replicas
        entries = [Replica(node.host.id, cell)]
        if mode != "off":
            chosen = node.random.sample(mates, min(node.copies, len(mates), node.replica_bound - 1))
            entries += [Replica(each, cell) for each in chosen]
            metadata = replace(stored.metadata, replicas=tuple(entries))
            node.send(CopyObject(metadata, stored.data), (NodeAddress(each, cell) for each in chosen))
        return tuple(entries)

    # -- queries ------------------------------------------------------------------------------------------

    def ask(
        self,
        op: int,
        query: ObjectQuery,
        after: PageCursor | None,
        limit: int,
        since_us: int | None,
        live: bool,
        grid: CellGrid,
    ) -> None:
        """Send each conjunction of a query to its cell."""
        node = self._node
        conjunctions = divide(query)
        if conjunctions is None:
            detail = f"query {query.formula}: expected a tag that must be there in each alternative"
            node.host.link.done(op, OperationStatus.UNSUPPORTED, detail)
            return
        request = self._pending.get(op)
        if request is None:
            request = _Request(None, {each.number for each in conjunctions})
        self._pending[op] = request
        for each in conjunctions:
            if each.number in request.awaited:
                body = Ask(
                    op, each.query, each.number, node.cell, after, limit, since_us, live, node.located_us
                )
                node.host.link.send(body, (NodeAddress(None, each.cell(grid)),))
        self.end_if_complete(op)

    def withdraw(self, op: int, query: ObjectQuery, grid: CellGrid) -> None:
        """Have the cells of its conjunctions forget a query."""
        conjunctions = divide(query) or []
        request = self._pending.get(op)
        if request is None:
            body = Withdraw(op, query.id, tuple(each.key for each in conjunctions))
            request = _Request(body, set(cells_of(conjunctions, grid)))
        self._send(op, request)

    # -- answers ------------------------------------------------------------------------------------------

    def acknowledged(self, answer: Acknowledge) -> None:
        """A cell has done an operation, or refuses it."""
        request = self._pending.get(answer.op)
        if request is None:
            self._node.host.link.done(answer.op, answer.status, answer.detail)
            return
        if answer.status != OperationStatus.OK:
            del self._pending[answer.op]
            if isinstance(request.body, Insert):
                self._take_back(request.body.metadata)
            self._node.host.link.done(answer.op, answer.status, answer.detail)
            return
        request.awaited.difference_update(answer.cells)
        self.end_if_complete(answer.op)

    def found(self, found: FoundObjects, origin: NodeAddress) -> None:  # noqa: ARG002 - mechanisms may ask
        """A cell has found objects for an own query."""
        self._node.host.link.matched(found)
        request = self._pending.get(found.op) if found.op else None
        if request is not None and request.body is None and found.conjunction is not None:
            self.answered(found.op, found.conjunction)

    def grid_changed(self) -> None:
        """Begin anew with all that is not answered: it is in other cells now."""
        self._pending = _Requests()

    def _send(self, op: int, request: _Request) -> None:
        self._pending[op] = request
        if request.body is not None:
            self._node.send(request.body, _to_cells(request.awaited))
        self.end_if_complete(op)

    def answered(self, op: int, number: int) -> None:
        """A cell or conjunction has answered an operation."""
        request = self._pending.get(op)
        if request is not None:
            request.awaited.discard(number)
            self.end_if_complete(op)

    def end_if_complete(self, op: int) -> None:
        """Tell the client that an operation is done if all have answered."""
        request = self._pending.get(op)
        if request is not None and not request.awaited:
            del self._pending[op]
            self._node.host.link.done(op, OperationStatus.OK)

    def _take_back(self, metadata: Metadata) -> None:
        """One cell has refused an object that others may have taken: they must forget it as well."""
        store, grid = self._node.store, self._node.grid
        if metadata.key.owner == store.owner and metadata.key in store and grid is not None:
            body = Delete(0, metadata.key, store.secret(metadata.key), metadata.tags)
            self._node.send(body, _to_cells(tag_cells(grid, metadata)))


def _to_cells(cells: Iterable[int]) -> Iterable[NodeAddress]:
    return (NodeAddress(None, cell) for cell in sorted(cells))
