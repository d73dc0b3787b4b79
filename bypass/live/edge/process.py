"""A live edge: its access point in the networks of its clients, its service, its wires, and its files."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from bypass.core.edge.node import RADIO, EdgeNode
from bypass.live.addresses import can_listen
from bypass.live.adhoc.neighbourhood import Neighbourhood
from bypass.live.adhoc.neighbours import Neighbours
from bypass.live.adhoc.sockets import DiscoveryGroup, parse_discovery
from bypass.live.client.link.clock import AsyncClock
from bypass.live.config_files import InvalidConfig
from bypass.live.edge.config import EdgeConfig
from bypass.live.edge.keys import load_edge_keys, load_known_edge
from bypass.live.edge.signatures import EdgeSigner
from bypass.live.edge.wires import LiveWires, OtherEnd
from bypass.live.edge.world_store import SqliteWorldStore
from bypass.live.host import LiveHost
from bypass.live.keys import load_group_key
from bypass.mechanisms import Registry
from bypass.mechanisms.storage.infra.edge.service import InfraServiceMaker
from bypass.objects.node_store import NodeStore
from bypass.objects.sqlite_persistence import SqlitePersistence
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor

log = logging.getLogger(__name__)

TOMBSTONES_FILE, WORLDS_FILE = "tombstones.db", "worlds.db"


class LiveEdge:
    """An edge from `open` to `close`, which may be those of an `async with`. It is not opened again.

    Raises InvalidConfig, InvalidKeys and MissingExtra for what cannot be right, InvalidInterface and
    InvalidGroupKey, before anything is opened.
    """

    def __init__(self, config: EdgeConfig) -> None:
        self.config = config
        self.keys = load_edge_keys(config.keys)
        self.discovery: DiscoveryGroup = parse_discovery(f"{config.discovery_group}:{config.discovery_port}")
        self.group = Neighbours(load_group_key(config.group), config.networks, config.client_port)
        self.number = self.group.number_of(self.keys.name)
        self.endpoint = f"tcp://{config.host}:{config.edge_port}"
        if not can_listen(self.endpoint):
            raise InvalidConfig(f"host {config.host!r}: expected an address of this machine")
        self.peers: list[OtherEnd] = []
        for index in range(len(config.edges)):
            self.peers.append(self._peer(index))
        self._stack = ExitStack()
        self._node: EdgeNode | None = None
        self.neighbourhood: Neighbourhood
        self.wires: LiveWires

    async def open(self) -> Self:
        """Take up work. Raises InvalidInterface, BypassError for an address for edges that cannot be had,
        DatabaseUnavailable for files that cannot be used, and UnknownMechanism."""
        try:
            await self._open()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Give up work without a word; a second time nothing happens."""
        self._stack.close()
        self._node = None

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def node(self) -> EdgeNode:
        """The node, while it is open."""
        assert self._node is not None
        return self._node

    def counts(self) -> dict[str, int]:
        """Give how much was dropped or refused until now, by reason; reasons that never came up are left
        out."""
        near, wires, relay = self.neighbourhood, self.wires, self.node.relay
        counts: dict[str, int] = {f"client datagram {why}": n for why, n in near.refused.items()}
        counts |= {f"to a client {why}": n for why, n in near.link.losses.items()}
        counts |= {f"relay {why}": n for why, n in relay.dropped.items()}
        counts |= {
            "client datagram dropped": near.dropped,
            "client datagram failed": near.failed,
            "edge connection refused": wires.listener.refused,
            "edge message malformed": wires.listener.malformed,
            "edge message unexpected": wires.listener.unexpected + wires.unexpected,
            "edge message over rate": wires.listener.over_rate,
            "to an edge dropped": wires.dropped,
            "to an edge oversized": wires.oversized,
        }
        return {what: number for what, number in counts.items() if number}

    async def _open(self) -> None:
        config, registry = self.config, Registry(self.config.mechanisms)
        folder = config.store
        persistence = SqlitePersistence(folder / TOMBSTONES_FILE, _never, _never)
        store = NodeStore(self.number, persistence)
        self._stack.callback(store.close)
        worlds = SqliteWorldStore(folder / WORLDS_FILE)
        self._stack.callback(worlds.close)
        host = LiveHost(self.number, AsyncClock(), NoSensor(), Monitor())
        self.neighbourhood = near = Neighbourhood(
            asyncio.get_running_loop(),
            self.number,
            self.group.key,
            interfaces=config.networks,
            port=config.client_port,
            codec=registry.codec,
            jitter=host.random("link"),
            discovery=self.discovery,
            listens=True,
            guard=EdgeSigner(self.keys),
        )
        await near.open()
        self._stack.callback(near.close)
        self.wires = LiveWires(
            self.endpoint, self.keys, self.number, self.peers, config.heartbeat_s, registry.codec
        )
        self._stack.callback(self.wires.close)
        maker = InfraServiceMaker(config, registry=registry, world_store=lambda _: worlds)
        node = EdgeNode(host, near, self.wires, maker, store, config.relay)
        near.switch(RADIO, True)
        node.start()
        self._stack.callback(node.stop)
        self._node = node

    def _peer(self, index: int) -> OtherEnd:
        other = self.config.edges[index]
        if other.key is None:
            raise InvalidConfig(
                f"edges.{index}.key is missing: expected the .pub file of the edge at {other.host}"
            )
        known = load_known_edge(other.key)
        number = self.group.number_of(known.name)
        if number == self.number:
            raise InvalidConfig(f"edges.{index}.key {other.key}: expected that of another edge")
        for earlier, each in enumerate(self.peers):
            if number == each.number or known.public == each.known.public:
                raise InvalidConfig(
                    f"edges.{index}.key {other.key}: expected that of another edge than edges.{earlier}"
                )
        return OtherEnd(number, f"tcp://{other.host}:{other.port}", known)


def _never(_: Any) -> Any:
    raise AssertionError("an edge keeps no objects in its store")
