"""Edges and their clients in one process, on loopback: each area has ports of its own."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

from zmq.utils import z85

from bypass import Connection, Neighbours, connect
from bypass.live.adhoc.datagrams import Refusal
from bypass.live.adhoc.neighbourhood import Neighbourhood
from bypass.live.edge.config import EdgeConfig, OtherEdge
from bypass.live.edge.keys import create_edge_keys
from bypass.live.edge.process import LiveEdge
from bypass.live.keys import GROUP_FILE, write_new_key_file
from tests.live.edge_clients import PARAMETERS, PLACE

GROUP = b"the group of two areas, number 1"
"""With which the clients of an area are in cells of their own: who has a copy does not download."""

LIMIT = 60.0
SETTINGS: dict[str, Any] = {
    "beacon_s": 0.25, "heartbeat_s": 0.1, "cell_data_period_s": 0.5, "retrieval_period_s": 1.0,
    "retrieval_slack_s": 0.2, "needs_period_s": 1.0, "slot_s": 0.5,
}  # fmt: skip
"""With which less time passes than with the defaults."""


def create_keys(folder: Path, *edges: str) -> None:
    """Make the keys of a group and of edges."""
    folder.mkdir(exist_ok=True)
    write_new_key_file(folder / GROUP_FILE, {"group": z85.encode(GROUP).decode()}, 0o600)
    for name in edges:
        create_edge_keys(folder, name)


class EdgeSite:
    """Edges with names, the number of each being that of its area, and what their clients need."""

    def __init__(self, folder: Path, *edges: str) -> None:
        self.keys = folder / "keys"
        self.edges = edges
        self._folder = folder
        self._ports = [(free_port(), free_port(), free_port()) for _ in edges]
        create_keys(self.keys, *edges)

    def config(self, name: str, **settings: Any) -> EdgeConfig:
        """The configuration of an edge; all know each other."""
        area = self.edges.index(name)
        client_port, edge_port, discovery_port = self._ports[area]
        others = [
            OtherEdge(host=host_of(other), port=self._ports[other][1], key=self.known(each))
            for other, each in enumerate(self.edges)
            if each != name
        ]
        return EdgeConfig(
            host=host_of(area), client_port=client_port, edge_port=edge_port, edges=tuple(others),
            discovery_port=discovery_port, keys=self.keys / f"{name}.key", group=self.keys / GROUP_FILE,
            store=self._folder / name, **SETTINGS | settings,
        )  # fmt: skip

    def edge(self, name: str, **settings: Any) -> LiveEdge:
        """An edge, to be opened."""
        return LiveEdge(self.config(name, **settings))

    def known(self, name: str) -> Path:
        """The file by which others know an edge."""
        return self.keys / "edges" / f"{name}.pub"

    def neighbours(self, area: int, number: int) -> Neighbours:
        """The neighbours of a client in an area."""
        client_port, _, discovery_port = self._ports[area]
        return Neighbours(
            GROUP, (f"127.0.{area + 1}.{10 + number}/8",), client_port, f"227.7.12.95:{discovery_port}"
        )

    def client(self, area: int, number: int, **options: Any) -> Connection:
        """A client in an area, to be opened, which believes all edges."""
        own: dict[str, Any] = {"storage": "infra", "edges": [self.known(each) for each in self.edges]}
        return connect(
            None,
            name=f"client-{number}",
            neighbours=self.neighbours(area, number),
            location=lambda: PLACE,
            set=PARAMETERS,
            **own | options,
        )


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def host_of(area: int) -> str:
    return f"127.0.{area + 1}.1"


def edge_of(client: Connection) -> int | None:
    """The number of the edge in whose area a client is."""
    return client._exchange.usable().node.area()


def neighbourhood_of(client: Connection) -> Neighbourhood:
    """The link of a client."""
    node = client._node
    assert node is not None
    return node.local


def refused(client: Connection, why: Refusal) -> int:
    """How often a client's link has refused something for a reason."""
    return neighbourhood_of(client).refused[why]


async def until(condition: Any) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.02)
