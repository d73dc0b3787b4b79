"""Searches across gaps: where populated cells do not touch, but some of their nodes hear each other.

Ways around faces lead to all cells that touch, over as many others as it takes, and no further. A search goes
through the network depth first. Whether it is needed is known from beacons: a node sees a gap if it hears a
cell to which no touching cells lead, as far as it and its neighbours know, and whose nodes tell another
island.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from bypass.mechanisms.routing.faces import rank, steps_around
from bypass.mechanisms.routing.members import Member
from bypass.places.cell_grid import CellGrid
from bypass.protocol.datagrams import MOST_GAP, MOST_SEARCHED, NodeAddress, Search


def around(grid: CellGrid, cell: int, populated: Collection[int]) -> int:
    """The bits of the populated cells around a cell, as beacons have them."""
    return sum(1 << bit for bit, each in enumerate(steps_around(grid, cell)) if each in populated)


def beyond_gaps(
    grid: CellGrid, here: int, reached: Collection[int], told: Mapping[int, int]
) -> Collection[int]:
    """The cells that are `reached` from a cell although no touching ones lead there, as far as can be seen;
    `told` has the bits that the nodes of cells have told."""
    populated = {here, *reached}
    for cell, bits in told.items():
        populated.update(
            each for bit, each in enumerate(steps_around(grid, cell)) if bits >> bit & 1 and each >= 0
        )
    known, new = {here}, [here]
    while new:
        found = [each for each in steps_around(grid, new.pop()) if each in populated and each not in known]
        known.update(found)
        new += found
    return [each for each in reached if each not in known]


def next_node(
    grid: CellGrid, target: int, search: Search, serving: Iterable[tuple[int, Member]]
) -> int | None:
    """The node that a search goes on to, None if it has to go back. `serving` are the neighbours that may be
    visited.

    Of a cell whose nodes all see no gap, one stands for all: the others reach no cell to which touching cells
    do not lead.
    """
    if len(search.visited) >= MOST_SEARCHED:
        return None
    nodes = {each.node for each in search.visited}
    cells = {each.cell for each in search.visited}
    found = [
        (rank(grid, member.cell, target), node)
        for node, member in serving
        if member.cell is not None
        and node not in nodes
        and (member.cell not in cells or member.gap == MOST_GAP)
    ]
    return min(found)[1] if found else None


def visited(search: Search, node: NodeAddress) -> Search:
    """The search with a further node that it has visited."""
    if node in search.visited:
        return search
    return search._replace(visited=(*search.visited, node)[:MOST_SEARCHED])


def is_possible(grid: CellGrid, search: Search) -> bool:
    """Whether a search is one of this grid."""
    return 0 <= search.entered < grid.cells
