"""Shortest distances on a map from every node to some of its nodes."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from bypass.support.arrays import Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Distances that are kept (128 MiB): all there are on maps of up to 4,096 nodes, the latest on larger ones.
KEPT = 4096**2


class Distances:
    """Lengths (m) of shortest ways on a graph that is connected and the same in both directions.

    They are computed when somebody asks for them, and kept for the next time. Threads may ask at once.
    """

    def __init__(self, graph: csr_array) -> None:
        self._graph = graph
        self._rows: OrderedDict[int, Floats] = OrderedDict()
        self._lock = Lock()

    def to(self, goals: Ints) -> Floats:
        """A row for each goal: how far it is from every node to there."""
        wanted: list[int] = goals.tolist()
        found: dict[int, Floats] = {}
        with self._lock:
            for goal in set(wanted) & self._rows.keys():
                found[goal] = self._rows[goal]
                self._rows.move_to_end(goal)
        if missing := sorted(set(wanted) - found.keys()):
            from scipy.sparse.csgraph import dijkstra  # scipy takes long to import

            found |= zip(missing, dijkstra(self._graph, indices=missing), strict=True)
            self._keep({goal: found[goal] for goal in missing})
        return np.stack([found[goal] for goal in wanted])

    def _keep(self, rows: dict[int, Floats]) -> None:
        most = KEPT // self._graph.shape[0]
        with self._lock:
            # Copies: a row that is a view would keep all the rows that were computed with it.
            self._rows |= {goal: row.copy() for goal, row in rows.items()}
            while len(self._rows) > most:
                self._rows.popitem(last=False)
