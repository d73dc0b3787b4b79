"""A node in virtual time for the parts of an edge, and items."""

from __future__ import annotations

from bypass.mechanisms import Registry
from bypass.mechanisms.storage.infra.edge.item_cache import CacheWorkshop
from bypass.objects.metadata import Replica
from bypass.ports.host import Lease
from bypass.ports.monitor import Monitor
from bypass.protocol.edge import DownloadCount, Item
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.sim.sensor import TraceSensor
from bypass.support.units import MICROSECONDS
from bypass.transitions import Engine
from tests.object_strategies import make_metadata


class EdgeWorld:
    """A clock, timers and caches."""

    def __init__(self, seed: int = 1) -> None:
        self.clock = VirtualClock()
        self._end_us = 0
        host = SimHost(0, self.clock, TraceSensor(self.clock, self, 0, 0.0), Monitor(), seed)
        self.host = Lease(host, "edge", None)
        self.workshop = CacheWorkshop(Registry(), lambda owner: Lease(host, owner, None), self.clock.now)

    def engine(self) -> Engine:
        """An engine for mechanisms of the node."""
        return self.workshop.engine("edge")

    def run(self, seconds: float) -> None:
        """Let time pass, with all that is due at its end."""
        self._end_us += round(seconds * MICROSECONDS)
        self.clock.run_until(self._end_us + 1)

    def position(self, client: int, at: float) -> tuple[float, float]:
        return 0.0, 0.0

    def velocity(self, client: int, at: float) -> tuple[float, float]:
        return 0.0, 0.0


def item(
    name: str | int,
    tags: str = "a",
    world: str = "w",
    at: int = 0,
    source: int | None = 1,
    data: bytes = b"data",
) -> Item:
    """An item of node 1; each letter of `tags` is a tag."""
    metadata = make_metadata(1, str(name), frozenset(tags), at, namespace=world, source=source, data=data)
    return Item(metadata, data)


def counted(of: Item, count: int = 1, *nodes: int) -> DownloadCount:
    """Downloads of an item, after which nodes have copies."""
    return DownloadCount(of.metadata.key, of.metadata.source, count, tuple(Replica(node) for node in nodes))
