"""Tells the cells that keep something of a node where the node is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bypass.mechanisms.storage.cells.state.conjunctions import cells_of, divide
from bypass.mechanisms.storage.cells.state.placement import tag_cells
from bypass.objects.metadata import Metadata
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import MOST_NAMED, MoveNode

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells


class LocationUpdates:
    """The messages by which the cells of a node's queries and copies learn where it is."""

    def __init__(self, node: Cells) -> None:
        self._node = node

    def tell(self, *, with_copies: bool) -> None:
        """Tell the cells that keep own queries, and the metadata of copies, where this node is now."""
        node = self._node
        grid = node.grid
        if grid is None or node.cell is None:
            return
        queries: list[int] = []
        cells: set[int] = set()
        for query in node.queries.live():
            queries.append(query.id)
            cells.update(cells_of(divide(query) or [], grid))
        copies: list[Metadata] = []
        if with_copies and node.membership.joins > 1:
            copies = [
                each for each in (*node.store.own, *node.cell_copies.to_tell()) if not self._is_here(each)
            ]
            cells.update(cell for each in copies for cell in tag_cells(grid, each))
        keys = tuple(each.key for each in copies[:MOST_NAMED])
        body = MoveNode(node.host.id, node.cell, tuple(queries[:MOST_NAMED]), keys, node.located_us)
        node.send(body, (NodeAddress(None, cell) for cell in sorted(cells)))

    def _is_here(self, metadata: Metadata) -> bool:
        """Whether the list of copies says already that the node's cell has the object."""
        return any(each.cell == self._node.cell and each.node is None for each in metadata.replicas)
