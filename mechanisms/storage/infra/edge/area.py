"""An edge's knowledge of its area: the data of cells, merged into tables of popularity and needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bypass.mechanisms.storage.infra.edge.needs import NeedsTable
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.protocol.edge import CellData

MOST_CYCLES = 1024
"""Cycles of a cell that are remembered one by one; older ones count as merged."""


@dataclass(slots=True)
class _MergedCycles:
    """The cycles of a cell that were merged: all before `first`, and some from there on."""

    first: int = 0
    later: set[int] = field(default_factory=set)
    latest: int = -1

    def __contains__(self, cycle: int) -> bool:
        return cycle < self.first or cycle in self.later

    def add(self, cycle: int) -> None:
        self.later.add(cycle)
        self.latest = max(self.latest, cycle)
        if len(self.later) > MOST_CYCLES:
            oldest = min(self.later)
            self.later.remove(oldest)
            self.first = oldest + 1


class EdgeArea:
    """Merges each cycle of a cell once: several nodes may send the same, and send it again.

    A cycle is known by its world, the epoch of the world's cell map, the cell, and its number, which is that
    of a period of `period_s` seconds. Subscriptions are those of the latest cycle. Ignored are data of a cell
    map that is not the present one, of a cell that it does not have, and of cycles that have not begun by the
    clock `now`. `cycles` counts those that were merged.
    """

    def __init__(
        self,
        popularity: PopularityTable,
        needs: NeedsTable,
        now: Callable[[], float],
        period_s: float,
    ) -> None:
        self.popularity = popularity
        self.needs = needs
        self.cycles = 0
        self._now = now
        self._period_s = period_s
        self._maps: dict[str, tuple[int, int]] = {}  # epoch and number of cells, by world
        self._merged: dict[tuple[str, int], _MergedCycles] = {}

    def set_map(self, world: str, map_epoch: int, cells: int) -> None:
        """Take the cell map of a world. With another epoch its cells report all their subscriptions anew."""
        known = self._maps.get(world)
        if known is not None and known[0] >= map_epoch:
            return
        self._maps[world] = map_epoch, cells
        self.needs.forget_world(world)
        for place in [place for place in self._merged if place[0] == world]:
            del self._merged[place]

    def merge(self, data: CellData, retrieval_cycle: int) -> int:
        """Merge the data of a cell, the oldest cycle first. `retrieval_cycle` is when downloads count as
        reported. Gives how many cycles were new."""
        known = self._maps.get(data.world)
        if known is None or data.map_epoch != known[0] or data.cell >= known[1]:
            return 0
        merged = self._merged.setdefault((data.world, data.cell), _MergedCycles())
        present = int(self._now() // self._period_s)
        new, latest = 0, merged.latest
        for each in sorted(data.cycles, key=lambda each: each.cycle):
            if each.cycle in merged or each.cycle > present:
                continue
            merged.add(each.cycle)
            self.cycles += 1
            new += 1
            for download in each.downloads:
                self.popularity.add(data.world, download, retrieval_cycle)
        if merged.latest > latest:
            self.needs.replace(data.world, data.cell, data.needs)
        return new

    def missing(self, before: float) -> dict[tuple[str, int], int]:
        """Count the cycles of each cell, by world and cell, that were not merged: from its first one on, of
        those that ended before a time (s). Cells that have never reported are left out."""
        end = int(before // self._period_s)
        found = {}
        for place, merged in self._merged.items():
            known = sorted(merged.later)
            first = merged.first or known[0]
            found[place] = max(end - first, 0) - sum(first <= cycle < end for cycle in known)
        return found
