"""The table of a distance vector protocol: the next hop to each node, by numbers that nodes give themselves.

A node announces itself with even numbers, each larger than the last. A node that loses a way announces that
with the next odd number: newer than what led there, older than what the lost node itself says next.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from bypass.ports.datagrams import KnownWays, NoKnownWays
from bypass.protocol.datagrams import RouteEntry

BROKEN = 255  # compiled into kernels
"""The metric of a way that is broken; real ones are shorter."""

MOST_NODES = 4096
"""Nodes to which ways are kept; further ones are ignored."""


LEAST_DUES = 64
"""Times of announcements that are kept although they were put off, beside as many as there are others."""


@dataclass(slots=True)
class Way:
    """A way to a node: over whom, how long, by which number. `heard_at` is when it was last confirmed, of
    which the link may know better; a change of its length is announced after `settling_s` seconds."""

    next_hop: int
    metric: int
    sequence: int
    heard_at: float
    settling_s: float


class WayTable:
    """The ways of one node to all others.

    A changed way is announced at once, one whose length has changed later, for a better one may follow: the
    time is `weight` × the last such time, at first `settling_s`, + (1 - `weight`) × the age of the way. The
    first announcement is due at `earliest`, which is infinite if nothing has changed.
    """

    def __init__(self, node: int, settling_s: float, weight: float, known: KnownWays | None = None) -> None:
        self.sequence = 0
        self._known = known or NoKnownWays()
        self.settling_s, self.weight = settling_s, weight
        self.earliest = math.inf
        self._changed: dict[int, float] = {}  # when the change of the way to a node may be announced
        self._dues: list[tuple[float, int]] = []  # a heap of these; those that were put off are still in it
        self._node = node
        self._ways: dict[int, Way] = {}
        self._broken: set[int] = set()

    def next_hop(self, node: int) -> int | None:
        """The neighbour over which a node is reached, None if there is no way."""
        way = self._ways.get(node)
        return None if way is None or way.metric >= BROKEN else way.next_hop

    def metric(self, node: int) -> int | None:
        """The hops to a node, None if there is no way."""
        way = self._ways.get(node)
        return None if way is None or way.metric >= BROKEN else way.metric

    def learn(
        self, entries: Iterable[RouteEntry], sender: int, now: float, wanted: Collection[int]
    ) -> list[int]:
        """Take the announcement of a neighbour; returns those of the `wanted` nodes that have a way now."""
        ways, found = self._ways, []
        for node, metric, sequence in entries:
            way = ways.get(node)
            if way is not None and sequence == way.sequence and metric + 1 >= way.metric:
                if way.next_hop == sender:
                    way.heard_at = now
                continue  # as nearly always
            if node == self._node:
                self._contradict(sequence, now)
            elif sequence % 2 or metric >= BROKEN - 1:
                self._lost_by(sender, node, sequence, now)
            elif way is None:
                if len(ways) < MOST_NODES:
                    ways[node] = Way(sender, metric + 1, sequence, now, self.settling_s)
                    self._known.put(node, sender, metric + 1, sequence)
                    self._announce(node, now)
            elif sequence >= way.sequence:
                self._replace(node, way, sender, metric + 1, sequence, now)
            else:
                continue
            if node in wanted and self.next_hop(node) is not None:
                found.append(node)
        return found

    def lose(self, neighbour: int, now: float) -> bool:
        """A neighbour is gone: all ways over it are broken; returns whether there were any."""
        lost = [n for n, way in self._ways.items() if way.next_hop == neighbour and way.metric < BROKEN]
        for node in lost:
            way = self._ways[node]
            self._break(node, way, way.sequence + 1, now)
        return bool(lost)

    def expire(self, heard_before: float, now: float) -> None:
        """Break the ways that were confirmed before a time only, and forget those that were broken then."""
        for node, way in [*self._ways.items()]:
            if way.heard_at >= heard_before or self._known.confirmed_at(node) >= heard_before:
                continue
            if way.metric < BROKEN:
                self._break(node, way, way.sequence + 1, now)
            else:
                del self._ways[node]
                self._known.drop(node)
                self._changed.pop(node, None)

    def take_broken(self) -> set[int]:
        """Give the nodes whose ways broke since this was asked last."""
        broken, self._broken = self._broken, set()
        return broken

    def whole(self, now: float) -> list[RouteEntry]:
        """Give everything, the node itself with a new number first. Ways that settle are given again then."""
        self.sequence += 2
        self._known.own(self.sequence)
        self._changed = {node: due for node, due in self._changed.items() if due > now}
        self._pop_due(now)
        return [self._own(), *(RouteEntry(node, w.metric, w.sequence) for node, w in self._ways.items())]

    def news(self, now: float) -> list[RouteEntry]:
        """Give the changes that are due, and the node itself with the number it has; nothing if none is."""
        due: Collection[int] = {node for at, node in self._pop_due(now) if self._changed.get(node) == at}
        if len(due) > 1:
            due = [node for node in self._changed if node in due]  # in the order in which they changed
        for node in due:
            del self._changed[node]
        ways = self._ways
        entries = [RouteEntry(n, ways[n].metric, ways[n].sequence) for n in due if n in ways]
        return [self._own(), *entries] if due else []

    def _own(self) -> RouteEntry:
        return RouteEntry(self._node, 0, self.sequence)

    def _announce(self, node: int, due: float) -> None:
        self._changed[node] = due
        heappush(self._dues, (due, node))
        if due < self.earliest:
            self.earliest = due
        if len(self._dues) > 2 * len(self._changed) + LEAST_DUES:
            self._dues = [(at, changed) for changed, at in self._changed.items()]
            heapify(self._dues)

    def _pop_due(self, now: float) -> list[tuple[float, int]]:
        """Give what was due until now, and take it from the heap; find out what is due next."""
        due, dues, changed = [], self._dues, self._changed
        while dues and (dues[0][0] <= now or changed.get(dues[0][1]) != dues[0][0]):
            due.append(heappop(dues))
        self.earliest = dues[0][0] if dues else math.inf
        return due

    def _contradict(self, sequence: int, now: float) -> None:
        """Others say something newer about this node than itself: it was there before, or they lost it."""
        if sequence > self.sequence:
            self.sequence = sequence + 2 - sequence % 2
            self._known.own(self.sequence)
            self._announce(self._node, now)

    def _lost_by(self, neighbour: int, node: int, sequence: int, now: float) -> None:
        """A neighbour has lost its way to a node: so has this one if its goes there, else it says so."""
        way = self._ways.get(node)
        if way is None or way.metric >= BROKEN:
            return
        if way.next_hop == neighbour and sequence > way.sequence:
            self._break(node, way, sequence | 1, now)
        elif way.sequence > sequence:
            self._announce(node, now)

    def _break(self, node: int, way: Way, sequence: int, now: float) -> None:
        way.metric, way.sequence, way.heard_at = BROKEN, sequence, now
        self._known.put(node, way.next_hop, BROKEN, sequence)
        self._broken.add(node)
        self._announce(node, now)

    def _replace(self, node: int, way: Way, sender: int, metric: int, sequence: int, now: float) -> None:
        due = now
        if metric != way.metric and way.metric < BROKEN:
            age = now - max(way.heard_at, self._known.confirmed_at(node))
            way.settling_s = self.weight * way.settling_s + (1.0 - self.weight) * age
            due += way.settling_s
        way.next_hop, way.metric, way.sequence, way.heard_at = sender, metric, sequence, now
        self._known.put(node, sender, metric, sequence)
        self._announce(node, due)
