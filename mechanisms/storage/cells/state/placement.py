"""Decides which populated cell keeps the keys of which cell."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bypass.objects.metadata import Metadata
from bypass.places.cell_grid import CellGrid


def tag_cells(grid: CellGrid, metadata: Metadata) -> tuple[int, ...]:
    """The cells in which an object is indexed, each once, in the order of their numbers."""
    return tuple(sorted({grid.cell_of_tag(metadata.namespace, tag) for tag in metadata.tags}))


def is_closer(grid: CellGrid, a: int, b: int, to: int) -> bool:
    """Whether the keys of the cell `to` belong to `a` rather than to `b`: `a` is nearer, or as near with a
    smaller number."""
    return (grid.steps_squared(a, to), a) < (grid.steps_squared(b, to), b)


def proxy_of(grid: CellGrid, cell: int, populated: Iterable[int]) -> int | None:
    """The populated cell that keeps the keys of a cell: the nearest, of equally near ones that with the
    smallest number. None if no cell is populated."""
    return min(populated, key=lambda each: (grid.steps_squared(each, cell), each), default=None)


def misplaced(grid: CellGrid, held: Iterable[int], own: int, populated: Collection[int]) -> list[int]:
    """The cells whose keys are held in the cell `own` although another populated cell is closer to them."""
    others = [each for each in populated if each != own]
    return [cell for cell in held if any(is_closer(grid, each, own, cell) for each in others)]


def orphans(grid: CellGrid, lost: int, populated: Collection[int]) -> list[int]:
    """The cells whose keys the cell `lost` kept, as far as one can tell who knows these populated cells
    alone; `lost` is not among them."""
    others = [each for each in populated if each != lost]
    return [
        cell for cell in range(grid.cells) if not any(is_closer(grid, each, lost, cell) for each in others)
    ]
