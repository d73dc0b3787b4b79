"""Routing from cell to cell: greedy, and around voids by the right-hand rule."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.mechanisms.routing.counters import DropReason
from bypass.mechanisms.routing.faces import CellStep, lies_in, nearest, next_step, rank
from bypass.mechanisms.routing.islands import Island
from bypass.mechanisms.routing.members import CellMembers
from bypass.mechanisms.routing.searches import around, beyond_gaps, is_possible, next_node, visited
from bypass.mechanisms.routing.stillness import Stillness
from bypass.places.cell_grid import CellGrid, side_for
from bypass.places.sensor import Fix, LocationRequest
from bypass.ports.routing import Neighbour
from bypass.ports.storage import CELL, FLOOD, HOP
from bypass.protocol.datagrams import (
    MOST_GAP,
    Beacon,
    Datagram,
    DatagramScope,
    NodeAddress,
    Recovery,
    RoutingMessage,
    Search,
)
from bypass.protocol.storage import StorageMessage
from bypass.transitions import MechanismState
from bypass.transitions.recent import Recent

Bounds = tuple[float, float, float, float]

SURE_BEACONS = 3.0
"""After a search that found no cell nearer to a target, none is begun for so many beacon periods."""

SURE_AGAIN_BEACONS = 8.0
"""The same if the search before it has found none, either, and nothing is known to be new since then."""


class _SearchedCells(Recent[int, tuple[float, float]]):
    """Cells, and when the last search from here found none that is nearer to them, and the one before (s)."""

    LIMIT = 1024


class CellRouting(RoutingMechanism):
    """Nodes say every `beacon_s` seconds in which cell they are; one that was silent for `missed` beacons and
    a half is gone. A datagram goes to the neighbouring cell nearest to its target, or around voids; one
    random node of the target's cell, or of the populated cell nearest to that, takes it. Where populated
    cells do not touch, nodes that hear each other across the gap are searched for.

    The cells cover `area` (x0, y0, x1, y1), with a side of `side` metres, None: as long as nodes of touching
    cells are sure to hear each other with a radio that reaches `reach_m`. A node that leaves its cell passes
    nothing on and serves no cell until it has moved slower than `still_mps` for `still_s` seconds; it takes
    what is for itself.
    """

    name: ClassVar[str] = "cells"
    offers: ClassVar[frozenset[str]] = frozenset((CELL, FLOOD, HOP))

    area: Annotated[Bounds, MechanismState("area")] = (0.0, 0.0, 1000.0, 1000.0)
    reach_m: Annotated[float, MechanismState("reach_m"), Field(gt=0)] = 113.0
    side: Annotated[float | None, MechanismState("side"), Field(gt=0)] = None
    beacon_s: Annotated[float, MechanismState("beacon_s"), Field(ge=0.01, le=3600)] = 1.0
    missed: Annotated[int, MechanismState("missed"), Field(ge=1, le=100)] = 3
    still_s: Annotated[float, MechanismState("still_s"), Field(ge=0)] = 5.0
    still_mps: Annotated[float, MechanismState("still_mps"), Field(gt=0)] = 0.5

    def start(self) -> None:
        super().start()
        self._choose = self.host.random("routing-choice").choice
        self._members = CellMembers()
        self._standing = Stillness(CellGrid.over(self.area, self._side()), self.still_s, self.still_mps)
        fix = self.host.location.current()
        if fix is not None:
            self._standing.located(fix)
        self._told: object = None
        self._telling = False
        self._searched = _SearchedCells()
        self._news_at = self.host.now()  # when the population was last known to change
        self.gap = 0
        self._island = Island()
        self._seen_from: tuple[int, int] | None = None  # the cell, and the state of the neighbours
        self._beyond: Collection[int] = ()
        self._around = 0
        self._follow()
        self._changed()
        self._next_beacon = self.host.after(self.beacon_s * self._draw(), self._beat)

    # -- parameters that change while it runs -------------------------------------------------------------

    def set_area(self, value: Bounds) -> None:
        """Lay the cells out over another area."""
        self._use(CellGrid.over(value, self._side()))
        self.area = value

    def set_reach_m(self, value: float) -> None:
        """Lay the cells out for another reach."""
        self._use(CellGrid.over(self.area, self.side or side_for(value)))
        self.reach_m = value

    def set_side(self, value: float | None) -> None:
        """Lay out cells of another size."""
        self._use(CellGrid.over(self.area, value or side_for(self.reach_m)))
        self.side = value

    def set_beacon_s(self, value: float) -> None:
        """Say where the node is more or less often from now on."""
        self.beacon_s = value
        self._follow()
        self._restart()

    def set_still_s(self, value: float) -> None:
        """Wait longer or shorter before serving again."""
        self.still_s = self._standing.still_s = value

    def set_still_mps(self, value: float) -> None:
        """Take another speed as standing still."""
        self.still_mps = self._standing.still_mps = value

    # -- what callers ask for -----------------------------------------------------------------------------

    def tell_cell(self, body: StorageMessage) -> None:
        if self._standing.cell is None:
            self.drop(DropReason.NOT_SERVING)
        else:
            self._tell(body, DatagramScope.CELL)

    def neighbours(self) -> Sequence[Neighbour]:
        return self._members.neighbours()

    def grid(self) -> CellGrid:
        return self._standing.grid

    def own_cell(self) -> int | None:
        return self._standing.cell

    def serving(self) -> bool:
        return self._standing.serving

    # -- neighbours ---------------------------------------------------------------------------------------

    def heard(self, node: int) -> None:
        self._members.heard(node, self.host.now())

    def controlled(self, message: RoutingMessage, node: int) -> None:
        if not isinstance(message, Beacon):
            return
        cell, cells = message.cell, self._standing.grid.cells
        if message.cells != cells or (cell is not None and not 0 <= cell < cells):
            new = self._members.forget(node)  # a node with another grid means other cells by the same numbers
        else:
            new = self._told_by(node, message)
        if new:
            self._changed()

    def _told_by(self, node: int, message: Beacon) -> bool:
        """A node has said where it is, and what it knows; returns whether its place is new."""
        now, own, grid = self.host.now(), self._standing.cell, self._standing.grid
        island = message.island if message.count and message.island < grid.cells else None
        touches = message.cell is not None and own is not None and grid.steps_squared(own, message.cell) <= 2
        if island is not None and touches and not message.moving:
            self._island.told(island, message.count, now)
        return self._members.told(
            node, message.cell, message.moving, now, message.around, island, message.gap
        )

    def _beat(self) -> None:
        heard_since = self.host.now() - (self.missed + 0.5) * self.beacon_s
        if self._members.expire(heard_since):
            self._changed()
        standing = self._standing
        if standing.cell is not None and standing.serving:
            self.control(self._beacon(standing.cell, standing.grid, heard_since))
        else:
            self.gap, self._island = 0, Island()
            self.control(Beacon(standing.cell, True, standing.grid.cells))
        # Nodes that spoke at the same moment once would always do so otherwise.
        self._next_beacon = self.host.after(self.beacon_s * (0.9 + 0.2 * self._draw()), self._beat)

    def _beacon(self, cell: int, grid: CellGrid, heard_since: float) -> Beacon:
        """Notice how near a gap is; gives what others are told."""
        members, island = self._members, self._island
        island.follow(cell, heard_since)
        if self._seen_from != (cell, members.changes):
            self._seen_from = cell, members.changes
            self._beyond = beyond_gaps(grid, cell, members.cells, members.around)
            self._around = around(grid, cell, members.cells)
        if any(island.cell not in members.islands(each) for each in self._beyond):
            self.gap = MOST_GAP
        else:
            self.gap = max(members.gap() - 1, 0)
        bits = self._around
        return Beacon(cell, False, grid.cells, bits, island.cell or 0, island.count, self.gap)

    def _located(self, fix: Fix) -> None:
        standing = self._standing
        before = standing.cell, standing.serving
        standing.located(fix)
        if (standing.cell, standing.serving) != before:
            self._changed()
            self._restart()  # others should know soon

    def _follow(self) -> None:
        self.host.location.release(self._located)
        self.host.location.request(LocationRequest(interval=self.beacon_s), self._located)

    def _restart(self) -> None:
        self._next_beacon.cancel()
        self._next_beacon = self.host.after(0.1 * self.beacon_s * self._draw(), self._beat)

    def _changed(self) -> None:
        """Let the sink know of a change, once for all that happen at the same moment."""
        if not self._telling:
            self._telling = True
            self.host.after(0.0, self._tell_change)

    def _tell_change(self) -> None:
        self._telling = False
        now = self._standing.cell, self._standing.serving, frozenset(self._members.cells)
        if now != self._told:
            self._told = now
            self._news_at = self.host.now()
            self.sink.surroundings_changed()

    # -- datagrams ----------------------------------------------------------------------------------------

    def route(self, datagram: Datagram) -> None:
        together: dict[int, list[NodeAddress]] = {}
        for target in datagram.targets:
            if target.node == self.host.id:
                self.deliver(datagram, target)
            elif self._in_reach(target, target.cell):
                self._hand_over(datagram, target)
            elif target.cell is None or not 0 <= target.cell < self._standing.grid.cells:
                self.give_up(datagram, target, DropReason.NOT_THERE)
            else:
                step = self._step(datagram, target.cell)
                if step is None:
                    self.give_up(datagram, target, DropReason.NOT_SERVING)
                elif step.cell is None:
                    self._search(datagram, target, target.cell)
                elif step.recovery is not None:
                    self._forward(datagram, (target,), step.cell, step.recovery)
                else:
                    together.setdefault(step.cell, []).append(target)
        for cell, targets in together.items():
            self._forward(datagram, tuple(targets), cell, None)

    def _step(self, datagram: Datagram, target: int) -> CellStep | None:
        """The next step to a cell; None if there is nobody to take it."""
        standing, cells = self._standing, self._members.cells
        if standing.serving and standing.cell is not None:
            recovery = datagram.recovery if len(datagram.targets) == 1 else None
            if isinstance(recovery, Search):
                if self._is_searching(recovery, target):
                    return CellStep(None, None)
                recovery = None
            elif recovery is not None and not lies_in(standing.grid, recovery):
                recovery = None
            step = next_step(standing.grid, standing.cell, target, recovery, cells)
            return step._replace(recovery=self._noted(step.recovery, recovery)) if step.recovery else step
        # A node that does not serve is in no cell: any node that serves knows the way from where it is.
        return CellStep(nearest(standing.grid, target, cells), None) if cells else None

    def _noted(self, recovery: Recovery, before: Recovery | None) -> Recovery:
        """The next state of a walk; it notes whether a node on the way knows of a gap."""
        known = before is not None and before.gap and before.entered == recovery.entered
        return recovery._replace(gap=known or self.gap > 0)

    def _is_searching(self, search: Search, target: int) -> bool:
        """Whether a search goes on: nothing that is nearer to the target is in reach."""
        grid, here = self._standing.grid, self._standing.cell
        if here is None or not is_possible(grid, search):
            return False
        best = nearest(grid, target, (here, *self._members.cells))
        return rank(grid, best, target) >= rank(grid, search.entered, target)

    def _search(self, datagram: Datagram, target: NodeAddress, cell: int) -> None:
        """No touching cells lead nearer to a target: go on across gaps, or end here."""
        here = self._standing.cell
        way = datagram.recovery if len(datagram.targets) == 1 else None
        if here is None or here == cell or (target.node is not None and self._members.get(target.node)):
            self._end(datagram, target)
            return
        search = way if isinstance(way, Search) and is_possible(self._standing.grid, way) else None
        if search is None or not search.visited:
            known = search is not None or self.gap or (isinstance(way, Recovery) and way.gap)
            if not known or (target.node is None and self._is_sure(cell)):
                self._end(datagram, target)
                return
            first = min(self._members.cells.get(here, ()), default=self.host.id)
            if target.node is None and first < self.host.id:  # who of this cell may be sure, for all
                self._forward_to(datagram, (target,), first, Search(here))
                return
        search = visited(search or Search(here), NodeAddress(self.host.id, here))
        found = next_node(self._standing.grid, cell, search, self._members.serving())
        if found is not None:
            self._forward_to(datagram, (target,), found, search._replace(trail=(*search.trail, self.host.id)))
        elif search.trail:
            back = search._replace(trail=search.trail[:-1])
            if self._members.get(search.trail[-1]) is None:
                self.give_up(datagram, target, DropReason.NO_ROUTE)
            else:
                self._forward_to(datagram, (target,), search.trail[-1], back)
        else:
            if target.node is None:
                before, _ = self._searched.get(cell, (-math.inf, 0.0))
                self._searched[cell] = self.host.now(), before
            self._end(datagram, target)

    def _is_sure(self, cell: int) -> bool:
        """Whether searches have found lately that no cell is nearer to one than this."""
        found_at, before = self._searched.get(cell, (-math.inf, -math.inf))
        beacons = SURE_AGAIN_BEACONS if before > self._news_at else SURE_BEACONS
        since: float = self.host.now() - found_at
        return since < beacons * self.beacon_s

    def _forward(
        self, datagram: Datagram, targets: tuple[NodeAddress, ...], cell: int, recovery: Recovery | None
    ) -> None:
        self._forward_to(datagram, targets, self._choose(self._members.likeliest(cell)), recovery)

    def _forward_to(
        self,
        datagram: Datagram,
        targets: tuple[NodeAddress, ...],
        node: int,
        way: Recovery | Search | None,
    ) -> None:
        copy = self.onward(datagram, targets, way)
        if copy is not None:
            self.unicast(copy, node, partial(self._failed_at, datagram, targets, node))

    def _failed_at(self, datagram: Datagram, targets: tuple[NodeAddress, ...], node: int) -> None:
        """A neighbour did not take a datagram: look for another way, from here as before."""
        if self._members.failed(node):
            self._changed()
        self.route(replace(datagram, targets=targets))

    def _end(self, datagram: Datagram, target: NodeAddress) -> None:
        """The way ends in this cell: take it, or hand it over to the node that it is for."""
        if target.node is None:
            self.deliver(datagram, target)
        elif self._members.get(target.node) is not None:
            self._hand_over(datagram, target)
        else:
            self.give_up(datagram, target, DropReason.NOT_THERE)

    def _in_reach(self, target: NodeAddress, cell: int | None) -> bool:
        """Whether a target is a node in reach that is where it should be."""
        member = None if target.node is None else self._members.get(target.node)
        return member is not None and (cell is None or member.cell == cell)

    def _hand_over(self, datagram: Datagram, target: NodeAddress) -> None:
        copy = self.onward(datagram, (target,))
        if copy is not None and target.node is not None:
            self.unicast(copy, target.node, partial(self._failed_at, datagram, (target,), target.node))

    def _flooded(self, datagram: Datagram) -> None:
        self._news_at = self.host.now()  # nodes flood what concerns all: other cells are populated
        super()._flooded(datagram)

    # -- the grid -----------------------------------------------------------------------------------------

    def _side(self) -> float:
        return self.side or side_for(self.reach_m)

    def _use(self, grid: CellGrid) -> None:
        self._standing.use(grid)
        self._island = Island()
        self._members.clear()  # their cells were those of the old grid
        self._changed()
        self._restart()
