"""INFRA: cells that are aided by an edge, which keeps what is popular (THYME-INFRASTRUCTURE)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.storage.cells.hand_over import HandOver
from bypass.mechanisms.storage.cells.mechanism import Cells
from bypass.mechanisms.storage.fetching import ObjectFetches, piece
from bypass.mechanisms.storage.infra.area_service import AreaService
from bypass.mechanisms.storage.infra.cell_reports import CellReports
from bypass.mechanisms.storage.infra.edge_requests import EdgeRequests
from bypass.mechanisms.storage.infra.edge_retrieval import EdgeRetrieval
from bypass.mechanisms.storage.infra.holdings import EdgeHoldings
from bypass.ports.routing import Coverage
from bypass.ports.storage import CELL, EDGE, FLOOD, HOP
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import (
    CellHello,
    Describe,
    Download,
    Downloaded,
    EdgeNotification,
    EdgeRelay,
    Item,
    StorageChange,
    item_key,
)
from bypass.protocol.storage import (
    MOST_ITEMS,
    Acknowledge,
    Ask,
    NodeState,
    Retrieve,
    StateDigest,
    StorageMessage,
)
from bypass.transitions import MechanismState

MOST_PARTS = 16
"""Messages with tombstones that one digest of the edge is answered with."""


class Infra(Cells):
    """Works as `Cells` do, in the logical cells of an edge's area, and with that edge.

    The edge is asked beside the cells, serves what it has, and learns from the `reports` of cells what is
    popular and wanted there. It comes and goes: without one nothing can be sent, and what was known is kept.
    In the area of another edge a client begins anew, with its own objects, copies and queries.
    """

    name = "infra"
    flag: ClassVar[int] = 9
    needs: ClassVar[frozenset[str]] = frozenset((CELL, FLOOD, HOP, EDGE))

    edge_timeout_s: Annotated[float, MechanismState("edge_timeout_s"), Field(gt=0, le=60)] = 1.0
    hello_s: Annotated[float, MechanismState("hello_s"), Field(ge=0.1, le=3600)] = 10.0
    cell_data_s: Annotated[float, MechanismState("cell_data_s"), Field(ge=0.1, le=3600)] = 20.0
    warm_up_s: Annotated[float, MechanismState("warm_up_s"), Field(ge=0, le=3600)] = 20.0

    def start(self) -> None:
        self.coverage: Coverage | None = None
        self.holdings = EdgeHoldings()
        self._known: Coverage | None = None  # the latest coverage
        self._lost_us = 0
        super().start()
        self.requests = self.edge_requests = EdgeRequests(self)
        self.retrieval = self.edge_retrieval = EdgeRetrieval(self)
        self.fetches = ObjectFetches(self.edge_retrieval.request, self.edge_retrieval.done)
        self.reports = CellReports(self)

    def begin(self) -> None:
        super().begin()
        self.reports.begin()

    def make_service(self) -> AreaService:
        self.area = AreaService(self)
        return self.area

    @property
    def edge(self) -> int | None:
        """The edge in whose area this client is; None while there is none."""
        return None if self.coverage is None else self.coverage.edge

    # -- parameters that change while it runs -------------------------------------------------------------

    def set_hello_s(self, value: float) -> None:
        """Say hello more or less often from now on."""
        self.hello_s = value
        self.reports.begin()

    def set_cell_data_s(self, value: float) -> None:
        """Report more or less often from now on."""
        self.cell_data_s = value
        self.reports.begin()

    def set_warm_up_s(self, value: float) -> None:
        """Be a candidate sooner or later after coming into a cell."""
        self.warm_up_s = value
        self.reports.begin()

    # -- upkeep -------------------------------------------------------------------------------------------

    def joined(self) -> None:
        """Tell the edge again what was deleted: what it was told while nodes followed another decision, it
        did not take."""
        super().joined()
        if self.edge is not None and self.compare_s:
            self._compare_with(self.edge)

    def compare(self) -> None:
        """Have the edge compare, too: it keeps copies of what may have been deleted without it."""
        super().compare()
        if self.edge is not None:
            self._compare_with(self.edge)

    # -- what others say ----------------------------------------------------------------------------------

    def received(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:
        if isinstance(body, StateDigest) and origin.node is not None and origin.node == self.edge:
            self._tell_tombstones(body, origin.node)
        else:
            super().received(body, origin, target)

    def acknowledged(self, answer: Acknowledge, origin: NodeAddress) -> None:
        if origin.node is None or origin.node != self.edge:
            super().acknowledged(answer, origin)
        elif not self.reports.acknowledged(answer.op):
            self.edge_requests.edge_acknowledged(answer.op)

    def take(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:
        if isinstance(body, EdgeRelay):
            self._pass_on(body, target)
        elif isinstance(body, CellHello):
            self.reports.heard(body, origin.node)
        elif isinstance(body, StorageChange):
            self.holdings.take(body)
            if target is not None and target.node is None and self.mates():
                self.host.link.tell_cell(body)
        elif isinstance(body, EdgeNotification):
            cell = self.cell if target is None or target.node is not None else target.cell
            if target is not None and cell is not None:
                self.hand_over.when_settled(cell, lambda: self.area.match(body.items, cell))
        elif isinstance(body, Describe):
            if body.query >> 32 == origin.node:
                self.area.describe(body, origin)
        elif isinstance(body, Download):
            self._give(body)
        elif isinstance(body, Downloaded):
            self.edge_retrieval.arrived(body, origin)
        else:
            super().take(body, origin, target)

    def undeliverable(self, body: StorageMessage, target: NodeAddress) -> None:
        if isinstance(body, Download):
            self.edge_retrieval.unreached(body)
        elif isinstance(body, Ask) and target.node is not None:
            self.edge_requests.edge_unreached(body.op)
        else:
            super().undeliverable(body, target)

    def _pass_on(self, relay: EdgeRelay, target: NodeAddress | None) -> None:
        """Do what the edge asks of this client, or of its cell; bring to others what is for them."""
        to = relay.target
        here = to.node == self.host.id or (to.node is None and to.cell == self.cell)
        if here or (target is not None and target.node is None):
            edge = self.edge
            self.received(relay.body, NodeAddress(edge), to)
        elif to.node is not None:
            self.host.link.send(relay.body, (to,))
        else:
            self.host.link.send(relay, (to,))

    def _give(self, request: Download) -> None:
        """Send the edge an item, or a piece of it, that this client may have."""
        edge = self.edge
        if edge is None:
            return
        stored = self.store.get(request.item.object)
        item: Item | None = None
        offset = 0
        if stored is not None and item_key(stored.metadata) == request.item:
            found = piece(Retrieve(0, stored.key, request.offset, request.length), stored)
            metadata = self.requests.registered(stored.metadata, self.cell or 0)
            item, offset = Item(metadata, found.data), found.offset
        self.host.link.send(Downloaded(request.op, item, request.cycle, offset), (NodeAddress(edge),))

    # -- the edge -----------------------------------------------------------------------------------------

    def _review(self) -> None:
        super()._review()
        self.reports.review()

    def _locate(self) -> None:
        coverage = self.host.link.coverage()
        if coverage != self.coverage:
            self._covered(coverage)
        if coverage is not None:
            super()._locate()

    def _covered(self, coverage: Coverage | None) -> None:
        """The edge is lost, is there again, has another cell map, or is another one."""
        before, self.coverage = self._known, coverage
        self.holdings.clear()
        if coverage is None:
            self._lost_us = self.now_us()
            self.edge_requests.edge_lost()
            return
        self._known = coverage
        self._tell_deletions(coverage.edge)
        if before is None:
            return
        if (before.edge, before.world) != (coverage.edge, coverage.world):
            self._enter_area()
            self.host.link.recover(0)
        elif self._lost_us:
            self.host.link.recover(self._lost_us)
        self._lost_us = 0

    def _enter_area(self) -> None:
        """Forget what was kept for the cells of another area: those who stayed there have it."""
        self.service = self.make_service()
        self.hand_over = HandOver(self)
        self.requests.grid_changed()
        self.membership.begin()

    def _tell_deletions(self, edge: int) -> None:
        """Tell an edge what this client has deleted, and let it compare what it knows to be deleted."""
        own = [each for each in self.store.tombstones if each.key.owner == self.host.id]
        for at in range(0, len(own), MOST_ITEMS):
            part = NodeState(tombstones=tuple(own[at : at + MOST_ITEMS]))
            self.host.link.send(part, (NodeAddress(edge),))
        self._compare_with(edge)

    def _compare_with(self, edge: int) -> None:
        """Have an edge compare the tombstones that it knows with those here."""
        self.host.link.send(self.comparison.shared.digest(), (NodeAddress(edge),))

    def _tell_tombstones(self, digest: StateDigest, edge: int) -> None:
        """Send an edge the tombstones that it may lack, a bounded number."""
        shared = self.comparison.shared
        if differing := shared.differing(digest):
            for part in shared.parts(differing)[:MOST_PARTS]:
                self.host.link.send(part, (NodeAddress(edge),))
