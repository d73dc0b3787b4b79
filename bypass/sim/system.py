"""A whole system in virtual time: one broker, its clients, and the network between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bypass.broker import Broker
from bypass.client import Client
from bypass.draws import Purpose, uniform_pair
from bypass.location import NoSensor
from bypass.monitor import Monitor
from bypass.region import Region
from bypass.sim.cellular import BROKER, Cellular, CellularModel, Station
from bypass.sim.clock import MICROSECONDS, VirtualClock
from bypass.sim.host import SimHost
from bypass.sim.sensor import Trace, TraceSensor


class SimulatedSystem:
    """`clients` clients that move by `trace`, and a broker for `region`, all of them running `scheme`.

    `set` are parameters of schemes, for whichever part of whichever scheme has them. Register analyzers with
    `monitor` at any time: they change nothing.
    """

    def __init__(
        self,
        clients: int,
        trace: Trace,
        region: Region,
        *,
        seed: int = 1,
        network: CellularModel | None = None,
        scheme: str = "radial",
        set: Mapping[str, Any] | None = None,  # noqa: A002 - the word that plans use
        grace: float = 1.5,
        state_transfer: bool = True,
    ) -> None:
        self.clock = VirtualClock()
        self.monitor = Monitor()
        self.cellular = Cellular(self.clock, network or CellularModel(), clients, seed)
        self.broker = Broker(
            SimHost(BROKER, self.clock, NoSensor(), self.monitor, seed),
            self.cellular,
            region=region,
            scheme=scheme,
            set=set,
            grace=grace,
            state_transfer=state_transfer,
        )
        self.cellular.attach_broker(self.broker.receive)
        self.clients: list[Client] = []
        for number in range(clients):
            phase, _ = uniform_pair(np.uint64(seed), Purpose.SENSOR, number, 0)
            sensor = TraceSensor(self.clock, trace, number, phase)
            client = Client(
                SimHost(number, self.clock, sensor, self.monitor, seed),
                self.cellular.send_up,
                scheme=scheme,
                set=set,
            )
            self.cellular.attach_client(Station(client.network.receive, client.network.notified))
            self.clients.append(client)

    def run_until(self, seconds: float) -> None:
        """Let virtual time pass up to, not including, `seconds`."""
        self.clock.run_until(round(seconds * MICROSECONDS))
