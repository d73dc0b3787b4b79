"""Routing where everybody hears everybody."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.mechanisms.routing.counters import DropReason
from bypass.mechanisms.routing.members import CellMembers
from bypass.ports.host import Timer
from bypass.ports.routing import Neighbour
from bypass.ports.storage import FLOOD, HOP, NODE
from bypass.protocol.datagrams import Beacon, Datagram, DatagramScope, NodeAddress, RoutingMessage
from bypass.protocol.storage import StorageMessage
from bypass.transitions import MechanismState

FIRST_HELLO_S = 1.0
"""A node that knows nobody says that it is there after so many seconds of silence, then after twice as long
each time, up to `hello_s`."""


class OneHop(RoutingMechanism):
    """Sends to nodes in reach, and passes nothing on: a flood is one broadcast. What a node does not get is
    reported at once. A node is a neighbour for `forget_s` seconds after it was heard.

    A node that has told all in reach nothing for `hello_s` seconds (0: however long) says that it is there:
    so silent nodes know each other, and learn of decisions that they have missed. One that begins and knows
    nobody yet says so sooner: its first word may have been lost.
    """

    name: ClassVar[str] = "one-hop"
    offers: ClassVar[frozenset[str]] = frozenset((NODE, FLOOD, HOP))

    forget_s: Annotated[float, MechanismState("forget_s"), Field(gt=0)] = 60.0
    hello_s: Annotated[float, MechanismState("hello_s"), Field(ge=0, le=3600)] = 20.0

    def start(self) -> None:
        super().start()
        self._members = CellMembers()
        self._spoke_at: float = self.host.now()
        self._alone_s = FIRST_HELLO_S  # the silence of a node that knows nobody
        self._hello: Timer = self.host.after(0.0, self._greet_later)

    def set_hello_s(self, value: float) -> None:
        """Be silent for a longer or shorter time from now on."""
        self.hello_s = value
        self._hello.cancel()
        self._greet_later()

    def flood(self, body: StorageMessage) -> None:
        self._tell(body, DatagramScope.HOP)

    def neighbours(self) -> Sequence[Neighbour]:
        self._members.expire(self.host.now() - self.forget_s)
        return self._members.neighbours()

    def controlled(self, message: RoutingMessage, node: int) -> None:  # noqa: ARG002 - a sign of life
        self.heard(node)

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

    def _tell(self, body: StorageMessage, scope: DatagramScope) -> None:
        self._spoke_at = self.host.now()
        super()._tell(body, scope)

    def _silence_s(self) -> float:
        """How long this node is silent at most, as things are."""
        return self.hello_s if self.neighbours() else min(self._alone_s, self.hello_s)

    def _greet_later(self) -> None:
        if self.hello_s:
            due = self._spoke_at + self._silence_s() * (0.9 + 0.2 * self._draw())  # not all at once
            self._hello = self.host.after(max(due - self.host.now(), 0.0), self._greet)

    def _greet(self) -> None:
        if self.host.now() - self._spoke_at >= 0.9 * self._silence_s():
            self._spoke_at = self.host.now()
            self._alone_s = min(2.0 * self._alone_s, self.hello_s)
            self.control(Beacon(None))
        self._greet_later()

    def _send(self, datagram: Datagram, target: NodeAddress, node: int) -> None:
        copy = self.onward(datagram, (target,))
        if copy is not None:
            self.unicast(copy, node, partial(self.give_up, datagram, target, DropReason.NOT_THERE))
