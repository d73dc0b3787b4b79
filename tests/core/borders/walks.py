"""Clients that walk along given points, in a simulated system."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Walks:
    """The way of each client: (time, x, y), ascending; it stands before the first and after the last
    point."""

    ways: Sequence[Sequence[tuple[float, float, float]]]

    def position(self, client: int, at: float) -> tuple[float, float]:
        way = self.ways[client]
        i = bisect_right(way, at, key=lambda each: each[0])
        if i == 0:
            return way[0][1:]
        if i == len(way):
            return way[-1][1:]
        (t0, x0, y0), (t1, x1, y1) = way[i - 1], way[i]
        share = (at - t0) / (t1 - t0)
        return x0 + (x1 - x0) * share, y0 + (y1 - y0) * share

    def velocity(self, client: int, at: float) -> tuple[float, float]:
        (ax, ay), (bx, by) = self.position(client, at), self.position(client, at + 0.01)
        return (bx - ax) / 0.01, (by - ay) / 0.01
