"""The deletion of objects in all areas: one edge hears of it, and tells the others and their cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bypass.errors import InvalidObject
from bypass.mechanisms.storage.infra.edge.service.area_contact import AreaContact
from bypass.mechanisms.storage.infra.edge.service.losses import EdgeLoss, LossCounts
from bypass.mechanisms.storage.infra.edge.service.worlds import EdgeWorlds
from bypass.mechanisms.storage.infra.edge.unpublication import Unpublications
from bypass.objects.metadata import Tombstone
from bypass.ports.edge import EdgeLink
from bypass.protocol.edge import ItemKey
from bypass.protocol.storage import Acknowledge, Delete, DigestKind, NodeState, OperationStatus, StateDigest

MOST_ANSWERS = 16
"""Messages with tombstones that one digest of a client is answered with."""


class AreaDeletions:
    """Deletes what a client's owner deletes, and tells the other edges, each of which tells its own cells and
    nobody else. The cells of the area where the client is hear of it from the client.

    Tombstones that an edge missed, because the connection was gone or a message was lost, come by digests:
    then the tags of the objects are not known, and all cells with clients are told.
    `forgotten` is given the items that were in caches.
    """

    def __init__(
        self,
        link: EdgeLink,
        area: AreaContact,
        worlds: EdgeWorlds,
        unpublications: Unpublications,
        forgotten: Callable[[Iterable[ItemKey]], None],
        losses: LossCounts,
    ) -> None:
        self._link = link
        self._area = area
        self._worlds = worlds
        self._unpublications = unpublications
        self._forgotten = forgotten
        self._losses = losses

    def take(self, world: str, client: int, request: Delete) -> None:
        """Delete for a client, and acknowledge it."""
        status = OperationStatus.OK
        try:
            removed = self._bury(request)
        except InvalidObject:
            self._losses[EdgeLoss.INVALID] += 1
            status, removed = OperationStatus.REFUSED, None
        if removed is not None:
            message = Delete(0, request.key, request.opening, request.tags)
            for edge in self._link.edges():
                self._link.to_edge(edge, message)
        if request.op:
            self._area.answer(world, client, Acknowledge(request.op, status))

    def take_of_edge(self, request: Delete) -> None:
        """Delete for another edge."""
        try:
            removed = self._bury(request)
        except InvalidObject:
            self._losses[EdgeLoss.INVALID] += 1
            return
        if removed is not None:
            self._tell_cells(request, removed)

    def compare(self, edge: int) -> None:
        """Have another edge compare its tombstones with those here."""
        self._link.to_edge(edge, self._unpublications.digest())

    def take_digest(self, edge: int, digest: StateDigest) -> None:
        """Send another edge the tombstones that it may lack."""
        for state in self._unpublications.lacking(digest):
            self._link.to_edge(edge, state)

    def take_digest_of_client(self, world: str, client: int, digest: StateDigest) -> None:
        """Send a client tombstones that it may lack, a bounded number; if it may have others, the digest of
        those here follows."""
        if digest.kind is not DigestKind.SHARED:
            self._losses[EdgeLoss.UNEXPECTED] += 1
            return
        lacking = self._unpublications.lacking(digest)[:MOST_ANSWERS]
        for state in lacking:
            self._area.answer(world, client, state)
        if lacking:
            self._area.answer(world, client, self._unpublications.digest())

    def take_state_of_client(self, state: NodeState) -> None:
        """Take the tombstones of a client, and pass on those that are new."""
        new = self._take(state)
        if new:
            for edge in self._link.edges():
                self._link.to_edge(edge, NodeState(tombstones=tuple(each for each, _ in new)))

    def take_state(self, state: NodeState) -> None:
        """Take the tombstones of another edge."""
        self._take(state)

    def _take(self, state: NodeState) -> list[tuple[Tombstone, list[ItemKey]]]:
        """Take tombstones, and tell the cells here of those that are new. Gives these, with what they
        removed."""
        try:
            new = self._unpublications.take_state(state)
        except InvalidObject:
            self._losses[EdgeLoss.INVALID] += 1
            return []
        for tombstone, removed in new:
            self._forgotten(removed)
            self._tell_cells(Delete(0, tombstone.key, tombstone.opening), removed)
        return new

    def tell(self, world: str, request: Delete) -> None:
        """Tell the cells of a world where the object may be indexed."""
        cells: Iterable[int] = range(self._worlds[world].cells)
        if request.tags:
            cells = self._worlds.cells_of(world, request.tags)
        for cell in cells:
            self._area.cells.to_cell(world, cell, request)

    def _bury(self, request: Delete) -> list[ItemKey] | None:
        """Delete an object here; None if that was done. Raises InvalidObject."""
        removed = self._unpublications.take(Tombstone(request.key, request.opening))
        if removed is not None:
            self._forgotten(removed)
        return removed

    def _tell_cells(self, request: Delete, removed: Iterable[ItemKey]) -> None:
        """Tell the cells where the object may be indexed, in each world that it may be of."""
        known = {key.world for key in removed}
        for each in self._worlds.all():
            if known and each.world not in known:
                continue
            if not self._link.members(each.world):
                continue
            self.tell(each.world, request)
