"""The ways that all nodes of a simulation know, in arrays: so that an announcement which is news for a few of
those who hear it is handed to these alone.

Distance vectors make every node say everything that it learns: nearly all of it is known to nearly all who
hear it. What a node does with announcements is its routing's business: here is when it would do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain
from struct import Struct

import numpy as np

from bypass.mechanisms.routing.distance_vectors import BROKEN
from bypass.protocol.datagrams import MOST_ROUTES, Datagram, DatagramScope, RouteTable
from bypass.protocol.storage import Decision
from bypass.sim.clock import VirtualClock
from bypass.support.arrays import Ints
from bypass.support.kernel import kernel
from bypass.support.units import MICROSECONDS

SEQUENCE, METRIC, NEXT_HOP, CONFIRMED = range(4)
"""Columns of a way: the number of its announcement + 1, or 0 if there is no way; its length; over whom; when
it was confirmed last (µs) + 1, or 0."""
FOLLOWS, OWN, SERVES = range(3)
"""Columns of a node: the number of the decision that it follows, or 0; its own number + 1, or 0; the cell
that it takes datagrams of, + 1, or 0."""

_Followed = tuple[int, int, int, str]


@kernel
def concerned(
    heard_by: Ints, ways: Ints, heard: Ints, nodes: Ints,
    entries: Ints, count: int, stations: int, follows: int, sender: int, now: int,
) -> int:  # fmt: skip
    """Move those of the first `stations` nodes in `heard_by` to its beginning for whom one of the first
    `count` entries may be news, and give how many there are; note at the others when they heard it."""
    found = 0
    known = len(nodes)
    for i in range(stations):
        node = heard_by[i]
        news = nodes[node, FOLLOWS] != follows or sender >= known or heard[node, sender] == 0
        for k in range(count):
            if news:
                break
            to, metric, sequence = entries[3 * k], entries[3 * k + 1], entries[3 * k + 2] + 1
            if to == node:
                news = nodes[node, OWN] == 0 or sequence > nodes[node, OWN]
            elif to >= known or ways[node, to, SEQUENCE] == 0:
                news = True
            else:
                way = ways[node, to]
                if sequence == way[SEQUENCE] and metric + 1 >= way[METRIC]:
                    continue
                if sequence % 2 == 0 or metric >= BROKEN - 1:  # the sender has lost it
                    if way[METRIC] < BROKEN:
                        news = way[SEQUENCE] > sequence or (
                            way[NEXT_HOP] == sender and sequence > way[SEQUENCE]
                        )
                else:
                    news = sequence >= way[SEQUENCE]
        if news:
            heard_by[found] = node
            found += 1
            continue
        heard[node, sender] = now + 1
        for k in range(count):
            to, metric, sequence = entries[3 * k], entries[3 * k + 1], entries[3 * k + 2] + 1
            if to != node:
                way = ways[node, to]
                if sequence == way[SEQUENCE] and way[NEXT_HOP] == sender and metric + 1 >= way[METRIC]:
                    way[CONFIRMED] = now + 1
    return found


class RouteNews:
    """The ways of so many nodes; the arrays are made when the first one of them knows something."""

    def __init__(self, clock: VirtualClock, nodes: int) -> None:
        self.clock = clock
        self.nodes = np.zeros((nodes, 3), np.int64)
        self.ways = np.zeros((0, 0, 4), np.int64)
        self.heard = np.zeros((0, 0), np.int64)  # by node and neighbour, when last (µs) + 1; 0: no neighbour
        self.serving = False  # whether a node has ever said which cell it serves
        self.elsewhere: dict[tuple[int, int], frozenset[int]] = {}
        """The nodes that follow a decision, by its number, and serve another cell than this one; empty after
        a node has changed in that."""
        self._followed: dict[_Followed, int] = {}
        self._heard_by = np.zeros(nodes, np.int64)
        self._entries = np.zeros(3 * MOST_ROUTES, np.int64)

    def of(self, node: int) -> NodeWays:
        """The ways of one node; it has none yet, and follows nobody."""
        if not len(self.ways):
            nodes = len(self.nodes)
            self.ways = np.zeros((nodes, nodes, 4), np.int64)
            self.heard = np.zeros((nodes, nodes), np.int64)
        ways = NodeWays(self, node)
        ways.clear()
        ways.follow(Decision(0, 0, 0), "")
        return ways

    def number_of(self, followed: _Followed) -> int:
        """The number by which the arrays know a decision and a namespace; at least 1."""
        return self._followed.setdefault(followed, len(self._followed) + 1)

    def concerned(self, datagram: Datagram, stations: list[int]) -> list[int]:
        """Give those of the stations to which a datagram must be handed over, in the same order."""
        if datagram.scope is DatagramScope.CELL:
            return self._serving(datagram, stations)
        body = datagram.body
        if type(body) is not RouteTable or len(body.entries) > MOST_ROUTES:
            return stations
        follows = self._follows(datagram)
        if follows is None:
            return stations
        count, heard_by = len(body.entries), len(stations)
        _pack(3 * count)(self._entries.data, 0, *chain.from_iterable(body.entries))
        _pack(heard_by)(self._heard_by.data, 0, *stations)
        found = concerned(
            self._heard_by, self.ways, self.heard, self.nodes,
            self._entries, count, heard_by, follows, datagram.client, self.clock.now_us,
        )  # fmt: skip
        return self._heard_by[:found].tolist() if found else []

    def _follows(self, datagram: Datagram) -> int | None:
        """The number of a datagram's decision and namespace; None if nobody has ever followed it."""
        followed = (datagram.epoch, datagram.scheme, datagram.initiator, datagram.namespace)
        return self._followed.get(followed)

    def _serving(self, datagram: Datagram, stations: list[int]) -> list[int]:
        """Leave out those who follow the same decision, and serve another cell."""
        follows, cell = self._follows(datagram), datagram.origin.cell
        if follows is None or cell is None or not self.serving or not stations:
            return stations
        elsewhere = self.elsewhere.get((follows, cell))
        if elsewhere is None:
            serves = self.nodes[:, SERVES]
            found = (self.nodes[:, FOLLOWS] == follows) & (serves != 0) & (serves != cell + 1)
            elsewhere = self.elsewhere[follows, cell] = frozenset(np.flatnonzero(found).tolist())
        return [each for each in stations if each not in elsewhere]


