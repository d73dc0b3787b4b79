"""The ways of an edge to the clients in its area: to one of them, and to all of a cell."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Protocol

from bypass.mechanisms.storage.infra.edge.address_store import AddressStore, CellOfWorld
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import EdgeRelay
from bypass.protocol.storage import StorageMessage

MOST_PARKED = 256
"""Bodies for one cell that wait for a stable node; the oldest go first."""
MOST_PARKED_CELLS = 1024

Sent = Callable[[bool], None]
"""Is told whether a body arrived."""


class EdgeSender(Protocol):
    """Sends to physical addresses."""

    def __call__(self, physical: Hashable, body: StorageMessage, sent: Sent) -> None:
        """Send a body to an address, and call `sent` once, now or later: whether it was acknowledged in
        time."""


class CellContact:
    """Finds the way to a client or a cell by an `AddressStore`.

    A client is sent to at its own address or, if that is not known or does not answer, by the stable node of
    its cell (`relayed` counts these). A cell is sent to by its stable node, else by the clients whose
    addresses are known, one after another; if none answers, the body waits until a stable node is
    established, and so does all that follows it. `parked` counts those, `dropped` those of them for which
    there was no room.
    """

    def __init__(self, addresses: AddressStore, send: EdgeSender, most_parked: int = MOST_PARKED) -> None:
        self.relayed = self.parked = self.dropped = 0
        self._addresses = addresses
        self._send = send
        self._most_parked = most_parked
        self._waiting: OrderedDict[CellOfWorld, deque[StorageMessage]] = OrderedDict()
        addresses.on_stable(self._established)

    def to_node(self, world: str, node: NodeAddress, body: StorageMessage, sent: Sent) -> None:
        """Send a body to a client; `sent(False)` at once if there is no way to it."""
        physical = self._addresses.translate(world, node)
        if physical is None:
            self._relay(world, node, body, sent)
            return

        def answered(arrived: bool) -> None:
            if arrived:
                sent(True)
            else:
                self._addresses.forget(world, node)
                self._relay(world, node, body, sent)

        self._send(physical, body, answered)

    def to_cell(self, world: str, cell: int, body: StorageMessage) -> None:
        """Send a body to all clients of a cell, at once or when it has a stable node."""
        stable = self._addresses.stable(world, cell)
        if stable is None and (world, cell) in self._waiting:
            self._park((world, cell), body)  # after what waits already
            return
        ways = list(self._addresses.all_in_cell(world, cell))
        if stable is not None:
            ways = [stable, *(each for each in ways if each != stable)]
        self._try(world, cell, body, ways, stable)

    def waiting(self, world: str, cell: int) -> int:
        """How many bodies wait for a cell's stable node."""
        return len(self._waiting.get((world, cell), ()))

    def discard(self, rest: Callable[[StorageMessage], StorageMessage | None]) -> None:
        """Replace each body that waits by what `rest` leaves of it; None: nothing."""
        for place, bodies in list(self._waiting.items()):
            left = [each for each in map(rest, bodies) if each is not None]
            if left:
                self._waiting[place] = deque(left)
            else:
                del self._waiting[place]

    def withdraw(self, world: str) -> list[StorageMessage]:
        """Take away all that waits for cells of a world, each body once: its cells are others now."""
        places = sorted(place for place in self._waiting if place[0] == world)
        bodies: list[StorageMessage] = []
        for place in places:
            bodies += [each for each in self._waiting.pop(place) if each not in bodies]
        return bodies

    def _relay(self, world: str, node: NodeAddress, body: StorageMessage, sent: Sent) -> None:
        stable = None if node.cell is None else self._addresses.stable(world, node.cell)
        if stable is None:
            sent(False)
        else:
            self.relayed += 1
            self._send(stable, EdgeRelay(node, body), sent)

    def _try(
        self,
        world: str,
        cell: int,
        body: StorageMessage,
        ways: list[Hashable],
        stable: Hashable | None,
    ) -> None:
        if not ways:
            self._park((world, cell), body)
            return
        way, *others = ways

        def sent(arrived: bool) -> None:
            if arrived:
                return
            if way == stable and self._addresses.stable(world, cell) == stable:
                self._addresses.lose_stable(world, cell)
            self._try(world, cell, body, others, stable)

        self._send(way, EdgeRelay(NodeAddress(None, cell), body), sent)

    def _park(self, place: CellOfWorld, body: StorageMessage) -> None:
        if self._addresses.stable(*place) is not None:  # established while others were tried
            self.to_cell(*place, body)
            return
        self.parked += 1
        bodies = self._waiting.setdefault(place, deque())
        bodies.append(body)
        if len(bodies) > self._most_parked:
            bodies.popleft()
            self.dropped += 1
        if len(self._waiting) > MOST_PARKED_CELLS:
            self.dropped += len(self._waiting.popitem(last=False)[1])

    def _established(self, world: str, cell: int) -> None:
        for body in self._waiting.pop((world, cell), ()):
            self.to_cell(world, cell, body)
