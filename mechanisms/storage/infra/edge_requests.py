"""The operations of a client with an edge: what is asked of cells and of the edge at the same time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bypass.mechanisms.storage.cells.requests import CellRequests
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.objects.query import ObjectQuery, PageCursor
from bypass.places.cell_grid import CellGrid
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import Describe
from bypass.protocol.storage import Ask, Delete, FoundObjects
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.mechanisms.storage.infra.mechanism import Infra


@dataclass(slots=True)
class _Left:
    """Matches of a conjunction that its cell has left to the edge, and whether those that the edge does not
    have were asked for."""

    by: NodeAddress
    keys: Collection[ObjectKey]
    asked_for: bool = False


@dataclass(slots=True)
class _EdgePart:
    """The edge's part in an operation: whether its answer is awaited, the objects that it has told, and what
    cells have left to it, by the number of the conjunction."""

    awaited: bool
    query: int = 0
    told: set[ObjectKey] = field(default_factory=set)
    left: dict[int, _Left] = field(default_factory=dict)


class _EdgeParts(Recent[int, _EdgePart]):
    """The edge's parts in operations, by number."""

    LIMIT = 4096


@dataclass(slots=True)
class AnswerCounts:
    """How many items cells and the edge have told in answer to a query, each time that they were told."""

    by_cells: int = 0
    by_edge: int = 0


class _ToldOf(Recent[int, AnswerCounts]):
    """The items told, by the number of the query."""

    LIMIT = 4096


class EdgeRequests(CellRequests):
    """Asks the edge beside the cells.

    Cells name the matches alone that they believe to be at the edge. Those that the edge has not told are
    asked for at who named them, once the edge has answered. One that is silent for `edge_timeout_s`, cannot
    be reached or is lost counts as having nothing. A deletion waits for the edge as long as there is one.
    """

    def __init__(self, node: Infra) -> None:
        super().__init__(node)
        self.described = 0  # objects that the edge did not have although a cell believed so
        self._told = _ToldOf()
        self._area = node
        self._parts = _EdgeParts()

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
        """Send each conjunction of a query to its cell, and all of it to the edge if a page is wanted."""
        node, edge = self._area, self._area.edge
        part = self._parts.get(op)
        if part is None:
            part = self._parts[op] = _EdgePart(limit > 0 and edge is not None, query.id)
            if part.awaited:
                node.host.after(node.edge_timeout_s, self._silent, op, part)
        if part.awaited and edge is not None:
            body = Ask(op, query, None, node.cell, after, limit, since_us, False, node.located_us)
            node.host.link.send(body, (NodeAddress(edge),))
        super().ask(op, query, after, limit, since_us, live, grid)

    def delete(self, op: int, metadata: Metadata, opening: bytes, grid: CellGrid) -> None:
        """Have the cells of its tags, and the edge, forget an object."""
        node, edge = self._area, self._area.edge
        part = self._parts.get(op)
        if part is None:
            part = self._parts[op] = _EdgePart(edge is not None)
        if part.awaited and edge is not None:
            node.host.link.send(Delete(op, metadata.key, opening, metadata.tags), (NodeAddress(edge),))
        super().delete(op, metadata, opening, grid)

    # -- answers ------------------------------------------------------------------------------------------

    def told(self, query: int) -> AnswerCounts:
        """The items that cells and edges have told in answer to a query, as far as it is remembered."""
        return self._told.get(query, AnswerCounts())

    def found(self, found: FoundObjects, origin: NodeAddress) -> None:
        if found.op and found.items:
            told = self._told.setdefault(found.query, AnswerCounts())
            if found.conjunction is None and origin.node == self._area.edge:
                told.by_edge += len(found.items)
            else:
                told.by_cells += len(found.items)
        part = self._parts.get(found.op) if found.op else None
        if part is None or (found.conjunction is None and origin.node != self._area.edge):
            super().found(found, origin)
        elif found.conjunction is None:
            part.told.update(each.key for each in found.items)
            self._area.host.link.matched(found)
            self._edge_answered(found.op, part)
        elif found.held:
            part.left[found.conjunction] = _Left(origin, found.held)
            self._area.host.link.matched(found)
            self._resolve(found.op, part)
        else:
            part.left.pop(found.conjunction, None)
            super().found(found, origin)

    def edge_acknowledged(self, op: int) -> None:
        """The edge has done a deletion."""
        part = self._parts.get(op)
        if part is not None:
            self._edge_answered(op, part)

    def edge_unreached(self, op: int) -> None:
        """A question did not reach the edge."""
        part = self._parts.get(op)
        if part is not None:
            self._silent(op, part)

    def edge_lost(self) -> None:
        """There is no edge any more: nothing is awaited from it."""
        for op, part in list(self._parts.items()):
            self._silent(op, part)

    def grid_changed(self) -> None:
        super().grid_changed()
        self._parts = _EdgeParts()

    def end_if_complete(self, op: int) -> None:
        part = self._parts.get(op)
        if part is None or not part.awaited:
            super().end_if_complete(op)
            if op not in self._pending:
                self._parts.pop(op, None)

    # -- parts --------------------------------------------------------------------------------------------

    def _silent(self, op: int, part: _EdgePart) -> None:
        if self._parts.get(op) is part and part.awaited:
            self._edge_answered(op, part)

    def _edge_answered(self, op: int, part: _EdgePart) -> None:
        part.awaited = False
        self._resolve(op, part)
        self.end_if_complete(op)

    def _resolve(self, op: int, part: _EdgePart) -> None:
        """Ask for what cells have left to the edge and the edge has not told, once it has answered."""
        if part.awaited:
            return
        for number, left in list(part.left.items()):
            missing = tuple(key for key in left.keys if key not in part.told)
            if not missing:
                del part.left[number]
                self.answered(op, number)
            elif not left.asked_for:
                left.asked_for = True
                self.described += len(missing)
                body = Describe(op, part.query, number, missing)
                self._area.host.link.send(body, (left.by,))
