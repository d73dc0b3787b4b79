"""The reports of a cell to the edge: which of its clients sends them, when, and for how long."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from math import dist
from typing import TYPE_CHECKING

from bypass.mechanisms.storage.cells.state.conjunctions import key_tag
from bypass.mechanisms.storage.cells.state.placement import proxy_of
from bypass.mechanisms.storage.infra.cell_data import CellCounters
from bypass.mechanisms.storage.infra.election import StableElection
from bypass.objects.metadata import Metadata, Replica
from bypass.ports.host import Timer
from bypass.ports.proxies import StabilityReading
from bypass.ports.routing import Coverage
from bypass.ports.state_info import BATTERY, Battery
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import CellHello
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.mechanisms.storage.infra.mechanism import Infra

HELLOS = 2.5
"""A client that was silent for so many hellos is no candidate."""

REPORT_WITHIN_S = 0.5
"""Reports go out at random times within this after the end of a cycle: so not all cells speak at once."""

STILL_MPS = 0.5
"""A client that moves slower stands still."""

STILL_SAMPLES = 30
"""Hellos over which the share of standing still is taken."""


class _SentReports(Recent[int, tuple[int, tuple[int, ...]]]):
    """The cells and cycles of reports that were sent, by the number of the operation."""


class CellReports:
    """Counts downloads and subscriptions of the cells that this client works for, its own and the empty ones
    that it stands in for, and reports them if it is the stable one of its cell.

    Cycles have a length of `cell_data_s`. Numbers of reports go down from the largest, those of the
    application go up from the smallest.
    """

    def __init__(self, node: Infra) -> None:
        self.sent = 0
        self.cycles = self.reported = 0  # that have ended, and in which this client has reported
        self._node = node
        self._coverage: Coverage | None = None  # the latest
        self._cell: int | None = None
        self._counters: dict[int, CellCounters] = {}
        self._reports = _SentReports()
        self._still: deque[bool] = deque(maxlen=STILL_SAMPLES)
        self._place: tuple[float, float] | None = None
        self._placed_at = 0.0
        self._speed = 0.0  # m/s, lately
        self._cycle = 0
        self._timers: list[Timer] = []
        self._election = self._new_election()

    def begin(self) -> None:
        """Say hello to the cell, and count, from now on, with the periods that hold now."""
        for each in self._timers:
            each.cancel()
        self._election = self._new_election()
        hello = self._node.host.after(self._node.hello_s * self._node.random.random(), self._greet)
        self._timers = [hello, self._next_cycle()]
        self.review()

    def review(self) -> None:
        """Notice another edge, cell map or cell, and who has left the cell. An edge that is back gets what it
        has not confirmed."""
        node, coverage = self._node, self._node.coverage
        if coverage is not None and (coverage != self._coverage or node.cell != self._cell):
            self._coverage, self._cell = coverage, node.cell
            self._counters.clear()
            self._reports.clear()
            self._election.moved(node.host.now())
        mates = set(node.mates())
        for each in self._election.heard_of:
            if each not in mates:
                self._election.lost(each)

    # -- counting -----------------------------------------------------------------------------------------

    def downloaded(self, metadata: Metadata, replica: Replica) -> None:
        """Count a download of an object, in the cell of its first tag."""
        grid, coverage = self._node.grid, self._coverage
        if grid is None or coverage is None or metadata.namespace != coverage.world:
            return
        cell = grid.cell_of_tag(metadata.namespace, min(metadata.tags))
        if cell in self._cells():
            self._counted(cell, coverage).downloaded(metadata, replica)

    def _cells(self) -> Iterator[int]:
        """The cells that this client works for."""
        node = self._node
        own, grid = node.cell, node.grid
        if own is None or grid is None or not node.membership.is_member:
            return
        yield own
        populated = node.hand_over.populated | {own}
        for cell in node.service.states:
            if cell not in populated and proxy_of(grid, cell, populated) == own:
                yield cell

    def _counted(self, cell: int, coverage: Coverage) -> CellCounters:
        counters = self._counters.get(cell)
        if counters is None:
            grid, world = self._node.grid, coverage.world

            def cell_of(tag: str) -> int:
                return -1 if grid is None else grid.cell_of_tag(world, tag)

            counters = CellCounters(world, coverage.map_epoch, cell, cell_of)
            counters.moved(coverage.map_epoch, cell, self._cycle + 1)
            self._counters[cell] = counters
        return counters

    def _count_subscriptions(self, counters: CellCounters) -> None:
        """Have the counters know the subscriptions of their cell as they are now."""
        state = self._node.service.states.get(counters.cell)
        records = () if state is None else state.records.values()
        counters.subscriptions_are(
            {
                (each.query.id, key_tag(each.query, each.conjunction or 0)): each.query.window
                for each in records
                if each.query.namespace == counters.world
            }
        )

    # -- hellos -------------------------------------------------------------------------------------------

    def heard(self, hello: CellHello, node: int | None) -> None:
        """Another client of the cell says how stable it is, and what was confirmed."""
        coverage = self._coverage
        if coverage is None or (hello.world, hello.map_epoch) != (coverage.world, coverage.map_epoch):
            return
        if node is not None and hello.cell == self._cell:
            self._election.heard(node, hello, self._node.host.now())
        counters = self._counters.get(hello.cell)
        if counters is not None:
            counters.confirm(hello.confirmed)

    def _greet(self) -> None:
        node, coverage = self._node, self._coverage
        wait = node.hello_s * (0.9 + 0.2 * node.random.random())
        self._timers[0] = node.host.after(wait, self._greet)
        self._look_whether_still()
        if node.edge is None or coverage is None or not node.mates():
            return
        stable = self._stability()
        for cell in self._cells():
            confirmed = self._counted(cell, coverage).confirmed
            node.host.link.tell_cell(CellHello(coverage.world, coverage.map_epoch, cell, stable, confirmed))

    def _look_whether_still(self) -> None:
        now, place = self._node.host.now(), self._node.host.location.place()
        if place is not None and self._place is not None:
            moved = dist(place, self._place)
            self._still.append(moved < STILL_MPS * (now - self._placed_at))
            self._speed = moved / (now - self._placed_at) if now > self._placed_at else 0.0
        self._place, self._placed_at = place, now

    def _stability(self) -> int:
        node = self._node
        told = node.host.state_info.get(BATTERY, node.host.id)
        battery = Battery(1.0) if told is None else told.value
        stillness = sum(self._still) / len(self._still) if self._still else 1.0
        in_cell_s = self._election.in_cell_s(node.host.now())
        reading = StabilityReading(
            battery.charge, battery.charging, stillness, in_cell_s, self._speed, len(node.mates())
        )
        stable: int = node.host.link.stability(reading)
        return stable

    def _new_election(self) -> StableElection:
        node = self._node
        return StableElection(node.host.id, node.host.now(), node.warm_up_s, HELLOS * node.hello_s)

    # -- reports ------------------------------------------------------------------------------------------

    def acknowledged(self, op: int) -> bool:
        """The edge has taken a report: its cycles are not sent again. Whether it is one of this client."""
        report = self._reports.pop(op, None)
        if report is None:
            return False
        cell, cycles = report
        if cell in self._counters:
            self._counters[cell].confirm(cycles)
        return True

    def _next_cycle(self) -> Timer:
        node = self._node
        now = node.host.now()
        self._cycle = int(now / node.cell_data_s)
        timer: Timer = node.host.after((self._cycle + 1) * node.cell_data_s - now, self._close)
        return timer

    def _close(self) -> None:
        node, coverage = self._node, self._coverage
        cycle = self._cycle
        self.cycles += coverage is not None
        if coverage is not None:
            cells = set(self._cells())
            for cell in [each for each in self._counters if each not in cells]:
                del self._counters[cell]
            for cell in cells:
                self._counted(cell, coverage).close(cycle)
        self._timers[1] = self._next_cycle()
        node.host.after(REPORT_WITHIN_S * node.random.random(), self._report)

    def _report(self) -> None:
        node = self._node
        edge = node.edge
        if edge is None or not self._election.is_elected(self._stability(), node.host.now()):
            return
        self.reported += 1
        for cell, counters in self._counters.items():
            self._count_subscriptions(counters)
            for body in counters.messages(0):
                self.sent += 1
                op = node.host.id << 32 | (-self.sent & 0xFFFFFFFF)
                self._reports[op] = cell, tuple(each.cycle for each in body.cycles)
                node.host.link.send(replace(body, op=op), (NodeAddress(edge),))
