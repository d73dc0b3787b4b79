"""An experiment with a store that edges aid, which may fail and return."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf
from typing import Any

from bypass.core.edge.bare_service import BareService
from bypass.core.edge.cloud import CloudGateway, CloudServer
from bypass.core.edge.relay import RelaySettings
from bypass.core.objects.operations import OperationResult
from bypass.mechanisms import Registry
from bypass.mechanisms.families import ROUTING_PROXY
from bypass.mechanisms.storage.infra.edge.service import InfraService, InfraServiceMaker
from bypass.mechanisms.storage.infra.edge.service.worlds import KeptWorld, MemoryWorldStore
from bypass.mechanisms.storage.infra.mechanism import Infra
from bypass.mechanisms.storage.server import ExternalStorage
from bypass.models.radio.kernels.state import S
from bypass.objects.node_store import NodeStore
from bypass.places.logical_cells import cell_of_node
from bypass.ports.edge import EdgeLink
from bypass.ports.host import Host
from bypass.protocol.edge import DownloadKind
from bypass.scenarios.experiments.infrastructure import BackhaulCut, EdgeSwitch, InfrastructureSettings
from bypass.scenarios.experiments.objects import ObjectSettings
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.figures.infrastructure import (
    DataArrival,
    EdgeSample,
    InfrastructureFigures,
    InfrastructureWatch,
    ItemsTold,
    edge_changes,
)
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.figures.storage import StoreLayout
from bypass.scenarios.figures.storage_loads import NodeLoad
from bypass.scenarios.runs.experiment import ExperimentFailed
from bypass.scenarios.runs.stored import StorageExperiment
from bypass.sim.backhaul import BackhaulModel
from bypass.sim.edges import EdgeModel
from bypass.support.units import MICROSECONDS
from bypass.transitions import Action, Plan

SOURCE_OF = {None: "replicas", DownloadKind.REGULAR: "edge", DownloadKind.FORCED: "forced"}
CACHE_NAMES = {
    "local": "local",
    "prefetch metadata": "prefetch-metadata",
    "prefetch data": "prefetch-data",
    "global metadata": "global-metadata",
    "global data": "global-data",
}
"""The names of an edge's caches, and those that figures have."""
NOWHERE = (0.0, 0.0)
"""The place of a node without a radio."""


