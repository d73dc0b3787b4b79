"""Several edges with their clients in virtual time: real services, a wire between them that loses, delays and
is cut, and clients that do what the messages need of them and no more."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bypass.mechanisms.storage.infra.edge.service import InfraService
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.mechanisms.storage.infra.edge.service.worlds import MemoryWorldStore, WorldStore
from bypass.mechanisms.storage.shared_state import SharedState
from bypass.objects.catalogue import ObjectCatalogue
from bypass.objects.metadata import Metadata, ObjectKey, Tombstone
from bypass.objects.node_store import NodeStore
from bypass.objects.persistence import MemoryPersistence, Persistence
from bypass.objects.query import ObjectQuery, PageCursor
from bypass.objects.tags import TagFormula
from bypass.objects.tombstones import Tombstones
from bypass.places.logical_cells import cell_of_node, logical_grid
from bypass.ports.edge import Sent
from bypass.ports.monitor import Monitor
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import (
    CellCycle,
    CellData,
    CellNeed,
    Download,
    DownloadCount,
    Downloaded,
    DownloadKind,
    EdgeNotification,
    EdgeRelay,
    Item,
    ItemKey,
    StorageChange,
    SubscriptionNeeds,
)
from bypass.protocol.storage import Acknowledge, Ask, Delete, FoundObjects, NodeState, StorageMessage
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.sim.sensor import TraceSensor
from bypass.support.units import MICROSECONDS
from tests.object_strategies import SECRET

WORLD = ""
RADIO_S, WIRE_S = 0.002, 0.005


@dataclass
class CellState:
    """All that the clients of a cell know together."""

    objects: dict[ObjectKey, Metadata] = field(default_factory=dict)
    at_edge: set[ItemKey] = field(default_factory=set)
    tombstones: Tombstones = field(default_factory=Tombstones)
    notified: list[ItemKey] = field(default_factory=list)

    def take(self, body: StorageMessage) -> None:
        if isinstance(body, StorageChange):
            change = self.at_edge.update if body.stored else self.at_edge.difference_update
            change(body.items)
        elif isinstance(body, EdgeNotification):
            self.notified.extend(each.key for each in body.items if not self.tombstones.hides(each.metadata))
        elif isinstance(body, Delete):
            self.bury(Tombstone(body.key, body.opening))

    def bury(self, tombstone: Tombstone) -> None:
        self.tombstones.add(tombstone)
        known = self.objects.get(tombstone.key)
        if known is not None and known.opened_by(tombstone.opening):
            del self.objects[tombstone.key]


class WorldClient:
    """A client of one edge: it holds copies, asks, and keeps what it is sent."""

    def __init__(self, edge: WorldEdge, number: int) -> None:
        self.edge = edge
        self.number = number
        self.copies: dict[ObjectKey, Item] = {}
        self.inbox: list[StorageMessage] = []
        self.alive = True
        self.delays: dict[ObjectKey, float] = {}
        """The seconds that it takes to send an item."""
        self._op = 0

    def cell(self, world: str = WORLD) -> int:
        return cell_of_node(self.number, self.edge.cells(world))

    def op(self) -> int:
        self._op += 1
        return self.number << 32 | self._op

    def send(self, body: StorageMessage, world: str = WORLD) -> None:
        """Send to the edge, at once: what a client must repeat is not under test."""
        if self.edge.alive:
            self.edge.service.received(world, body, NodeAddress(self.number, self.cell(world)))

    def take(self, world: str, body: StorageMessage) -> None:
        self.inbox.append(body)
        if isinstance(body, EdgeRelay):
            if body.target.node is not None:
                self.edge.deliver(world, body.target.node, body.body)
            elif body.target.cell is not None:
                self.edge.state(world, body.target.cell).take(body.body)
        elif isinstance(body, NodeState):
            for tombstone in body.tombstones:
                for place, state in self.edge.cell_states.items():
                    if place[0] == world:
                        state.bury(tombstone)
        elif isinstance(body, Download):
            item = self.copies.get(body.item.object)
            delay_s = self.delays.get(body.item.object, 0.0)
            self.edge.world.clock.after(delay_s, self.send, _piece(body, item), world)

    def download(self, key: ItemKey, kind: DownloadKind = DownloadKind.REGULAR, offset: int = 0) -> int:
        op = self.op()
        self.send(Download(op, key, kind, 0, offset), key.world)
        return op

    def downloaded(self, op: int) -> Item | None:
        """The item that answered a download."""
        answers = [each for each in self.inbox if isinstance(each, Downloaded) and each.op == op]
        assert len(answers) <= 1
        return answers[0].item if answers else None

    def answered(self, op: int) -> bool:
        """Whether an operation has been answered."""
        return any(getattr(each, "op", 0) == op for each in self.inbox)

    def ask(self, tags: str = "a", world: str = WORLD) -> list[Metadata]:
        """All matches that the edge has, by pages."""
        found: list[Metadata] = []
        after: PageCursor | None = None
        query = ObjectQuery(self.number << 32, self.number, TagFormula.parse(tags), namespace=world)
        while True:
            op = self.op()
            self.send(Ask(op, query, after=after, live=False), world)
            self.edge.world.run(0.01)
            (page,) = [each for each in self.inbox if isinstance(each, FoundObjects) and each.op == op]
            found += page.items
            after = page.next
            if not page.more:
                return found

    def report(
        self,
        cycle: int,
        downloads: Sequence[DownloadCount] = (),
        needs: Sequence[CellNeed] = (),
        cell: int | None = None,
        world: str = WORLD,
    ) -> int:
        """Send the cell data of one cycle."""
        op = self.op()
        epoch = self.edge.epoch(world)
        place = self.cell(world) if cell is None else cell
        self.send(
            CellData(op, world, epoch, place, (CellCycle(cycle, tuple(downloads)),), tuple(needs)), world
        )
        return op

    def delete(self, of: Item) -> int:
        """Delete an object of which the secret is known, at the edge and in the cells of this area."""
        op = self.op()
        metadata = of.metadata
        body = Delete(op, metadata.key, SECRET, metadata.tags)
        self.send(body, metadata.namespace)
        grid = logical_grid(self.edge.cells(metadata.namespace))
        for tag in metadata.tags:
            self.edge.state(metadata.namespace, grid.cell_of_tag(metadata.namespace, tag)).take(body)
        return op

    def compare(self, world: str = WORLD) -> None:
        """Have the edge send the tombstones that some cell here may lack."""
        for place, state in list(self.edge.cell_states.items()):
            if place[0] == world:
                self.send(SharedState(ObjectCatalogue(), state.tombstones).digest(), world)

    def acknowledged(self, op: int) -> bool:
        return any(isinstance(each, Acknowledge) and each.op == op for each in self.inbox)


class WorldEdge:
    """An edge, its clients, and its link."""

    def __init__(self, world: ServiceWorld, number: int, settings: EdgeSettings, skew: float = 0.0) -> None:
        self.world = world
        self.number = number
        self.settings = settings
        self.clients: dict[int, WorldClient] = {}
        self.persistence: Persistence = MemoryPersistence()
        self.world_store: WorldStore = MemoryWorldStore()
        self.sent: list[StorageMessage] = []
        self.maps_told = 0
        self._epochs: dict[str, int] = {}
        self.cell_states: dict[tuple[str, int], CellState] = defaultdict(CellState)
        self.alive = False
        self.skew = skew
        self.start()

    def start(self) -> None:
        host = SimHost(
            self.number, self.world.clock, TraceSensor(self.world.clock, self.world, 0, 0.0), Monitor(), 1
        )
        if self.skew:
            host.now = lambda: self.world.clock.now() + self.skew
        self.alive = True
        self.service = InfraService(
            host, self, NodeStore(self.number, self.persistence), self.settings, world_store=self.world_store
        )
        self.service.start()

    def crash(self) -> None:
        """Lose all that is not in a store; connections break."""
        self.alive = False
        self.service.stop()
        for other in self.world.edges.values():
            if other is not self and self.world.is_connected(self.number, other.number, but_alive=True):
                other.service.disconnected(self.number)

    def restart(self) -> None:
        """Start anew, with the same stores. Clients do not count on what it had."""
        self.start()
        for state in self.cell_states.values():
            state.at_edge.clear()
        for other in self.world.edges.values():
            if other is not self and self.world.is_connected(self.number, other.number):
                other.service.connected(self.number)
                self.service.connected(other.number)

    def add_client(self, number: int, world: str = WORLD) -> WorldClient:
        """A client that comes to the area."""
        client = self.clients[number] = WorldClient(self, number)
        self.service.joined(world, number)
        return client

    def cells(self, world: str) -> int:
        return next(each.cells for each in self.service.worlds() if each.world == world)

    def epoch(self, world: str) -> int:
        return next(each.epoch for each in self.service.worlds() if each.world == world)

    def state(self, world: str, cell: int) -> CellState:
        return self.cell_states[world, cell]

    def index(self, metadata: Metadata) -> None:
        """Have the cells of an object know of it."""
        for cell in self.index_cells(metadata):
            state = self.state(metadata.namespace, cell)
            if not state.tombstones.hides(metadata):
                state.objects[metadata.key] = metadata

    def index_cells(self, metadata: Metadata) -> set[int]:
        grid = logical_grid(self.cells(metadata.namespace))
        return {grid.cell_of_tag(metadata.namespace, tag) for tag in metadata.tags}

    def deliver(self, world: str, node: int, body: StorageMessage, sent: Sent | None = None) -> None:
        """Bring a body to a client, by radio; not what an edge has sent that crashes before it arrives."""
        service = self.service

        def arrive() -> None:
            if service is not self.service:
                return
            client = self.clients.get(node)
            arrived = client is not None and client.alive and not self.world.loses("radio")
            if client is not None and arrived:
                client.take(world, body)
            if sent is not None and self.alive:
                sent(arrived)

        self.world.clock.after(RADIO_S, arrive)

    # -- its link -----------------------------------------------------------------------------------------

    def send(self, world: str, body: StorageMessage, target: NodeAddress, sent: Sent | None = None) -> None:
        assert target.node is not None
        self.sent.append(body)
        self.deliver(world, target.node, body, sent)

    def tell(self, world: str, body: StorageMessage) -> None:
        for node in self.clients:
            self.deliver(world, node, body)

    def to_edge(self, edge: int, body: StorageMessage) -> bool:
        if not self.world.is_connected(self.number, edge):
            return False
        self.world.wire[type(body)] += 1
        for watcher in self.world.watchers:
            watcher(self.number, edge, body)
        if not self.world.loses("wire"):
            self.world.clock.after(self.world.wire_delay(), self.world.arrive, self.number, edge, body)
        return True

    def maps_changed(self) -> None:
        """Index all objects anew, as clients do under another map."""
        self.maps_told += 1
        epochs = {each.world: each.epoch for each in self.service.worlds()}
        for world in [world for world, epoch in epochs.items() if self._epochs.get(world, epoch) != epoch]:
            states = [self.cell_states.pop(place) for place in list(self.cell_states) if place[0] == world]
            for cell in range(self.cells(world)):
                for old in states:
                    for tombstone in old.tombstones:
                        self.state(world, cell).bury(tombstone)
            for old in states:
                for metadata in old.objects.values():
                    self.index(metadata)
        self._epochs = epochs

    def members(self, world: str) -> Sequence[int]:
        return sorted(number for number, client in self.clients.items() if client.alive)

    def edges(self) -> Sequence[int]:
        return [each for each in sorted(self.world.edges) if self.world.is_connected(self.number, each)]


class ServiceWorld:
    """A clock, edges numbered from 100 on, and the wires between them."""

    def __init__(
        self,
        edges: int = 2,
        settings: EdgeSettings = EdgeSettings(),  # noqa: B008 - it never changes
        seed: int = 1,
        wire_loss: float = 0.0,
        radio_loss: float = 0.0,
        reordering: bool = False,
    ) -> None:
        self.clock = VirtualClock()
        self.wire: Counter[type[StorageMessage]] = Counter()
        self.loss = {"wire": wire_loss, "radio": radio_loss}
        self.reordering = reordering
        self.watchers: list[Callable[[int, int, StorageMessage], None]] = []
        """Called with the sender, the receiver and the body of each message to an edge, when it is sent."""
        self.needs: dict[tuple[int, int], SubscriptionNeeds] = {}
        """By the edge that was told, and the one whose they are."""
        self._draw = random.Random(seed)
        self._cut: set[frozenset[int]] = set()
        self._end_us = 0
        self.edges: dict[int, WorldEdge] = {}
        for number in range(100, 100 + edges):
            self.add_edge(number, settings)

    def add_edge(self, number: int, settings: EdgeSettings, skew: float = 0.0) -> WorldEdge:
        """A new edge that joins, connected with all others, whose clock is wrong by `skew`."""
        new = self.edges[number] = WorldEdge(self, number, settings, skew)
        for each in list(self.edges.values()):
            if each is not new and each.alive:
                each.service.connected(number)
                new.service.connected(each.number)
        return new

    def run(self, seconds: float) -> None:
        """Let time pass, with all that is due at its end."""
        self._end_us = max(self._end_us, self.clock.now_us) + round(seconds * MICROSECONDS)
        self.clock.run_until(self._end_us + 1)

    def cut(self, one: int, two: int) -> None:
        """Cut a wire."""
        if self.is_connected(one, two):
            self._cut.add(frozenset((one, two)))
            self.edges[one].service.disconnected(two)
            self.edges[two].service.disconnected(one)
        self._cut.add(frozenset((one, two)))

    def mend(self, one: int, two: int) -> None:
        """Mend a wire."""
        self._cut.discard(frozenset((one, two)))
        if self.is_connected(one, two):
            self.edges[one].service.connected(two)
            self.edges[two].service.connected(one)

    def is_connected(self, one: int, two: int, but_alive: bool = False) -> bool:
        return (
            one != two
            and frozenset((one, two)) not in self._cut
            and two in self.edges
            and (but_alive or (self.edges[one].alive and self.edges[two].alive))
        )

    def is_divided(self) -> bool:
        """Whether some edges do not reach each other."""
        return bool(self._cut) or not all(each.alive for each in self.edges.values())

    def arrive(self, edge: int, at: int, body: StorageMessage) -> None:
        if self.is_connected(edge, at):
            if isinstance(body, SubscriptionNeeds):
                self.needs[at, edge] = body
            self.edges[at].service.from_edge(edge, body)

    def loses(self, medium: str) -> bool:
        return self._draw.random() < self.loss[medium]

    def wire_delay(self) -> float:
        return self._draw.uniform(0.0, 2.0) if self.reordering else WIRE_S

    def position(self, client: int, at: float) -> tuple[float, float]:
        return 0.0, 0.0

    def velocity(self, client: int, at: float) -> tuple[float, float]:
        return 0.0, 0.0


def until(world: ServiceWorld, condition: Callable[[], bool], seconds: float = 600.0) -> None:
    """Let time pass until a condition holds."""
    for _ in range(round(seconds)):
        if condition():
            return
        world.run(1.0)
    assert condition(), f"not within {seconds} s"


def _piece(request: Download, item: Item | None) -> Downloaded:
    if item is None or item.data is None:
        return Downloaded(request.op, None, request.cycle)
    end = None if request.length is None else request.offset + request.length
    part = item._replace(data=item.data[request.offset : end])
    return Downloaded(request.op, part, request.cycle, request.offset)
