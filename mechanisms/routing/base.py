"""The base of all routing mechanisms."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field

from bypass.mechanisms.routing.counters import DropReason, RoutingCounters
from bypass.places.cell_grid import CellGrid
from bypass.ports.datagrams import DatagramLoss, KnownWays, NoKnownWays
from bypass.ports.routing import Coverage, DatagramSink, Neighbour
from bypass.protocol.datagrams import (
    MOST_TARGETS,
    Datagram,
    DatagramScope,
    NodeAddress,
    Recovery,
    RoutingMessage,
    Search,
    Undeliverable,
)
from bypass.protocol.storage import StorageMessage
from bypass.protocol.wire.sizes import datagram_size
from bypass.transitions import Mechanism, MechanismState, TransferState
from bypass.transitions.recent import Recent

HOP = DatagramScope.HOP  # asked for at every datagram: looking a member up in its enumeration takes long
_EVERYBODY: tuple[NodeAddress, ...] = ()

REPORT_AGAIN_S = 1.0
"""A report for which the radio has no room is tried again after so long."""

MOST_REPORTS = 4096
"""Reports that wait for room at one node; more are dropped."""


class _SeenDatagrams:
    """The latest datagrams that a node has had, each with the target for which it had it. A set and a queue:
    every datagram is looked up and noted here, which takes an ordered dict several times as long."""

    LIMIT = 4096

    __slots__ = ("_known", "_order")

    def __init__(self) -> None:
        self._known: set[tuple[int, NodeAddress | None]] = set()
        self._order: deque[tuple[int, NodeAddress | None]] = deque()

    def is_new(self, number: int, target: NodeAddress | None) -> bool:
        """Whether a datagram was not here for a target; from now on it was."""
        key, known = (number, target), self._known
        if key in known:
            return False
        known.add(key)
        self._order.append(key)
        if len(known) > self.LIMIT:
            known.remove(self._order.popleft())
        return True

    def __contains__(self, key: tuple[int, NodeAddress | None]) -> bool:
        return key in self._known


class _SentBody(NamedTuple):
    """An own body, whom it was sent to, and when (s)."""

    body: StorageMessage
    targets: tuple[NodeAddress, ...]
    at: float


class _SentBodies(Recent[int, _SentBody]):
    """The own bodies that may still be reported as undeliverable, by the number of their datagram."""

    LIMIT = 4096


class RoutingMechanism(Mechanism):
    """Brings bodies to nodes and cells; see `bypass.ports.routing.Routing`.

    `offers` are the services that storage can rely on: "node" to reach a node by its number, "cell" to reach
    a cell and all in it, "flood" and "hop" to tell all nodes or those in reach, "edge" to reach an edge.
    Datagrams of another `namespace` are not taken. A datagram makes `hop_limit` hops at most. A node that
    passes a flood on waits for a random time up to `jitter_s` seconds, so that neighbours do not speak at
    once.
    """

    offers: ClassVar[frozenset[str]] = frozenset()

    sink: Annotated[DatagramSink, TransferState("sink")]
    counters: Annotated[
        RoutingCounters, TransferState("counters", optional=True), Field(default_factory=RoutingCounters)
    ]
    known: Annotated[KnownWays, TransferState("known", optional=True), Field(default_factory=NoKnownWays)]
    namespace: Annotated[str, MechanismState("namespace"), Field(max_length=64)] = ""
    hop_limit: Annotated[int, MechanismState("hop_limit"), Field(ge=1, le=255)] = 255
    jitter_s: Annotated[float, MechanismState("jitter_s"), Field(ge=0, le=1)] = 0.01

    def start(self) -> None:
        self._alive = True
        self._draw: Callable[[], float] = self.host.random("routing-jitter").random
        # A number that does not begin with 0 again after a restart: others remember what they have seen.
        self._number: int = self.host.random("routing-numbers").getrandbits(32)
        self._seen = _SeenDatagrams()
        self._sent = _SentBodies()
        self._reports = 0  # those that wait for room

    def stop(self) -> None:
        self._alive = False

    # -- what callers ask for -----------------------------------------------------------------------------

    def send(self, body: StorageMessage, targets: Sequence[NodeAddress]) -> None:
        """Send a body to each of several targets."""
        all_targets = tuple(dict.fromkeys(targets))
        for begin in range(0, len(all_targets), MOST_TARGETS):
            some = all_targets[begin : begin + MOST_TARGETS]
            datagram = self.datagram(body, DatagramScope.ROUTED, some)
            self._sent[datagram.id] = _SentBody(body, some, self.host.now())
            self.counters.sent += len(some)
            self.host.after(0.0, self.route, datagram)

    def flood(self, body: StorageMessage) -> None:
        """Send a body to every other node."""
        self._tell(body, DatagramScope.NETWORK)

    def tell_cell(self, body: StorageMessage) -> None:  # noqa: ARG002
        """Drop the body: there are no cells, unless a subclass has some."""
        self.drop(DropReason.UNSUPPORTED)

    def tell_neighbours(self, body: StorageMessage) -> None:
        """Send a body to all nodes in reach."""
        self._tell(body, DatagramScope.HOP)

    @abstractmethod
    def neighbours(self) -> Sequence[Neighbour]:
        """The nodes in reach, as far as they were heard lately, in the order of their numbers."""

    def grid(self) -> CellGrid | None:
        """The cells of the area; None, by default."""
        return None

    def own_cell(self) -> int | None:
        """The cell in which this node is; None, by default."""
        return None

    def serving(self) -> bool:
        """Whether this node forwards; always, by default."""
        return True

    def coverage(self) -> Coverage | None:
        """The edge in whose area this node is; None, by default."""
        return None

    def domain(self) -> str:
        """The namespace in which decisions about storage and routing hold for this node."""
        return self.namespace

    # -- what comes from the link -------------------------------------------------------------------------

    def arrived(self, datagram: Datagram) -> None:
        """Take a datagram from a node in reach."""
        if datagram.namespace != self.namespace:
            self.drop(DropReason.NAMESPACE)
            return
        body, scope = datagram.body, datagram.scope
        if scope is HOP and isinstance(body, RoutingMessage):
            self.controlled(body, datagram.client)  # as nearly always
            return
        self.heard(datagram.client)
        if scope is DatagramScope.ROUTED:
            self.route(datagram)
        elif scope is DatagramScope.NETWORK:
            self._flooded(datagram)
        elif scope is DatagramScope.CELL and (datagram.origin.cell != self.own_cell() or not self.serving()):
            self.drop(DropReason.OTHER_CELL)
        else:
            self.deliver(datagram, None)

    def heard(self, node: int) -> None:
        """A neighbour has sent something that is not about routing itself. Nothing, by default."""

    def controlled(self, message: RoutingMessage, node: int) -> None:
        """A neighbour has sent something for routing itself. Ignored, by default."""

    @abstractmethod
    def route(self, datagram: Datagram) -> None:
        """Bring a datagram nearer to its targets, or deliver it here, or report what cannot be reached."""

    # -- what subclasses do -------------------------------------------------------------------------------

    def datagram(
        self,
        body: StorageMessage | RoutingMessage,
        scope: DatagramScope,
        targets: tuple[NodeAddress, ...] = _EVERYBODY,
    ) -> Datagram:
        """Make a new datagram of this node."""
        self._number = (self._number + 1) & 0xFFFFFFFF
        return Datagram(
            self.host.id << 32 | self._number,
            NodeAddress(self.host.id, self.own_cell()),
            targets,
            scope,
            body,
            namespace=self.namespace,
            client=self.host.id,
        )

    def onward(
        self, datagram: Datagram, targets: tuple[NodeAddress, ...], recovery: Recovery | Search | None = None
    ) -> Datagram | None:
        """Make the copy of a datagram that goes one hop on, to some of its targets.

        None if it has come too far; then these targets are reported.
        """
        if datagram.hops >= self.hop_limit:
            for target in targets:
                self.give_up(datagram, target, DropReason.HOPS)
            return None
        if datagram.origin.node != self.host.id:
            self.counters.forwarded += 1
        return Datagram(
            datagram.id,
            datagram.origin,
            targets,
            datagram.scope,
            datagram.body,
            hops=datagram.hops + 1,
            recovery=recovery,
            namespace=datagram.namespace,
            client=self.host.id,
            body_size=datagram.body_size,
        )

    def unicast(self, datagram: Datagram, neighbour: int, failed: Callable[[], None]) -> None:
        """Send to a neighbour; `failed` is called if it does not get it, unless this mechanism has ended.

        A datagram for which this node's own radio has no room is given up: that says nothing about the
        neighbour, and other ways begin with the same radio. A report waits for room, because what it tells
        of was often given up for the same reason, and nobody else tells its origin.
        """
        self.host.link.unicast(datagram, neighbour, partial(self._failed, datagram, neighbour, failed))

    def deliver(self, datagram: Datagram, target: NodeAddress | None) -> None:
        """Hand a body over to this node, unless it has had it for the same target."""
        if self.repeated(datagram.id, target):
            self.drop(DropReason.DUPLICATE)
            return
        body = datagram.body
        if isinstance(body, Undeliverable):
            self._reported(body)
        elif isinstance(body, StorageMessage):
            self.counters.delivered += 1
            self.counters.bodies[type(body).__name__] += 1
            if target is not None and body.measured:
                self.counters.arrived(datagram.hops, to_cell=target.node is None)
            self.sink.received(body, datagram.origin, target)

    def give_up(self, datagram: Datagram, target: NodeAddress, reason: DropReason) -> None:
        """Drop a datagram for one of its targets, and let its origin know, unless it is such a report."""
        self.drop(reason)
        if isinstance(datagram.body, Undeliverable):
            return
        report = Undeliverable(datagram.id, target)
        if datagram.origin.node == self.host.id:
            self._reported(report)
        else:
            message = self.datagram(report, DatagramScope.ROUTED, (datagram.origin,))
            self.count_control(message)
            self.send_report(message, datagram.client)

    def send_report(self, message: Datagram, neighbour: int) -> None:  # noqa: ARG002
        """Bring a report to the origin of a datagram that came from a neighbour. Routed as all else, by
        default."""
        self.route(message)

    def control(self, message: RoutingMessage) -> None:
        """Tell all in reach something about routing itself."""
        datagram = self.datagram(message, DatagramScope.HOP)
        self.count_control(datagram)
        self.host.link.broadcast(datagram)

    def count_control(self, datagram: Datagram) -> None:
        """Count a message of routing itself, with its size."""
        self.counters.control += 1
        self.counters.control_bytes += datagram_size(datagram)

    def doubt(self, nodes: Collection[int], since: float) -> None:
        """Let the sink know that bodies that were sent to some nodes since a time may not have arrived."""
        for sent in list(self._sent.values()):
            for target in sent.targets:
                if sent.at >= since and target.node in nodes:
                    self.sink.doubtful(sent.body, target)

    def drop(self, reason: DropReason) -> None:
        """Count something that goes no further."""
        self.counters.dropped[reason] += 1

    def repeated(self, number: int, target: NodeAddress | None) -> bool:
        """Whether a datagram was here for a target before; from now on it was."""
        return not self._seen.is_new(number, target)

    # -- the rest -----------------------------------------------------------------------------------------

    def _tell(self, body: StorageMessage, scope: DatagramScope) -> None:
        datagram = self.datagram(body, scope)
        self.counters.sent += 1
        self._seen.is_new(datagram.id, None)  # the own flood comes back from neighbours
        self.host.link.broadcast(datagram)

    def _flooded(self, datagram: Datagram) -> None:
        if (datagram.id, None) in self._seen:
            self.drop(DropReason.DUPLICATE)
            return
        self.deliver(datagram, None)
        if not self.serving():
            return
        copy = self.onward(datagram, _EVERYBODY)
        if copy is None:
            self.drop(DropReason.HOPS)
        else:
            self.host.after(self.jitter_s * self._draw(), self._broadcast, copy)

    def _broadcast(self, datagram: Datagram) -> None:
        self.host.link.broadcast(datagram)

    def _failed(
        self, datagram: Datagram, neighbour: int, failed: Callable[[], None], loss: DatagramLoss
    ) -> None:
        if not self._alive:
            return
        self.counters.failed += 1
        if loss is not DatagramLoss.NO_ROOM:
            failed()
        elif isinstance(datagram.body, Undeliverable) and self._reports < MOST_REPORTS:
            self._reports += 1
            self.host.after(REPORT_AGAIN_S, self._report_again, datagram, neighbour, failed)
        else:
            for target in datagram.targets:
                self.give_up(datagram, target, DropReason.NO_ROOM)

    def _report_again(self, datagram: Datagram, neighbour: int, failed: Callable[[], None]) -> None:
        self._reports -= 1
        self.unicast(datagram, neighbour, failed)

    def _reported(self, report: Undeliverable) -> None:
        sent = self._sent.get(report.datagram)
        if sent is None or self.repeated(report.datagram, report.target):
            self.drop(DropReason.UNKNOWN_REPORT)
            return
        self.counters.reported += 1
        self.sink.undeliverable(sent.body, report.target)
