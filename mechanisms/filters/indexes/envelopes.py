"""Areas around moving subscribers: discs (RADIAL) and discs stretched along the way (STE).

The envelope of a subscriber at l with radius r that moves with v m/s: the disc of radius r around l, and the
cone that starts at l as wide as the disc, points along v, widens by 15° on either side and is 60·α·v long.
With α = 0 only the disc remains.

Subscribers lie in square cells, hashed into buckets. A bucket's subscribers stand side by side in memory with
all that the test needs, because following pointers costs more than the test itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bypass.mechanisms.filters.indexes.index import Index
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.protocol.messages import Publish
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel

WIDENING = math.tan(math.radians(15))
SECONDS_AHEAD = 60.0
NOWHERE = -1
ROUNDING = 1e-12

MOST_FOUND = 1 << 18
"""Rows that are found for several events at once, at most."""

X, Y, R, VX, VY = range(5)  # columns of `areas`
ROW, CELL = range(2)  # columns of `names`
START, COUNT, ROOM = range(3)  # columns of `buckets`


@kernel
def in_envelope(dx: float, dy: float, r: float, vx: float, vy: float, ahead: float) -> bool:
    """Whether the point (dx, dy) from the subscriber lies in its envelope; `ahead` is 60·α seconds."""
    square = dx * dx + dy * dy
    if square <= r * r:
        return True
    towards = dx * vx + dy * vy
    if ahead == 0.0 or towards < 0.0:  # half of all points lie behind; roots and divisions are for the others
        return False
    speed = math.sqrt(vx * vx + vy * vy)
    if speed == 0.0:
        return False
    along = towards / speed
    if along > ahead * speed:
        return False
    return abs(dx * vy - dy * vx) / speed <= r + along * WIDENING


@kernel
def largest_reach(rows: Ints, r: Floats, vx: Floats, vy: Floats, ahead: float) -> float:
    """The greatest distance from a subscriber to the farthest point of its envelope."""
    reach = 0.0
    for row in rows:
        length = ahead * math.sqrt(vx[row] * vx[row] + vy[row] * vy[row])
        reach = max(reach, r[row], math.hypot(length, r[row] + length * WIDENING) if length > 0.0 else 0.0)
    return reach


@kernel
def cell_name(cx: int, cy: int) -> int:
    return (cx << 32) ^ (cy & 0xFFFFFFFF)


@kernel
def bucket_of(cx: int, cy: int, buckets: int) -> int:
    return (cx * 73856093 ^ cy * 19349663) & (buckets - 1)


@kernel
def count_cells(rows: Ints, x: Floats, y: Floats, cell: float, buckets: Ints) -> None:
    """Count how many of the rows fall into each bucket."""
    for row in rows:
        cx, cy = math.floor(x[row] / cell), math.floor(y[row] / cell)
        buckets[bucket_of(cx, cy, len(buckets)), COUNT] += 1


@kernel
def put(
    rows: Ints, x: Floats, y: Floats, r: Floats, vx: Floats, vy: Floats,
    cell: float, buckets: Ints, areas: Floats, names: Ints, slots: Ints,
) -> bool:  # fmt: skip
    """Write the rows into their buckets, or anew where they are; False if a bucket has no room left."""
    for row in rows:
        cx, cy = math.floor(x[row] / cell), math.floor(y[row] / cell)
        name = cell_name(cx, cy)
        slot = slots[row]
        if slot != NOWHERE and names[slot, CELL] != name:
            take(row, cell, buckets, areas, names, slots)
            slot = NOWHERE
        if slot == NOWHERE:
            b = bucket_of(cx, cy, len(buckets))
            if buckets[b, COUNT] == buckets[b, ROOM]:
                return False
            slot = buckets[b, START] + buckets[b, COUNT]
            buckets[b, COUNT] += 1
            slots[row] = slot
            names[slot, ROW] = row
            names[slot, CELL] = name
        areas[slot, X], areas[slot, Y], areas[slot, R] = x[row], y[row], r[row]
        areas[slot, VX], areas[slot, VY] = vx[row], vy[row]
    return True


@kernel
def take(row: int, cell: float, buckets: Ints, areas: Floats, names: Ints, slots: Ints) -> None:
    """Take a row out of its bucket; the last one there fills the gap."""
    slot = slots[row]
    cx, cy = math.floor(areas[slot, X] / cell), math.floor(areas[slot, Y] / cell)
    b = bucket_of(cx, cy, len(buckets))
    buckets[b, COUNT] -= 1
    last = buckets[b, START] + buckets[b, COUNT]
    areas[slot] = areas[last]
    names[slot] = names[last]
    slots[names[slot, ROW]] = slot
    slots[row] = NOWHERE


@kernel
def take_all(rows: Ints, cell: float, buckets: Ints, areas: Floats, names: Ints, slots: Ints) -> None:
    for row in rows:
        if slots[row] != NOWHERE:
            take(row, cell, buckets, areas, names, slots)


@kernel
def among(rows: Ints, inside: NDArray[np.bool_]) -> Ints:
    """Those of the rows that are inside."""
    kept = np.empty(len(rows), np.int64)
    n = 0
    for row in rows:
        if row < len(inside) and inside[row]:
            kept[n] = row
            n += 1
    return kept[:n]


@kernel
def ascend(found: Ints, n: int) -> None:
    """Sort the first n numbers; the usual handful is sorted by insertion, twice as fast as in general."""
    if n > 32:
        found[:n].sort()
        return
    for k in range(1, n):
        row = found[k]
        i = k
        while i > 0 and found[i - 1] > row:
            found[i] = found[i - 1]
            i -= 1
        found[i] = row


@kernel
def look_around(
    buckets: Ints, areas: Floats, names: Ints, cell: float, reach: float, ahead: float,
    px: float, py: float, found: Ints,
) -> int:  # fmt: skip
    """Rows whose envelope holds (px, py), ascending in `found`; gives how many."""
    n = 0
    # Differences are rounded: somebody who is farther away than `reach` by less than that is inside, too.
    wide, high = reach + ROUNDING * (reach + abs(px)), reach + ROUNDING * (reach + abs(py))
    for cx in range(math.floor((px - wide) / cell), math.floor((px + wide) / cell) + 1):
        for cy in range(math.floor((py - high) / cell), math.floor((py + high) / cell) + 1):
            b = bucket_of(cx, cy, len(buckets))
            name = cell_name(cx, cy)
            for slot in range(buckets[b, START], buckets[b, START] + buckets[b, COUNT]):
                inside = in_envelope(
                    px - areas[slot, X], py - areas[slot, Y], areas[slot, R],
                    areas[slot, VX], areas[slot, VY], ahead,
                )  # fmt: skip
                # Cells that share a bucket are told apart by name, so that no row is found twice. That comes
                # last: few are inside, and of the others the names need not be read.
                if inside and names[slot, CELL] == name:
                    found[n] = names[slot, ROW]
                    n += 1
    ascend(found, n)
    return n


@kernel
def look_around_many(
    buckets: Ints, areas: Floats, names: Ints, cell: float, reach: float, ahead: float,
    px: Floats, py: Floats, rows: int,
) -> tuple[Ints, Ints]:  # fmt: skip
    """`look_around` for many points; the rows of point i are found[offsets[i]:offsets[i + 1]]."""
    offsets = np.zeros(len(px) + 1, np.int64)
    found = np.empty(16 * len(px) + rows, np.int64)
    total = 0
    for i in range(len(px)):
        if total + rows > len(found):
            grown = np.empty(2 * len(found), np.int64)
            grown[:total] = found[:total]
            found = grown
        total += look_around(buckets, areas, names, cell, reach, ahead, px[i], py[i], found[total:])
        offsets[i + 1] = total
    return offsets, found[:total].copy()


@kernel
def scan(
    inside: NDArray[np.bool_], x: Floats, y: Floats, r: Floats, vx: Floats, vy: Floats,
    ahead: float, px: float, py: float,
) -> Ints:  # fmt: skip
    """Every row inside whose envelope holds (px, py), by looking at all of them."""
    found = np.empty(len(inside), np.int64)
    n = 0
    for row in range(len(inside)):
        if inside[row] and in_envelope(px - x[row], py - y[row], r[row], vx[row], vy[row], ahead):
            found[n] = row
            n += 1
    return found[:n].copy()


@kernel
def scan_rows(
    rows: Ints, inside: NDArray[np.bool_], x: Floats, y: Floats, r: Floats, vx: Floats, vy: Floats,
    ahead: float, px: float, py: float,
) -> Ints:  # fmt: skip
    """Those of the rows that are inside and whose envelope holds (px, py)."""
    found = np.empty(len(rows), np.int64)
    n = 0
    for row in rows:
        if row < len(inside) and inside[row] and in_envelope(
            px - x[row], py - y[row], r[row], vx[row], vy[row], ahead
        ):  # fmt: skip
            found[n] = row
            n += 1
    return found[:n]


class EnvelopeIndex(Index):
    """Subscribers by place; an event looks into the cells that envelopes can reach it from."""

    def __init__(self, table: SubscriptionTable, resolver: bool, alpha: float = 0.0) -> None:
        super().__init__(table, resolver)
        self._ahead = SECONDS_AHEAD * alpha
        self._inside = np.zeros(0, np.bool_)
        self._count = 0
        self._written = 0  # rows placed since the last rebuild
        self._reach = 0.0
        self._cell = 1.0
        self._buckets = np.zeros((1, 3), np.int64)
        self._areas = np.empty((0, 5))
        self._names = np.empty((0, 2), np.int64)
        self._slots = np.empty(0, np.int64)
        self._found = np.empty(0, np.int64)

    def insert(self, rows: Ints) -> None:
        size = len(self.table.client)
        if size > len(self._inside):
            self._inside = np.append(self._inside, np.zeros(size - len(self._inside), np.bool_))
            self._slots = np.append(self._slots, np.full(size - len(self._slots), NOWHERE, np.int64))
            self._found = np.empty(size, np.int64)
        self._count += len(rows) - int(np.count_nonzero(self._inside[rows]))
        self._inside[rows] = True
        self._place(rows)

    def removed(self, rows: Ints) -> None:
        rows = rows[rows < len(self._inside)]
        self._count -= int(np.count_nonzero(self._inside[rows]))
        self._inside[rows] = False
        take_all(rows, self._cell, self._buckets, self._areas, self._names, self._slots)

    def moved(self, rows: Ints) -> None:
        self._place(among(rows, self._inside))

    def members(self) -> Ints:
        return np.flatnonzero(self._inside)

    def match(self, publication: Publish) -> Ints | None:
        if publication.location is None:
            return None
        px, py = publication.location
        if self.resolver:
            t = self.table
            return scan(self._inside, t.x, t.y, t.radius, t.vx, t.vy, self._ahead, px, py)
        n = look_around(
            self._buckets, self._areas, self._names, self._cell, self._reach, self._ahead, px, py, self._found
        )
        return self._found[:n].copy()

    def among(self, publication: Publish, rows: Ints) -> Ints | None:
        if publication.location is None:
            return None
        t = self.table
        return scan_rows(
            rows, self._inside, t.x, t.y, t.radius, t.vx, t.vy, self._ahead, *publication.location
        )

    def match_many(self, publications: Sequence[Publish]) -> Iterator[Ints | None]:
        together = max(1, MOST_FOUND // max(1, self._count))
        if self.resolver or together == 1 or len(publications) == 1:
            yield from map(self.match, publications)
            return
        for first in range(0, len(publications), together):
            places = [each.location for each in publications[first : first + together]]
            known = np.array([place for place in places if place is not None], np.float64).reshape(-1, 2)
            offsets, rows = self.match_places(known[:, 0].copy(), known[:, 1].copy())
            ends = iter(offsets.tolist())
            start = next(ends)
            for place in places:
                if place is None:
                    yield None
                else:
                    end = next(ends)
                    yield rows[start:end]
                    start = end

    def match_places(self, px: Floats, py: Floats) -> tuple[Ints, Ints]:
        """The rows for many places at once: those of place i are rows[offsets[i]:offsets[i + 1]]."""
        return look_around_many(
            self._buckets, self._areas, self._names, self._cell, self._reach, self._ahead,
            px, py, len(self._inside),
        )  # fmt: skip

    def _place(self, rows: Ints) -> None:
        if self.resolver or len(rows) == 0:
            return
        t = self.table
        self._reach = max(self._reach, largest_reach(rows, t.radius, t.vx, t.vy, self._ahead))
        self._written += len(rows)
        # One wide or fast subscriber must not widen everybody's search for good.
        stale = self._reach > 2 * self._cell or self._written > 16 * self._count
        if stale or not put(
            rows, t.x, t.y, t.radius, t.vx, t.vy,
            self._cell, self._buckets, self._areas, self._names, self._slots,
        ):  # fmt: skip
            self._rebuild()

    def _rebuild(self) -> None:
        t = self.table
        rows = self.members()
        self._written = 0
        self._reach = largest_reach(rows, t.radius, t.vx, t.vy, self._ahead)
        self._cell = max(self._reach, 1.0)
        buckets = np.zeros((1 << max(4, self._count.bit_length()), 3), np.int64)
        count_cells(rows, t.x, t.y, self._cell, buckets)
        buckets[:, ROOM] = buckets[:, COUNT] + buckets[:, COUNT] // 2 + 2
        buckets[:, START] = np.cumsum(buckets[:, ROOM]) - buckets[:, ROOM]
        buckets[:, COUNT] = 0
        self._buckets = buckets
        room = int(buckets[:, ROOM].sum())
        self._areas = np.empty((room, 5))
        self._names = np.empty((room, 2), np.int64)
        self._slots[:] = NOWHERE
        put(
            rows, t.x, t.y, t.radius, t.vx, t.vy,
            self._cell, self._buckets, self._areas, self._names, self._slots,
        )  # fmt: skip
