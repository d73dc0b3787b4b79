"""A grid of square cells over an area, numbered row by row, and the cell that a tag belongs to."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import lru_cache

from bypass.errors import InvalidLocation

MOST_CELLS = 1 << 20
"""Cells of a grid at most."""


def side_for(reach: float) -> float:
    """The side of cells such that a node reaches every node of its own cell and of the eight around it."""
    return reach / (2.0 * math.sqrt(2.0))


@dataclass(frozen=True, slots=True)
class CellGrid:
    """`columns` × `rows` squares with this side (m); cell 0 begins at (x0, y0), the next one is east of it.

    Places outside belong to the cell nearest to them. Raises InvalidLocation if the numbers make no grid.
    """

    x0: float
    y0: float
    side: float
    columns: int
    rows: int

    def __post_init__(self) -> None:
        if not (math.isfinite(self.x0) and math.isfinite(self.y0) and 0 < self.side < math.inf):
            raise InvalidLocation(
                f"grid at ({self.x0}, {self.y0}) with side {self.side}: expected finite numbers, side > 0"
            )
        if self.columns < 1 or self.rows < 1 or self.columns * self.rows > MOST_CELLS:
            raise InvalidLocation(
                f"grid of {self.columns} x {self.rows} cells: expected 1 to {MOST_CELLS} cells"
            )

    @classmethod
    def over(cls, area: tuple[float, float, float, float], side: float) -> CellGrid:
        """The smallest grid that covers an area (x0, y0, x1, y1). Raises InvalidLocation."""
        x0, y0, x1, y1 = area
        if not (x0 < x1 and y0 < y1 and all(map(math.isfinite, area))):
            raise InvalidLocation(f"area {area}: expected finite (x0, y0, x1, y1) with x0 < x1 and y0 < y1")
        if not 0 < side < math.inf:
            raise InvalidLocation(f"side {side}: expected metres above 0")
        return cls(x0, y0, side, _covering(x1 - x0, side), _covering(y1 - y0, side))

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.columns * self.rows

    def cell_of(self, x: float, y: float) -> int:
        """The cell that a place is in, or the nearest one if it is outside."""
        column = min(max(int((x - self.x0) // self.side), 0), self.columns - 1)
        row = min(max(int((y - self.y0) // self.side), 0), self.rows - 1)
        return row * self.columns + column

    def centre(self, cell: int) -> tuple[float, float]:
        """The middle of a cell. Raises InvalidLocation if there is no such cell."""
        column, row = self.column_and_row(cell)
        return self.x0 + (column + 0.5) * self.side, self.y0 + (row + 0.5) * self.side

    def column_and_row(self, cell: int) -> tuple[int, int]:
        """Where a cell is in the grid. Raises InvalidLocation if there is no such cell."""
        if not 0 <= cell < self.cells:
            raise InvalidLocation(f"cell {cell}: expected 0 to {self.cells - 1}")
        row, column = divmod(cell, self.columns)
        return column, row

    def distance(self, a: int, b: int) -> float:
        """Metres between the middles of two cells."""
        return self.side * math.sqrt(self.steps_squared(a, b))

    def steps_squared(self, a: int, b: int) -> int:
        """The square of the distance in sides: a whole number, so that equal distances are equal."""
        columns, cells = self.columns, self.columns * self.rows
        if not (0 <= a < cells and 0 <= b < cells):
            raise InvalidLocation(f"cells {a} and {b}: expected 0 to {cells - 1}")
        return int((a % columns - b % columns) ** 2 + (a // columns - b // columns) ** 2)

    def adjacent(self, cell: int) -> tuple[int, ...]:
        """The up to eight cells around a cell, in the order of their numbers."""
        column, row = self.column_and_row(cell)
        return tuple(
            r * self.columns + c
            for r in range(max(row - 1, 0), min(row + 2, self.rows))
            for c in range(max(column - 1, 0), min(column + 2, self.columns))
            if (c, r) != (column, row)
        )

    def cell_of_tag(self, namespace: str, tag: str) -> int:
        """The cell that a tag belongs to: the same for everybody who has a grid with so many cells."""
        return _tag_number(namespace, tag) % self.cells


@lru_cache(maxsize=16_384)
def _tag_number(namespace: str, tag: str) -> int:
    text = namespace.encode() + b"\0" + tag.encode()
    return int.from_bytes(hashlib.sha256(text).digest())


def _covering(length: float, side: float) -> int:
    """How many sides cover a length; one that is longer by a rounding error alone needs no further one."""
    return max(1, math.ceil(length / side - 1e-9))
