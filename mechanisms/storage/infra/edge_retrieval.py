"""Fetches an object's bytes from the edge, from copies in the area, or by the edge from another area."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bypass.mechanisms.storage.cells.retrieval import ReplicaRetrieval
from bypass.mechanisms.storage.fetching import ObjectFetches
from bypass.objects.metadata import Metadata
from bypass.places.cell_grid import CellGrid
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import Download, Downloaded, DownloadKind, item_key
from bypass.protocol.storage import OperationStatus, Retrieve, Retrieved, StorageMessage
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.mechanisms.storage.infra.mechanism import Infra

SLOWEST_BYTES_PER_S = 50_000
"""An edge may take longer for a large object: as if its bytes came so fast at least."""


class _Sources(Recent[int, DownloadKind | None]):
    """The sources of the bytes that have come, by the number of the operation."""


class EdgeRetrieval(ReplicaRetrieval):
    """Asks the edge for what it has (`DownloadKind.REGULAR`), then the copies as in cells, then the edge for
    what another one has (FORCED), if the object was published in the area of another edge.

    An edge that is silent for `edge_timeout_s` is passed over; what it sends later is still taken. Answers of
    an edge repeat the kind that was asked for as their `cycle`.
    """

    def __init__(self, node: Infra) -> None:
        super().__init__(node)
        self._area = node
        self._at_edge = ObjectFetches(self._ask_edge, self._edge_ended)
        self._sources = _Sources()
        self._asking: set[int] = set()  # operations for which the edge is asked for what it has

    def retrieve(self, op: int, metadata: Metadata, grid: CellGrid, cell: int) -> None:
        edge, node = self._area.edge, self._area
        if op not in self._attempts and edge is not None:
            self._attempts[op] = metadata, 0
            self._asking.add(op)
            node.host.after(node.edge_timeout_s + metadata.size / SLOWEST_BYTES_PER_S, self._go_on, op)
            self._at_edge.begin(op, metadata, (NodeAddress(edge),))
        elif op not in self._asking:
            super().retrieve(op, metadata, grid, cell)

    def source(self, op: int) -> DownloadKind | None:
        """How the bytes of an operation that has ended lately came from the edge: REGULAR, from its caches,
        or FORCED; None if they came from a copy."""
        return self._sources.get(op)

    def holders(self, metadata: Metadata, attempt: int, grid: CellGrid, cell: int) -> list[NodeAddress]:
        holders, edge = super().holders(metadata, attempt, grid, cell), self._area.edge
        if edge is not None and metadata.source not in (None, edge):
            holders.append(NodeAddress(edge))
        return holders

    def request(self, body: StorageMessage, targets: Sequence[NodeAddress]) -> None:
        """Ask a holder of an object that is fetched from copies; the edge is one for those of other areas."""
        if isinstance(body, Retrieve) and [each.node for each in targets] == [self._area.edge]:
            self._download(body, DownloadKind.FORCED, targets)
        else:
            self._area.host.link.send(body, targets)

    def arrived(self, answer: Downloaded, origin: NodeAddress) -> None:
        """The edge has sent an item, or a piece of it, or does not have it."""
        metadata, _ = self._attempts.get(answer.op, (None, 0))
        if metadata is None or origin.node != self._area.edge:
            return
        data = None if answer.item is None else answer.item.data
        forced = answer.cycle == DownloadKind.FORCED
        fetches = self._area.fetches if forced else self._at_edge
        if data is not None:
            self._sources[answer.op] = DownloadKind.FORCED if forced else DownloadKind.REGULAR
        fetches.arrived(Retrieved(answer.op, metadata.key, data, answer.offset), origin)

    def unreached(self, request: Download) -> None:
        """A request did not reach the edge."""
        if request.kind is DownloadKind.REGULAR:
            self._go_on(request.op)
        else:
            self._area.fetches.failed(Retrieve(request.op, request.item.object))

    def done(self, op: int, status: OperationStatus, detail: str = "", data: bytes | None = None) -> None:
        self._asking.discard(op)
        super().done(op, status, detail, data)

    # -- the own edge -------------------------------------------------------------------------------------

    def _ask_edge(self, body: StorageMessage, targets: Sequence[NodeAddress]) -> None:
        if isinstance(body, Retrieve):
            self._download(body, DownloadKind.REGULAR, targets)

    def _download(self, body: Retrieve, kind: DownloadKind, targets: Sequence[NodeAddress]) -> None:
        metadata, _ = self._attempts.get(body.op, (None, 0))
        if metadata is not None:
            request = Download(body.op, item_key(metadata), kind, int(kind), body.offset, body.length)
            self._area.host.link.send(request, targets)

    def _edge_ended(
        self, op: int, status: OperationStatus, detail: str = "", data: bytes | None = None
    ) -> None:
        if data is not None:
            self.done(op, status, detail, data)
        else:
            self._go_on(op)

    def _go_on(self, op: int) -> None:
        """The edge does not have it, or is silent: ask the copies, unless that was begun."""
        metadata, _ = self._attempts.get(op, (None, 0))
        grid, cell = self._area.grid, self._area.cell
        if op in self._asking and metadata is not None and grid is not None and cell is not None:
            self._asking.discard(op)
            super().retrieve(op, metadata, grid, cell)
