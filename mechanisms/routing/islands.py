"""The island of a node: its cell and all populated ones to which touching cells lead."""

from __future__ import annotations

MOST_ISLANDS = 64
"""Islands that a node hears of at a time; further ones are ignored."""


class Island:
    """The smallest number of the cells of an island, as its nodes tell each other in beacons.

    The nodes of that cell count on; others pass the count on. A cell whose count has stopped is not on the
    island any more. `cell` and `count` are what this node tells, None and 0 at first.
    """

    def __init__(self) -> None:
        self.cell: int | None = None
        self.count = 0
        self._heard: dict[int, tuple[int, float]] = {}  # counts by cell, and when they grew (s)

    def told(self, cell: int, count: int, now: float) -> None:
        """A node of the own cell, or of one that touches it, has told its island."""
        known = self._heard.get(cell)
        if (known is None and len(self._heard) < MOST_ISLANDS) or (known is not None and count > known[0]):
            self._heard[cell] = count, now

    def follow(self, own: int, heard_since: float) -> None:
        """Decide what to tell from the own cell, by all whose count has grown since a time."""
        self._heard = {cell: each for cell, each in self._heard.items() if each[1] >= heard_since}
        before, self.cell = self.cell, min(own, *self._heard) if self._heard else own
        heard = self._heard.get(self.cell, (0, 0.0))[0]
        if self.cell != own:
            self.count = heard
        else:
            self.count = max(heard, self.count if before == own else 0) + 1
