"""EGRID: as GRID, but clients listen to every cell that their areas of interest touch."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from bypass.mechanisms.filters.base.scheme import FilterScheme
from bypass.mechanisms.filters.grid import GridBroker, GridClient, holds
from bypass.places.sensor import Fix


class EgridClient(GridClient):
    """Asks for other channels when the client leaves its cell, or when one of its areas leaves the cells that
    this area touched before: the largest is compared with what the channels cover, for the others the broker
    says in which part of its cell the client may be."""

    def covered(self, fix: Fix) -> bool:
        cover = None if self.assignment is None else self.assignment.cover
        return (
            super().covered(fix)
            and cover is not None
            and holds(cover, fix.x, fix.y, self.subscriptions.largest_radius())
        )


class EgridBroker(GridBroker):
    """An event concerns the subscriptions whose areas touch its cell."""

    wide: ClassVar[bool] = True


class Egrid(FilterScheme):
    """Clients are assigned the channels of all cells that their areas touch."""

    flag: ClassVar[int] = 4
    memory: ClassVar[float | None] = None  # a client keeps its cells as long as they cover its area
    kernels: ClassVar[str | type | None] = "bypass.mechanisms.filters.kernels.channels:ChannelKernels"
    Client: TypeAlias = EgridClient
    Broker: TypeAlias = EgridBroker
