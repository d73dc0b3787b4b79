"""The bounded list of who has copies of an object, as its metadata carries it.

Its first entry stands for the cell in which the object was inserted and never leaves the list; behind it are
those who retrieved the object, the latest first.
"""

from __future__ import annotations

from collections.abc import Sequence

from bypass.objects.metadata import Metadata, Replica
from bypass.places.cell_grid import CellGrid


def with_replica(metadata: Metadata, replica: Replica, bound: int) -> Metadata:
    """Register a copy, or the new cell of one. The oldest goes if there are more than `bound` entries."""
    active, passive = metadata.replicas[:1], metadata.replicas[1:]
    if replica in active:
        return metadata
    latest = [replica, *(each for each in passive if each.node != replica.node)]
    return metadata.with_replicas((*active, *latest[: max(bound - len(active), 0)]))


def united(metadata: Metadata, other: Metadata, bound: int) -> Metadata:
    """Add the copies that another node knows of; those of `metadata` are the later ones."""
    known = {each.node for each in metadata.replicas[1:]}
    added = [each for each in other.replicas[1:] if each.node not in known]
    active = metadata.replicas[:1] or other.replicas[:1]
    merged = (*active, *metadata.replicas[1:], *added)[:bound]
    return metadata if merged == metadata.replicas else metadata.with_replicas(merged)


def candidates(replicas: Sequence[Replica], grid: CellGrid, own_cell: int, owner: int) -> list[Replica]:
    """The copies in the order in which they are tried: the nearest first; last the owner, where it inserted
    the object, since it has the bytes even if nobody else of that cell does."""

    def steps(each: Replica) -> int:
        known = each.cell is not None and 0 <= each.cell < grid.cells
        return grid.steps_squared(own_cell, each.cell or 0) if known else grid.cells**2

    last = [Replica(owner, each.cell) for each in replicas[:1] if each.node is None]
    return sorted(replicas, key=steps) + last
