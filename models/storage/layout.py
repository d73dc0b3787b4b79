"""The ways in a network whose nodes are spread evenly, by geometry: for designs that do not run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, hypot

from bypass.models.storage.costs import Design, Extent
from bypass.places.cell_grid import CellGrid, side_for

Steps = tuple[int, int]  # columns and rows from one cell to another


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """Nodes that stand anywhere in the cells of a `grid`, with radios that reach `reach_m` metres.

    Ways between cells lead from cell to cell; those between nodes are as straight as if there were a node
    wherever one is needed. A server is in the middle.
    """

    grid: CellGrid
    reach_m: float

    @classmethod
    def over(
        cls, area: tuple[float, float, float, float], reach_m: float = 113.0, side: float | None = None
    ) -> NodeLayout:
        """The layout of an area (x0, y0, x1, y1) with the cells that routing lays out; `side` is theirs.
        Raises InvalidLocation."""
        return cls(CellGrid.over(area, side or side_for(reach_m)), reach_m)

    def extent(self, design: Design, nodes: float) -> Extent:
        """The network of so many nodes, as a design uses it."""
        empty = (1 - 1 / self.grid.cells) ** nodes
        alone = nodes / self.grid.cells * (1 - 1 / self.grid.cells) ** (nodes - 1)
        populated = max(1 - empty, 1e-9)
        return Extent(
            nodes,
            population=max(1.0, nodes / (self.grid.cells * populated)),
            hops=self._mean(self._hops, from_middle=design is Design.SERVER),
            cell_hops=self._mean(max),
            return_hops=self._mean(_return_hops),
            neighbours=max(0.0, nodes - 1) * self._mean(self._reaches),
            company=1 - alone / populated if self.grid.cells > 1 else float(nodes > 1),
        )

    def _hops(self, steps: Steps) -> float:
        return max(1, ceil(self._distance(steps) / self.reach_m))

    def _reaches(self, steps: Steps) -> float:
        return float(self._distance(steps) <= self.reach_m)

    def _distance(self, steps: Steps) -> float:
        return self.grid.side * hypot(*steps)

    def _mean(self, of: Callable[[Steps], float], *, from_middle: bool = False) -> float:
        """The mean over pairs of cells."""
        return sum(
            of((column, row)) * share * other
            for column, share in _differences(self.grid.columns, from_middle)
            for row, other in _differences(self.grid.rows, from_middle)
        )


def _return_hops(steps: Steps) -> float:
    """The hops to a node in `cells`: a node two cells away is in reach, and told at once."""
    return max(1, max(steps) - 1)


def _differences(number: int, from_middle: bool) -> Iterator[tuple[int, float]]:
    """The differences of two positions in a row of so many, each with its share."""
    if from_middle:
        for position in range(number):
            yield abs(position - number // 2), 1 / number
        return
    for difference in range(number):
        pairs = (number - difference) * (2 if difference else 1)
        yield difference, pairs / number**2
