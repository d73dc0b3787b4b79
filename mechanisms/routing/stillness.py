"""Whether a node stands still enough to work for its cell."""

from __future__ import annotations

import math

from bypass.places.cell_grid import CellGrid
from bypass.places.sensor import Fix


class Stillness:
    """Follows a node's fixes. A node serves its cell until it leaves it; then it is on its way, and serves
    again when it has stood still for `still_s` seconds, slower than `still_mps` all the time.

    `cell` is where it is, None while nobody knows; `serving` says whether it works for that cell.
    """

    def __init__(self, grid: CellGrid, still_s: float, still_mps: float) -> None:
        self.grid = grid
        self.still_s = still_s
        self.still_mps = still_mps
        self.cell: int | None = None
        self.serving = False
        self._last: Fix | None = None
        self._still_since: float | None = None

    def located(self, fix: Fix) -> None:
        """Take a fix."""
        last, cell, moves = self._last, self.grid.cell_of(fix.x, fix.y), self._moves(fix)
        self._last = fix
        if moves:
            self._still_since = None
        elif self._still_since is None:
            self._still_since = fix.at
        if last is None or self.cell is None:
            self.serving = not moves
        elif self.serving:
            # A place in another cell is a movement, whatever the speed says.
            self.serving = cell == self.cell
            if not self.serving:
                self._still_since = None if moves else fix.at
        elif self._still_since is not None:
            self.serving = fix.at - self._still_since >= self.still_s
        self.cell = cell

    def use(self, grid: CellGrid) -> None:
        """Go over to another grid; a node that stands still serves on, in the cell where it is."""
        self.grid = grid
        if self._last is not None:
            self.cell = grid.cell_of(self._last.x, self._last.y)

    def _moves(self, fix: Fix) -> bool:
        """Whether the node moves, by what the sensor says or by where it was last."""
        if math.hypot(fix.vx, fix.vy) >= self.still_mps:
            return True
        last = self._last
        if last is None or fix.at <= last.at:
            return False
        return math.hypot(fix.x - last.x, fix.y - last.y) >= self.still_mps * (fix.at - last.at)
