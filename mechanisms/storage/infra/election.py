"""The stable client of a cell, which reports for it: each client decides for itself whether it is the one."""

from __future__ import annotations

from dataclasses import dataclass

from bypass.protocol.edge import CellHello

MOST_NEIGHBOURS = 4096


@dataclass(slots=True)
class _Known:
    """A client's stability, and when it was heard last (s)."""

    stability: int
    heard_at: float


class StableElection:
    """Elects the client with the highest stability, of equal ones that with the lowest number, among those of
    the cell that were heard in the last `lifetime_s`.

    Nobody is asked. Two clients may elect themselves, where a hello is on its way: an edge merges only one
    of their reports. A client is no candidate for `warm_up_s` after it came into its cell, until it has heard
    the others.
    """

    def __init__(self, own: int, joined_at: float, warm_up_s: float, lifetime_s: float) -> None:
        self._own = own
        self._joined_at = joined_at
        self._warm_up_s = warm_up_s
        self._lifetime_s = lifetime_s
        self._neighbours: dict[int, _Known] = {}

    def heard(self, node: int, hello: CellHello, now: float) -> None:
        """Take the hello of another client of the cell."""
        if node == self._own:
            return
        self._neighbours[node] = _Known(hello.stability, now)
        if len(self._neighbours) > MOST_NEIGHBOURS:
            oldest = min(self._neighbours, key=lambda each: (self._neighbours[each].heard_at, each))
            del self._neighbours[oldest]

    def lost(self, node: int) -> None:
        """Know that a client has left the cell, or has died."""
        self._neighbours.pop(node, None)

    @property
    def heard_of(self) -> list[int]:
        """The other clients of the cell that were heard, and not lost since then."""
        return list(self._neighbours)

    def moved(self, now: float) -> None:
        """Begin anew in another cell, or under another cell map."""
        self._joined_at = now
        self._neighbours.clear()

    def in_cell_s(self, now: float) -> float:
        """The time since this client came into its cell (s)."""
        return now - self._joined_at

    def is_elected(self, stability: int, now: float) -> bool:
        """Whether this client is to report for its cell now, with this stability."""
        if self.in_cell_s(now) < self._warm_up_s:
            return False
        present = {
            node: known
            for node, known in self._neighbours.items()
            if now - known.heard_at <= self._lifetime_s
        }
        self._neighbours = present
        best = max(((known.stability, -node) for node, known in present.items()), default=None)
        return best is None or (stability, -self._own) > best
