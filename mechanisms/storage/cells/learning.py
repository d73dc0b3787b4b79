"""Takes over what another node has of a cell's state, and matches late what was never matched."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from bypass.errors import InvalidObject
from bypass.mechanisms.storage.cells.state.cell_state import CellState
from bypass.mechanisms.storage.cells.state.entries import bytes_entry, metadata_entry, query_entry
from bypass.objects.metadata import Metadata, StoredObject
from bypass.protocol.storage import NodeState, QueryRecord
from bypass.support.units import MICROSECONDS
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells


RACE_S = 1.0
"""Two nodes of a cell may not know for so long what the other one has just told the cell."""


class _Declined(Recent[int, None]):
    """Entries that are not taken although others offer them."""

    LIMIT = 4096


class _KnownOffers(Recent[tuple[int, int], frozenset[int]]):
    """The entries that nodes have said to have of a cell, by node and cell."""

    LIMIT = 256


class StateLearning:
    """Takes parts of states. `repaired` counts what was missing here.

    Objects and queries that were together at another node were matched there. So what is learned is matched
    with what is here and the other node did not have; and with what this node was the first of its cell to
    receive shortly before: others may not have known it when they matched. A node that came lately has
    received objects before it had the queries of its cell, and the others took them for matched.
    """

    def __init__(self, node: Cells) -> None:
        self.repaired = 0
        self.declined = _Declined()
        self._node = node
        self._offers = _KnownOffers()

    def offered(self, node: int, cell: int, entries: Collection[int]) -> None:
        """Remember what a node has of a cell."""
        self._offers[node, cell] = frozenset(entries)

    def take(self, part: NodeState, sender: int | None, *, complete: bool) -> NodeState | None:
        """Take a part of a state. What the sender should know in return: what was deleted or withdrawn.

        With `complete`, all that the sender has is matched already: the own state has just been begun with.
        """
        cell = part.cell
        if cell is None:
            return None
        service = self._node.service
        state = service.state(cell)
        for tombstone in part.tombstones:
            try:
                service.bury(tombstone)
            except InvalidObject:
                continue
            state.entomb(tombstone)
        for query in part.withdrawn:
            service.forget_query(query)
        objects, buried = self._add_metadata(state, part)
        queries, withdrawn = self._register(state, part)
        self._copy(state, part.objects)
        self.repaired += len(objects) + len(queries)
        theirs = self._offers.get((sender, cell)) if sender is not None else None
        self._match(state, objects, queries, None if complete else theirs)
        if not buried and not withdrawn:
            return None
        found = (service.tombstone_of(each.key) for each in buried)
        return NodeState(cell, tombstones=tuple(each for each in found if each), withdrawn=tuple(withdrawn))

    def _add_metadata(self, state: CellState, part: NodeState) -> tuple[list[Metadata], list[Metadata]]:
        """The objects that are new, and those that were deleted."""
        new: list[Metadata] = []
        buried: list[Metadata] = []
        for metadata in part.metadata:
            if self._node.store.tombstones.hides(metadata):
                buried.append(metadata)
                continue
            added = state.add(metadata, self._node.bounds)
            if added:
                new.append(metadata)
            elif added is None:
                self.declined[metadata_entry(metadata)] = None
        return new, buried

    def _register(self, state: CellState, part: NodeState) -> tuple[list[QueryRecord], list[int]]:
        """The conjunctions that are new, and the queries that were withdrawn."""
        node = self._node
        new: list[QueryRecord] = []
        withdrawn: list[int] = []
        before_us = node.now_us() - node.grace_us
        for record in part.queries:
            if record.query.id in node.service.withdrawn:
                withdrawn.append(record.query.id)
                continue
            ended = record.conjunction is None or record.query.window.ended(before_us)
            added = None if ended else node.service.register(state, record)
            if added:
                new.append(record)
            elif added is None:
                self.declined[query_entry(record.query.id, record.conjunction or 0, record.at_us)] = None
        return new, withdrawn

    def _copy(self, state: CellState, objects: Collection[StoredObject]) -> None:
        for stored in objects:
            here = stored.key in self._node.store
            if here or self._node.store.copy(stored):
                state.hold(stored.metadata)
                if not here:
                    self._node.cell_copies.keep(stored.key)
            else:
                self.declined[bytes_entry(stored.metadata)] = None

    def _match(
        self,
        state: CellState,
        objects: list[Metadata],
        queries: list[QueryRecord],
        theirs: frozenset[int] | None,
    ) -> None:
        """Notify of matches that nobody may have seen; `theirs` is what the other node has, None: all."""
        if not objects and not queries:
            return
        service = self._node.service
        now = self._node.host.now()
        since = now - self._node.fresh_s
        learned = {(each.query.id, each.conjunction or 0) for each in queries}
        for metadata in objects:
            for record in state.concerned(metadata):
                key = (record.query.id, record.conjunction or 0)
                known = theirs is None or query_entry(*key, record.at_us) in theirs
                if key not in learned and (not known or state.first_since(key, since)):
                    service.notify(record, (metadata,))
        new = {each.key for each in objects}
        for record in queries:
            unseen = {
                each.key: each
                for each in self._unseen(state, theirs, now)
                if each.key not in new and record.query.matches(each)
            }
            service.notify(record, unseen.values())

    def _unseen(self, state: CellState, theirs: frozenset[int] | None, now: float) -> Iterator[Metadata]:
        """The objects that may not have been matched with a query that is learned."""
        yield from state.recent_objects(now - RACE_S)
        node, came = self._node, self._node.membership.came
        if came is not None and not node.as_published:
            after_us = round((came - node.fresh_s) * MICROSECONDS)
            yield from (each for each in state.recent_objects(came) if each.published_us >= after_us)
        if theirs is not None:
            yield from (each for each in state.catalogue if metadata_entry(each) not in theirs)
