"""Routing where everybody hears everybody."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.mechanisms.routing.counters import DropReason
from bypass.mechanisms.routing.members import CellMembers
from bypass.ports.routing import Neighbour
from bypass.ports.storage import FLOOD, HOP, NODE
from bypass.protocol.datagrams import Datagram, DatagramScope, NodeAddress
from bypass.protocol.storage import StorageMessage
from bypass.transitions import MechanismState


class OneHop(RoutingMechanism):
    """Sends to nodes in reach, and passes nothing on: a flood is one broadcast. What a node does not get is
    reported at once. A node is a neighbour for `forget_s` seconds after it was heard."""

    name: ClassVar[str] = "one-hop"
    offers: ClassVar[frozenset[str]] = frozenset((NODE, FLOOD, HOP))

    forget_s: Annotated[float, MechanismState("forget_s"), Field(gt=0)] = 60.0

    def start(self) -> None:
        super().start()
        self._members = CellMembers()

    def flood(self, body: StorageMessage) -> None:
        self._tell(body, DatagramScope.HOP)

    def neighbours(self) -> Sequence[Neighbour]:
        self._members.expire(self.host.now() - self.forget_s)
        return self._members.neighbours()

    def heard(self, node: int) -> None:
        self._members.told(node, None, False, self.host.now())

    def route(self, datagram: Datagram) -> None:
        for target in datagram.targets:
            if target.node == self.host.id:
                self.deliver(datagram, target)
            elif target.node is None:
                self.give_up(datagram, target, DropReason.UNSUPPORTED)
            elif datagram.origin.node != self.host.id:
                self.give_up(datagram, target, DropReason.NOT_THERE)  # sent here by mistake
            else:
                self._send(datagram, target, target.node)

    def _send(self, datagram: Datagram, target: NodeAddress, node: int) -> None:
        copy = self.onward(datagram, (target,))
        if copy is not None:
            self.unicast(copy, node, partial(self.give_up, datagram, target, DropReason.NOT_THERE))
