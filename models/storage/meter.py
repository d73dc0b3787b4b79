"""A meter of a running store: what nodes say that they have done, in windows of time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

from bypass.models.storage.costs import Demand, Design, Extent
from bypass.models.storage.layout import NodeLayout
from bypass.protocol.storage import NodeCounts

MOST_WINDOWS = 1000
SILENT_WINDOWS = 3
"""A node that has not answered in so many windows is gone."""


@dataclass(slots=True)
class WindowCounts:
    """The operations of one window, and the ways of their messages, as in NodeCounts."""

    inserts: int = 0
    tags: int = 0
    retrieves: int = 0
    subscriptions: int = 0
    keys: int = 0
    pages: int = 0
    notifications: int = 0
    answers: int = 0
    deletes: int = 0
    withdrawals: int = 0
    ways: int = 0
    hops: int = 0
    cell_ways: int = 0
    cell_hops: int = 0
    came: int = 0
    """Nodes that came, or began anew, in this window, and nodes that went."""

    @property
    def operations(self) -> int:
        """All operations."""
        return (
            self.inserts + self.retrieves + self.subscriptions + self.notifications + self.deletes
            + self.withdrawals + self.pages
        )  # fmt: skip


_COUNTED = tuple(each.name for each in fields(WindowCounts) if each.name != "came")


class StorageMeter:
    """Adds up the answers of nodes in a store that has the design `design`. The last `windows` windows, of
    `window_s` seconds each, make up what it says; where nothing was measured, `layout` says how long ways
    are.

    `nodes` have answered lately, and have so many `objects` and `queries` now.
    """

    def __init__(
        self, design: Design, layout: NodeLayout, *, window_s: float = 30.0, windows: int = 3
    ) -> None:
        if not (0 < windows <= MOST_WINDOWS and window_s > 0):
            raise ValueError(
                f"{windows} windows of {window_s:g} s: expected 1 to {MOST_WINDOWS}, longer than 0 s"
            )
        self.design = design
        self.layout = layout
        self.window_s = window_s
        self._last: dict[int, NodeCounts] = {}
        self._silent: dict[int, int] = {}  # windows without an answer, of each node
        self._closed: deque[WindowCounts] = deque(maxlen=windows)

    def close_window(self, answers: Mapping[int, NodeCounts]) -> None:
        """End a window with the counts of all nodes that have answered in it."""
        window = WindowCounts()
        first = not self._last
        for node, counts in answers.items():
            before = self._last.get(node)
            if before is None or any(getattr(counts, name) < getattr(before, name) for name in _COUNTED):
                window.came += not first
                before = NodeCounts() if before is not None else counts
            for name in _COUNTED:
                done = getattr(counts, name) - getattr(before, name)
                setattr(window, name, getattr(window, name) + done)
            self._last[node] = replace(counts)
            self._silent[node] = 0
        for node in self._last.keys() - answers.keys():
            self._silent[node] += 1
            if self._silent[node] >= SILENT_WINDOWS:
                window.came += 1
                del self._last[node], self._silent[node]
        if not first:
            self._closed.append(window)

    def switched(self, design: Design) -> None:
        """Note that the store has another design. Ways that were measured are forgotten: they were others."""
        self.design = design
        for each in self._closed:
            each.ways = each.hops = each.cell_ways = each.cell_hops = 0

    @property
    def windows(self) -> int:
        """How many windows have been closed, of those that count."""
        return len(self._closed)

    @property
    def operations(self) -> int:
        """The operations in these windows."""
        return self._sum(lambda each: each.operations)

    @property
    def nodes(self) -> int:
        """The nodes that have answered lately, at least 1."""
        return max(1, len(self._last))

    @property
    def objects(self) -> int:
        """The objects that there are, at their owners."""
        return sum(counts.objects for counts in self._last.values())

    @property
    def queries(self) -> int:
        """The queries that there are, at their subscribers."""
        return sum(counts.queries for counts in self._last.values())

    @property
    def neighbours(self) -> float:
        """The nodes in reach of one, on average."""
        return sum(counts.neighbours for counts in self._last.values()) / self.nodes

    @property
    def churn(self) -> float:
        """The share of all nodes that come or go in a minute."""
        came = self._sum(lambda each: each.came)
        return came / self.nodes / max(1, len(self._closed)) * 60.0 / self.window_s

    def demand(self) -> Demand:
        """The operations of a window, on average; nothing before one was closed."""
        windows = max(1, len(self._closed))
        total = {name: sum(getattr(each, name) for each in self._closed) for name in _COUNTED}
        return Demand(
            total["inserts"] / windows,
            total["retrieves"] / windows,
            total["subscriptions"] / windows,
            total["notifications"] / windows,
            total["deletes"] / windows,
            total["withdrawals"] / windows,
            total["tags"] / total["inserts"] if total["inserts"] else 1.0,
            total["keys"] / total["subscriptions"] if total["subscriptions"] else 1.0,
            total["pages"] / windows,
            total["answers"] / windows,
        )

    def extent(self, design: Design) -> Extent:
        """The network as a design uses it: as measured if it runs, else by its geometry."""
        extent = self.layout.extent(design, self.nodes)
        if design is not self.design:
            return extent
        ways, cell_ways = self._sum(lambda each: each.ways), self._sum(lambda each: each.cell_ways)
        if ways:
            hops = self._sum(lambda each: each.hops) / ways
            extent = replace(extent, hops=hops, return_hops=hops)
        if cell_ways:
            extent = replace(extent, cell_hops=self._sum(lambda each: each.cell_hops) / cell_ways)
        if design is Design.CELLS:
            cells = sum(1 / (1 + counts.mates) for counts in self._last.values())
            alone = sum(not counts.mates for counts in self._last.values())
            extent = replace(
                extent, population=self.nodes / max(1.0, cells), company=1 - alone / max(1.0, cells)
            )
        return replace(extent, neighbours=self.neighbours)

    def _sum(self, of: Callable[[WindowCounts], int]) -> int:
        return sum(map(of, self._closed))
