"""Nodes compare what they have of a cell's state by hashes, and send each other what is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from bypass.mechanisms.storage.cells.state.cell_state import CellState
from bypass.mechanisms.storage.cells.state.conjunctions import KeyedConjunction, divide
from bypass.mechanisms.storage.cells.state.entries import (
    bytes_entry,
    metadata_entry,
    query_entry,
    tombstone_entry,
)
from bypass.mechanisms.storage.cells.state.placement import tag_cells
from bypass.mechanisms.storage.cells.state.state_parts import chunks, divided
from bypass.objects.metadata import Metadata, ObjectKey, StoredObject, Tombstone
from bypass.objects.query import MOST_ON_A_PAGE
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import Ask, DigestKind, NodeState, QueryRecord, StateDigest

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells


class CellRepair:
    """The digests of a node: in its cell in a period, and to other cells that may lack what it has."""

    def __init__(self, node: Cells) -> None:
        self._node = node
        self._agreed_at = float("-inf")  # when another node of the cell was heard to have the same
        self._divided: dict[int, list[KeyedConjunction]] = {}  # live queries, by number

    # -- in the cell --------------------------------------------------------------------------------------

    def summarise(self) -> None:
        """Tell the cell what this node has, unless another one has just said the same."""
        node = self._node
        for state in node.service.states.values():
            for key in [each for each in state.held if each not in node.store]:
                node.learning.declined[bytes_entry(state.held[key])] = None
                state.release(key)
        if node.mates() and node.host.now() - self._agreed_at >= 0.9 * node.repair_s:
            cell = node.cell or 0
            node.host.link.tell_cell(StateDigest(cell, self._folds(), DigestKind.SUMMARY))

    def digested(self, body: StateDigest, origin: NodeAddress, told: bool) -> None:
        """Compare with what another node has; `told` if it was told to the whole cell."""
        if body.kind is DigestKind.SUMMARY:
            self._compare_folds(body, origin, told)
        elif body.kind is DigestKind.WANTED:
            self._send_wanted(body, origin)
        else:
            self._answer(body, origin)

    def _compared(self) -> list[CellState]:
        """The states that all nodes of the cell should have."""
        node = self._node
        states = node.service.states.values()
        return [each for each in states if len(each) and not node.hand_over.is_going(each.cell)]

    def _folds(self) -> tuple[int, ...]:
        return tuple(sorted(state.fold for state in self._compared()))

    def _compare_folds(self, body: StateDigest, origin: NodeAddress, told: bool) -> None:
        theirs, node = set(body.entries), self._node
        mine = set(self._folds())
        if mine == theirs:
            self._agreed_at = node.host.now()
            return
        for state in self._compared():
            if state.fold not in theirs:
                for each in chunks(state.entries):
                    node.host.link.send(StateDigest(state.cell, each, DigestKind.COMPARE), (origin,))
        if told and theirs - mine:
            summary = StateDigest(body.cell, tuple(sorted(mine)), DigestKind.SUMMARY)
            node.host.link.send(summary, (origin,))

    def _answer(self, body: StateDigest, origin: NodeAddress) -> None:
        """Say what of an offer is wanted, and to who compares what else there is."""
        node = self._node
        state = node.service.states.get(body.cell)
        mine: Collection[int] = () if state is None else state.entries
        wanted = [e for e in body.entries if e not in mine and e not in node.learning.declined]
        if origin.cell == node.cell and origin.node != node.host.id and node.hand_over.is_going(body.cell):
            return
        node.learning.offered(origin.node or 0, body.cell, body.entries)
        if body.kind is DigestKind.OFFER:
            node.hand_over.offered(origin, body.cell)
        if wanted or body.kind is DigestKind.OFFER:
            answer = StateDigest(body.cell, tuple(wanted), DigestKind.WANTED)
            node.host.link.send(answer, (origin,))
        if body.kind is DigestKind.COMPARE:
            others = set(mine).difference(body.entries)
            if others:
                for each in chunks(others):
                    node.host.link.send(StateDigest(body.cell, each, DigestKind.OFFER), (origin,))

    # -- to other cells -----------------------------------------------------------------------------------

    def offer(self, cell: int, entries: Iterable[int], kind: DigestKind = DigestKind.OFFER) -> None:
        """Offer what this node has to those who keep a cell's keys."""
        for each in chunks(entries):
            if each:
                self._node.host.link.send(StateDigest(cell, each, kind), (NodeAddress(None, cell),))

    def offer_own(self, cells: Collection[int] | None = None) -> None:
        """Offer own objects and queries to their cells, or to some of these."""
        grid, found = self._node.grid, dict[int, set[int]]()
        if grid is not None:
            for metadata in self._node.store.own:
                _enter(found, tag_cells(grid, metadata), metadata_entry(metadata))
            for metadata, tombstone in self._node.requests.deleted.values():
                _enter(found, tag_cells(grid, metadata), tombstone_entry(tombstone))
            for each in self._own_conjunctions():
                _enter(found, (each.cell(grid),), self._own_entry(each))
            self._offer_all(found, cells)

    def offer_copies(self, cells: Collection[int] | None = None) -> None:
        """Offer the metadata of copies to their cells; of all that are here to those that ask for it."""
        node = self._node
        grid, found = node.grid, dict[int, set[int]]()
        if grid is not None:
            for metadata in node.cell_copies.to_tell() if cells is None else node.store.replicas:
                _enter(found, tag_cells(grid, metadata), metadata_entry(metadata))
            self._offer_all(found, cells)

    def _offer_all(self, found: dict[int, set[int]], cells: Collection[int] | None) -> None:
        for cell in sorted(found if cells is None else found.keys() & set(cells)):
            self.offer(cell, found[cell], DigestKind.REGISTER)

    def _own_conjunctions(self) -> list[KeyedConjunction]:
        before, self._divided = self._divided, {}
        for query in self._node.queries.live():
            known = before.get(query.id)
            self._divided[query.id] = (divide(query) or []) if known is None else known
        return [each for parts in self._divided.values() for each in parts]

    def _own_entry(self, each: KeyedConjunction) -> int:
        return query_entry(each.query.id, each.number, self._node.located_us)

    def _send_wanted(self, body: StateDigest, origin: NodeAddress) -> None:
        """Send what another node wants to have of a cell's state."""
        node = self._node
        wanted = set(body.entries)
        node.hand_over.answered(body.cell, wanted, origin)
        if wanted:
            state = node.service.states.get(body.cell)
            parts = self._parts(body.cell, wanted, state)
            for part in parts:
                node.host.link.send(part, (origin,))
        for each in self._own_conjunctions() if wanted else ():
            wants = self._own_entry(each) in wanted
            if wants and node.grid is not None and each.cell(node.grid) == body.cell:
                self._ask_again(each)

    def _parts(self, cell: int, wanted: set[int], state: CellState | None) -> list[NodeState]:
        metadata: dict[ObjectKey, Metadata] = {}
        records: list[QueryRecord] = []
        objects: list[StoredObject] = []
        tombstones: list[Tombstone] = []
        for entry in sorted(wanted.intersection(state.entries)) if state is not None else ():
            assert state is not None
            key = state.entries[entry]
            if isinstance(key, Tombstone):
                tombstones.append(key)
                continue
            if not isinstance(key, ObjectKey):
                records.append(state.records[key])
                continue
            known = state.catalogue.get(key)
            if known is not None and metadata_entry(known) == entry:
                metadata[key] = known
            elif (stored := self._node.store.get(key)) is not None:
                objects.append(StoredObject(state.held[key], stored.data))
        for _, tombstone in self._node.requests.deleted.values():
            if tombstone_entry(tombstone) in wanted:
                tombstones.append(tombstone)
        for own in (*self._node.store.own, *self._node.store.replicas):
            if own.key not in metadata and metadata_entry(own) in wanted:
                metadata[own.key] = self._node.requests.registered(own, self._node.cell or 0)
        if not metadata and not records and not objects and not tombstones:
            return []
        return divided(cell, metadata.values(), records, objects, tombstones)

    def _ask_again(self, each: KeyedConjunction) -> None:
        node = self._node
        if node.grid is None:
            return
        since_us = node.queries.told_since_us(each.query.id)
        body = Ask(
            0, each.query, each.number, node.cell, None, MOST_ON_A_PAGE, since_us, True, node.located_us
        )
        node.host.link.send(body, (NodeAddress(None, each.cell(node.grid)),))


def _enter(found: dict[int, set[int]], cells: Iterable[int], entry: int) -> None:
    """Add an entry to those of several cells."""
    for cell in cells:
        found.setdefault(cell, set()).add(entry)
