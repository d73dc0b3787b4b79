"""A small world of clients in the areas of edges, in virtual time: who is in whose area, what an edge has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bypass.core.edge.bare_service import BareService
from bypass.core.edge.node import ALONE, AreaLink
from bypass.core.edge.relay import AccessPointRelay
from bypass.core.objects.fallback import FallbackSettings
from bypass.mechanisms.storage.infra.edge.area import EdgeArea
from bypass.mechanisms.storage.infra.edge.needs import NeedsTable
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.mechanism import Infra
from bypass.objects.catalogue import ObjectCatalogue
from bypass.objects.metadata import ObjectKey, StoredObject
from bypass.ports.edge import EdgeLink
from bypass.ports.host import Host, Lease
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import (
    CellData,
    Download,
    Downloaded,
    DownloadKind,
    EdgeRelay,
    Item,
    ItemKey,
    StorageChange,
    item_key,
)
from bypass.protocol.storage import Acknowledge, Ask, Delete, FoundObjects, NodeState, StorageMessage
from bypass.testing.rules import Point
from bypass.testing.worlds.routing import Walk, WorldEdge, _NodeLink
from tests.cells_world import CellsWorld

PERIOD_S = 5.0
"""The length of a cycle."""

NOWHERE = (20.0, 9000.0)
"""A place in no area."""


class ScriptedEdge(BareService):
    """An edge that has what a test gives it, and answers as an edge should, unless it is `silent`.

    `confirms` says whether it acknowledges reports. `far` is what other edges have.
    """

    def __init__(self, host: Host, link: EdgeLink, cells: int) -> None:
        super().__init__(host, link, cells=cells)
        self.silent = False
        self.confirms = True
        self.objects: dict[ObjectKey, StoredObject] = {}
        self.far: dict[ObjectKey, StoredObject] = {}
        self.reports: list[tuple[int, CellData]] = []
        self.got: list[tuple[NodeAddress, StorageMessage]] = []
        self.number = host.id
        self._now = host.now
        self.forget_area()

    def forget_area(self) -> None:
        """Begin with empty tables of what clients report."""
        self.area = EdgeArea(PopularityTable(10), NeedsTable(), self._now, PERIOD_S)

    def received(self, world: str, body: StorageMessage, origin: NodeAddress) -> None:
        """Take a body of a client."""
        if self.silent:
            return
        self.got.append((origin, body))
        if isinstance(body, Ask):
            catalogue = ObjectCatalogue()
            for each in self.objects.values():
                catalogue.add(each.metadata)
            page = catalogue.page(body.query, body.after, body.limit, body.since_us)
            self.send(FoundObjects(body.op, body.query.id, page.items, page.next, page.more), origin)
        elif isinstance(body, Delete):
            self.objects.pop(body.key, None)
            self.send(Acknowledge(body.op), origin)
        elif isinstance(body, CellData):
            assert origin.node is not None
            self.reports.append((origin.node, body))
            known = self._maps[world]
            self.area.set_map(world, known.epoch, known.cells)
            self.area.merge(body, 0)
            if self.confirms:
                self.send(Acknowledge(body.op), origin)
        elif isinstance(body, Download):
            stored = self.objects.get(body.item.object)
            if body.kind is DownloadKind.FORCED:
                stored = stored or self.far.get(body.item.object)
            item = None
            if stored is not None:
                end = None if body.length is None else body.offset + body.length
                item = Item(stored.metadata, stored.data[body.offset : end])
            self.send(Downloaded(body.op, item, body.cycle, body.offset), origin)
        elif isinstance(body, NodeState):
            for tombstone in body.tombstones:
                self.objects.pop(tombstone.key, None)

    def send(self, body: StorageMessage, target: NodeAddress) -> None:
        """Send to a client, or to one of a cell."""
        self._link.send("", body, target)

    def relay(self, cell: int, body: StorageMessage, by: int | None = None) -> None:
        """Send to all of a cell."""
        target = NodeAddress(None, cell)
        self.send(EdgeRelay(target, body), target if by is None else NodeAddress(by))

    def keep(self, *stored: StoredObject, told: bool = True) -> None:
        """Have objects from now on, and tell the cells unless `told` is False."""
        for each in stored:
            self.objects[each.key] = each
        if told:
            self.tell_cells([item_key(each.metadata) for each in stored], True)

    def tell_cells(self, items: Sequence[ItemKey], stored: bool) -> None:
        """Tell all cells what is here, or is not any more."""
        for cell in range(self._maps[""].cells):
            self.relay(cell, StorageChange(tuple(items), stored))


class _AreaEdge(WorldEdge):
    """An edge of which a test says what it has."""

    def restart(self) -> None:
        """Begin its process anew."""
        self._lease = Lease(self._host, f"edge {self.number}", None)
        self.relay = AccessPointRelay(self._lease, _NodeLink(self._world, self.number))
        cells = self._world.cells_each  # type: ignore[attr-defined]
        self.service = ScriptedEdge(self._lease, AreaLink(self.relay, ALONE), cells)
        self.relay.start(self.service)


class AreaWorld(CellsWorld):
    """Clients in areas with these numbers (None: in none), each with an edge, and with `cells` cells."""

    def __init__(
        self,
        areas: Sequence[int | None],
        cells: int = 3,
        *,
        loss: float = 0.0,
        seed: int = 1,
        fallback: FallbackSettings | None = None,
        storage: str = "infra",
        routing: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.clients = len(areas)
        self.cells_each = cells
        self.fallback = fallback
        self.storage = storage
        self._areas = areas
        self._stopped: set[int] = set()
        self._routing = routing or {}
        if storage == "infra":
            settings = {"cell_data_s": PERIOD_S, "hello_s": 2.0, "warm_up_s": 5.0, **settings}
        super().__init__([0] * len(areas), 1, 1, loss=loss, seed=seed, settings=settings)

    def __post_init__(self) -> None:
        self.mechanism, self.settings = "access-point", self._routing
        self.places = [self._place(area) for area in self._areas]
        numbers = max((each for each in self._areas if each is not None), default=0) + 1
        self.edges = [self._place(number) for number in range(numbers)]
        super().__post_init__()
        for each in self.access_points:
            each.kill()
        self.access_points = [
            _AreaEdge(self, number, place) for number, place in enumerate(self.edges, self.clients)
        ]

    @staticmethod
    def _place(area: int | None) -> Point:
        return NOWHERE if area is None else (20.0 + 1000.0 * area, 20.0)

    def edge(self, area: int = 0) -> ScriptedEdge:
        """The edge of an area."""
        service = self.access_points[area].service
        assert isinstance(service, ScriptedEdge)
        return service

    def infra(self, number: int) -> Infra:
        """The storage mechanism of a client."""
        found = self.nodes[number].engine.active("storage")
        assert isinstance(found, Infra)
        return found

    def enter(self, client: int, area: int | None) -> None:
        """A client comes into an area, or is in none from now on."""
        place = self._place(area)
        self.nodes[client].walk = Walk(place, place)

    def stop(self, area: int = 0) -> None:
        """The process of an edge ends, if it runs."""
        if area not in self._stopped:
            self._stopped.add(area)
            self.access_points[area].kill()

    def resume(self, area: int = 0) -> None:
        """The process of an edge begins anew, if it does not run."""
        if area in self._stopped:
            self._stopped.remove(area)
            self.access_points[area].restart()

    def unbound(self) -> bool:
        """Whether all clients have noticed that they have no edge."""
        return all(self.storages[each].area() is None for each in self.alive())
