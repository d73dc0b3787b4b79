"""Subscriptions by the attraction points that their areas touch (ATTRACT, MULTI)."""

from __future__ import annotations

import math

import numpy as np

from bypass.mechanisms.filters.indexes.areas.index import MARGIN, AreaIndex
from bypass.mechanisms.filters.indexes.buckets import Buckets
from bypass.mechanisms.filters.indexes.circles import CircleIndex
from bypass.mechanisms.filters.indexes.index import Index
from bypass.places.geo import within
from bypass.protocol.messages import Circle, Publish
from bypass.support.arrays import Ints


def _inside(bounds: tuple[float, float, float, float], circle: Circle) -> bool:
    """Whether a rectangle lies in a circle as a whole."""
    x0, y0, x1, y1 = bounds
    corners = ((x0, y0), (x0, y1), (x1, y0), (x1, y1))
    return all(within(x, y, circle.x, circle.y, circle.radius) for x, y in corners)


class CircleAreas(Index):
    """Rows with areas, by the circles that these touch, and by the channel of everywhere else unless they lie
    in a circle as a whole. Areas that move with their owner touch what they may touch from anywhere in its
    circles; the owner may be anywhere if it is in none.

    `circles` say which channels an event is for. With `elsewhere` False, others look for fixed areas outside
    the circles.
    """

    def __init__(self, circles: CircleIndex, elsewhere: bool = True) -> None:
        super().__init__(circles.table, resolver=False)
        self._circles = circles
        self._elsewhere = elsewhere
        self._buckets = Buckets(len(circles.circles) + 1)
        self._moving: set[int] = set()

    def insert(self, rows: Ints) -> None:
        self.removed(rows)
        for row in rows.tolist():
            keys = self._moving_channels(row) if self.table.interests[row].relative else self._channels(row)
            ends = np.array((0, len(keys)), np.int64)
            self._buckets.insert(np.array((row,), np.int64), ends, np.array(keys, np.int64))

    def removed(self, rows: Ints) -> None:
        self._buckets.remove(rows)
        self._moving.difference_update(rows.tolist())

    def moved(self, rows: Ints) -> None:
        moving = [row for row in rows.tolist() if row in self._moving]
        if moving:
            self.insert(np.array(moving, np.int64))

    def members(self) -> Ints:
        return self._buckets.members()

    def match(self, publication: Publish) -> Ints | None:
        keys = self._circles.channels_of(publication)
        return None if keys is None else self._buckets.rows(keys)

    def _channels(self, row: int) -> list[int]:
        circles = self._circles.circles
        keys: set[int] = set()
        for area in self.table.areas(row):
            keys.update(k for k, c in enumerate(circles) if area.touches_circle(c.x, c.y, c.radius))
            if self._elsewhere and not any(_inside(area.bounds, circle) for circle in circles):
                keys.add(len(circles))
        return sorted(keys)

    def _moving_channels(self, row: int) -> list[int]:
        self._moving.add(row)
        circles, reach = self._circles.circles, self.table.interests[row].reach + MARGIN
        inside = self._circles.around(float(self.table.x[row]), float(self.table.y[row]))
        if not inside:
            return [*range(len(circles) + 1)]
        own = circles[min(inside, key=lambda k: circles[k].radius)]
        near = [
            k
            for k, c in enumerate(circles)
            if math.hypot(c.x - own.x, c.y - own.y) <= own.radius + reach + c.radius
        ]
        return [*near, len(circles)]


class MultiAreas(Index):
    """Rows with areas: fixed ones by circle, and exactly for events elsewhere; those that move with their
    owner by circle if it is in one, by its place otherwise."""

    def __init__(self, circles: CircleIndex) -> None:
        super().__init__(circles.table, resolver=False)
        self._circles = circles
        self._by_circle = CircleAreas(circles, elsewhere=False)
        self._exact = AreaIndex(circles.table, False, circles.table.interests)
        self._moving: set[int] = set()

    def insert(self, rows: Ints) -> None:
        move = np.array([self.table.interests[row].relative for row in rows.tolist()], np.bool_)
        fixed, moving = rows[~move], rows[move]
        inside = self._circles.hold(moving)
        self._moving.update(moving.tolist())
        self._exact.removed(moving[inside])
        self._exact.insert(np.concatenate((fixed, moving[~inside])))
        self._by_circle.removed(moving[~inside])
        self._by_circle.insert(np.concatenate((fixed, moving[inside])))

    def removed(self, rows: Ints) -> None:
        self._moving.difference_update(rows.tolist())
        self._by_circle.removed(rows)
        self._exact.removed(rows)

    def moved(self, rows: Ints) -> None:
        moving = [row for row in rows.tolist() if row in self._moving]
        if moving:
            self.insert(np.array(moving, np.int64))

    def members(self) -> Ints:
        return np.union1d(self._by_circle.members(), self._exact.members())

    def match(self, publication: Publish) -> Ints | None:
        parts = (self._by_circle.match(publication), self._exact.match(publication))
        found = [rows for rows in parts if rows is not None]
        return np.unique(np.concatenate(found)) if found else None
