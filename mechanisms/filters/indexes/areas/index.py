"""Subscriptions by their areas: an event meets those whose area holds its place."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from bypass.mechanisms.filters.indexes.areas.grid import AreaGrid
from bypass.mechanisms.filters.indexes.buckets import NONE, Buckets, collect_each
from bypass.mechanisms.filters.indexes.index import Index
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.places import Area
from bypass.places.areas.shapes import DiscShape
from bypass.protocol.messages import Publish
from bypass.support.arrays import Floats, Ints

MARGIN = 0.001
"""Metres that are added to the reach of areas that move, because their owners compute where they are in
another order."""


TOGETHER = 1 << 12
"""Events that are looked for at once, at most."""


class WantedAreas(Protocol):
    """The areas of one subscription, in metres. `relative` ones are around their owner and turn with it,
    none of them farther away than `reach` metres."""

    @property
    def areas(self) -> Sequence[Area]: ...
    @property
    def relative(self) -> bool: ...
    @property
    def reach(self) -> float: ...


class AreaIndex(Index):
    """Subscriptions by their areas, which `interests` has by row. Those that stay where they are are tested
    exactly; of those that move with their owner, which alone knows where it looks, the circle that they
    cannot leave."""

    def __init__(
        self, table: SubscriptionTable, resolver: bool, interests: Mapping[int, WantedAreas]
    ) -> None:
        super().__init__(table, resolver)
        self.grid = AreaGrid()
        self._interests = interests
        self._buckets = Buckets(16)  # rows by the numbers of their areas
        self._followed: dict[int, int] = {}  # by row: the number of the circle that moves with its owner

    def insert(self, rows: Ints) -> None:
        before = self._numbers(rows)
        self._buckets.remove(rows)
        held: list[tuple[int, ...]] = []
        areas: list[Area] = []
        for row in rows.tolist():
            interest = self._interests[row]
            if interest.relative:
                self._followed[row] = number = self._follow(row, interest.reach)
                held.append((number,))
            else:
                self._followed.pop(row, None)
                held.append(())
                areas.extend(dict.fromkeys(interest.areas))
        numbers = iter(self.grid.hold(areas).tolist())
        offsets, keys = np.zeros(len(rows) + 1, np.int64), array("q")
        for i, row in enumerate(rows.tolist()):
            own = held[i] or [next(numbers) for _ in dict.fromkeys(self._interests[row].areas)]
            keys.extend(own)
            offsets[i + 1] = len(keys)
        self._buckets.make_keys(self.grid.numbers)
        self._buckets.insert(rows, offsets, np.frombuffer(keys, np.int64))
        self.grid.release(before)  # last: areas that are the same as before are not filed anew

    def removed(self, rows: Ints) -> None:
        gone = self._numbers(rows)
        self._buckets.remove(rows)
        for row in rows.tolist():
            self._followed.pop(row, None)
        self.grid.release(gone)

    def moved(self, rows: Ints) -> None:
        table = self.table
        followed = [row for row in rows.tolist() if row in self._followed]
        if followed:
            numbers = np.array([self._followed[row] for row in followed])
            turns = np.zeros((len(followed), 4))
            turns[:, 0], turns[:, 1], turns[:, 3] = table.x[followed], table.y[followed], 1.0
            self.grid.move(numbers, turns)

    def members(self) -> Ints:
        return self._buckets.members()

    def match(self, publication: Publish) -> Ints | None:
        if publication.location is None:
            return None
        x, y = publication.location
        if self.resolver:
            held = np.flatnonzero(self._buckets.counts)
            return self._buckets.rows(self.grid.scan(held, x, y, _altitude(publication)))
        return self._buckets.rows(self.grid.at(x, y, _altitude(publication)))

    def match_many(self, publications: Sequence[Publish]) -> Iterator[Ints | None]:
        if self.resolver or len(publications) == 1:
            yield from map(self.match, publications)
            return
        for first in range(0, len(publications), TOGETHER):
            some = publications[first : first + TOGETHER]
            placed = [(*each.location, _altitude(each)) for each in some if each.location is not None]
            x, y, z = np.array(placed, np.float64).reshape(-1, 3).T.copy()
            offsets, rows = self.match_places(x, y, z)
            i = 0
            for each in some:
                if each.location is None:
                    yield None
                else:
                    yield rows[offsets[i] : offsets[i + 1]]
                    i += 1

    def match_places(self, x: Floats, y: Floats, z: Floats | None = None) -> tuple[Ints, Ints]:
        """The rows for many places at once: those of place i are rows[offsets[i]:offsets[i + 1]]."""
        buckets = self._buckets
        return collect_each(buckets.head, buckets.counts, buckets.entries, *self.grid.at_many(x, y, z))

    def _follow(self, row: int, reach: float) -> int:
        circle = Area(DiscShape(0.0, 0.0, reach + MARGIN))
        return self.grid.follow(circle, float(self.table.x[row]), float(self.table.y[row]), 0.0, 1.0)

    def _numbers(self, rows: Ints) -> list[int]:
        """The numbers of all areas of rows, those that several rows have as often as that."""
        chain = self._buckets.chain
        known = rows[rows < len(chain)]
        return [number for row in known[chain[known] != NONE].tolist() for number in self._buckets.keys(row)]


def _altitude(publication: Publish) -> float:
    z = publication.z
    return math.nan if z is None else z
