"""A count of the messages of a store on a simulated medium, by what they are for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from bypass.ports.datagrams import DatagramAnalyzer
from bypass.protocol.datagrams import Datagram, DatagramScope, RoutingMessage, Undeliverable
from bypass.protocol.storage import (
    Acknowledge,
    AddReplica,
    Ask,
    CellUpdate,
    CopyObject,
    CountsRequest,
    Delete,
    FoundObjects,
    Insert,
    NodeCounts,
    NodeState,
    PlanCopy,
    PlanRequest,
    Remove,
    Retrieve,
    Retrieved,
    StorageMessage,
    Withdraw,
)
from bypass.protocol.wire.sizes import datagram_size

OPERATIONS = ("insert", "retrieve", "subscribe", "notify", "delete", "withdraw", "page", "confirm")
"""The operations of cost formulas; `confirm` is what a node of a cell says to the one that has told it."""

APART = ("repeated", "upkeep", "reports", "routing", "survey", "decisions")
"""The messages that no formula has: repetitions, and their answers; joining, moving and repairing; reports of
what did not arrive; beacons and tables; questions for counts; plans."""

_PLAIN: dict[type, str] = {
    Insert: "insert",
    CopyObject: "insert",
    Retrieve: "retrieve",
    Retrieved: "retrieve",
    AddReplica: "retrieve",
    Delete: "delete",
    Remove: "delete",
    Withdraw: "withdraw",
    CountsRequest: "survey",
    NodeCounts: "survey",
    PlanCopy: "decisions",
    PlanRequest: "decisions",
}


class StoreMessages(DatagramAnalyzer):
    """Counts datagrams hop by hop: how often each kind was `sent`, the `bytes` of that, and how often one of
    those that it is for has `received` it. `cell_of` gives the cell that a node works for.

    Register it with a monitor. It remembers every operation, so it is for experiments that end.
    """

    def __init__(self, cell_of: Callable[[int], int | None]) -> None:
        self.sent: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self._cell_of = cell_of
        self._operations: dict[int, str] = {}  # by number
        self._confirmers: set[tuple[int, int]] = set()  # number of the operation, and node
        self._first: dict[object, int] = {}  # the datagram that said something first
        self._kinds: dict[int, str] = {}  # by datagram

    def datagram_sent(self, node: int, datagram: Datagram, neighbour: int | None) -> None:  # noqa: ARG002
        """Count a transmission."""
        kind = self._kind(datagram)
        self.sent[kind] += 1
        self.bytes[kind] += datagram_size(datagram)

    def datagram_received(self, datagram: Datagram, nodes: Sequence[int]) -> None:
        """Count receptions."""
        number = len(nodes)
        if datagram.scope is DatagramScope.CELL:
            number = sum(self._cell_of(node) == datagram.origin.cell for node in nodes)
        self.received[self._kind(datagram)] += number

    def _kind(self, datagram: Datagram) -> str:
        body = datagram.body
        if isinstance(body, RoutingMessage):
            return "reports" if isinstance(body, Undeliverable) else "routing"
        kind = self._kinds.get(datagram.id)
        if kind is None:
            assert isinstance(body, StorageMessage)  # links put fragments together
            kind = self._kinds[datagram.id] = self._kind_of_first(datagram, body)
        return kind

    def _kind_of_first(self, datagram: Datagram, body: StorageMessage) -> str:
        kind, about = self._about(datagram, body)
        if (
            kind in OPERATIONS
            and self._first.setdefault((kind, type(body), about), datagram.id) != datagram.id
        ):
            return "repeated"
        return kind

    def _about(self, datagram: Datagram, body: StorageMessage) -> tuple[str, object]:
        """The kind of a message, and what it says, so that a repetition is known."""
        sender = datagram.origin.node
        if isinstance(body, Ask):
            kind = self._operations.setdefault(body.op, "subscribe" if body.after is None else "page")
            return kind, (body.op, body.conjunction)
        if isinstance(body, Acknowledge):
            if sender is not None and (body.op, sender) in self._confirmers:
                return "confirm", (body.op, sender, body.cells)
            return self._operations.get(body.op, "upkeep"), (body.op, body.cells)
        if isinstance(body, FoundObjects):
            if body.op:
                of_node = sender if body.conjunction is None else None
                return self._operations.get(body.op, "upkeep"), (body.op, body.conjunction, of_node)
            return "notify", (body.query, body.conjunction, tuple(each.key for each in body.items))
        if isinstance(body, CellUpdate):
            return self._about_update(datagram, body)
        kind = _PLAIN.get(type(body), "upkeep")
        op = getattr(body, "op", 0)
        if op:
            self._operations[op] = kind
        about = op or getattr(body, "key", None) or getattr(getattr(body, "metadata", None), "key", None)
        return kind, (about, getattr(body, "offset", 0), getattr(body, "replica", None))

    def _about_update(self, datagram: Datagram, update: CellUpdate) -> tuple[str, object]:
        body = update.body
        if update.op and update.confirmer is not None:
            self._confirmers.add((update.op, update.confirmer))
            if datagram.scope is not DatagramScope.CELL:
                return "repeated", None
        if isinstance(body, NodeState):
            if body.metadata:
                return "insert", (body.cell, *[each.key for each in body.metadata])
            if body.queries:
                return "subscribe", (body.cell, *[(each.query.id, each.conjunction) for each in body.queries])
            if body.tombstones:
                return "delete", (body.cell, *[each.key for each in body.tombstones])
            return ("withdraw", (body.cell, body.withdrawn)) if body.withdrawn else ("upkeep", None)
        about = (getattr(body, "key", None), getattr(body, "replica", None), datagram.origin.cell)
        return _PLAIN.get(type(body), "upkeep"), about
