"""EGRID: as GRID, but clients listen to every cell that their areas of interest touch."""

from __future__ import annotations

from typing import ClassVar

from bypass.mechanisms.filters.grid import Grid, GridClient, holds
from bypass.places.sensor import Fix


class EgridClient(GridClient):
    """Asks for other channels when the client leaves its cell, or when one of its areas leaves the cells that
    this area touched before: the largest is compared with what the channels cover, for the others the broker
    says in which part of its cell the client may be."""

    name: ClassVar[str] = "egrid"
    flag: ClassVar[int] = 4

    def covered(self, fix: Fix) -> bool:
        cover = None if self.assignment is None else self.assignment.cover
        return (
            super().covered(fix)
            and cover is not None
            and holds(cover, fix.x, fix.y, self.subscriptions.largest_radius())
        )


class Egrid(Grid):
    """An event concerns the subscriptions whose areas touch its cell."""

    name: ClassVar[str] = "egrid"
    flag: ClassVar[int] = 4
    wide: ClassVar[bool] = True
