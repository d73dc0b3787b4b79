"""Routing at an edge: it passes on what clients of one world send each other, and sends for itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from bypass.core.edge.members import AreaMembers
from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.mechanisms.routing.counters import DropReason
from bypass.ports.edge import Sent
from bypass.ports.routing import Neighbour
from bypass.protocol.datagrams import Datagram, DatagramScope, NodeAddress, Undeliverable, WorldMap
from bypass.protocol.storage import FoundObjects, StorageMessage

MOST_TRIES = 8
"""Clients of a cell that are tried for one body."""

SENT_S = 1.0
"""A unicast that has not failed after so long counts as sent: radios tell of failures alone."""


class AreaRouting(RoutingMechanism):
    """One world in the area of an edge. `members` are its clients, as others say who is there; `left` is told
    of one that does not take what is sent to it. It is no mechanism of a client: nobody exchanges it."""

    def begin(self, world: WorldMap, left: Callable[[int], None]) -> None:
        """Take up work with a cell map."""
        self.world = world
        self.members = AreaMembers(world.cells)
        self._left = left
        self._awaited: dict[int, Sent] = {}
        self._choose: Callable[[Sequence[int]], int] = self.host.random("edge-choice").choice
        self.start()

    def use(self, world: WorldMap) -> bool:
        """Go by a cell map; returns whether it is another one."""
        if world == self.world:
            return False
        self.world = world
        self.members.use(world.cells)
        return True

    def neighbours(self) -> Sequence[Neighbour]:
        """Nobody: an edge stores nothing together with others."""
        return ()

    def send_to(self, body: StorageMessage, target: NodeAddress, sent: Sent | None) -> None:
        """Send a body of the edge's own; `sent` is called once, later, unless it is None."""
        self.send(body, (target,))
        if sent is not None:
            number = self.host.id << 32 | self._number
            self._awaited[number] = sent
            self.host.after(SENT_S, self._taken, number)

    def tell(self, body: StorageMessage) -> None:
        """Send a body of the edge's own to all clients of the world."""
        self.tell_neighbours(body)

    def arrived(self, datagram: Datagram) -> None:
        """Take a datagram of a client of this world, and pass it on."""
        if datagram.scope is DatagramScope.ROUTED:
            self.route(datagram)
        elif isinstance(datagram.body, StorageMessage):
            copy = self.onward(datagram, ())
            if copy is None:
                self.drop(DropReason.HOPS)
            else:
                self.host.link.broadcast(copy)

    def route(self, datagram: Datagram) -> None:
        self._route(datagram, datagram.targets, MOST_TRIES)

    def _route(self, datagram: Datagram, targets: Sequence[NodeAddress], tries: int) -> None:
        together: dict[int, list[NodeAddress]] = {}
        for target in targets:
            node = target.node
            if node == self.host.id:
                self.deliver(datagram, target)
            elif node is not None:
                if node in self.members:
                    together.setdefault(node, []).append(target)
                else:
                    self.give_up(datagram, target, DropReason.NOT_THERE)
            elif target.cell is None or not 0 <= target.cell < self.world.cells:
                self.give_up(datagram, target, DropReason.NOT_THERE)
            else:
                nodes = self.members.serving(target.cell) if tries else ()
                if nodes:
                    together.setdefault(self._choose(nodes), []).append(target)
                else:
                    self.give_up(datagram, target, DropReason.NOT_SERVING)
        for node, some in together.items():
            copy = self.onward(datagram, tuple(some))
            if copy is not None:
                self.unicast(copy, node, partial(self._not_taken, datagram, node, some, tries))

    def give_up(self, datagram: Datagram, target: NodeAddress, reason: DropReason) -> None:
        """Drop a datagram for one of its targets, and let its origin know; and the edge, of a notification:
        the subscriber may be in the area of another one."""
        super().give_up(datagram, target, reason)
        body = datagram.body
        if isinstance(body, FoundObjects) and not body.op and datagram.origin.node != self.host.id:
            self.sink.undeliverable(body, target)

    def _not_taken(self, datagram: Datagram, node: int, targets: Sequence[NodeAddress], tries: int) -> None:
        """A client did not take a datagram: another one of the cell may."""
        if self.members.failed(node):
            self._left(node)
        of_cells = []
        for target in targets:
            if target.node is None:
                of_cells.append(target)
            else:
                self.give_up(datagram, target, DropReason.NOT_THERE)
        self._route(datagram, of_cells, tries - 1)

    def _taken(self, number: int) -> None:
        sent = self._awaited.pop(number, None)
        if sent is not None:
            sent(True)

    def _reported(self, report: Undeliverable) -> None:
        sent = self._awaited.pop(report.datagram, None)
        if sent is None:
            super()._reported(report)
        else:
            self.counters.reported += 1
            sent(False)
