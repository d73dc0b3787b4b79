"""A meter of a running store: operations in windows of time, lengths of ways, and the size of the network."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from bypass.models.storage.costs import Demand, Design, Extent

MOST_WINDOWS = 1000


@dataclass(slots=True)
class WindowCounts:
    """The operations of one window, the tags of its insertions and the conjunctions of its subscriptions; the
    ways that were measured, and their hops."""

    inserts: int = 0
    retrieves: int = 0
    subscriptions: int = 0
    notifications: int = 0
    deletes: int = 0
    withdrawals: int = 0
    tags: int = 0
    keys: int = 0
    ways: int = 0
    hops: int = 0

    @property
    def operations(self) -> int:
        """All of them."""
        return (
            self.inserts + self.retrieves + self.subscriptions + self.notifications + self.deletes
            + self.withdrawals
        )  # fmt: skip


class StorageMeter:
    """Counts what happens in a store that has the design `design`, in the present window; the last `windows`
    of them make up what it says.

    `nodes`, `population` (nodes in a populated cell) and `neighbours` (nodes in reach, on average) are set by
    the caller, and so are `objects` and `queries`, how many there are now.
    """

    def __init__(self, design: Design, windows: int = 3) -> None:
        if not 0 < windows <= MOST_WINDOWS:
            raise ValueError(f"{windows} windows: expected 1 to {MOST_WINDOWS}")
        self.design = design
        self.nodes = 1.0
        self.population = 1.0
        self.neighbours = 1.0
        self.objects = 0
        self.queries = 0
        self.now = WindowCounts()
        self._closed: deque[WindowCounts] = deque(maxlen=windows)

    def inserted(self, tags: int) -> None:
        """Count an insertion of an object with so many tags."""
        self.now.inserts += 1
        self.now.tags += tags

    def subscribed(self, keys: int) -> None:
        """Count a subscription whose formula has so many conjunctions."""
        self.now.subscriptions += 1
        self.now.keys += keys

    def travelled(self, hops: int) -> None:
        """Count a way: from node to node, or from a node to a cell in `cells`."""
        self.now.ways += 1
        self.now.hops += hops

    def close_window(self) -> None:
        """End the present window, and begin another one."""
        self._closed.append(self.now)
        self.now = WindowCounts()

    def switched(self, design: Design) -> None:
        """Note that the store has another design. Ways that were measured are forgotten: they were others."""
        self.design = design
        for each in self._closed:
            each.ways = each.hops = 0
        self.now.ways = self.now.hops = 0

    @property
    def windows(self) -> int:
        """How many windows have been closed, of those that count."""
        return len(self._closed)

    @property
    def operations(self) -> int:
        """The operations in these windows."""
        return self._sum(lambda each: each.operations)

    def demand(self) -> Demand:
        """The operations of a window, on average; nothing before one was closed."""
        windows = max(1, len(self._closed))
        inserts, subscriptions = (
            self._sum(lambda each: each.inserts),
            self._sum(lambda each: each.subscriptions),
        )
        return Demand(
            inserts / windows,
            self._sum(lambda each: each.retrieves) / windows,
            subscriptions / windows,
            self._sum(lambda each: each.notifications) / windows,
            self._sum(lambda each: each.deletes) / windows,
            self._sum(lambda each: each.withdrawals) / windows,
            self._sum(lambda each: each.tags) / inserts if inserts else 1.0,
            self._sum(lambda each: each.keys) / subscriptions if subscriptions else 1.0,
        )

    def extent(self) -> Extent:
        """The network as measured. Of ways that the present design does not use, the length is estimated:
        they are longer or shorter than the plain formula says in the same proportion."""
        plain = Extent.plain(max(1.0, self.nodes), max(1.0, self.population), self.neighbours)
        ways = self._sum(lambda each: each.ways)
        if not ways:
            return plain
        measured = self._sum(lambda each: each.hops) / ways
        factor = measured / (plain.cell_hops if self.design is Design.CELLS else plain.hops)
        return replace(plain, hops=plain.hops * factor, cell_hops=plain.cell_hops * factor)

    def _sum(self, of: Callable[[WindowCounts], int]) -> int:
        return sum(map(of, self._closed))
