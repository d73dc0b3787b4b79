"""Keys move with the population of cells: to the cell itself, or to the populated cell nearest to it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf
from typing import TYPE_CHECKING

from bypass.mechanisms.storage.cells.state.placement import misplaced, orphans, proxy_of
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import MOST_NAMED, JoinRequest
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells

RANK_S = 0.3
"""Nodes of a cell that have the same to offer do so one after the other, so long apart: those who come later
find that nothing is lacking."""

RETRY_S = 2.0
"""Keys are offered again after this time to those who keep them now, until these have them all."""

OTHERS_PROBE = 3
"""The node of a cell with the smallest number asks in each period for cells that are nearer than this. Each
further one does so many periods more rarely: it may have keys that the others have passed on."""

OWN_WITHIN_S = 0.3
COPIES_AFTER_S, COPIES_WITHIN_S = 0.5, 1.0
"""When nodes answer to a cell that has lost its state: owners and subscribers first."""

MOST_DEFERRED = 64
"""Questions to a cell whose state is being collected that wait for that."""


class _Keepers(Recent[tuple[int | None, int], None]):
    """Nodes that have offered what they keep for a cell, by node and cell."""

    LIMIT = 256


class _PassedOn(Recent[int, float]):
    """Cells whose keys were passed on, and when (s)."""


class HandOver:
    """The cells whose keys a node keeps, beside its own one, and those that it has to pass on.

    `misplaced` keys are offered to their cell, wherever such a message ends, until those who get it have all:
    only then are they forgotten. That holds for the keys of a cell that this node has left, for those of an
    empty cell for which another one is nearer now, and for those of a part of the network that was cut off.
    """

    def __init__(self, node: Cells) -> None:
        self.floods = 0
        self.passed_on = 0
        self.misplaced: dict[int, float] = {}  # cells, and when to offer their keys next
        self.populated: frozenset[int] = frozenset()
        self._node = node
        self._settled: set[int] = set()  # cells whose state is here as far as it is anywhere
        self._collecting: dict[int, list[Callable[[], None]]] = {}
        self._offered: dict[int, tuple[int, ...]] = {}
        self._keepers = _Keepers()
        self._gone = _PassedOn()
        self._unjoined: list[tuple[int, Callable[[], None]]] = []
        self._probed_at = 0.0

    # -- the surroundings ---------------------------------------------------------------------------------

    def review(self) -> None:
        """Notice which cells are populated now, and pass on or take over keys."""
        node = self._node
        own, grid = node.cell, node.grid
        if own is None or grid is None or node.as_published:
            return
        before = self.populated
        self.populated = frozenset(
            each.cell for each in node.host.link.neighbours() if each.cell is not None and not each.moving
        )
        # State collected while a cell was empty, or out of reach, is old once somebody works for it.
        self._settled -= self.populated - before - {own}
        if not node.membership.is_member:
            return
        held = [cell for cell, state in node.service.states.items() if len(state) and cell != own]
        for cell in misplaced(grid, held, own, self.populated):
            self.misplace(cell, RANK_S * self.rank())
        for lost in before - self.populated - {own}:
            if proxy_of(grid, lost, self.populated | {own}) == own:
                node.host.after(node.settle_s + RANK_S * self.rank(), self._collect_lost, lost)

    def misplace(self, cell: int, delay: float = 0.0) -> None:
        """Pass the keys of a cell on, from `delay` seconds on."""
        self.misplaced.setdefault(cell, self._node.host.now() + delay)
        self._settled.discard(cell)

    def _collect_lost(self, lost: int) -> None:
        """A cell has lost all its nodes: unless it handed its keys over, collect them from who has some."""
        node = self._node
        own, grid = node.cell, node.grid
        if own is None or grid is None or not node.membership.is_member:
            return
        if lost in self.populated or lost in self._settled:
            return
        populated = self.populated | {own}
        cells = orphans(grid, lost, populated)[:MOST_NAMED]
        self.collect(lost, cells)

    # -- keys that this node should have ------------------------------------------------------------------

    def settle(self, cells: Collection[int]) -> None:
        """The state of these cells has come from another node that kept it."""
        self._settled.update(cells)
        for cell in cells:
            self._gone.pop(cell, None)

    def offered(self, origin: NodeAddress, cell: int) -> None:
        """Another node has offered what it keeps for a cell."""
        self._keepers[origin.node, cell] = None

    def learned(self, origin: NodeAddress, cell: int) -> None:
        """A part of a cell's state has come: that of a keeper is whole; owners and holders register some."""
        if self._keepers.pop((origin.node, cell), self) is None:
            self.settle((cell,))

    def learned_again(self, cell: int) -> None:
        """A node of the own cell still had keys of another one: pass them on as those before, or the two
        would learn them from each other for ever."""
        own, grid = self._node.cell, self._node.grid
        if own is None or grid is None or cell == own:
            return
        if self.is_going(cell) or misplaced(grid, (cell,), own, self.populated):
            self.misplace(cell, RANK_S * self.rank())

    def is_going(self, cell: int) -> bool:
        """Whether the keys of a cell are being passed on, or were lately: nodes do not compare these."""
        node = self._node
        return cell in self.misplaced or node.host.now() - self._gone.get(cell, -inf) < 2 * node.repair_s

    def is_settled(self, cell: int) -> bool:
        """Whether the state of a cell is here as far as it is anywhere."""
        return cell in self._settled

    def when_settled(self, cell: int, action: Callable[[], None]) -> None:
        """Do something that needs the whole state of a cell: now, or when it is collected.

        A node that has not joined its cell yet knows nothing of it: then it is done when it has.
        """
        node = self._node
        if not node.as_published and not node.membership.is_member:
            if len(self._unjoined) < MOST_DEFERRED:  # whoever waits for more asks again
                self._unjoined.append((cell, action))
            return
        if cell not in self._settled and not node.as_published:
            self.collect(cell, (cell,))
        waiting = self._collecting.get(cell)
        if waiting is not None and len(waiting) < MOST_DEFERRED:
            waiting.append(action)
        else:
            action()

    def joined(self) -> None:
        """This node works for its cell now: do what has waited for that.

        A message for a cell that others keep came here while nobody knew them: it is left out. Who asked
        asks again.
        """
        waiting, self._unjoined = self._unjoined, []
        own, grid = self._node.cell, self._node.grid
        for cell, action in waiting:
            if own is None or grid is None or proxy_of(grid, cell, self.populated | {own}) == own:
                self.when_settled(cell, action)

    def collect(self, cell: int, cells: Collection[int]) -> None:
        """Ask everybody for what belongs to these cells; `cell` is settled after a while."""
        node = self._node
        self.settle((cell,))
        self.floods += 1
        if not self._await(cell):
            return
        node.host.link.flood(JoinRequest(cell, tuple(cells)))
        node.host.after(OWN_WITHIN_S * node.random.random(), node.repair.offer_own, cells)
        node.host.after(self._later(), node.repair.offer_copies, cells)

    def requested(self, body: JoinRequest, origin: NodeAddress) -> None:
        """Some cells have lost their state: offer what there is of it."""
        node = self._node
        cells = set(body.cells)
        for cell in cells:
            self._gone.pop(cell, None)
        if origin.cell == node.cell:
            if body.cell is not None:
                self._settled.add(body.cell)
                self._await(body.cell)
        else:
            self._settled -= cells - {node.cell}
        node.host.after(OWN_WITHIN_S * node.random.random(), node.repair.offer_own, cells)
        node.host.after(self._later(), node.repair.offer_copies, cells)
        for cell in cells & node.service.states.keys():
            if cell != node.cell and origin.cell != node.cell:
                self.misplace(cell, OWN_WITHIN_S * node.random.random())

    def _await(self, cell: int) -> bool:
        """Whether the state of a cell was not awaited already; from now on it is, for a while."""
        if cell in self._collecting:
            return False
        self._collecting[cell] = []
        self._node.host.after(self._node.settle_s, self._collected, cell)
        return True

    def _collected(self, cell: int) -> None:
        for action in self._collecting.pop(cell, ()):
            action()

    def _later(self) -> float:
        return COPIES_AFTER_S + (COPIES_WITHIN_S - COPIES_AFTER_S) * self._node.random.random()

    # -- keys that this node should not have --------------------------------------------------------------

    def pass_on(self) -> None:
        """Offer misplaced keys, and now and then those of empty cells: another one may be nearer."""
        node = self._node
        now = node.host.now()
        for cell in [each for each, due in self.misplaced.items() if due <= now]:
            state = node.service.states.get(cell)
            if state is None or not len(state):
                self._forget(cell)
            elif cell == node.cell and node.membership.is_member:
                del self.misplaced[cell]
            else:
                self._offer(cell)
                self.misplaced[cell] = now + RETRY_S
        rare = 1 + OTHERS_PROBE * self.rank()
        if now - self._probed_at >= rare * node.repair_s and node.membership.is_member:
            self._probed_at = now
            for cell, state in node.service.states.items():
                if cell != node.cell and cell not in self.misplaced and len(state):
                    self._offer(cell)

    def probe_soon(self) -> None:
        """Offer the keys of empty cells at the next opportunity: another one may be nearer now."""
        self._probed_at = float("-inf")

    def answered(self, cell: int, wanted: Collection[int], origin: NodeAddress) -> None:
        """Another node has said what it lacks of a cell's keys that were offered."""
        node = self._node
        offered = self._offered.get(cell)
        if offered is None:
            return
        if node.membership.is_member and origin.cell == node.cell:
            self.misplaced.pop(cell, None)  # it is here that they belong
            self._offered.pop(cell, None)
            return
        self.misplaced.setdefault(cell, node.host.now() + RETRY_S)
        if wanted:
            self.misplaced[cell] = min(self.misplaced[cell], node.host.now() + RETRY_S / 2)
            return
        state = node.service.states.get(cell)
        del self._offered[cell]
        if state is None or state.entries.keys() <= set(offered):
            self.passed_on += 1
            self._gone[cell] = node.host.now()
            self._forget(cell)

    def _offer(self, cell: int) -> None:
        entries = tuple(self._node.service.states[cell].entries)
        self._offered[cell] = entries
        self._node.repair.offer(cell, entries)

    def _forget(self, cell: int) -> None:
        self.misplaced.pop(cell, None)
        self._settled.discard(cell)
        self._node.service.drop(cell)

    def rank(self) -> int:
        """How many nodes of the cell have a smaller number."""
        return sum(each < self._node.host.id for each in self._node.mates())
