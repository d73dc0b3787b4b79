"""A store beyond edges: a node without a radio is the server, and edges pass on what clients send it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bypass.core.edge.bare_service import BareService
from bypass.mechanisms.storage.fetching import ObjectFetches, piece
from bypass.mechanisms.storage.object_server import ObjectServer
from bypass.mechanisms.storage.server import NodeServerStore
from bypass.objects.metadata import StoredObject
from bypass.objects.node_store import NodeStore
from bypass.objects.persistence import MemoryPersistence
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import EdgeRelay
from bypass.protocol.storage import (
    LONGEST_DATA,
    Insert,
    OperationStatus,
    Retrieve,
    Retrieved,
    StorageMessage,
)
from bypass.support.units import MICROSECONDS
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.ports.edge import EdgeLink
    from bypass.ports.host import Host

CLOUD_BYTES = 1 << 40
"""The room of a cloud."""
STALLED_S = 10.0
"""A piece that has not come for so long is lost: if the client tries again, so does the cloud."""


@dataclass(slots=True)
class _Upload:
    """An insertion whose bytes are on their way from a client, and when a piece was asked for last (s)."""

    insertion: Insert
    client: int
    asked_at: float


class _Uploads(Recent[int, _Upload]):
    """Insertions whose bytes are on their way, by operation."""


class _Whereabouts(Recent[int, int]):
    """The edges over which clients were heard last."""

    LIMIT = 65_536


class CloudGateway(BareService):
    """The service of an edge that is the server of its clients by name alone: what they send it goes over the
    wire to the edge `cloud`, and what comes back from there to the client that is meant.

    It works in the world without a name.
    """

    def __init__(self, host: Host, link: EdgeLink, store: NodeStore | None = None, *, cloud: int) -> None:
        super().__init__(host, link, store)
        self._cloud = cloud

    def received(self, world: str, body: StorageMessage, origin: NodeAddress) -> None:
        relayed = isinstance(body, EdgeRelay)  # it holds no further one
        if world or relayed or not self._link.to_edge(self._cloud, EdgeRelay(origin, body)):
            super().received(world, body, origin)

    def from_edge(self, edge: int, body: StorageMessage) -> None:
        if edge == self._cloud and isinstance(body, EdgeRelay):
            self._link.send("", body.body, body.target)
        else:
            super().from_edge(edge, body)


class CloudServer(BareService):
    """The service of a node that is the server of a store: clients reach it over the gateways of edges.

    It has room for all objects, in memory. One that no message can hold is fetched from its owner in pieces,
    and acknowledged when it is there.
    """

    def __init__(self, host: Host, link: EdgeLink, store: NodeStore | None = None) -> None:
        super().__init__(host, link, store)
        self._host = host
        self._store = NodeStore(host.id, MemoryPersistence(), CLOUD_BYTES)
        self._logic = ObjectServer(NodeServerStore(self._store), self._answer, self._now_us)
        self._fetches = ObjectFetches(self._ask, self._fetched)
        self._uploads = _Uploads()
        self._over = _Whereabouts()

    def from_edge(self, edge: int, body: StorageMessage) -> None:
        client = body.target.node if isinstance(body, EdgeRelay) else None
        if not isinstance(body, EdgeRelay) or client is None:
            super().from_edge(edge, body)
            return
        self._over[client] = edge
        inner = body.body
        if isinstance(inner, Insert) and self._lacks(inner):
            self._upload(inner, client)
        elif isinstance(inner, Retrieve):
            self._answer(piece(inner, self._store.get(inner.key)), client)
        elif isinstance(inner, Retrieved):
            self._fetches.arrived(inner, body.target)
        elif not self._logic.take(inner, client):
            self.dropped += 1

    def _lacks(self, insertion: Insert) -> bool:
        metadata = insertion.metadata
        return metadata.size > LONGEST_DATA and metadata.key not in self._store

    def _upload(self, insertion: Insert, client: int) -> None:
        """Fetch the bytes of an object from its owner, unless they are on their way."""
        known = self._uploads.get(insertion.op)
        if known is None or self._host.now() - known.asked_at > STALLED_S:
            self._uploads[insertion.op] = _Upload(insertion, client, self._host.now())
            self._fetches.begin(insertion.op, insertion.metadata, (NodeAddress(client),))

    def _ask(self, body: StorageMessage, targets: Sequence[NodeAddress]) -> None:  # noqa: ARG002 - one holder
        upload = self._uploads.get(body.op) if isinstance(body, Retrieve) else None
        if upload is not None:
            upload.asked_at = self._host.now()
            self._answer(body, upload.client)

    def _fetched(self, op: int, status: OperationStatus, detail: str = "", data: bytes = b"") -> None:  # noqa: ARG002
        upload = self._uploads.pop(op, None)
        if upload is not None and status is OperationStatus.OK:
            self._store.copy(StoredObject(upload.insertion.metadata, data))
            self._logic.take(upload.insertion, upload.client)

    def _answer(self, body: StorageMessage, client: int) -> None:
        edge = self._over.get(client)
        if edge is None or not self._link.to_edge(edge, EdgeRelay(NodeAddress(client), body)):
            self.dropped += 1

    def _now_us(self) -> int:
        return round(self._host.now() * MICROSECONDS)
