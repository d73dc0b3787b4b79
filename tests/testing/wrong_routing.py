"""Routing mechanisms that are wrong, each in a way of its own."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from bypass.mechanisms.routing.cells import CellRouting
from bypass.mechanisms.routing.counters import DropReason
from bypass.mechanisms.routing.dsdv import Dsdv
from bypass.mechanisms.routing.one_hop import OneHop
from bypass.protocol.datagrams import Datagram, NodeAddress
from bypass.protocol.storage import StorageMessage


class DeliversTwice(OneHop):
    """Hands what was sent to this node over, and once more a little later, for safety."""

    name: ClassVar[str] = "delivers-twice"

    def deliver(self, datagram: Datagram, target: NodeAddress | None) -> None:
        super().deliver(datagram, target)
        body = datagram.body
        if target is not None and isinstance(body, StorageMessage):
            self.host.after(0.01, self.sink.received, body, datagram.origin, target)


class LosesSilently(Dsdv):
    """Drops what it cannot deliver, and tells nobody."""

    name: ClassVar[str] = "loses-silently"

    def give_up(self, datagram: Datagram, target: NodeAddress, reason: DropReason) -> None:
        self.drop(reason)


class LoopsForEver(CellRouting):
    """Hands what it cannot deliver to any neighbour, which may know better, without end."""

    name: ClassVar[str] = "loops-for-ever"

    def give_up(self, datagram: Datagram, target: NodeAddress, reason: DropReason) -> None:
        others = [each.node for each in self.neighbours() if each.node != target.node]
        if not others:
            super().give_up(datagram, target, reason)
            return
        datagram.hops = 0
        copy = self.onward(datagram, (target,))
        if copy is not None:
            failed = partial(self.give_up, datagram, target, reason)
            self.host.after(0.1, self.unicast, copy, others[datagram.id % len(others)], failed)
