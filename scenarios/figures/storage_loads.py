"""The load of a store's nodes: own operations, messages processed for others, and the energy for these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bypass.models.storage.energy import EnergyBudget, budget
from bypass.places.cell_grid import CellGrid
from bypass.protocol.storage import (
    AddReplica,
    Ask,
    CellUpdate,
    Chunk,
    CopyObject,
    Delete,
    Insert,
    JoinRequest,
    MoveNode,
    NodeState,
    Remove,
    Retrieve,
    StateDigest,
    Withdraw,
)
from bypass.support.arrays import Floats

REQUESTS = (Insert, Chunk, Delete, Ask, Withdraw, Retrieve, AddReplica, MoveNode, JoinRequest)
UPKEEP = (CellUpdate, CopyObject, Remove, NodeState, StateDigest)


class NodeLoad(NamedTuple):
    """A node: its place (m) in the end, the seconds that it was there, the operations that it has begun, and
    the messages that it has received: `requests`, and the `upkeep` of what several nodes keep together."""

    place: tuple[float, float]
    seconds: float
    inserts: int = 0
    others: int = 0
    requests: int = 0
    upkeep: int = 0

    @classmethod
    def of(
        cls,
        place: tuple[float, float],
        seconds: float,
        begun: Mapping[str, int],
        bodies: Mapping[str, int],
    ) -> NodeLoad:
        """A load, of operations by their names and of messages by the names of their classes."""
        inserts = begun.get("insert", 0)
        return cls(
            place,
            seconds,
            inserts,
            sum(begun.values()) - inserts,
            sum(bodies.get(kind.__name__, 0) for kind in REQUESTS),
            sum(bodies.get(kind.__name__, 0) for kind in UPKEEP),
        )

    @property
    def served(self) -> int:
        """All messages that it has processed for others."""
        return self.requests + self.upkeep

    @property
    def energy(self) -> EnergyBudget:
        """The energy of all that. A retrieval, of which none is known, counts as a subscription."""
        return budget(self.seconds, self.inserts, self.others, self.requests, self.upkeep)


def energy_figures(loads: Sequence[NodeLoad]) -> dict[str, float]:
    """Give means over nodes (J), the largest (J), and the mean share of a battery (%); NaN without
    nodes."""
    budgets = [load.energy for load in loads if load.seconds]
    if not budgets:
        names = ("issue_j", "process_j", "maintain_j", "mean_j", "most_j", "percent", "watts")
        return dict.fromkeys(names, float("nan"))
    seconds = sum(each.minutes for each in budgets) * 60

    def mean(values: Iterable[float]) -> float:
        return sum(values) / len(budgets)

    return {
        "issue_j": mean(each.issue for each in budgets),
        "process_j": mean(each.process for each in budgets),
        "maintain_j": mean(each.maintain for each in budgets),
        "mean_j": mean(each.total for each in budgets),
        "most_j": max(each.total for each in budgets),
        "percent": mean(each.percent for each in budgets),
        "watts": sum(each.total for each in budgets) / seconds,
    }


def load_of_cells(loads: Iterable[NodeLoad], grid: CellGrid) -> Floats:
    """Add up the messages that nodes in each cell have processed, in rows from the bottom; NaN where nobody
    is."""
    sums = np.full(grid.cells, np.nan)
    for load in loads:
        cell = grid.cell_of(*load.place)
        sums[cell] = np.nansum((sums[cell], load.served))
    return sums.reshape(grid.rows, grid.columns)
