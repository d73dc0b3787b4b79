"""The cells of an edge's area: not places, but groups of nodes and tags, to which these belong by hashes."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from bypass.places.cell_grid import CellGrid


@lru_cache(maxsize=64)
def logical_grid(cells: int) -> CellGrid:
    """The grid that stands for so many cells, in one row. Raises InvalidLocation below one."""
    return CellGrid(0.0, 0.0, 1.0, cells, 1)


def cell_of_node(node: int, cells: int) -> int:
    """The cell that a node belongs to: the same for everybody who counts so many cells."""
    return _node_number(node) % cells


@lru_cache(maxsize=16_384)
def _node_number(node: int) -> int:
    return int.from_bytes(hashlib.sha256(b"node\0%d" % node).digest())
