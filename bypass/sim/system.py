"""A whole system in virtual time: one broker, its clients, and the network between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from bypass.core.broker import Broker
from bypass.core.client import Client
from bypass.core.objects.fallback import FallbackSettings
from bypass.mechanisms import Registry
from bypass.mechanisms.families import COMMON_SCHEME, TRANSPORT
from bypass.models.queueing import DelayEstimator
from bypass.models.radio.medium import Positions
from bypass.models.radio.radio import RadioModel
from bypass.models.radio.walls import NO_WALLS, Walls
from bypass.places.geo import Projection
from bypass.places.region import Region
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.ports.state_info import EXPECTED_DELAY, Reading
from bypass.sim.cellular import BROKER, GONE, Cellular, CellularModel, Station
from bypass.sim.clock import VirtualClock
from bypass.sim.edges import EdgeModel, SimulatedEdges
from bypass.sim.host import SimHost
from bypass.sim.radio_kinds import RADIOS
from bypass.sim.radios import LocalNetwork
from bypass.sim.sensor import Movement, TraceSensor, WholeTrace
from bypass.sim.sessions import DurableCellular, NotDurable
from bypass.support.arrays import Floats
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.units import MICROSECONDS
from bypass.transitions import Action


class SimulatedSystem:
    """`clients` clients that move by `trace`, and a broker for `region`, all of them running `scheme`.

    `set` are parameters of schemes, for whichever part of whichever scheme has them. `begin` are actions that
    every client begins with, `radios` the kinds of radio that each of them has, beside those that transports
    have models of. With `durable` sessions clients can be cut off and lose nothing. `registry` has the
    mechanisms, those built in if it is not given. `edges` are the places (m) of infrastructure nodes, which
    are numbered behind the clients, `edge_model` says what they run, `fallback` how clients go on
    without one. `walls` stand between devices. Degrees take a `projection`. Register analyzers with `monitor`
    at any time: they change nothing.
    """

    def __init__(
        self,
        clients: int,
        trace: Movement,
        region: Region,
        *,
        seed: int = 1,
        network: CellularModel | None = None,
        scheme: str = COMMON_SCHEME,
        set: Mapping[str, Any] | None = None,  # noqa: A002 - the word that plans use
        grace: float = 1.5,
        state_transfer: bool = True,
        begin: Iterable[Action] = (),
        radios: Mapping[str, RadioModel] = RADIOS,
        durable: bool = False,
        registry: Registry | None = None,
        edges: Sequence[tuple[float, float]] = (),
        edge_model: EdgeModel | None = None,
        fallback: FallbackSettings | None = None,
        walls: Walls = NO_WALLS,
        projection: Projection | None = None,
    ) -> None:
        begin = tuple(begin)
        self.registry = registry = registry or Registry()
        self.clock = VirtualClock()
        self.monitor = Monitor()
        links = DurableCellular if durable else Cellular
        self.cellular = links(self.clock, network or CellularModel(), clients, seed, registry.codec)
        self.broker = Broker(
            SimHost(BROKER, self.clock, NoSensor(), self.monitor, seed),
            self.cellular,
            region=region,
            scheme=scheme,
            set=set,
            grace=grace,
            state_transfer=state_transfer,
            begin=begin,
            registry=registry,
            clients=self,
            projection=projection,
        )
        self.cellular.attach_broker(self.broker.receive)
        transports = registry.kinds(TRANSPORT)
        self.local = LocalNetwork(
            self.clock,
            _with_edges(_positions(trace, clients), edges),
            clients + len(edges),
            seed,
            radios,
            transports,
            registry.codec,
            self.monitor,
            walls,
        )
        numbers = range(clients, clients + len(edges))
        self.edges = SimulatedEdges(
            self.clock, self.local, numbers, seed, self.monitor, edge_model or EdgeModel()
        )
        self._make_client = partial(
            Client,
            uplink=self.cellular.send_up,
            scheme=scheme,
            set=set,
            begin=begin,
            registry=registry,
            fallback=fallback,
            projection=projection,
        )
        self._delays = DelayEstimator(self.cellular.notified, durable=durable)
        self.broker.host.state_info.provide(EXPECTED_DELAY, self._expected_delay)
        self._hosts: list[SimHost] = []
        self.clients: list[Client] = []
        for number in range(clients):
            phase, _ = uniform_pair(np.uint64(seed), Purpose.SENSOR, number, 0)
            sensor = TraceSensor(self.clock, trace, number, phase)
            self._hosts.append(SimHost(number, self.clock, sensor, self.monitor, seed))
            self.clients.append(self._make_client(self._hosts[number], local=self.local.devices[number]))
            self.cellular.attach_client(_station(self.clients[number]))
            self._delays.joined(number, 0.0)

    def leave(self, number: int) -> None:
        """A client is gone from one moment to the next; the broker notices at once."""
        self.clients[number].close()
        self.cellular.replace_client(number, GONE)
        self._delays.left(number, self.clock.now())
        self.broker.disconnect(number)

    def join(self, number: int) -> None:
        """A client that has left begins anew, with what all began with and no subscriptions.

        The objects in its store have outlived its absence, and its queries go on.
        """
        before = self.clients[number]
        self.clients[number] = self._make_client(
            self._hosts[number],
            local=self.local.devices[number],
            published=before.published,
            kept=before.kept_objects(),
        )
        self.cellular.replace_client(number, _station(self.clients[number]))
        self._delays.joined(number, self.clock.now())

    def cut_off(self, number: int) -> None:
        """A client and the broker do not reach each other until it is reconnected; its session stays.

        Events for it wait at the broker, its own at the client. Its radios work. Raises NotDurable.
        """
        self._durable(number).cut(number)
        self._delays.left(number, self.clock.now())
        self.broker.rollout.tracker.cut_off(number)

    def reconnect(self, number: int) -> None:
        """A client that was cut off before this moment says again what it has subscribed, and where it is.

        It is told the plans that it has missed, and then what has waited goes out. Raises NotDurable.
        """
        cellular, client = self._durable(number), self.clients[number]
        cellular.mend(number)
        self._delays.joined(number, self.clock.now())
        network = client.network
        wanted = [] if network.silent else [each.handle.id for each in client.subscriptions]
        known = self.broker.table.handle[self.broker.table.rows_of(number)]
        held = {*known.tolist(), *self.broker.borders.handles(number)}
        for handle in sorted(held.difference(wanted)):  # withdrawn meanwhile
            self.broker.withdraw(number, handle)
        self.broker.reconnect(number, network.flag, network.epoch)
        for each in list(client.subscriptions):
            client.filter.subscribe(each)
        cellular.send_again(number)

    def name(self, client: int) -> str:
        """Give the name of a client."""
        return f"client-{client}"

    def scheme(self, client: int) -> int:
        """Give the flag of the filter scheme that a client has."""
        return self.clients[client].network.flag

    def knows_areas(self, client: int) -> bool:  # noqa: ARG002
        """Give True: all clients are of this version."""
        return True

    @property
    def waiting(self) -> int:
        """Publications and notifications in durable sessions that have not arrived yet."""
        return self.cellular.waiting if isinstance(self.cellular, DurableCellular) else 0

    def _durable(self, number: int) -> DurableCellular:
        if not isinstance(self.cellular, DurableCellular):
            raise NotDurable(f"client {number} has no durable session: expected a system that keeps them")
        return self.cellular

    def run_until(self, seconds: float) -> None:
        """Let virtual time pass up to, not including, `seconds`."""
        self.clock.run_until(round(seconds * MICROSECONDS))

    def _expected_delay(self, client: int) -> Reading[float] | None:
        now = self.clock.now()
        delay = self._delays.delay(client, now)
        return None if delay is None else Reading(delay, now)


def _station(client: Client) -> Station:
    network = client.network
    return Station(network.receive, network.notified, network.relayed)


def _positions(trace: Movement, clients: int) -> Positions:
    """Where all clients are at a time: from the trace at once if it can tell, else one by one."""
    if isinstance(trace, WholeTrace):
        return trace.positions

    def positions(at: float) -> tuple[Floats, Floats]:
        x, y = np.array([trace.position(client, at) for client in range(clients)], np.float64).T
        return x, y

    return positions


def _with_edges(clients: Positions, edges: Sequence[tuple[float, float]]) -> Positions:
    """Where all clients and edges are at a time."""
    if not edges:
        return clients
    edge_x, edge_y = np.array(edges, np.float64).T

    def positions(at: float) -> tuple[Floats, Floats]:
        x, y = clients(at)
        return np.concatenate((x, edge_x)), np.concatenate((y, edge_y))

    return positions
