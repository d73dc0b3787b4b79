"""The devices nearby as an application names them."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from bypass.live.adhoc.datagrams import DatagramGroup
from bypass.live.adhoc.neighbourhood import PORT, EdgeGuard, Neighbourhood
from bypass.live.adhoc.sockets import parse_discovery, parse_interfaces
from bypass.protocol.wire import CODEC, Codec

if TYPE_CHECKING:
    from bypass.live.edge.keys import KnownEdge

DISCOVERY = "227.7.12.95:8999"

_PERSON = b"bypass node"


@dataclass(frozen=True)
class Neighbours:
    """The devices nearby, for `connect`: members of the group that has this `key`, in these networks.

    `discovery` is the multicast group and port where edges are asked for. `edges` are those that are
    believed, as `connect` reads them from their key files.

    Raises InvalidInterface and InvalidGroupKey, as `Neighbourhood` does.
    """

    key: bytes = field(repr=False)
    interfaces: tuple[str, ...]
    port: int = PORT
    discovery: str = DISCOVERY
    edges: tuple[KnownEdge, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        DatagramGroup(self.key, 0)
        parse_interfaces(self.interfaces, self.port)
        parse_discovery(self.discovery)

    def number_of(self, name: str) -> int:
        """The number of the member with this name, a node or an edge, which is the same in all its lives."""
        digest = blake2b(name.encode(), digest_size=4, key=self.key, person=_PERSON).digest()
        return int.from_bytes(digest) % 0xFFFF_FFFF + 1  # 0 stands for a broker

    def of(
        self,
        loop: asyncio.AbstractEventLoop,
        number: int,
        codec: Codec = CODEC,
        jitter: random.Random | None = None,
    ) -> Neighbourhood:
        """The neighbourhood of the client with this number."""
        guard: EdgeGuard | None = None
        if self.edges:
            from bypass.live.edge.signatures import EdgeVerifier

            guard = EdgeVerifier({self.number_of(each.name): each for each in self.edges})
        return Neighbourhood(
            loop,
            number,
            self.key,
            interfaces=self.interfaces,
            port=self.port,
            codec=codec,
            jitter=jitter,
            discovery=parse_discovery(self.discovery),
            hosts=[each.address for each in self.edges if each.address is not None],
            guard=guard,
        )
