"""A filter scheme of your own: clients say which cell of a hexagonal grid they are in, and nothing more."""

from __future__ import annotations

from math import ceil, dist, sqrt
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from bypass import FilterScheme, MechanismState, Publish
from bypass.places import Fix
from bypass.protocol import ContextMessage, SchemeContext

if TYPE_CHECKING:
    from bypass.mechanisms.filters import KeyIndex

Cell = tuple[int, int]
Point = tuple[float, float]


def cell_at(x: float, y: float, side: float) -> Cell:
    """The cell that a place is in: two of its three coordinates, which are 0 together."""
    exact = (x * sqrt(3) / 3 - y / 3) / side, 2 / 3 * y / side
    q, r = map(round, exact)
    off_q, off_r = abs(q - exact[0]), abs(r - exact[1])
    off_s = abs(round(-sum(exact)) + sum(exact))
    if off_q > max(off_r, off_s):  # rounded most, it follows from the others
        q = -r - round(-sum(exact))
    elif off_r > off_s:
        r = -q - round(-sum(exact))
    return q, r


def centre(cell: Cell, side: float) -> Point:
    """The middle of a cell, which reaches `side` metres from there at most."""
    return side * sqrt(3) * (cell[0] + cell[1] / 2), side * 1.5 * cell[1]


class Hexagons(FilterScheme):
    """An event concerns whoever may be within the radius of it, as far as two cells can tell."""

    side: Annotated[float, MechanismState(), Field(gt=0, le=10_000)] = 100.0

    class Context(SchemeContext):
        cell: tuple[int, int]
        side: float

    class Client(FilterScheme.Client):
        side: float

        def context(self, fix: Fix) -> ContextMessage:
            return Hexagons.Context(cell_at(fix.x, fix.y, self.side), self.side)

        def moved(self, fix: Fix) -> None:
            if self.reported is None or self.context(self.reported) != self.context(fix):
                self.report(fix)

        def set_side(self, side: float) -> None:
            self.side, self.reported = side, None

    class Broker(FilterScheme.Broker):
        side: float

        def make_index(self) -> KeyIndex:
            from bypass.mechanisms.filters import KeyIndex  # clients do without

            return KeyIndex(self.table, self.resolver, self.channels, self.channel)

        def place_of(self, message: ContextMessage) -> Point | None:
            if isinstance(message, Hexagons.Context):
                return centre(message.cell, message.side)
            return super().place_of(message)  # of clients that have another scheme still

        def channels(self, x: float, y: float, radius: float) -> list[Cell]:
            """The cells of all events that may be within the radius of somebody in the same cell."""
            reach, (q, r) = radius + 2 * self.side, cell_at(x, y, self.side)
            steps = range(-ceil(reach / self.side), ceil(reach / self.side) + 1)
            near = [(q + i, r + j) for i in steps for j in steps]
            return [cell for cell in near if dist(centre(cell, self.side), (x, y)) <= reach]

        def channel(self, publication: Publish) -> Cell | None:
            where = publication.location
            return None if where is None else cell_at(*where, self.side)

        def set_side(self, side: float) -> None:
            self.side = side
            self.rebuild()
