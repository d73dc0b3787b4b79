"""The load of a store's nodes: own operations, messages processed for others, and the energy for these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bypass.models.storage.energy import TABLET, DeviceEnergy, EnergyUse
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

REQUESTS = {
    Insert: "insert",
    Chunk: "insert",
    Delete: "delete",
    Ask: "subscribe",
    Withdraw: "unsubscribe",
    Retrieve: "retrieve",
    AddReplica: "retrieve",
    MoveNode: "subscribe",
    JoinRequest: "subscribe",
}
"""Messages by which others ask something of a node, and the operations that each counts as; the last two,
which no operation sends, as the cheapest one."""
UPKEEP = (CellUpdate, CopyObject, Remove, NodeState, StateDigest)


class NodeLoad(NamedTuple):
    """A node: its place (m) in the end, and its work: operations that it has begun, and the messages that it
    has received, requests and the upkeep of what several nodes keep together."""

    place: tuple[float, float]
    use: EnergyUse

    @classmethod
    def of(
        cls,
        place: tuple[float, float],
        seconds: float,
        begun: Mapping[str, int],
        bodies: Mapping[str, int],
        forwarded: int = 0,
        sent_bytes: int = 0,
    ) -> NodeLoad:
        """A load, of operations by their names and of messages by the names of their classes; `forwarded`
        datagrams of others, and all bytes that its radio sent."""
        processed: Counter[str] = Counter()
        for kind, operation in REQUESTS.items():
            processed[operation] += bodies.get(kind.__name__, 0)
        upkeep = sum(bodies.get(kind.__name__, 0) for kind in UPKEEP)
        use = EnergyUse(
            seconds, dict(begun), dict(processed), upkeep, forwarded=forwarded, sent_bytes=sent_bytes
        )
        return cls(place, use)

    @property
    def served(self) -> int:
        """All messages that it has processed for others."""
        return sum(self.use.processed.values()) + self.use.maintenance


def energy_figures(loads: Sequence[NodeLoad], device: DeviceEnergy = TABLET) -> dict[str, float]:
    """Give means over nodes (J), the largest (J), and the mean share of a battery (%); NaN without
    nodes."""
    budgets = [device.budget(load.use) for load in loads if load.use.seconds]
    if not budgets:
        names = ("issue_j", "process_j", "maintain_j", "forward_j", "send_j", "mean_j", "most_j", "percent")
        return dict.fromkeys((*names, "watts"), float("nan"))
    seconds = sum(each.minutes for each in budgets) * 60

    def mean(values: Iterable[float]) -> float:
        return sum(values) / len(budgets)

    return {
        "issue_j": mean(each.issue for each in budgets),
        "process_j": mean(each.process for each in budgets),
        "maintain_j": mean(each.maintain for each in budgets),
        "forward_j": mean(each.forward for each in budgets),
        "send_j": mean(each.send for each in budgets),
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
