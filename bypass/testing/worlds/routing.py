"""A few nodes that route, in virtual time: who stands where, who is gone, what was sent and what arrived.

Radios are discs: a node within `reach` hears what is sent, unless that is lost, with the probability `loss`.
A unicast is tried several times, as a link layer does.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from bypass.core.edge.bare_service import BareService
from bypass.core.edge.node import ALONE, AreaLink
from bypass.core.edge.relay import AccessPointRelay
from bypass.mechanisms import Registry
from bypass.places.sensor import NoSensor
from bypass.ports.datagrams import DatagramLoss, Failed
from bypass.ports.host import Lease
from bypass.ports.monitor import Monitor
from bypass.ports.routing import Routing
from bypass.protocol.datagrams import Datagram, NodeAddress
from bypass.protocol.storage import Acknowledge, OperationStatus, StorageMessage
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.sim.sensor import TraceSensor
from bypass.support.units import MICROSECONDS
from bypass.testing.rules import Point
from bypass.transitions import Engine, Record

REACH = 113.2
"""How far radios reach, in metres."""

TRIES = 7
"""How often a unicast is tried."""

TRY_S = 0.002
"""How long one try takes, and a broadcast."""


class Arrival(NamedTuple):
    """A body that was handed over to a node, with its number, its origin and the target it was meant for."""

    at: float
    node: int
    number: int
    origin: NodeAddress
    target: NodeAddress | None


class Report(NamedTuple):
    """A body, by its number, that its node was told did not get to a target."""

    node: int
    number: int
    target: NodeAddress


@dataclass(slots=True)
class Walk:
    """A way in a straight line, at a speed, that begins at a time."""

    begin: Point
    end: Point
    at: float = 0.0
    mps: float = 1.0

    def place(self, now: float) -> Point:
        """Where the node is at a time."""
        length = math.dist(self.begin, self.end)
        share = min(max(now - self.at, 0.0) * self.mps / length, 1.0) if length else 1.0
        (x, y), (to_x, to_y) = self.begin, self.end
        return x + share * (to_x - x), y + share * (to_y - y)

    def velocity(self, now: float) -> Point:
        """How the node moves at a time."""
        length = math.dist(self.begin, self.end)
        if not length or (now - self.at) * self.mps >= length:
            return 0.0, 0.0
        (x, y), (to_x, to_y) = self.begin, self.end
        return self.mps * (to_x - x) / length, self.mps * (to_y - y) / length


@dataclass(slots=True)
class RoutingNode:
    """One node: its engine, the proxy `routing`, and how often its surroundings changed."""

    engine: Engine
    routing: Routing
    walk: Walk
    alive: bool = True
    changes: int = 0


class _NodeLink:
    """The `DatagramPort` of one node."""

    def __init__(self, world: RoutingWorld, node: int) -> None:
        self._world, self._node = world, node

    def broadcast(self, datagram: Datagram) -> None:
        self._world.broadcast(self._node, datagram)

    def unicast(self, datagram: Datagram, neighbour: int, failed: Failed) -> None:
        self._world.unicast(self._node, datagram, neighbour, failed)


class _NodeSink:
    """The `DatagramSink` of one node: it notes what it is told."""

    def __init__(self, world: RoutingWorld, node: int) -> None:
        self._world, self._node = world, node

    def received(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:
        at = self._world.clock.now()
        self._world.arrivals.append(Arrival(at, self._node, number_of(body), origin, target))

    def undeliverable(self, body: StorageMessage, target: NodeAddress) -> None:
        self._world.reports.append(Report(self._node, number_of(body), target))

    def doubtful(self, body: StorageMessage, target: NodeAddress) -> None:
        """Do nothing: what was reported counts."""

    def surroundings_changed(self) -> None:
        self._world.nodes[self._node].changes += 1


@dataclass
class RoutingWorld:
    """Nodes at `places` that all run one mechanism. `settings` are its parameters, `own` has further ones of
    single nodes. `hops` has the most hops that a datagram with a body was seen with, by the body's number;
    `sends` how often one was sent. The radios of nodes in `full` have no room for a unicast. `edges` are the
    places of edges that store nothing; they are numbered behind the nodes."""

    places: Sequence[Point]
    mechanism: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    mechanisms: Sequence[str | type] = ()
    reach: float = REACH
    loss: float = 0.0
    seed: int = 1
    own: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    edges: Sequence[Point] = ()

    def __post_init__(self) -> None:
        self.clock = VirtualClock()
        self.arrivals: list[Arrival] = []
        self.reports: list[Report] = []
        self.full: set[int] = set()
        self.hops: Counter[int] = Counter()
        self.sends: Counter[int] = Counter()
        self._numbers = 0
        self._random = random.Random(self.seed)
        self._registry = Registry(self.mechanisms)
        self.nodes = [RoutingNode(Engine(), _nobody(), Walk(place, place)) for place in self.places]
        for number in range(len(self.places)):
            self._begin(number)
        self.access_points = [
            WorldEdge(self, number, place) for number, place in enumerate(self.edges, len(self.places))
        ]

    # -- what happens -------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.run_until(self.clock.now_us + round(seconds * MICROSECONDS))

    def send(self, node: int, *targets: NodeAddress) -> int:
        """Have a node send a body; gives the number of the body."""
        body = self._body()
        self.nodes[node].routing.send(body, targets)
        return self._numbers

    def tell(self, node: int, whom: str) -> int:
        """Have a node tell a body to many: `flood`, `tell_cell` or `tell_neighbours`; gives its number."""
        getattr(self.nodes[node].routing, whom)(self._body())
        return self._numbers

    def die(self, node: int) -> None:
        """A node neither hears nor says anything from now on."""
        self.nodes[node].alive = False

    def revive(self, node: int) -> None:
        """A node is there again, as it was."""
        self.nodes[node].alive = True

    def walk(self, node: int, end: Point, mps: float = 1.0) -> None:
        """Have a node walk to a place, from now on."""
        now = self.clock.now()
        each = self.nodes[node]
        each.walk = Walk(each.walk.place(now), end, now, mps)

    def change(self, node: int, to: str, **values: Any) -> Record:
        """Exchange the mechanism of a node, or set parameters of the one that it has."""
        return self.nodes[node].engine.transition("routing", to, set=values)

    # -- what happened ------------------------------------------------------------------------------------

    def took(self, number: int) -> list[int]:
        """The nodes that a body was handed over to, as often as it was."""
        return sorted(each.node for each in self.arrivals if each.number == number)

    def reported(self, number: int) -> list[NodeAddress]:
        """The targets that were reported as not reached by a body."""
        return [each.target for each in self.reports if each.number == number]

    def in_reach(self, node: int) -> list[int]:
        """The other nodes that hear a node at this moment, edges not among them."""
        return [other for other in self._in_reach(node) if other < len(self.nodes)]

    def _in_reach(self, node: int) -> list[int]:
        here = self.position(node, self.clock.now())
        return [
            other
            for other in range(len(self.nodes) + len(self.access_points))
            if other != node
            and self._is_alive(other)
            and math.dist(here, self.position(other, self.clock.now())) <= self.reach
        ]

    def active(self, node: int) -> Any:
        """The mechanism that a node runs."""
        return self.nodes[node].engine.active("routing")

    # -- what nodes and sensors ask -----------------------------------------------------------------------

    def position(self, client: int, at: float) -> Point:
        """Where a node is, as its sensor asks."""
        if client >= len(self.nodes):
            return self.edges[client - len(self.nodes)]
        return self.nodes[client].walk.place(at)

    def velocity(self, client: int, at: float) -> Point:
        """How fast a node moves, as its sensor asks."""
        return self.nodes[client].walk.velocity(at)

    def broadcast(self, node: int, datagram: Datagram) -> None:
        """Send to all in reach."""
        if not self._is_alive(node):
            return
        self._note(datagram)
        for other in self._in_reach(node):
            if self._random.random() >= self.loss:
                self.clock.after(TRY_S, self._arrive, other, datagram)

    def unicast(self, node: int, datagram: Datagram, neighbour: int, failed: Failed) -> None:
        """Send to one node; both the datagram and what acknowledges it may be lost."""
        if not self._is_alive(node):
            return
        if node in self.full:
            self.clock.after(0.0, failed, DatagramLoss.NO_ROOM)
            return
        self._note(datagram)
        arrived = acknowledged = False
        tries = 0
        while tries < TRIES and not acknowledged:
            tries += 1
            heard = neighbour in self._in_reach(node) and self._random.random() >= self.loss
            if heard and not arrived:
                arrived = True
                self.clock.after(tries * TRY_S, self._arrive, neighbour, datagram)
            acknowledged = heard and self._random.random() >= self.loss
        if not acknowledged:
            self.clock.after((tries + 1) * TRY_S, failed, DatagramLoss.UNACKNOWLEDGED)

    def _arrive(self, node: int, datagram: Datagram) -> None:
        if node >= len(self.nodes):
            self.access_points[node - len(self.nodes)].arrived(datagram)
        elif self.nodes[node].alive:
            self.nodes[node].routing.arrived(datagram)

    def _is_alive(self, node: int) -> bool:
        if node >= len(self.nodes):
            return self.access_points[node - len(self.nodes)].alive
        return self.nodes[node].alive

    def _note(self, datagram: Datagram) -> None:
        if isinstance(datagram.body, Acknowledge):
            number = number_of(datagram.body)
            self.sends[number] += 1
            self.hops[number] = max(self.hops[number], datagram.hops)

    def _body(self) -> Acknowledge:
        self._numbers += 1
        return Acknowledge(self._numbers, OperationStatus.OK)

    def _begin(self, number: int) -> None:
        phase = self._random.random()
        sensor = TraceSensor(self.clock, self, number, phase)
        host = SimHost(number, self.clock, sensor, Monitor(), self.seed)
        link = _NodeLink(self, number)
        engine = Engine(
            f"node-{number}",
            lease=lambda proxy: Lease(host, proxy, link),
            clock=host.now,
            defer=partial(host.after, 0.0),
        )
        routing = self._registry.create(engine, "client", "routing", state={"sink": _NodeSink(self, number)})
        self.nodes[number].engine, self.nodes[number].routing = engine, routing
        settings = {**self.settings, **self.own.get(number, {})}
        engine.transition("routing", self.mechanism, set=settings)


class WorldEdge:
    """An edge of a world that stores nothing. While it is not `alive` its radio is off; if its process has
    ended, its radio works."""

    def __init__(self, world: RoutingWorld, number: int, place: Point) -> None:
        self.number = number
        self.place = place
        self.alive = True
        self._world = world
        self._host = SimHost(number, world.clock, NoSensor(), Monitor(), world.seed)
        self.restart()

    def restart(self) -> None:
        """Begin its process anew."""
        link = _NodeLink(self._world, self.number)
        self._lease = Lease(self._host, f"edge {self.number}", None)
        self.relay = AccessPointRelay(self._lease, link)
        self.service = BareService(self._lease, AreaLink(self.relay, ALONE))
        self.relay.start(self.service)

    def kill(self) -> None:
        """End its process."""
        self.relay.stop()
        self._lease.close()

    def arrived(self, datagram: Datagram) -> None:
        """Take a datagram from its radio."""
        if self.alive:
            self.relay.arrived(datagram)


def number_of(body: StorageMessage) -> int:
    """The number of a body that a world has made."""
    assert isinstance(body, Acknowledge)
    return body.op


def _nobody() -> Any:
    """Stand in for the proxy of a node that is not made yet."""
