"""The number of cells of a world in an area, which changes with its clients or stays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import ceil
from typing import Annotated

from pydantic import Field

from bypass.protocol.edge import MOST_CELLS
from bypass.transitions import Mechanism, MechanismState

NumberOfCells = Annotated[int, MechanismState(), Field(ge=1, le=MOST_CELLS)]


class CellMapMechanism(Mechanism, ABC):
    """Says how many cells a world has; see `bypass.ports.edge.CellMapping`."""

    @abstractmethod
    def cells(self, present: int, clients: int, age_s: float) -> int:
        """The number of cells that a world with so many clients is to have."""


class FixedCells(CellMapMechanism):
    """All worlds have `count` cells."""

    count: NumberOfCells = 9

    def cells(self, present: int, clients: int, age_s: float) -> int:  # noqa: ARG002
        return self.count


class CellsByClients(CellMapMechanism):
    """A world has one cell for `per_cell` clients, at least `least` and at most `most`.

    All objects and subscriptions of an area move to other cells when the number changes. So it does if it is
    wrong by a factor of two or more, and has been the same for `hold_s` at least.
    """

    per_cell: Annotated[int, MechanismState(), Field(ge=1, le=4096)] = 10
    least: NumberOfCells = 1
    most: NumberOfCells = 64
    hold_s: Annotated[float, MechanismState(), Field(ge=0, le=86_400)] = 60.0

    def cells(self, present: int, clients: int, age_s: float) -> int:
        wanted = min(self.most, max(self.least, ceil(clients / self.per_cell)))
        if not self.least <= present <= self.most:
            return wanted
        return present if age_s < self.hold_s or present < 2 * wanted < 4 * present else wanted
