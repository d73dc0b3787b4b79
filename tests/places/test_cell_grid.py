"""Cells, their middles and distances, and the cell of a tag."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.errors import InvalidLocation
from bypass.places.cell_grid import CellGrid, side_for

GRID = CellGrid(100.0, 50.0, 40.0, 5, 3)
cells = st.integers(0, GRID.cells - 1)
metres = st.floats(-1000, 1000)


def test_the_usual_side_is_that_of_the_literature() -> None:
    assert side_for(113.137) == pytest.approx(40.0, abs=0.001)


@given(st.floats(0, 39.9), st.floats(0, 39.9), st.floats(0, 39.9), st.floats(0, 39.9))
def test_nodes_of_touching_cells_hear_each_other(ax: float, ay: float, bx: float, by: float) -> None:
    reach = 2.0 * math.sqrt(2.0) * 40.0
    assert math.dist((ax, ay), (40.0 + bx, 40.0 + by)) <= reach


@given(cells)
def test_a_middle_is_in_its_cell(cell: int) -> None:
    assert GRID.cell_of(*GRID.centre(cell)) == cell


@given(metres, metres)
def test_every_place_has_a_cell_and_none_is_nearer(x: float, y: float) -> None:
    cell = GRID.cell_of(x, y)
    nearest = min(math.dist((x, y), GRID.centre(each)) for each in range(GRID.cells))
    assert math.dist((x, y), GRID.centre(cell)) == pytest.approx(nearest)


@given(cells, cells)
def test_distances_are_those_of_the_middles(a: int, b: int) -> None:
    assert GRID.distance(a, b) == pytest.approx(math.dist(GRID.centre(a), GRID.centre(b)))
    assert (b in GRID.adjacent(a)) == (GRID.steps_squared(a, b) in (1, 2))


def test_cells_are_numbered_row_by_row() -> None:
    assert [GRID.cell_of(101, 51), GRID.cell_of(299, 51), GRID.cell_of(101, 169)] == [0, 4, 10]
    assert GRID.adjacent(0) == (1, 5, 6)
    assert GRID.adjacent(6) == (0, 1, 2, 5, 7, 10, 11, 12)


@pytest.mark.parametrize(
    ("area", "columns", "rows"),
    [((0, 0, 160, 80), 4, 2), ((0, 0, 560, 280), 14, 7), ((10, 10, 11, 11), 1, 1), ((0, 0, 161, 80), 5, 2)],
)
def test_a_grid_covers_its_area(area: tuple[float, float, float, float], columns: int, rows: int) -> None:
    grid = CellGrid.over(area, 40.0)
    assert (grid.columns, grid.rows) == (columns, rows)


def test_a_rounding_error_needs_no_further_column() -> None:
    assert CellGrid.over((0.0, 0.0, 0.3, 0.1), 0.1).columns == 3


def test_a_tag_has_the_same_cell_everywhere() -> None:
    """The numbers are recorded: another version must not move what is stored."""
    tags = ["tree", "green", "nature", "ä", ""]
    assert [GRID.cell_of_tag("", tag) for tag in tags] == [3, 14, 12, 9, 7]
    assert GRID.cell_of_tag("gallery", "tree") == 11


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CellGrid(0, 0, 0, 1, 1), "side 0"),
        (lambda: CellGrid(0, 0, 1, 0, 1), "grid of 0 x 1 cells: expected 1 to"),
        (lambda: CellGrid(math.nan, 0, 1, 1, 1), "expected finite numbers"),
        (lambda: CellGrid.over((0, 0, 1e9, 1e9), 1.0), "cells: expected 1 to"),
        (lambda: CellGrid.over((0, 0, 0, 1), 1.0), "area (0, 0, 0, 1): expected finite"),
        (lambda: CellGrid.over((0, 0, 1, 1), -1.0), "side -1.0: expected metres above 0"),
        (lambda: GRID.centre(15), "cell 15: expected 0 to 14"),
    ],
)
def test_what_makes_no_grid_is_refused(make: object, message: str) -> None:
    with pytest.raises(InvalidLocation) as error:
        make()  # type: ignore[operator]
    assert message in str(error.value)
