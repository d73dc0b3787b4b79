"""Ways over populated cells: greedy steps and, where none leads nearer, walks around faces of a planar graph.

Populated cells that touch are neighbours. The planar graph has all edges between cells that share a side, and
those between cells that share a corner alone if neither of the two others at that corner is populated: so no
two edges cross, and what was connected stays so. A walk keeps a face on its right. An empty target is inside
one face, and the populated cell nearest to it is on the border of that face. Lengths are in sides of cells.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from bypass.places.cell_grid import CellGrid
from bypass.protocol.datagrams import Recovery

ASIDE = (0.0612345678901, 0.0298765432109)
"""The end of the line that walks follow lies aside of the target's middle by this: the line from no cell goes
through the middle of another one then, and nothing else changes."""

_AROUND = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))
"""The steps to the eight cells around, counter-clockwise from east."""
_TURN = {step: turn for turn, step in enumerate(_AROUND)}


class CellStep(NamedTuple):
    """The next cell of a way, None where it ends; and the state of a walk around a face, None if greedy."""

    cell: int | None
    recovery: Recovery | None


def next_step(
    grid: CellGrid,
    here: int,
    target: int,
    recovery: Recovery | None,
    reached: Collection[int],
) -> CellStep:
    """The step from cell `here` on the way to `target`; `reached` are the populated cells in reach.

    The way ends in the target or, if that is empty, in the populated cell nearest to it; of several the one
    with the smallest number.
    """
    if here == target:
        return CellStep(None, None)
    entry = here if recovery is None else recovery.entered
    best = nearest(grid, target, reached or (here,))
    if rank(grid, best, target) < min(rank(grid, entry, target), rank(grid, here, target)):
        return CellStep(best, None)
    if recovery is None or rank(grid, here, target) < rank(grid, entry, target):
        return _walk(grid, here, target, None, reached)
    return _walk(grid, here, target, recovery, reached)


def lies_in(grid: CellGrid, recovery: Recovery) -> bool:
    """Whether all cells that the state of a walk names are cells of the grid."""
    cells = (recovery.entered, recovery.previous, *recovery.first, *(recovery.crossed or ()))
    return all(0 <= cell < grid.cells for cell in cells)


def nearest(grid: CellGrid, target: int, cells: Collection[int]) -> int:
    """The cell nearest to a target out of some, at least one; of several the one with the smallest number."""
    return min(cells, key=lambda cell: rank(grid, cell, target))


def planar_neighbours(grid: CellGrid, cell: int, populated: Collection[int]) -> list[int]:
    """The neighbours of a cell in the planar graph, counter-clockwise from east. `populated` must have all
    populated ones of the eight around it."""
    column, row = grid.column_and_row(cell)
    found = []
    for dx, dy in _AROUND:
        other = at(grid, column + dx, row + dy)
        if other not in populated:
            continue
        if dx and dy:
            corners = (at(grid, column + dx, row), at(grid, column, row + dy))
            if corners[0] in populated or corners[1] in populated:
                continue
        found.append(other)
    return found


def steps_around(grid: CellGrid, cell: int) -> list[int]:
    """The eight cells around a cell, counter-clockwise from east, -1 where the grid ends."""
    column, row = grid.column_and_row(cell)
    return [at(grid, column + dx, row + dy) for dx, dy in _AROUND]


def _walk(
    grid: CellGrid, here: int, target: int, recovery: Recovery | None, reached: Collection[int]
) -> CellStep:
    edges = planar_neighbours(grid, here, reached)
    if not edges:
        return CellStep(None, None)
    if recovery is None:
        entry, crossed, first = here, None, None
        next_cell = _first_after(grid, here, edges, _direction(grid, here, target))
    else:
        entry, crossed, first = recovery.entered, recovery.crossed, recovery.first
        next_cell = _first_after(grid, here, edges, _turn(grid, here, recovery.previous))
    so_far = 0.0 if crossed is None else _crossing(grid, entry, target, crossed)
    for _ in edges:
        share = _crossing(grid, entry, target, (here, next_cell))
        if share <= so_far:
            break
        # The line leaves the face here: go on around the one behind the edge.
        so_far, crossed, first = share, (here, next_cell), None
        next_cell = _first_after(grid, here, edges, _turn(grid, here, next_cell))
    if first == (here, next_cell):
        return CellStep(None, None)  # once around: nothing on this face is nearer
    return CellStep(next_cell, Recovery(entry, first or (here, next_cell), here, crossed))


def rank(grid: CellGrid, cell: int, target: int) -> tuple[int, int]:
    """The order of cells by how near they are to a target."""
    return grid.steps_squared(cell, target), cell


def at(grid: CellGrid, column: int, row: int) -> int:
    """The number of a cell, -1 if there is none."""
    inside = 0 <= column < grid.columns and 0 <= row < grid.rows
    return row * grid.columns + column if inside else -1


def _line_end(grid: CellGrid, target: int) -> tuple[float, float]:
    column, row = grid.column_and_row(target)
    return column + ASIDE[0], row + ASIDE[1]


def _turn(grid: CellGrid, here: int, other: int) -> float:
    """The direction from a cell to one around it, in eighths of a turn from east."""
    column, row = grid.column_and_row(here)
    other_column, other_row = grid.column_and_row(other)
    dx, dy = other_column - column, other_row - row
    known = _TURN.get((dx, dy))
    return _angle(dx, dy) if known is None else known


def _direction(grid: CellGrid, here: int, target: int) -> float:
    """The direction of the line from a cell to a target."""
    column, row = grid.column_and_row(here)
    x, y = _line_end(grid, target)
    return _angle(x - column, y - row)


def _angle(dx: float, dy: float) -> float:
    return math.atan2(dy, dx) * 4.0 / math.pi % 8.0


def _first_after(grid: CellGrid, here: int, edges: Sequence[int], direction: float) -> int:
    """The first edge that comes counter-clockwise after a direction; the one in this direction comes last."""
    return min(edges, key=lambda cell: (_turn(grid, here, cell) - direction) % 8.0 or 8.0)


def _crossing(grid: CellGrid, entry: int, target: int, edge: tuple[int, int]) -> float:
    """The share of the line from `entry` to `target` before it crosses an edge, -1 if it does not."""
    x, y = grid.column_and_row(entry)
    end_x, end_y = _line_end(grid, target)
    ax, ay = grid.column_and_row(edge[0])
    bx, by = grid.column_and_row(edge[1])
    line_x, line_y, edge_x, edge_y = end_x - x, end_y - y, bx - ax, by - ay
    across = line_x * edge_y - line_y * edge_x
    if entry in edge or across == 0.0:
        return -1.0
    along = ((ax - x) * edge_y - (ay - y) * edge_x) / across
    on_edge = ((ax - x) * line_y - (ay - y) * line_x) / across
    return along if 0.0 < along < 1.0 and 0.0 < on_edge < 1.0 else -1.0
