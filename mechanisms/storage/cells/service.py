"""The work of a node for its cell: it keeps keys, matches objects with queries, and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bypass.errors import InvalidObject
from bypass.mechanisms.storage.cells.state.cell_state import CellState
from bypass.mechanisms.storage.cells.state.placement import tag_cells
from bypass.mechanisms.storage.cells.state.replica_list import with_replica
from bypass.mechanisms.storage.cells.state.subscribers import Reach, Subscribers
from bypass.objects.metadata import Metadata, ObjectKey, Replica, Tombstone
from bypass.objects.query import MOST_ON_A_PAGE, PageCursor
from bypass.protocol.datagrams import MOST_TARGETS, NodeAddress
from bypass.protocol.storage import (
    Acknowledge,
    AddReplica,
    Ask,
    Delete,
    FoundObjects,
    Insert,
    MoveNode,
    NodeState,
    OperationStatus,
    QueryRecord,
    Remove,
    Withdraw,
)
from bypass.support.units import MICROSECONDS
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells

JUST_NOW_S = 60.0
"""A new query without a page of the past is matched with what was published so shortly before it came: the
object may have overtaken it."""

MOST_PAGES = 16
"""Pages that answer at once to a query that is registered again."""


_REACHABLE = Reach.REACHABLE  # asked for at every message


class _Withdrawn(Recent[int, None]):
    """Queries that must not come back."""

    LIMIT = 4096


class CellService:
    """The states of the cells that a node works for, by cell, and the subscribers of their queries.

    A request comes to one node of the cell. That node does it, tells the others, and answers when one of
    them has it as well.
    """

    def __init__(self, node: Cells) -> None:
        self.states: dict[int, CellState] = {}
        self.subscribers = Subscribers()
        self.withdrawn = _Withdrawn()
        self.matches = 0
        self._node = node

    def state(self, cell: int) -> CellState:
        """The state of a cell, empty if nothing is kept of it yet."""
        return self.states.get(cell) or self.states.setdefault(cell, CellState(cell))

    # -- requests -----------------------------------------------------------------------------------------

    def insert(self, body: Insert, origin: NodeAddress, cell: int) -> None:
        """Keep an object's metadata, and notify those whose queries it matches."""
        metadata, node = body.metadata, self._node
        answer = self._answer(body.op, origin, cell)
        if node.store.tombstones.hides(metadata):
            self._buried(metadata.key, origin)
            answer(OperationStatus.REFUSED, f"object {metadata.key} was deleted")
            return
        state = self.state(cell)
        new = state.add(metadata, node.bounds)
        if new is None:
            known = metadata.key in state.catalogue
            status = OperationStatus.REFUSED if known else OperationStatus.QUOTA
            answer(status, f"object {metadata.key}: {'the key is taken' if known else 'no room in its cell'}")
            return
        if new:
            state.note_first(metadata.key, node.host.now())
            for record in state.concerned(metadata):
                self.notify(record, (metadata,))
        node.spreading.spread(NodeState(cell, metadata=(metadata,)), body.op, answer)

    def delete(self, body: Delete, origin: NodeAddress, cell: int) -> None:
        """Remove an object for good, and have those who have copies remove them."""
        answer = self._answer(body.op, origin, cell)
        known = self.state(cell).catalogue.get(body.key)
        if known is not None and not known.opened_by(body.opening):
            answer(OperationStatus.NOT_OWNER, f"object {body.key}: the opening is not its owner's")
            return
        tombstone = Tombstone(body.key, body.opening)
        try:
            self.bury(tombstone)
        except InvalidObject as error:
            answer(OperationStatus.REFUSED, str(error))
            return
        if self._node.compare_s:
            self._node.comparison.tell_soon()  # nobody else may be in this cell
        self.state(cell).entomb(tombstone)
        grid = self._node.grid
        if known is not None and grid is not None and cell == tag_cells(grid, known)[0]:
            targets = tuple(NodeAddress(each.node, each.cell) for each in known.replicas)
            self._node.host.link.send(Remove(body.key, body.opening), targets)
        self._node.spreading.spread(NodeState(cell, tombstones=(tombstone,)), body.op, answer)

    def ask(self, body: Ask, origin: NodeAddress, cell: int) -> None:
        """Keep a conjunction if it is live, and answer with a page of the past."""
        node, query = self._node, body.query
        answer = self._answer(body.op, origin, cell)
        if query.subscriber != origin.node or body.conjunction is None:
            answer(OperationStatus.NOT_OWNER, f"query {query.id}: expected one of the sender")
            return
        state = self.state(cell)
        new: bool | None = None
        record = QueryRecord(query, body.conjunction, body.cell, body.at_us)
        since_us, limit = body.since_us, min(body.limit, node.batch, MOST_ON_A_PAGE)
        if body.live and not query.window.ended(node.now_us() - node.grace_us):
            new = self.register(state, record)
            if new is None:
                bounds = node.bounds
                most = (
                    f"at most {bounds.per_subscriber} conjunctions of a subscriber, {bounds.queries} of all"
                )
                answer(OperationStatus.QUOTA, f"query {query.id}: no room in its cell: expected {most}")
                return
            if new:
                state.note_first((query.id, body.conjunction), node.host.now())
                if not limit:
                    just_now = node.now_us() - round(JUST_NOW_S * MICROSECONDS)
                    self._tell_all_since(state, record, None, just_now)
            node.spreading.spread(NodeState(cell, queries=(record,)), body.op, lambda: None)
        if new and limit and not body.op:  # nobody may have told of what came while the cell did not know it
            self._tell_all_since(state, record, body.after, since_us)
        elif body.op:
            page = state.catalogue.page(query, body.after, limit, since_us) if limit else None
            items, following, more = page or ((), None, False)
            items, held = self.divided(items)
            found = FoundObjects(body.op, query.id, items, following, more, body.conjunction, held=held)
            node.host.link.send(found, (origin,))

    def divided(self, items: Sequence[Metadata]) -> tuple[tuple[Metadata, ...], tuple[ObjectKey, ...]]:
        """The objects of a page that are sent whole, and those that are named alone: none."""
        return tuple(items), ()

    def withdraw(self, body: Withdraw, origin: NodeAddress, cell: int) -> None:
        """Forget a query of the sender."""
        answer = self._answer(body.op, origin, cell)
        if body.query >> 32 != origin.node:
            answer(OperationStatus.NOT_OWNER, f"query {body.query}: expected one of the sender")
            return
        self.forget_query(body.query)
        self._node.spreading.spread(NodeState(cell, withdrawn=(body.query,)), body.op, answer)

    def add_replica(self, body: AddReplica, origin: NodeAddress) -> None:
        """Register a copy with an object's metadata; who has a copy of a deleted object is told so."""
        if body.replica.node == origin.node and not self._buried(body.key, origin):
            self.note_replica(body)
            self._node.spreading.tell(body)

    def move(self, body: MoveNode, origin: NodeAddress) -> None:
        """Note where a node is that has queries and copies, and send it what has waited for that."""
        if body.node == origin.node:
            self.note_move(body)
            self._node.spreading.tell(body)

    # -- what other nodes of the cell have done as well ------------------------------------------------

    def note_replica(self, body: AddReplica) -> None:
        """Register a new copy in the metadata that is here."""
        self._register_copy(body.key, body.replica)

    def note_move(self, body: MoveNode) -> None:
        """Note where a subscriber and holder of copies is."""
        for state in self.states.values():
            for query in body.queries:
                state.move(query, body.cell, body.at_us)
        for key in body.keys:
            self._register_copy(key, Replica(body.node, body.cell))
        if body.node in self.subscribers:
            self._send_waiting(body.node, self.subscribers.locate(body.node, body.cell, body.at_us))

    def register(self, state: CellState, record: QueryRecord) -> bool | None:
        """Keep a conjunction, and where its subscriber is. Whether it is new; None if it is refused."""
        if record.query.id in self.withdrawn:
            return None
        new = state.register(record, self._node.bounds)
        if new is not None:
            node = record.query.subscriber
            self._send_waiting(node, self.subscribers.locate(node, record.cell, record.at_us))
        return new

    def forget_query(self, query: int) -> None:
        """Forget a query for good."""
        self.withdrawn[query] = None
        for state in self.states.values():
            state.withdraw(query)
        self._forget_idle(query >> 32)

    def bury(self, tombstone: Tombstone) -> None:
        """Delete an object whose commitment the tombstone opens, here and for good. Raises InvalidObject."""
        self._node.store.bury(tombstone)
        for state in self.states.values():
            known = state.catalogue.get(tombstone.key) or state.held.get(tombstone.key)
            if known is not None and known.opened_by(tombstone.opening):
                state.remove(tombstone.key)

    def drop(self, cell: int) -> None:
        """Forget the state of a cell: others keep it now."""
        state = self.states.pop(cell, None)
        if state is not None:
            for subscriber in {record.query.subscriber for record in state.records.values()}:
                self._forget_idle(subscriber)

    def expire(self) -> None:
        """Forget queries whose windows are over, and give subscribers up that are not heard of."""
        node = self._node
        before_us = node.now_us() - node.grace_us
        for state in self.states.values():
            for record in state.expire(before_us):
                self._forget_idle(record.query.subscriber)
        now = node.host.now()
        failed = self.subscribers.expire(now)
        if not node.as_published:
            for subscriber, found in self.subscribers.retry(now, node.retry_s):
                entry = self.subscribers.get(subscriber)
                cell = None if entry is None else entry.cell
                node.host.link.send(found, (NodeAddress(subscriber, cell),))
            for subscriber in self.subscribers.come_back(now, 2.0 * node.wait_s):
                self._send_waiting(subscriber, ())
        else:
            for subscriber in failed:
                for state in self.states.values():
                    for query in {key[0] for key in state.records if key[0] >> 32 == subscriber}:
                        state.withdraw(query)
                self._forget_idle(subscriber)

    # -- notifications ------------------------------------------------------------------------------------

    def notify(self, record: QueryRecord, items: Iterable[Metadata]) -> None:
        """Tell a subscriber of matches, or keep that until it can be reached."""
        told = tuple(items)
        self.matches += len(told)
        for first in range(0, len(told), MOST_ON_A_PAGE):
            some = told[first : first + MOST_ON_A_PAGE]
            found = FoundObjects(0, record.query.id, some, conjunction=record.conjunction)
            self._send_found(record.query.subscriber, found)

    def heard(self, origin: NodeAddress) -> None:
        """A node has sent something: if it is a subscriber that could not be reached, it gets what waits."""
        entry = None if origin.node is None else self.subscribers.get(origin.node)
        if entry is not None and entry.reach is not _REACHABLE and origin.node is not None:
            entry.cell = origin.cell
            self._send_waiting(origin.node, self.subscribers.heard_of(origin.node))

    def undelivered(self, found: FoundObjects, target: NodeAddress) -> None:
        """A notification, or a page, did not reach its subscriber; one that has moved since then gets it
        again."""
        node, subscriber = self._node, found.query >> 32
        entry = self.subscribers.get(subscriber)
        if entry is None or not found.items:
            return
        found = replace(found, op=0)  # a page may be asked for again in another part of the network alone
        if entry.cell != target.cell and entry.reach is Reach.REACHABLE:
            self._send_found(subscriber, found)
        else:
            self.subscribers.undelivered(subscriber, found, node.host.now(), node.wait_s, node.most_pending)

    def _send_found(self, subscriber: int, found: FoundObjects) -> None:
        node = self._node
        now = node.host.now()
        if self.subscribers.may_send(subscriber, found, now, node.retry_s, node.most_pending):
            entry = self.subscribers.get(subscriber)
            cell = None if entry is None else entry.cell
            node.host.link.send(found, (NodeAddress(subscriber, cell),))

    def _send_waiting(self, subscriber: int, waiting: Iterable[FoundObjects]) -> None:
        """Send what has waited for a subscriber, and what was dropped because too much waited or too long."""
        for found in waiting:
            self._send_found(subscriber, found)
        for query, since_us in self._missed_by(subscriber):
            for state in self.states.values():
                for record in [each for key, each in state.records.items() if key[0] == query]:
                    self._tell_all_since(state, record, None, since_us)

    def _missed_by(self, subscriber: int) -> Iterable[tuple[int, int]]:
        return () if self._node.as_published else self.subscribers.take_missed(subscriber).items()

    def _tell_all_since(
        self, state: CellState, record: QueryRecord, after: PageCursor | None, since_us: int | None
    ) -> None:
        """Tell all that a query has missed, as it comes: its cell had lost it, or could not reach it."""
        for _ in range(MOST_PAGES):
            page = state.catalogue.page(record.query, after, MOST_ON_A_PAGE, since_us)
            self.notify(record, page.items)
            if not page.more:
                return
            after = page.next

    # -- parts --------------------------------------------------------------------------------------------

    def _register_copy(self, key: ObjectKey, replica: Replica) -> None:
        for state in self.states.values():
            known = state.catalogue.get(key)
            if known is not None:
                state.update(with_replica(known, replica, self._node.replica_bound))

    def tombstone_of(self, key: ObjectKey) -> Tombstone | None:
        """The mark that an object was deleted, if it was."""
        return next(iter(self._node.store.tombstones.of(key)), None)

    def _buried(self, key: ObjectKey, origin: NodeAddress) -> bool:
        tombstone = self.tombstone_of(key)
        if tombstone is None:
            return False
        self._node.host.link.send(Remove(key, tombstone.opening), (origin,))
        return True

    def _answer(self, op: int, origin: NodeAddress, cell: int) -> Callable[..., None]:
        return partial(self._acknowledge, op, origin, cell)

    def _acknowledge(
        self,
        op: int,
        origin: NodeAddress,
        cell: int,
        status: OperationStatus = OperationStatus.OK,
        detail: str = "",
    ) -> None:
        if op:
            self._node.host.link.send(Acknowledge(op, status, detail, (cell,)), (origin,))

    def _forget_idle(self, subscriber: int) -> None:
        if not any(state.has_queries_of(subscriber) for state in self.states.values()):
            self.subscribers.forget(subscriber)


def in_targets(addresses: Iterable[NodeAddress]) -> list[tuple[NodeAddress, ...]]:
    """The addresses in tuples of at most as many as one datagram can have."""
    ordered = list(addresses)
    return [tuple(ordered[at : at + MOST_TARGETS]) for at in range(0, len(ordered), MOST_TARGETS)]
