"""The places of `fanout.py`: subscribers, events, and the geohash cells that cover subscribers' circles."""

from __future__ import annotations

import math
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from bypass.support.arrays import Floats

SIDE = 10_000.0
"""Of the square area, in metres."""

PRECISION = 7
"""Characters of a geohash. Cells of 7 are about 100 m x 150 m here: with 6 most deliveries would be wasted,
with 8 every subscriber would need a thousand subscriptions."""

LATITUDE, LONGITUDE = 49.82, 8.58
METRES_PER_DEGREE = math.radians(6_371_000.0)
_DIGITS = "0123456789bcdefghjkmnpqrstuvwxyz"
_LON_BITS, _LAT_BITS = (5 * PRECISION + 1) // 2, 5 * PRECISION // 2


class Places:
    """Subscribers and events, uniformly in the area; `recipients` of them are near an event on average.

    Those are the ones within `radius` metres.
    """

    def __init__(self, subscribers: int, recipients: int, events: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.recipients = recipients
        self.subscribers = rng.random((subscribers, 2)) * SIDE
        # Nearer to the border than the radius an event has fewer recipients: the radius is found by trying.
        self.events = rng.random((events, 2)) * SIDE
        dx, dy = (self.events[:, None, axis] - self.subscribers[None, :, axis] for axis in (0, 1))
        squares = dx * dx + dy * dy
        self.radius = round(math.sqrt(np.quantile(squares, min(recipients / subscribers, 1.0))))
        within = squares <= self.radius**2
        self.near = [row.tobytes() for row in within]
        """For each event a byte for each subscriber: whether it should get it."""
        self.recipients_of = [np.flatnonzero(row).tolist() for row in within]

    @cached_property
    def degrees(self) -> tuple[Floats, Floats]:
        """Longitude and latitude of the subscribers, and of the events."""
        return _degrees(self.subscribers), _degrees(self.events)

    @cached_property
    def cell_of(self) -> list[str]:
        """The geohash of each event."""
        return [_text(*_cell(lon, lat)) for lon, lat in self.degrees[1].tolist()]

    @cached_property
    def cells(self) -> list[list[str]]:
        """For each subscriber, the cells that have something of its circle."""
        return [self._cells_around(x, y) for x, y in self.subscribers.tolist()]

    @cached_property
    def copies(self) -> list[int]:
        """For each event, how many subscribers have its cell."""
        count: dict[str, int] = {}
        for cells in self.cells:
            for cell in cells:
                count[cell] = count.get(cell, 0) + 1
        return [count.get(cell, 0) for cell in self.cell_of]

    def _cells_around(self, x: float, y: float) -> list[str]:
        reach = self.radius
        corners = _degrees(np.array([[x - reach, y - reach], [x + reach, y + reach]])).tolist()
        (first_x, first_y), (last_x, last_y) = (_cell(lon, lat) for lon, lat in corners)
        lon, lat = np.meshgrid(np.arange(first_x, last_x + 1), np.arange(first_y, last_y + 1))
        low, high = _metres(lon, lat), _metres(lon + 1, lat + 1)
        dx = np.maximum(np.maximum(low[0] - x, x - high[0]), 0.0)
        dy = np.maximum(np.maximum(low[1] - y, y - high[1]), 0.0)
        inside = dx * dx + dy * dy <= reach * reach
        return [_text(i, j) for i, j in zip(lon[inside].tolist(), lat[inside].tolist(), strict=True)]


def _degrees(metres: Floats) -> Floats:
    shrink = math.cos(math.radians(LATITUDE))
    return np.column_stack(
        [
            LONGITUDE + metres[:, 0] / (METRES_PER_DEGREE * shrink),
            LATITUDE + metres[:, 1] / METRES_PER_DEGREE,
        ]
    )


def _metres(column: NDArray[np.int64], row: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Where cells begin."""
    shrink = math.cos(math.radians(LATITUDE))
    lon = column.astype(float) * (360.0 / (1 << _LON_BITS)) - 180.0
    lat = row.astype(float) * (180.0 / (1 << _LAT_BITS)) - 90.0
    return (lon - LONGITUDE) * METRES_PER_DEGREE * shrink, (lat - LATITUDE) * METRES_PER_DEGREE


def _cell(lon: float, lat: float) -> tuple[int, int]:
    return int((lon + 180.0) / 360.0 * (1 << _LON_BITS)), int((lat + 90.0) / 180.0 * (1 << _LAT_BITS))


@cache
def _text(column: int, row: int) -> str:
    """A cell's geohash: bits of its column and row in turn, five to a character."""
    bits = 0
    for i in range(5 * PRECISION):
        source, width = (row, _LAT_BITS) if i % 2 else (column, _LON_BITS)
        bits = bits << 1 | (source >> (width - 1 - i // 2)) & 1
    return "".join(_DIGITS[bits >> 5 * (PRECISION - 1 - i) & 31] for i in range(PRECISION))
