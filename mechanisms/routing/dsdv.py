"""Routing by distance vectors: every node knows the next hop to every other."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.mechanisms.routing.counters import DropReason
from bypass.mechanisms.routing.distance_vectors import WayTable
from bypass.mechanisms.routing.members import CellMembers
from bypass.ports.host import Timer
from bypass.ports.routing import Neighbour
from bypass.ports.storage import FLOOD, HOP, NODE
from bypass.protocol.datagrams import (
    MOST_ROUTES,
    Datagram,
    NodeAddress,
    RouteEntry,
    RouteTable,
    RoutingMessage,
    Undeliverable,
)
from bypass.transitions import MechanismState

SOON_S = 0.001
"""The longest random delay of an announcement of changes."""
APART_S = 0.025
"""The longest random time by which an announcement of everything is later than its period."""


class Dsdv(RoutingMechanism):
    """Nodes tell their neighbours every `update_s` seconds how far all others are, and what has changed as
    soon as it does; a way of another length than before waits for `settling_s` seconds, weighted by `weight`
    with the age of the way. Changes are collected for `together_s` seconds, or a millisecond.

    A way that was not confirmed for `hold` updates is broken, and so is every way over a neighbour that did
    not take a datagram twice. What has no way waits for one, `queue_s` seconds at most, `queue` datagrams in
    all and `queue_each` for each node.
    """

    name: ClassVar[str] = "dsdv"
    offers: ClassVar[frozenset[str]] = frozenset((NODE, FLOOD, HOP))

    update_s: Annotated[float, MechanismState("update_s"), Field(ge=0.1, le=3600)] = 15.0
    settling_s: Annotated[float, MechanismState("settling_s"), Field(ge=0, le=3600)] = 5.0
    weight: Annotated[float, MechanismState("weight"), Field(ge=0, le=1)] = 0.875
    together_s: Annotated[float, MechanismState("together_s"), Field(ge=0, le=60)] = 0.0
    hold: Annotated[int, MechanismState("hold"), Field(ge=1, le=100)] = 3
    queue: Annotated[int, MechanismState("queue"), Field(ge=0, le=10_000)] = 500
    queue_each: Annotated[int, MechanismState("queue_each"), Field(ge=0, le=10_000)] = 5
    queue_s: Annotated[float, MechanismState("queue_s"), Field(ge=0, le=3600)] = 30.0

    def start(self) -> None:
        super().start()
        self.known.clear()
        self._ways = WayTable(self.host.id, self.settling_s, self.weight, self.known)
        self._members = CellMembers(self.known.parted)
        self._waiting: dict[int, deque[tuple[Datagram, NodeAddress]]] = {}
        self._queued = 0
        self._alarm: Timer | None = None
        self._alarm_due = math.inf
        self._update: Timer = self.host.after(SOON_S * self._draw(), self._tell_all)

    def stop(self) -> None:
        super().stop()
        self.known.clear()

    def set_update_s(self, value: float) -> None:
        """Tell everything more or less often from now on."""
        self.update_s = value
        self._update.cancel()
        self._update = self.host.after(APART_S * self._draw(), self._tell_all)

    def set_settling_s(self, value: float) -> None:
        """Let ways that are found from now on settle for another time."""
        self.settling_s = self._ways.settling_s = value

    def set_weight(self, value: float) -> None:
        """Weigh settling times in another way."""
        self.weight = self._ways.weight = value

    def neighbours(self) -> Sequence[Neighbour]:
        self._expire_members(self.host.now())
        return self._members.neighbours()

    def hops_to(self, node: int) -> int | None:
        """How many hops away a node is, None if no way is known."""
        return 0 if node == self.host.id else self._ways.metric(node)

    # -- announcements ------------------------------------------------------------------------------------

    def heard(self, node: int) -> None:
        now: float = self.host.now()
        if not self._members.heard(node, now):
            self._note_heard(*self._members)  # it may take the place of that heard longest ago
            self.known.met(node)
            self._members.told(node, None, False, now)

    def controlled(self, message: RoutingMessage, node: int) -> None:
        if not isinstance(message, RouteTable):
            return
        now = self.host.now()
        self.heard(node)
        for found in self._ways.learn(message.entries, node, now, self._waiting):
            self._queued -= len(self._waiting[found])
            for datagram, target in self._waiting.pop(found):
                self._forward(datagram, (target,))
        if self._ways.earliest < self._alarm_due:
            self._tell_news_later(now)

    def _tell_all(self) -> None:
        now = self.host.now()
        self._expire_members(now)
        self._ways.expire(now - self.hold * self.update_s, now)
        self._doubt_broken(now)
        self._announce(self._ways.whole(now))
        self._update = self.host.after(self.update_s + APART_S * self._draw(), self._tell_all)

    def _expire_members(self, now: float) -> None:
        self._note_heard(*self._members)
        self._members.expire(now - self.hold * self.update_s)

    def _note_heard(self, *neighbours: int) -> None:
        """Take over what the link has noted about neighbours."""
        for node in neighbours:
            member, heard_at = self._members.get(node), self.known.heard_at(node)
            if member is not None and heard_at > member.heard_at:
                self._members.heard(node, heard_at)

    def _tell_news_later(self, now: float) -> None:
        """Set the alarm for the first change that may be announced, unless it is set for that or earlier."""
        due = self._ways.earliest
        if due >= self._alarm_due:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        delay = max(due - now, 0.0) + (self.together_s or SOON_S * self._draw())
        self._alarm, self._alarm_due = self.host.after(delay, self._tell_news), due

    def _tell_news(self) -> None:
        self._alarm, self._alarm_due = None, math.inf
        now = self.host.now()
        self._announce(self._ways.news(now))
        self._tell_news_later(now)

    def _announce(self, entries: Sequence[RouteEntry]) -> None:
        for begin in range(0, len(entries), MOST_ROUTES):
            self.control(RouteTable(tuple(entries[begin : begin + MOST_ROUTES])))

    # -- datagrams ----------------------------------------------------------------------------------------

    def route(self, datagram: Datagram) -> None:
        together: dict[int, list[NodeAddress]] = {}
        for target in datagram.targets:
            if target.node == self.host.id:
                self.deliver(datagram, target)
            elif target.node is None:
                self.give_up(datagram, target, DropReason.UNSUPPORTED)
            elif (neighbour := self._ways.next_hop(target.node)) is None:
                self._wait(datagram, target, target.node)
            else:
                together.setdefault(neighbour, []).append(target)
        for neighbour, targets in together.items():
            copy = self.onward(datagram, tuple(targets))
            if copy is not None:
                self.unicast(copy, neighbour, partial(self._failed_at, datagram, copy.targets, neighbour))

    def send_report(self, message: Datagram, neighbour: int) -> None:
        """Give it to the neighbour if no way leads to the origin: the datagram has come over that one."""
        (origin,) = message.targets
        known = origin.node is None or self._ways.next_hop(origin.node) is not None
        copy = None if known or neighbour == self.host.id else self.onward(message, message.targets)
        if copy is None:
            super().send_report(message, neighbour)
        else:
            self.unicast(copy, neighbour, partial(self.drop, DropReason.NO_ROUTE))

    def _forward(self, datagram: Datagram, targets: tuple[NodeAddress, ...]) -> None:
        self.route(replace(datagram, targets=targets))

    def _failed_at(self, datagram: Datagram, targets: tuple[NodeAddress, ...], neighbour: int) -> None:
        """A neighbour did not take a datagram: try again, or find or wait for another way if it is gone."""
        self._note_heard(neighbour)
        known = self._members.get(neighbour) is not None
        now: float = self.host.now()
        if (not known or self._members.failed(neighbour)) and self._ways.lose(neighbour, now):
            self._doubt_broken(now)
            self._tell_news_later(now)
        self._forward(datagram, targets)

    def _doubt_broken(self, now: float) -> None:
        """Doubt what was sent lately over ways that are broken now: it may have waited at a node that has
        gone, or whose report had no way back."""
        broken = self._ways.take_broken()
        if broken:
            self.doubt(broken, now - self.hold * self.update_s - self.queue_s)

    def _wait(self, datagram: Datagram, target: NodeAddress, node: int) -> None:
        """Keep a datagram until there is a way; reports do not wait."""
        if isinstance(datagram.body, Undeliverable):
            self.drop(DropReason.NO_ROUTE)
            return
        waiting = self._waiting.get(node, ())
        if self._queued >= self.queue or len(waiting) >= self.queue_each:
            self.give_up(datagram, target, DropReason.QUEUE)
            return
        entry = (datagram, target)
        self._waiting.setdefault(node, deque()).append(entry)
        self._queued += 1
        self.host.after(self.queue_s, self._waited, node, entry)

    def _waited(self, node: int, entry: tuple[Datagram, NodeAddress]) -> None:
        waiting = self._waiting.get(node, deque())
        if not any(each is entry for each in waiting):
            return  # it has found a way meanwhile
        waiting.remove(entry)
        self._queued -= 1
        if not waiting:
            del self._waiting[node]
        self.give_up(*entry, DropReason.WAITED)
