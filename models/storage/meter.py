"""A meter of a running store: what nodes say that they have done, in windows of time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from bypass.models.storage.costs import Demand, Design, Extent
from bypass.models.storage.layout import NodeLayout
from bypass.protocol.storage import NodeCounts

MOST_WINDOWS = 1000
SILENT_WINDOWS = 3
"""A node that has not answered in so many windows is gone."""


_STATE = frozenset(("objects", "queries", "neighbours", "mates", "control"))
_DONE = tuple(name for name in NodeCounts.__slots__ if name not in _STATE)
"""The counts of operations and ways; the others are of what there is now, or of routing."""


@dataclass(slots=True)
class WindowCounts:
    """The operations and ways of all nodes in one window (`done`); `came`: nodes that came, began anew or
    went in it."""

    done: NodeCounts = field(default_factory=NodeCounts)
    came: int = 0

    @property
    def operations(self) -> int:
        """All operations."""
        done = self.done
        return (
            done.inserts + done.retrieves + done.subscriptions + done.notifications + done.deletes
            + done.withdrawals + done.pages
        )  # fmt: skip


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
            if before is None or any(getattr(counts, name) < getattr(before, name) for name in _DONE):
                window.came += not first
                before = NodeCounts() if before is not None else counts
            for name in _DONE:
                done = getattr(counts, name) - getattr(before, name)
                setattr(window.done, name, getattr(window.done, name) + done)
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
            each.done = replace(each.done, ways=0, hops=0, cell_ways=0, cell_hops=0)

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
        total = {name: sum(getattr(each.done, name) for each in self._closed) for name in _DONE}
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
        ways, cell_ways = self._sum(lambda each: each.done.ways), self._sum(lambda each: each.done.cell_ways)
        if ways:
            hops = self._sum(lambda each: each.done.hops) / ways
            extent = replace(extent, hops=hops, return_hops=hops)
        if cell_ways:
            extent = replace(extent, cell_hops=self._sum(lambda each: each.done.cell_hops) / cell_ways)
        if design is Design.CELLS:
            cells = sum(1 / (1 + counts.mates) for counts in self._last.values())
            alone = sum(not counts.mates for counts in self._last.values())
            extent = replace(
                extent, population=self.nodes / max(1.0, cells), company=1 - alone / max(1.0, cells)
            )
        return replace(extent, neighbours=self.neighbours)

    def _sum(self, of: Callable[[WindowCounts], int]) -> int:
        return sum(map(of, self._closed))