class NodeWays:
    """The `KnownWays` of one node. Nodes and neighbours beyond those of the simulation are not noted."""

    def __init__(self, news: RouteNews, node: int) -> None:
        self._news = news
        self._clock = news.clock
        self._most = len(news.nodes)
        self._node = news.nodes[node].data
        self._ways = news.ways[node].reshape(-1).data
        self._heard = news.heard[node].data

    def follow(self, decision: Decision, namespace: str) -> None:
        follows = self._news.number_of((*decision, namespace)) if decision.scheme else 0
        self._node[FOLLOWS] = follows
        self._news.elsewhere.clear()

    def serve(self, cell: int | None) -> None:
        self._news.serving = True
        self._node[SERVES] = 0 if cell is None else cell + 1
        self._news.elsewhere.clear()

    def own(self, sequence: int) -> None:
        self._node[OWN] = sequence + 1

    def put(self, node: int, next_hop: int, metric: int, sequence: int) -> None:
        if node < self._most:
            at, ways = 4 * node, self._ways
            ways[at], ways[at + 1], ways[at + 2] = sequence + 1, metric, next_hop

    def drop(self, node: int) -> None:
        if node < self._most:
            self._ways[4 * node] = 0

    def met(self, neighbour: int) -> None:
        if neighbour < self._most:
            self._heard[neighbour] = self._clock.now_us + 1

    def parted(self, neighbour: int) -> None:
        if neighbour < self._most:
            self._heard[neighbour] = 0

    def clear(self) -> None:
        self._node[OWN] = 0
        for each in (self._ways, self._heard):
            np.asarray(each)[:] = 0

    def confirmed_at(self, node: int) -> float:
        at = self._ways[4 * node + CONFIRMED] if node < self._most else 0
        return (at - 1) / MICROSECONDS

    def heard_at(self, neighbour: int) -> float:
        at = self._heard[neighbour] if neighbour < self._most else 0
        return (at - 1) / MICROSECONDS


@cache
def _pack(numbers: int) -> Callable[..., None]:
    """The function that writes so many numbers into an array."""
    return Struct(f"{numbers}q").pack_into