class AidedExperiment(StorageExperiment):
    """A scenario in which edges aid the store. They are numbered from 0 in the scenario, and behind the
    clients in the system. Samples of them are taken every second."""

    def __init__(
        self,
        scenario: Scenario,
        settings: ObjectSettings,
        infrastructure: InfrastructureSettings,
        seed: int,
    ) -> None:
        self._infrastructure = infrastructure
        super().__init__(scenario, settings, seed)
        self._connect_cloud()
        self._edge_watch = InfrastructureWatch()
        self._sampled_at = -1.0
        self._from_edge: Counter[int] = Counter()
        self._looks: Counter[int] = Counter()  # of lives that are over
        self._reports: Counter[int] = Counter()
        self._sent_before: Counter[int] = Counter()  # bytes that an edge sent before its process began anew

    def _edges(self, registry: Registry) -> dict[str, Any]:
        known, size = self._infrastructure, self.scenario.world
        backhaul = known.backhaul
        maker = InfraServiceMaker(known.edge, registry=registry, world_store=self._world_store)
        model = EdgeModel(
            maker if known.cloud is None else self._cloud_service,
            RelaySettings(beacon_s=known.beacon, forget_s=3.5 * known.hello),
            BackhaulModel(delay_s=backhaul.delay, rate=backhaul.rate, loss=backhaul.loss),
        )
        fallback = known.fallback
        return {
            "edges": known.places if known.cloud is None else (*known.places, NOWHERE),
            "edge_model": model,
            "fallback": None if fallback is None else fallback.settings(size.width, size.height),
        }

    def _cloud_service(self, host: Host, link: EdgeLink, store: NodeStore) -> BareService:
        """The service of the cloud, or of the edge before it."""
        cloud = self._number(1)
        return CloudServer(host, link) if host.id == cloud else CloudGateway(host, link, store, cloud=cloud)

    def _connect_cloud(self) -> None:
        """Take the radio of the cloud away, and give it its wire."""
        settings, edges = self._infrastructure.cloud, self.system.edges
        if settings is not None:
            edges.switch_off(self._number(1))
            wire = BackhaulModel(delay_s=settings.delay, rate=settings.rate, loss=settings.loss)
            edges.backhaul.alter(self._number(0), self._number(1), wire)

    def _server(self) -> int:
        """With a cloud its edge, which passes all on."""
        return super()._server() if self._infrastructure.cloud is None else self._number(0)

    def _world_store(self, _: int) -> MemoryWorldStore:
        """A store of an edge that knows all worlds of the scenario."""
        store = MemoryWorldStore()
        for world in self._infrastructure.worlds:
            if world:
                store.keep(KeptWorld(world, world, 0))
        return store

    def _number(self, edge: int) -> int:
        """The number in the system of an edge of the scenario."""
        return self.scenario.clients + edge

    # -- what happens meanwhile ---------------------------------------------------------------------------

    def _begin_attendance(self) -> None:
        super()._begin_attendance()
        clock = self.system.clock
        for switch in self._infrastructure.switches():
            clock.at(round(switch.at * MICROSECONDS), self._switch, switch)
        for cut in self._infrastructure.backhaul.cuts:
            clock.at(round(cut.at * MICROSECONDS), self._cut, cut)
            if cut.until is not None:
                clock.at(round(cut.until * MICROSECONDS), self._heal, cut)

    def _take_part(self, number: int) -> None:
        world = self._world(number)
        if world:
            enter = Plan(plan="world", actions=(Action(proxy=ROUTING_PROXY, set={"namespace": world}),))
            outcome = self.system.clients[number].carry_out(enter)
            if not outcome.ok:
                raise ExperimentFailed(f"client {number} cannot enter world {world!r}: {outcome}")
        super()._take_part(number)

    def _switch(self, switch: EdgeSwitch) -> None:
        edges, number = self.system.edges, self._number(switch.edge)
        if switch.part == "process":
            if switch.works:
                edges.restart(number)
                self._sent_before[number] = self._edge_bytes(number)
            else:
                edges.kill(number)
        elif switch.works:
            edges.switch_on(number)
        else:
            edges.switch_off(number)

    def _cut(self, cut: BackhaulCut) -> None:
        self.system.edges.backhaul.cut(*map(self._number, cut.between))

    def _heal(self, cut: BackhaulCut) -> None:
        self.system.edges.backhaul.heal(*map(self._number, cut.between))

    def _world(self, number: int) -> str:
        return self._infrastructure.world_of(number)

    def _area(self, number: int) -> int:
        return self._infrastructure.area_of(*self._trace.position(number, self.system.clock.now()))

    # -- what is watched ----------------------------------------------------------------------------------

    def _settle(self) -> None:
        super()._settle()
        now = self.system.clock.now()
        if now - self._sampled_at >= 1.0 - 1e-6:
            self._sample(now)

    def _sample(self, now: float) -> None:
        self._sampled_at = now
        running = self.system.edges.running
        for edge in range(len(self._infrastructure.places)):
            number = self._number(edge)
            service = self.system.edges[number].service
            if number not in running or not isinstance(service, InfraService):
                self._edge_watch.samples.append(EdgeSample(now, edge))
                continue
            entries = {CACHE_NAMES[each.name]: each.by_world() for each in service.caches.all()}
            self._edge_watch.samples.append(EdgeSample(now, edge, entries, self._counts(number, service)))

    def _counts(self, number: int, service: InfraService) -> dict[str, int]:
        """The numbers that an edge has counted so far."""
        return {
            "cycles": service.area.cycles,
            "relayed": service.contact.cells.relayed,
            "requested": service.popular.retrieval.requested_in_all,
            "downloads": service.downloads.asked,
            "served": service.downloads.found,
            "provided": service.exchange.sent_items,
            "notices": service.exchange.sent_notices,
            "moved": service.caches.local.moved,
            "sent_bytes": self._edge_bytes(number) - self._sent_before[number],
        }

    def _edge_bytes(self, number: int) -> int:
        """The bytes that an edge has sent so far, by radio and by wire."""
        local, wires = self.system.local, self.system.edges.backhaul.sizes
        by_radio = local.counter(S.BYTES_UP)[number] + local.counter(S.HANDSHAKE_BYTES)[number]
        return int(by_radio) + sum(size for (edge, _), size in wires.items() if edge == number)

    def _past_told(self, number: int) -> None:
        own = self._queries[number]
        storage = self.system.clients[own.query.subscriber].engine.active("storage")
        if isinstance(storage, Infra):
            told = storage.edge_requests.told(own.query.id)
            self._edge_watch.told.append(ItemsTold(own.placed_us / MICROSECONDS, told.by_cells, told.by_edge))

    def _retrieved(self, node: int, begun: float, result: OperationResult) -> None:
        storage = self.system.clients[node].engine.active("storage")
        if result.ok and isinstance(storage, Infra):
            kind = storage.edge_retrieval.source(result.op)
            self._from_edge[node] += kind is DownloadKind.REGULAR
            self._edge_watch.arrivals.append(DataArrival(SOURCE_OF[kind], self.system.clock.now() - begun))
        elif result.ok and isinstance(storage, ExternalStorage):
            self._edge_watch.arrivals.append(DataArrival("server", self.system.clock.now() - begun))

    def _go(self, number: int) -> None:
        looks, reports = self._cell_data(number)
        super()._go(number)
        if not self._active[number]:
            self._looks[number] += looks
            self._reports[number] += reports

    def _cell_data(self, number: int) -> tuple[int, int]:
        """The cycles of cell data in which a client has not reported, and in which it has."""
        storage = self.system.clients[number].engine.active("storage")
        if not isinstance(storage, Infra):
            return 0, 0
        return storage.reports.cycles - storage.reports.reported, storage.reports.reported

    # -- what came of it ----------------------------------------------------------------------------------

    def _drain(self) -> None:
        self._sampled_at = inf  # the queries at the end are no part of the experiment
        super()._drain()
        samples, lost = self._edge_watch.samples, self._lost_cycles()
        for at in range(len(samples) - len(self._infrastructure.places), len(samples)):
            counts = {**samples[at].counts, "lost_cycles": lost[samples[at].edge]}
            samples[at] = samples[at]._replace(counts=counts)

    def _lost_cycles(self) -> Counter[int]:
        """The cycles of cell data until the end of the experiment that edges never had, though there are
        clients of the cell."""
        lost = Counter[int]()
        places = {(self._world(number), self._area(number), number) for number in self._storing()}
        for edge in range(len(self._infrastructure.places)):
            service = self.system.edges[self._number(edge)].service
            if isinstance(service, InfraService):
                cells = {each.world: each.cells for each in service.worlds()}
                there = {(w, cell_of_node(number, cells[w])) for w, area, number in places if area == edge}
                missing = service.area.missing(self.scenario.duration)
                lost[edge] = sum(cycles for place, cycles in missing.items() if place in there)
        return lost

    def _load(
        self, number: int, begun: Counter[str], bodies: Counter[str], forwarded: int, sent: int
    ) -> NodeLoad:
        load = super()._load(number, begun, bodies, forwarded, sent)
        looks, reports = self._cell_data(number) if self._active[number] else (0, 0)
        use = load.use._replace(
            from_edge=self._from_edge[number],
            looks=self._looks[number] + looks,
            reports=self._reports[number] + reports,
        )
        return load._replace(use=use)

    def _layout(self) -> StoreLayout:
        layout = super()._layout()
        storing = self._storing()
        covered = bool(storing) and self.system.clients[storing[0]].node.routing.coverage() is not None
        grid = None if covered else layout.grid  # cells of an area are no places
        return layout._replace(grid=grid, edges=self._infrastructure.places)

    def _result(self, wall_s: float) -> Run:
        run, known = super()._result(wall_s), self._infrastructure
        duration = self.scenario.duration
        figures = InfrastructureFigures(
            known,
            self._edge_watch,
            edge_changes(known, self._watched.delays_of_clients(), run.executions, duration),
            known.edge.retrieval_period_s,
            known.edge.slot_s * len(known.places),
            duration,
        )
        return replace(run, infrastructure=figures)
