"""Edges in virtual time: nodes at fixed places, which may end and begin again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bypass.core.edge.bare_service import BareService
from bypass.core.edge.node import RADIO, EdgeNode
from bypass.core.edge.relay import RelaySettings
from bypass.objects.node_store import NodeStore
from bypass.objects.persistence import MemoryPersistence
from bypass.places.sensor import NoSensor
from bypass.ports.edge import ServiceMaker
from bypass.ports.monitor import Monitor
from bypass.sim.backhaul import BackhaulModel, EdgeWires, SimulatedBackhaul
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.sim.radios import LocalNetwork


@dataclass(frozen=True, slots=True)
class EdgeModel:
    """The edges of a simulated system: the service that each of them runs, and the parameters of their access
    points and wires."""

    service: ServiceMaker = BareService
    relay: RelaySettings = field(default_factory=RelaySettings)
    backhaul: BackhaulModel = field(default_factory=BackhaulModel)
    radio: str = RADIO


class SimulatedEdges(Mapping[int, EdgeNode]):
    """The edges of a system, by their numbers, which follow those of the clients; one that was killed is
    still there. `stores` have what outlives processes. All run at first, and their radios are on."""

    def __init__(
        self,
        clock: VirtualClock,
        local: LocalNetwork,
        numbers: Sequence[int],
        seed: int,
        monitor: Monitor,
        model: EdgeModel,
    ) -> None:
        self.backhaul = SimulatedBackhaul(clock, numbers, seed, model.backhaul, local.codec)
        self.stores = {number: NodeStore(number, MemoryPersistence()) for number in numbers}
        self._local = local
        self._model = model
        self._hosts = {number: SimHost(number, clock, NoSensor(), monitor, seed) for number in numbers}
        self._running: set[int] = set()
        self._nodes: dict[int, EdgeNode] = {}
        for number in numbers:
            self.switch_on(number)
            self.restart(number)

    def __getitem__(self, number: int) -> EdgeNode:
        return self._nodes[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def running(self) -> list[int]:
        """The edges whose processes run, by number."""
        return sorted(self._running)

    def kill(self, number: int) -> None:
        """End the process of an edge, from one moment to the next; harmless if it has ended.

        Its radio stays on, and acknowledges what it gets: nobody takes it. Raises KeyError.
        """
        node = self._nodes[number]
        if number in self._running:
            self._running.remove(number)
            node.stop()

    def restart(self, number: int) -> None:
        """Begin the process of an edge that has ended anew, with what is in its store; harmless if it runs.

        Raises KeyError.
        """
        host = self._hosts[number]
        if number in self._running:
            return
        self._running.add(number)
        model, wires = self._model, EdgeWires(self.backhaul, number)
        node = self._nodes[number] = EdgeNode(
            host,
            self._local.devices[number],
            wires,
            model.service,
            self.stores[number],
            model.relay,
            model.radio,
        )
        node.start()

    def switch_off(self, number: int) -> None:
        """Turn off the radio of an edge: its process and its wires work."""
        self._local.devices[number].switch(self._model.radio, False)

    def switch_on(self, number: int) -> None:
        """Turn on the radio of an edge."""
        self._local.devices[number].switch(self._model.radio, True)
