"""Counts of what a node's routing has done, which analyzers read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum


class DropReason(StrEnum):
    """The reason why a datagram, or a part of its targets, went no further."""

    NAMESPACE = "other namespace"
    DUPLICATE = "duplicate"
    HOPS = "hop limit"
    NO_ROUTE = "no route"
    QUEUE = "queue full"
    NO_ROOM = "no room at the radio"
    WAITED = "waited too long"
    NOT_THERE = "node is not there"
    NOT_SERVING = "nobody serves"
    OTHER_CELL = "other cell"
    UNSUPPORTED = "not offered"
    UNKNOWN_REPORT = "report about something unknown"
    OTHER_WAY = "not through the edge"
    NO_WORLD = "edge without the world"
    FULL = "too many in the area"


@dataclass(slots=True)
class RoutingCounters:
    """Bodies that this node has `sent`, once for each target, that were `delivered` to it, and own ones that
    were `reported` as undeliverable; `ways` of operations that ended here because the target was this node,
    and the `hops` of these, and the same for its cell (`cell_ways`, `cell_hops`); datagrams of others that it
    has `forwarded`, unicasts that `failed`; messages of routing itself (`control`) and their size
    (`control_bytes`); `dropped` by reason. `bodies` are those delivered, by
    the names of their classes.
    """

    sent: int = 0
    forwarded: int = 0
    delivered: int = 0
    ways: int = 0
    hops: int = 0
    cell_ways: int = 0
    cell_hops: int = 0
    failed: int = 0
    reported: int = 0
    control: int = 0
    control_bytes: int = 0
    dropped: Counter[DropReason] = field(default_factory=Counter)
    bodies: Counter[str] = field(default_factory=Counter)

    def arrived(self, hops: int, *, to_cell: bool) -> None:
        """Count a way of so many hops that has ended here."""
        if to_cell:
            self.cell_ways += 1
            self.cell_hops += hops
        else:
            self.ways += 1
            self.hops += hops
