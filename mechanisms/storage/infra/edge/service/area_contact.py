"""The way of an edge's service to the clients in its area."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import cast

from bypass.mechanisms.storage.infra.edge.address_store import AddressStore
from bypass.mechanisms.storage.infra.edge.contact import CellContact, Sent
from bypass.mechanisms.storage.infra.edge.service.losses import EdgeLoss, LossCounts
from bypass.mechanisms.storage.infra.edge.service.worlds import EdgeWorlds
from bypass.ports.edge import EdgeLink
from bypass.protocol.datagrams import WorldMap
from bypass.protocol.storage import StorageMessage


class AreaContact:
    """Sends to the clients and cells of worlds by their addresses.

    The physical address of a client is its world and its number; the link brings it there. When the cell map
    of a world changes, all addresses are others, and what waits for its cells is given to `readdress`.
    """

    def __init__(
        self,
        link: EdgeLink,
        worlds: EdgeWorlds,
        addresses: AddressStore,
        losses: LossCounts,
        most_parked: int,
        readdress: Callable[[str, StorageMessage], None],
    ) -> None:
        self._readdress = readdress
        self.addresses = addresses
        self.cells = CellContact(addresses, self._send, most_parked)
        self._link = link
        self._worlds = worlds
        self._losses = losses
        self._epochs: dict[str, int] = {}
        worlds.on_map(self._map_changed)

    def heard(self, world: str, node: int) -> None:
        """Note that a client was heard."""
        self.addresses.put(world, self._worlds.address(world, node), (world, node))

    def lost(self, world: str, node: int) -> None:
        """Note that a client has left, or does not answer."""
        self.addresses.forget(world, self._worlds.address(world, node))

    def established(self, world: str, cell: int, node: int) -> None:
        """Note the stable client of a cell."""
        self.addresses.establish(world, cell, (world, node))

    def answer(self, world: str, node: int, body: StorageMessage) -> None:
        """Answer a client that was just heard."""

        def sent(arrived: bool) -> None:
            if not arrived:
                self._losses[EdgeLoss.UNREACHED] += 1

        self._link.send(world, body, self._worlds.address(world, node), sent)

    def to_node(self, world: str, node: int, body: StorageMessage, sent: Sent) -> None:
        """Send to a client, directly or by its cell's stable client."""
        self.cells.to_node(world, self._worlds.address(world, node), body, sent)

    def _send(self, physical: Hashable, body: StorageMessage, sent: Sent) -> None:
        world, node = cast("tuple[str, int]", physical)
        self._link.send(world, body, self._worlds.address(world, node), sent)

    def _map_changed(self, world: WorldMap) -> None:
        if self._epochs.get(world.world, world.epoch) != world.epoch:
            waiting = self.cells.withdraw(world.world)
            self.addresses.forget_cells(world.world)
            for node in self._link.members(world.world):
                self.heard(world.world, node)
            for body in waiting:
                self._readdress(world.world, body)
        self._epochs[world.world] = world.epoch
