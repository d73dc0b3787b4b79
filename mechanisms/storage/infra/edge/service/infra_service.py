"""The service of an edge: its parts, and which of them takes which message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

from bypass.mechanisms.registry import Registry
from bypass.mechanisms.storage.infra.edge.address_store import AddressStore
from bypass.mechanisms.storage.infra.edge.area import EdgeArea
from bypass.mechanisms.storage.infra.edge.caches import EdgeCaches
from bypass.mechanisms.storage.infra.edge.item_cache import CacheWorkshop
from bypass.mechanisms.storage.infra.edge.mechanisms import create_proxies
from bypass.mechanisms.storage.infra.edge.mobility.movement import ClientMovement
from bypass.mechanisms.storage.infra.edge.needs import NeedsTable
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.edge.provisioning import Provisioning
from bypass.mechanisms.storage.infra.edge.service.area_contact import AreaContact
from bypass.mechanisms.storage.infra.edge.service.collection import PopularItems
from bypass.mechanisms.storage.infra.edge.service.deletions import AreaDeletions
from bypass.mechanisms.storage.infra.edge.service.downloads import EdgeDownloads
from bypass.mechanisms.storage.infra.edge.service.exchange import AreaExchange
from bypass.mechanisms.storage.infra.edge.service.expected_clients import ExpectedClients
from bypass.mechanisms.storage.infra.edge.service.fetches import Holder, ItemFetches
from bypass.mechanisms.storage.infra.edge.service.losses import EdgeLoss, LossCounts
from bypass.mechanisms.storage.infra.edge.service.pending_notifications import PendingNotifications
from bypass.mechanisms.storage.infra.edge.service.plans import EdgePlans
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.mechanisms.storage.infra.edge.service.worlds import (
    EdgeWorlds,
    MemoryWorldStore,
    NumbersOfCells,
    WorldStore,
)
from bypass.mechanisms.storage.infra.edge.unpublication import EdgeParts, Unpublications
from bypass.objects.node_store import NodeStore
from bypass.objects.query import MOST_ON_A_PAGE
from bypass.ports.edge import EdgeLink
from bypass.ports.host import Host, Lease
from bypass.protocol.datagrams import NodeAddress, WorldMap
from bypass.protocol.edge import (
    CellData,
    CreateWorld,
    Download,
    Downloaded,
    DownloadKind,
    EdgeNotification,
    EdgeRelay,
    ItemConsumed,
    ItemKey,
    Provision,
    SubscriptionNeeds,
    WorldList,
)
from bypass.protocol.storage import (
    Acknowledge,
    Ask,
    Delete,
    FoundObjects,
    MoveNode,
    NodeState,
    StateDigest,
    StorageMessage,
)
from bypass.transitions import Plan, Record

OfClient = Callable[[str, int, Any], None]
"""Takes a body of a client of a world."""
OfEdge = Callable[[int, Any], None]
"""Takes a body of another edge."""


class InfraService:
    """An edge: takes reports of its area, keeps popular items, exchanges items with other edges, and answers
    clients; see `bypass.ports.edge.EdgeService`.

    Its number is that of the host. `store` keeps its tombstones, `world_store` its worlds, both longer than
    the service itself. What is malformed, or for nobody here, is counted in `losses` and dropped.
    """

    def __init__(
        self,
        host: Host,
        link: EdgeLink,
        store: NodeStore,
        settings: EdgeSettings = EdgeSettings(),  # noqa: B008 - it never changes
        registry: Registry | None = None,
        world_store: WorldStore | None = None,
    ) -> None:
        """Raises UnknownMechanism for a mechanism that the registry does not have."""
        self.settings = settings
        self.losses: LossCounts = LossCounts()
        self._host = Lease(host, "edge", None)
        self._link = link
        number, now = host.id, host.now
        workshop = CacheWorkshop(registry or Registry(), lambda owner: Lease(host, owner, None), now)
        is_hidden = store.tombstones.hides

        proxies = create_proxies(workshop, settings.first_mechanisms, settings.parameters)
        self.engine = proxies.engine
        self.caches = EdgeCaches(
            workshop, is_hidden, settings.cache_sizes, settings.eviction, settings.partition
        )
        self.popularity = PopularityTable(settings.most_replicas, settings.known_items)
        self.needs = NeedsTable()
        self.area = EdgeArea(self.popularity, self.needs, now, settings.cell_data_period_s)
        self._worlds = EdgeWorlds(
            number, now, lambda: proxies.cell_map.cells(0, 0, inf), world_store or MemoryWorldStore()
        )
        self._cells = NumbersOfCells(self._worlds, proxies.cell_map, link.members)
        self._worlds.on_map(lambda each: self.area.set_map(each.world, each.epoch, each.cells))
        self._addresses = AddressStore(now, settings.addresses, settings.address_ttl_s)
        self.contact = AreaContact(
            link, self._worlds, self._addresses, self.losses, settings.parked_per_cell,
            lambda *each: self._readdress(*each),
        )  # fmt: skip
        self.fetches = ItemFetches(self._host, link, self.contact, settings, self.losses)
        self.popular = PopularItems(
            self._host, self.caches, self.popularity, proxies.ranking, proxies.insertion, self.fetches,
            self.contact, self._worlds, is_hidden, settings.retrieval,
        )  # fmt: skip
        movement = ClientMovement(number, now)
        self.provisioning = Provisioning(
            self.caches.local, self.popularity, proxies.provisioning, (), settings.consumed_ignored,
            settings.consumption_notices, migration=movement.migration,
        )  # fmt: skip
        self.exchange = AreaExchange(
            self._host, link, self.contact, self._worlds, self.caches, self.needs, self.provisioning,
            proxies.slots, settings, self.losses, lambda key, edge: self.downloads.provided(key, edge),
        )  # fmt: skip
        self.arrivals = ExpectedClients(
            self._host, movement, self.caches, self.popularity, self.exchange, settings
        )
        self.downloads = EdgeDownloads(
            number, link, self.contact, self.caches, self.popularity, self.fetches, self.provisioning.holder,
            is_hidden, self.exchange.promoted, self.arrivals.used, self.losses,
        )  # fmt: skip
        self.pending = PendingNotifications(
            now, settings.pending_ttl_s, settings.pending_per_client, self.arrivals.elsewhere, link,
            self.contact, self._worlds, self.losses,
        )  # fmt: skip
        parts = EdgeParts(
            self.caches, self.popularity, self.popular.retrieval, self.provisioning, self.contact.cells
        )
        self._is_hidden = is_hidden
        self.deletions = AreaDeletions(
            link, self.contact, self._worlds, Unpublications(store, parts), self._forget, self.losses
        )
        self.plans = EdgePlans(
            self.engine, workshop.registry, proxies.capacities, self.caches, self.popular, self._addresses,
            self._plan_executed, now,
        )  # fmt: skip
        self._of_client: Mapping[type, OfClient] = {
            CellData: self._take_cell_data,
            Ask: self._ask,
            Download: self._download,
            Downloaded: self._downloaded,
            Delete: self.deletions.take,
            CreateWorld: self._create_world,
            StateDigest: self.deletions.take_digest_of_client,
            NodeState: lambda _, __, body: self.deletions.take_state_of_client(body),
        }
        self._of_edge: Mapping[type, OfEdge] = {
            SubscriptionNeeds: self.exchange.take_needs,
            Provision: lambda edge, body: self.exchange.take_provision(edge, body.items),
            ItemConsumed: lambda edge, body: self.exchange.consumed(edge, body.item),
            Download: self.downloads.take_of_edge,
            Downloaded: lambda edge, body: self.fetches.arrived(body, Holder(edge, True)),
            Delete: lambda _, body: self.deletions.take_of_edge(body),
            StateDigest: self.deletions.take_digest,
            NodeState: lambda _, body: self.deletions.take_state(body),
            WorldList: lambda _, body: self._take_worlds(body),
            MoveNode: self._client_moved,
            EdgeRelay: lambda _, body: self.pending.take(body),
        }

    def start(self) -> None:
        """Begin to work. Other edges that are connected already are told of by `connected`."""
        self._worlds.on_map(lambda _: self._link.maps_changed())
        self.exchange.start()
        self.arrivals.start()
        self._host.after(self.settings.needs_period_s, self._compare)
        self._host.after(self.settings.cell_data_period_s, self._adapt_cells)

    def stop(self) -> None:
        """Do nothing any more."""
        self.fetches.stop()
        self.popular.retrieval.stop()
        self._host.close()

    # -- of the node --------------------------------------------------------------------------------------

    def received(self, world: str, body: StorageMessage, origin: NodeAddress) -> None:
        """Take a body of a client in the area."""
        client = origin.node
        if client is None:
            self.losses[EdgeLoss.NO_SENDER] += 1
        elif world not in self._worlds:
            self.losses[EdgeLoss.NO_WORLD] += 1
        else:
            self._is_here(world, client)
            take = self._of_client.get(type(body))
            if take is None:
                self.losses[EdgeLoss.UNEXPECTED] += 1
            else:
                take(world, client, body)

    def undeliverable(self, world: str, body: StorageMessage, target: NodeAddress) -> None:
        """Learn that a client was not reached. A notification is kept for it."""
        if world not in self._worlds or target.node is None:
            return
        self.contact.lost(world, target.node)
        if isinstance(body, FoundObjects) and not body.op and body.items:
            self.pending.keep(world, target.node, body)

    def from_edge(self, edge: int, body: StorageMessage) -> None:
        """Take a body of another edge."""
        take = self._of_edge.get(type(body))
        if take is None:
            self.losses[EdgeLoss.UNEXPECTED] += 1
        else:
            take(edge, body)

    def connected(self, edge: int) -> None:
        """Learn that the connection to another edge is there, or there again: tell it of worlds, needs and
        tombstones."""
        if self.exchange.connected(edge):
            self._link.to_edge(edge, WorldList(0, tuple(self._worlds.all())))
            self.deletions.compare(edge)

    def disconnected(self, edge: int) -> None:
        """Learn that the connection to another edge is gone."""
        self.exchange.disconnected(edge)
        self.fetches.disconnected(edge)

    def joined(self, world: str, client: int) -> None:
        """Learn that a client came to the area, or to a world in it."""
        if world in self._worlds:
            self._is_here(world, client, joined=True)

    def left(self, world: str, client: int) -> None:
        """Learn that a client left, or was not heard for long."""
        if world in self._worlds:
            self.contact.lost(world, client)
            if not any(client in self._link.members(each.world) for each in self._worlds.all()):
                self.arrivals.left(client, self._host.id)

    def set_cells(self, world: str, cells: int) -> None:
        """Give a world another number of cells, which stays until a plan says otherwise. Raises InvalidCount
        unless there is such a world, and it can have so many."""
        self._cells.give(world, cells)

    def execute(self, plan: Plan) -> list[Record]:
        """Execute a plan for the mechanisms of this edge; see `EdgePlans.execute`."""
        return self.plans.execute(plan)

    def worlds(self) -> Sequence[WorldMap]:
        """The worlds that there are, with their cell maps, the one without a name first."""
        return self._worlds.all()

    def counts(self) -> dict[str, int]:
        """Everything that this edge has counted, by name: losses by their reasons, and what it did."""
        contact, retrieval = self.contact.cells, self.popular.retrieval
        return {
            **{each.value: self.losses[each] for each in EdgeLoss},
            "items that came too late": retrieval.late,
            "items without room": retrieval.refused,
            "bodies for cells without room": contact.dropped,
            "bodies that waited for a stable client": contact.parked,
            "bodies by stable clients": contact.relayed,
            "items sent ahead": self.exchange.sent_items,
            "notifications handed over": self.pending.handed_over,
            "regular downloads served": self.downloads.served[DownloadKind.REGULAR],
            "forced downloads served": self.downloads.served[DownloadKind.FORCED],
        }

    # -- of clients ---------------------------------------------------------------------------------------

    def _take_cell_data(self, world: str, client: int, data: CellData) -> None:
        known = self._worlds[world]
        if data.world != world:
            self.losses[EdgeLoss.OTHER_WORLD] += 1
        elif data.map_epoch != known.epoch or data.cell >= known.cells:
            self.losses[EdgeLoss.OTHER_MAP] += 1
        else:
            self.area.merge(data, self.popular.retrieval.cycle)
            self.contact.established(world, data.cell, client)
            self.contact.answer(world, client, Acknowledge(data.op))
            self.popular.retrieval.arm()

    def _ask(self, world: str, client: int, ask: Ask) -> None:
        query = ask.query
        if query.namespace != world:
            self.losses[EdgeLoss.OTHER_WORLD] += 1
            return
        self.arrivals.asked(client, query)
        limit = min(ask.limit, MOST_ON_A_PAGE)
        found = FoundObjects(ask.op, query.id, (), ask.after, conjunction=ask.conjunction)
        if limit > 0:
            found.items, found.next, found.more = self.caches.page(query, ask.after, limit, ask.since_us)
        self.contact.answer(world, client, found)

    def _download(self, world: str, client: int, request: Download) -> None:
        if request.item.world != world:
            self.losses[EdgeLoss.OTHER_WORLD] += 1
        elif request.kind is DownloadKind.POPULAR:
            self.losses[EdgeLoss.UNEXPECTED] += 1
        else:
            self.downloads.take(client, request)

    def _downloaded(self, world: str, client: int, answer: Downloaded) -> None:
        if answer.item is not None and answer.item.key.world != world:
            self.losses[EdgeLoss.OTHER_WORLD] += 1
        else:
            self.fetches.arrived(answer, Holder(client, False))

    def _create_world(self, world: str, client: int, request: CreateWorld) -> None:
        made = self._worlds.create(client, request.op, request.name)
        if made is None:
            self.losses[EdgeLoss.MANY_WORLDS] += 1
        else:
            for edge in self._link.edges():
                self._link.to_edge(edge, WorldList(0, (made,)))
        self.contact.answer(world, client, WorldList(request.op, () if made is None else (made,)))

    # -- of other edges -----------------------------------------------------------------------------------

    def _take_worlds(self, told: WorldList) -> None:
        for each in told.worlds:
            if not self._worlds.add(each.world, each.name):
                self.losses[EdgeLoss.MANY_WORLDS] += 1

    def _compare(self) -> None:
        """Have all others compare tombstones and worlds, some of which may have been lost on their way."""
        self._host.after(self.settings.needs_period_s, self._compare)
        for edge in self._link.edges():
            self.deletions.compare(edge)
            self._link.to_edge(edge, WorldList(0, tuple(self._worlds.all())))

    def _readdress(self, world: str, body: StorageMessage) -> None:
        """Send a body that waited for a cell to the cells of the present map; notices of items that are here
        are sent anew anyway."""
        if isinstance(body, EdgeNotification):
            self.exchange.notify(body.items)
        elif isinstance(body, Delete):
            self.deletions.tell(world, body)

    def _client_moved(self, edge: int, moved: MoveNode) -> None:
        """Know that a client is in the area of another edge now, unless it has come back already."""
        if not self.pending.is_later(moved):
            return
        self.arrivals.heard(moved.node, edge)
        for each in self._worlds.all():
            self.contact.lost(each.world, moved.node)
        self.pending.moved(edge, moved.node)

    def _is_here(self, world: str, client: int, joined: bool = False) -> None:
        """Know that a client is in this area; other edges are told if it was not."""
        self.contact.heard(world, client)
        if self.arrivals.heard(client, self._host.id) or joined:
            self.pending.joined(client)
        self.pending.heard(world, client)

    # -- upkeep -------------------------------------------------------------------------------------------

    def _adapt_cells(self) -> None:
        self._host.after(self.settings.cell_data_period_s, self._adapt_cells)
        self._cells.adapt()

    def _plan_executed(self) -> None:
        """Go by the parameters that hold now."""
        self._cells.forget_given()
        self._cells.adapt()
        self.exchange.arm_slot()

    def _forget(self, keys: Iterable[ItemKey]) -> None:
        """Forget items that were deleted, and all that waits of them."""
        self.popular.forget(keys)
        self.downloads.forget(self._is_hidden)
        self.pending.forget(self._is_hidden)
