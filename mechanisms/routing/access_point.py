"""Routing through an edge: all in the area of an access point reach each other by the edge that is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.mechanisms.routing.counters import DropReason
from bypass.places.cell_grid import CellGrid
from bypass.places.logical_cells import cell_of_node, logical_grid
from bypass.ports.host import Timer
from bypass.ports.routing import Coverage, Neighbour
from bypass.ports.state_info import VISITING
from bypass.ports.storage import CELL, EDGE, FLOOD, HOP, NODE
from bypass.protocol.datagrams import (
    AreaHello,
    Datagram,
    DatagramScope,
    EdgeAnswer,
    EdgeBeacon,
    EdgeProbe,
    NodeAddress,
    RoutingMessage,
    WorldMap,
)
from bypass.protocol.domains import Domain
from bypass.protocol.storage import StorageMessage
from bypass.transitions import MechanismState

RESOLUTION_S = 1e-6
"""A shorter time than this is none by the clock."""

FIRST_PROBE_S = 0.1
"""The longest random time before a node asks for an edge: so not all ask at once."""


class AccessPoint(RoutingMechanism):
    """A node is bound to one edge, through which everything goes: the edge passes it on, and tells which
    other nodes of the world, which is the `namespace`, are in its area. A cell is not a place: nodes belong
    to cells by their numbers, so that movement inside the area costs nothing.

    A node without an edge asks all in reach every `probe_s` seconds whether they are one, and is bound to the
    first that answers and has the node's world. It tells its edge every `hello_s` seconds that it is there.
    The edge says every `beacon_s` seconds who is there: it is lost when `missed` beacons did not come, or did
    not name the node, or when one did not come and `failures` unicasts in a row were not taken. A node
    that is soon gone (VISITING) works for no cell.
    """

    name: ClassVar[str] = "access-point"
    offers: ClassVar[frozenset[str]] = frozenset((NODE, CELL, FLOOD, HOP, EDGE))

    probe_s: Annotated[float, MechanismState("probe_s"), Field(ge=0.1, le=3600)] = 5.0
    hello_s: Annotated[float, MechanismState("hello_s"), Field(ge=0.1, le=3600)] = 20.0
    beacon_s: Annotated[float, MechanismState("beacon_s"), Field(ge=0.01, le=3600)] = 1.0
    missed: Annotated[int, MechanismState("missed"), Field(ge=1, le=100)] = 3
    failures: Annotated[int, MechanismState("failures"), Field(ge=1, le=100)] = 3

    def start(self) -> None:
        super().start()
        self.worlds: tuple[WorldMap, ...] = ()
        """Those of the edge that answered last, whether it has the own world or not."""
        told = self.host.state_info.get(VISITING, self.host.id)
        self._visiting = told is not None and told.value
        self._nonces = self.host.random("edge-probes").getrandbits
        self._coverage: Coverage | None
        self._grid: CellGrid | None
        self._cell: int | None
        self._members: tuple[int, ...]  # all in the area, as the edge said last
        self._visitors: frozenset[int]  # those of them that are soon gone
        self._neighbours: Sequence[Neighbour] | None  # made when they are asked for
        self._heard_at: float
        self._asked_at: float = self.host.now()  # for an edge
        self._greeted_at: float = self._asked_at  # the edge
        self._next: Timer = self.host.after(0.0, _do_nothing)
        self._watching: Timer = self._next
        self._enter(None)
        self._told: object = None
        self._telling = False
        self._look(FIRST_PROBE_S * self._draw())

    def stop(self) -> None:
        if self._coverage is not None:
            self._leave(self._domain, self._coverage.edge)
        self.known.serve(None)
        super().stop()

    # -- parameters that change while it runs -------------------------------------------------------------

    def set_namespace(self, value: str) -> None:
        """Leave the world for another one, which the edge may have or not."""
        if value == self.namespace:
            return
        before, edge = self._domain, self._coverage
        self.namespace = value
        self._enter(None)
        if edge is not None:
            self.host.after(0.0, self._leave, before, edge.edge)
        self._changed()
        self._look(FIRST_PROBE_S * self._draw())

    def set_probe_s(self, value: float) -> None:
        """Ask for an edge more or less often."""
        self.probe_s = value
        if self._coverage is None:
            self._look(value * self._draw())

    def set_hello_s(self, value: float) -> None:
        """Tell the edge more or less often that this node is there."""
        self.hello_s = value
        if self._coverage is not None:
            self._greet_in(value * self._draw())

    # -- what callers ask for -----------------------------------------------------------------------------

    def tell_cell(self, body: StorageMessage) -> None:
        self._tell(body, DatagramScope.CELL)

    def neighbours(self) -> Sequence[Neighbour]:
        if self._neighbours is None:
            cells, own = 1 if self._grid is None else self._grid.cells, self.host.id
            there = _all_there(self._members, self._visitors, cells, self._heard_at)
            self._neighbours = [each for each in there if each[0] != own]
        return self._neighbours

    def grid(self) -> CellGrid | None:
        return self._grid

    def own_cell(self) -> int | None:
        return self._cell

    def serving(self) -> bool:
        return self._coverage is not None and not self._visiting

    def coverage(self) -> Coverage | None:
        return self._coverage

    def domain(self) -> str:
        return self._domain

    # -- the edge -----------------------------------------------------------------------------------------

    def arrived(self, datagram: Datagram) -> None:
        """Take a datagram of the own edge, or a sign of any edge."""
        body, own = datagram.body, self._coverage
        if isinstance(body, EdgeAnswer):
            self._answered(body, datagram)
        elif isinstance(body, EdgeBeacon):
            self._beacon_heard(body, datagram)
        elif datagram.namespace != self._domain:
            self.drop(DropReason.NAMESPACE)
        elif own is None or datagram.client != own.edge:
            if not isinstance(body, RoutingMessage):  # a probe or hello of another node is no news
                self.drop(DropReason.OTHER_WAY)
        elif datagram.scope is DatagramScope.ROUTED:
            for target in datagram.targets:
                if target.node in (None, self.host.id):
                    self.deliver(datagram, target)
                else:
                    self.drop(DropReason.NOT_THERE)
        elif datagram.scope is DatagramScope.CELL and datagram.origin.cell != self._cell:
            self.drop(DropReason.OTHER_CELL)
        else:
            self.deliver(datagram, None)

    def _answered(self, answer: EdgeAnswer, datagram: Datagram) -> None:
        if self._coverage is not None or answer.nonce != self._nonce or answer.edge != datagram.client:
            self.drop(DropReason.UNKNOWN_REPORT)
            return
        self.worlds = answer.worlds
        for world in answer.worlds:
            if world.world == self.namespace and datagram.namespace == self._domain_of(answer.edge):
                self._bind(answer.edge, world)
                return
        self.drop(DropReason.NO_WORLD)

    def _beacon_heard(self, beacon: EdgeBeacon, datagram: Datagram) -> None:
        own, edge = self._coverage, beacon.edge
        if beacon.world.world != self.namespace or datagram.client != edge:
            self.drop(DropReason.NAMESPACE)
        elif own is None:
            # An answer shows that this node is heard, too: a beacon does not. If all asked at once who have
            # heard it, nobody would be understood.
            if self.host.now() - self._asked_at >= self.beacon_s:
                self._asked_at = self.host.now()
                self._look(FIRST_PROBE_S * self._draw())
        elif datagram.namespace == self._domain and edge == own.edge:
            if beacon.sequence > self._sequence:
                self._take(beacon, own)
        elif self.host.id in beacon.members:  # it did not notice that this node belongs to another one
            self._leave(self._domain_of(edge), edge)

    def _take(self, beacon: EdgeBeacon, own: Coverage) -> None:
        world, members = beacon.world, beacon.members
        self._sequence = beacon.sequence
        self._heard_at = self.host.now()
        self._neighbours = None
        if (own.map_epoch, own.cells) != (world.epoch, world.cells):
            self._use(own.edge, world)
        visitors = frozenset(beacon.visitors)
        if (members, visitors) != (self._members, self._visitors):
            self._members, self._visitors = members, visitors
            self._changed()
        if self.host.id in members:
            self._unlisted = 0
        elif self._heard_at - self._greeted_at >= self.beacon_s:  # else it may be on the next beacon
            self._unlisted += 1
            if self._unlisted > self.missed:
                self._lose()  # the edge does not hear this node, or has no room for it
            else:
                self._greeted_at = self._heard_at
                self._greet_in(0.5 * self.beacon_s * self._draw())

    def _bind(self, edge: int, world: WorldMap) -> None:
        """Belong to the area of an edge. It and others are told later: who hears of it now enters a domain,
        and must have done so before."""
        self._enter(edge)
        self._use(edge, world)
        self._greet_in(0.0)
        self._watch()

    def _use(self, edge: int, world: WorldMap) -> None:
        """Go by a cell map."""
        self._coverage = Coverage(edge, world.epoch, world.cells, world.world)
        self._grid = logical_grid(world.cells)
        self._cell = cell_of_node(self.host.id, world.cells)
        self.known.serve(self._cell)
        self._neighbours = None
        self._changed()

    def _lose(self) -> None:
        """The edge is lost: what it was told since it was heard last may have got nowhere."""
        since = self._heard_at
        self._enter(None)
        self._tell_change()
        for sent in list(self._sent.values()):
            if sent.at >= since:
                for target in sent.targets:
                    if target.node != self.host.id:
                        self.sink.doubtful(sent.body, target)
        self._look(FIRST_PROBE_S * self._draw())

    def _enter(self, edge: int | None) -> None:
        """Begin anew with an edge, or without one."""
        self._coverage = None
        self._domain = self._domain_of(edge)
        self._watching.cancel()
        self._members = ()
        self._visitors = frozenset()
        self._neighbours = ()
        self._grid = self._cell = None
        self.known.serve(None)
        self._heard_at = self.host.now()
        self._sequence = -1
        self._nonce = -1
        self._unicasts = self._failed_unicast = self._failures = self._unlisted = 0

    def _domain_of(self, edge: int | None) -> str:
        return Domain(self.namespace, edge).namespace()

    def _watch(self) -> None:
        """Lose the edge when it has been silent for too long."""
        left = self._heard_at + (self.missed + 0.5) * self.beacon_s - self.host.now()
        if left > RESOLUTION_S:
            self._watching = self.host.after(left, self._watch)
        else:
            self._lose()

    # -- what it is told ----------------------------------------------------------------------------------

    def _look(self, delay: float) -> None:
        """Ask for an edge, and again until there is one."""
        self._next_in(delay, self._ask)

    def _ask(self) -> None:
        self._nonce = self._nonces(64)
        self._asked_at = self.host.now()
        self.control(EdgeProbe(self._nonce))
        self._look(self.probe_s * (0.9 + 0.2 * self._draw()))

    def _greet_in(self, delay: float) -> None:
        self._next_in(delay, self._greet)

    def _greet(self) -> None:
        if self._coverage is not None:
            self._greeted_at = self.host.now()
            datagram = self.datagram(AreaHello(self.namespace, visiting=self._visiting), DatagramScope.HOP)
            self.count_control(datagram)
            self._to_edge(datagram, self._coverage.edge, ())
            self._greet_in(self.hello_s * (0.9 + 0.2 * self._draw()))

    def _leave(self, domain: str, edge: int) -> None:
        """Tell an edge in whose domain this node is no more."""
        datagram = self.datagram(AreaHello(domain.rpartition("@")[0], leaving=True), DatagramScope.HOP)
        datagram.namespace = domain
        self.count_control(datagram)
        self.unicast(datagram, edge, _do_nothing)

    def _next_in(self, delay: float, action: Callable[[], None]) -> None:
        """Do nothing else of its own accord until then."""
        self._next.cancel()
        self._next = self.host.after(delay, action)

    def _changed(self) -> None:
        """Let the sink know of a change, once for all that happen at the same moment."""
        if not self._telling:
            self._telling = True
            self.host.after(0.0, self._tell_change)

    def _tell_change(self) -> None:
        self._telling = False
        cells = 1 if self._grid is None else self._grid.cells
        stay = [each for each in self._members if each not in self._visitors]
        now = self._coverage, self._domain, frozenset(cell_of_node(each, cells) for each in stay)
        if now != self._told:
            self._told = now
            self.sink.surroundings_changed()

    # -- datagrams ----------------------------------------------------------------------------------------

    def datagram(
        self,
        body: StorageMessage | RoutingMessage,
        scope: DatagramScope,
        targets: tuple[NodeAddress, ...] = (),
    ) -> Datagram:
        """Make a new datagram of this node, in the domain where it is now."""
        datagram = super().datagram(body, scope, targets)
        datagram.namespace = self._domain
        return datagram

    def route(self, datagram: Datagram) -> None:
        """Deliver an own datagram here, or give it to the edge."""
        cell, away = None if self._visiting else self._cell, []
        for target in datagram.targets:
            here = target.node == self.host.id or (
                target.node is None and cell is not None and target.cell == cell
            )
            if here:
                self.deliver(datagram, target)
            else:
                away.append(target)
        if not away:
            return
        copy = self.onward(datagram, tuple(away))
        if copy is None:
            return
        if self._coverage is None:
            for target in away:
                self.give_up(datagram, target, DropReason.NO_ROUTE)
        else:
            self._to_edge(copy, self._coverage.edge, copy.targets)

    def _tell(self, body: StorageMessage, scope: DatagramScope) -> None:
        self.counters.sent += 1
        datagram = self.datagram(body, scope)
        self._seen.is_new(datagram.id, None)  # the edge tells this node, too
        if self._coverage is None:
            self.drop(DropReason.NO_ROUTE)
        else:
            self._to_edge(datagram, self._coverage.edge, ())

    def _to_edge(self, datagram: Datagram, edge: int, targets: tuple[NodeAddress, ...]) -> None:
        self._unicasts += 1
        self.unicast(datagram, edge, partial(self._not_taken, datagram, edge, targets, self._unicasts))

    def _not_taken(
        self, datagram: Datagram, edge: int, targets: tuple[NodeAddress, ...], number: int
    ) -> None:
        """The edge did not take a datagram. Radios send in turn, so that those between two that failed were
        taken."""
        for target in targets:
            self.give_up(datagram, target, DropReason.NOT_THERE)
        own = self._coverage
        if own is None or own.edge != edge:
            return
        self._failures = self._failures + 1 if number == self._failed_unicast + 1 else 1
        self._failed_unicast = number
        # A few may fail at one moment in a crowd: the edge is lost if a beacon did not come, either.
        if self._failures >= self.failures and self.host.now() - self._heard_at > 1.5 * self.beacon_s:
            self._lose()


@lru_cache(maxsize=64)
def _all_there(
    members: tuple[int, ...], visitors: frozenset[int], cells: int, heard_at: float
) -> tuple[Neighbour, ...]:
    """All in an area in the order of their numbers, as a beacon tells of them. Those of one process who hear
    the same beacon share them."""
    nodes = sorted(members)
    return tuple([Neighbour(node, cell_of_node(node, cells), node in visitors, heard_at) for node in nodes])


def _do_nothing() -> None:
    """Stand for what is due next, before something is; and for what to do if an edge is not told that this
    node has left: it notices later."""
