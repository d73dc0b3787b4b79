"""Nodes that send datagrams to their neighbours and note what their link tells them, in every runtime."""

from __future__ import annotations

from functools import partial

from bypass.core.client import Client
from bypass.objects.metadata import ObjectKey
from bypass.ports.datagrams import DatagramOutlet
from bypass.ports.local_access import LocalAccess
from bypass.protocol.datagrams import Beacon, Datagram, DatagramScope, NodeAddress
from bypass.protocol.storage import Retrieved

Call = tuple[str, int, int]
"""A call of the link: that a datagram `arrived` or `failed`, whose it was, and its number."""


def datagram(sender: int, number: int, size: int = 0, origin: int | None = None) -> Datagram:
    """A datagram with `size` bytes of an object, or a beacon if that is 0; its bytes depend on its number."""
    body = Beacon(number % 100)
    if size:
        data = bytes((number * 31 + k) % 251 for k in range(size))
        return _datagram(sender, number, Retrieved(0, ObjectKey(1, "photo"), data), origin)
    return _datagram(sender, number, body, origin)


def _datagram(sender: int, number: int, body: Beacon | Retrieved, origin: int | None) -> Datagram:
    origin = sender if origin is None else origin
    return Datagram(
        origin << 32 | number, NodeAddress(origin), (), DatagramScope.HOP, body, client=sender, scheme=1
    )


class Node:
    """Stands where routing will: it sends by the client's transport. `calls` are in the order of time."""

    def __init__(self, client: Client, access: LocalAccess) -> None:
        self.calls: list[Call] = []
        self.arrivals: list[Datagram] = []
        self.id = client.host.id
        self.outlet = DatagramOutlet(client.nearby.transport, partial(client.host.after, 0.0))
        access.hear_datagrams(self)

    def arrived(self, datagram: Datagram) -> None:
        self.calls.append(("arrived", datagram.client, datagram.id & 0xFFFFFFFF))
        self.arrivals.append(datagram)

    def broadcast(self, number: int, size: int = 0) -> Datagram:
        sent = datagram(self.id, number, size)
        self.outlet.broadcast(sent)
        return sent

    def unicast(self, number: int, neighbour: int, size: int = 0) -> Datagram:
        sent, before = datagram(self.id, number, size), len(self.calls)
        self.outlet.unicast(sent, neighbour, lambda _: self.calls.append(("failed", self.id, number)))
        assert len(self.calls) == before, "the sender was called before its call had returned"
        return sent

    def count(self, what: str, sender: int, number: int) -> int:
        return self.calls.count((what, sender, number))
