"""Domains: nodes of one world in the area of one edge, and those of the world that are in no area.

Datagrams of nodes that go through an edge carry their domain as the namespace. A decision about storage and
routing holds in one domain.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

_MARK = "@"


class Domain(NamedTuple):
    """A world, and the edge in whose area its nodes are; None: in no area."""

    world: str
    edge: int | None = None

    def namespace(self) -> str:
        """The namespace of datagrams in this domain."""
        return f"{self.world}{_MARK}{'' if self.edge is None else self.edge}"


@lru_cache(maxsize=1024)
def domain_of(namespace: str) -> Domain | None:
    """Read a domain from the namespace of a datagram; None if that is a namespace of another kind."""
    world, mark, edge = namespace.rpartition(_MARK)
    if not mark or not (edge == "" or (edge.isascii() and edge.isdecimal() and len(edge) <= 10)):
        return None
    return Domain(world, int(edge) if edge else None)
