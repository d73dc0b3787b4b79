"""Tells the copies that a node has for its cell from those that it has fetched itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bypass.errors import InvalidObject
from bypass.objects.metadata import Metadata, ObjectKey, StoredObject
from bypass.protocol.storage import CopyObject
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells


class _Kept(Recent[ObjectKey, None]):
    """The objects of which copies came because a node worked for a cell."""

    LIMIT = 16_384


class CellCopies:
    """The copies of a node. Those that it had for cells which it has left stay in its store, and are offered
    to cells that ask for all there is; but others need not know of each that passed by."""

    def __init__(self, node: Cells) -> None:
        self._node = node
        self._for_cells = _Kept()

    def take(self, body: CopyObject) -> None:
        """Keep an object for the cell that it was inserted in, which has told it."""
        try:
            stored = StoredObject(body.metadata, body.data)
        except InvalidObject:
            return
        node = self._node
        new = stored.key not in node.store
        if node.store.copy(stored):
            if new:
                self.keep(stored.key)
            for owner, cell in body.metadata.replicas[:1]:
                if owner is None and cell is not None and node.has_cell(cell):
                    node.service.state(cell).hold(body.metadata)

    def keep(self, key: ObjectKey) -> None:
        """Note a copy that has come because this node works for a cell."""
        self._for_cells[key] = None

    def fetched(self, key: ObjectKey) -> None:
        """Note a copy that this node has fetched."""
        self._for_cells.pop(key, None)

    def to_tell(self) -> list[Metadata]:
        """The copies that others have to know of by this node: those that it has fetched, and as the node of
        its cell with the smallest number those of the cell."""
        node = self._node
        state = None if node.cell is None else node.service.states.get(node.cell)
        here = state.held if state is not None and not node.hand_over.rank() else {}
        return [each for each in node.store.replicas if each.key not in self._for_cells or each.key in here]
