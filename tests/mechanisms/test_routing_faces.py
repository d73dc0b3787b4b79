"""Ways over cells end in the populated cell nearest to their target, whatever is populated."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.routing.faces import lies_in, next_step, planar_neighbours
from bypass.places.cell_grid import CellGrid
from bypass.protocol.datagrams import Recovery


@st.composite
def connected(draw: st.DrawFn) -> tuple[CellGrid, set[int]]:
    """A grid, and populated cells of which each touches another one."""
    grid = CellGrid(0.0, 0.0, 40.0, draw(st.integers(1, 9)), draw(st.integers(1, 9)))
    wanted = draw(st.sets(st.integers(0, grid.cells - 1), min_size=1))
    start = draw(st.sampled_from(sorted(wanted)))
    populated, new = {start}, {start}
    while new:
        new = {each for cell in new for each in grid.adjacent(cell) if each in wanted} - populated
        populated |= new
    return grid, populated


def way(grid: CellGrid, populated: set[int], start: int, target: int) -> list[int]:
    """The cells that a datagram goes through."""
    cells, recovery = [start], None
    while len(cells) < 8 * len(populated) + 8:
        reached = populated.intersection(grid.adjacent(cells[-1]))
        step = next_step(grid, cells[-1], target, recovery, reached)
        if step.cell is None:
            return cells
        cells.append(step.cell)
        recovery = step.recovery
    raise AssertionError(f"from {start} to {target} over {sorted(populated)}: no end")


@given(connected(), st.data())
@settings(max_examples=400)
def test_a_way_ends_in_the_populated_cell_nearest_to_the_target(
    world: tuple[CellGrid, set[int]], data: st.DataObject
) -> None:
    grid, populated = world
    start = data.draw(st.sampled_from(sorted(populated)))
    target = data.draw(st.integers(0, grid.cells - 1))
    nearest = min(populated, key=lambda cell: (grid.steps_squared(cell, target), cell))
    assert way(grid, populated, start, target)[-1] == nearest


@given(connected())
def test_the_graph_is_planar_and_connected(world: tuple[CellGrid, set[int]]) -> None:
    grid, populated = world
    edges = {(a, b) for a in populated for b in planar_neighbours(grid, a, populated)}
    assert all((b, a) in edges for a, b in edges)
    assert not [edge for edge in edges if _crossed_by(grid, edge) & edges]
    reached, new = {min(populated)}, {min(populated)}
    while new:
        new = {b for a, b in edges if a in new} - reached
        reached |= new
    assert reached == populated


def test_a_void_is_gone_around() -> None:
    """A wall of empty cells with one gap: there is no greedy way through it."""
    grid = CellGrid(0.0, 0.0, 40.0, 5, 5)
    populated = set(range(25)) - {7, 12, 17, 22}  # a column, up to the lowest row
    for start, target in ((11, 13), (21, 23), (13, 11)):
        cells = way(grid, populated, start, target)
        assert cells[-1] == target
        assert 2 in cells


def test_equal_distances_are_decided_by_the_smaller_number() -> None:
    grid = CellGrid(0.0, 0.0, 40.0, 3, 3)
    populated = set(range(9)) - {4}
    assert {way(grid, populated, start, 4)[-1] for start in populated} == {1}


def test_a_lonely_cell_stands_in_for_all() -> None:
    grid = CellGrid(0.0, 0.0, 40.0, 3, 3)
    assert [way(grid, {8}, 8, target) for target in range(9)] == [[8]] * 9


def test_states_of_other_grids_are_known() -> None:
    grid = CellGrid(0.0, 0.0, 40.0, 3, 3)
    assert lies_in(grid, Recovery(1, (1, 2), 8))
    assert not lies_in(grid, Recovery(1, (1, 9), 8))
    assert not lies_in(grid, Recovery(1, (1, 2), 8, (-1, 2)))


def _crossed_by(grid: CellGrid, edge: tuple[int, int]) -> set[tuple[int, int]]:
    """The edges that cross a diagonal one."""
    (a_column, a_row), (b_column, b_row) = map(grid.column_and_row, edge)
    if a_column == b_column or a_row == b_row:
        return set()
    first, second = a_row * grid.columns + b_column, b_row * grid.columns + a_column
    return {(first, second), (second, first)}
