"""Channels around attraction points (ATTRACT): who listens to the circles an event falls into."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bypass.mechanisms.filters.indexes.buckets import Buckets
from bypass.mechanisms.filters.indexes.index import Index
from bypass.mechanisms.filters.indexes.table import NO_ROWS, SubscriptionTable
from bypass.protocol.messages import Circle, Publish
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel


@kernel
def within(px: float, py: float, x: float, y: float, reach: float) -> bool:
    """Whether a place lies in a circle, as `bypass.places.geo.within` says."""
    dx, dy = px - x, py - y
    return dx * dx + dy * dy <= reach * reach


@kernel
def around(px: float, py: float, x: Floats, y: Floats, r: Floats, margin: float) -> Ints:
    """Numbers of the circles, each enlarged by `margin`, that hold a place."""
    found = np.empty(len(x), np.int64)
    n = 0
    for k in range(len(x)):
        if within(px, py, x[k], y[k], r[k] + margin):
            found[n] = k
            n += 1
    return found[:n].copy()


@kernel
def memberships(rows: Ints, rx: Floats, ry: Floats, x: Floats, y: Floats, r: Floats) -> tuple[Ints, Ints]:
    """The circles each row's owner is in, as (offsets, keys); the number after the last: outside all."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    keys = np.empty(len(rows) * max(1, len(x)), np.int64)
    n = 0
    for i in range(len(rows)):
        px, py = rx[rows[i]], ry[rows[i]]
        for k in range(len(x)):
            if within(px, py, x[k], y[k], r[k]):
                keys[n] = k
                n += 1
        if n == offsets[i]:
            keys[n] = len(x)
            n += 1
        offsets[i + 1] = n
    return offsets, keys[:n].copy()


class CircleIndex(Index):
    """Subscriptions by the attraction points around their owner, and one channel for everywhere else.

    An event reaches the channels of all circles that hold it, each enlarged by `extension` metres; one
    outside all (unenlarged) circles also reaches the channel of everywhere else. A row keeps its channels
    until it is inserted anew. `trust_location` is as in `ChannelIndex`.
    """

    def __init__(
        self,
        table: SubscriptionTable,
        resolver: bool,
        circles: tuple[Circle, ...],
        generation: int,
        trust_location: bool,
    ) -> None:
        super().__init__(table, resolver)
        self.circles = circles
        self.generation = generation
        self.extension = 0.0
        self.discarded = 0
        self._trust_location = trust_location
        self._x = np.array([c.x for c in circles], np.float64)
        self._y = np.array([c.y for c in circles], np.float64)
        self._r = np.array([c.radius for c in circles], np.float64)
        self._names = {c.channel: k for k, c in enumerate(circles)} | {self.elsewhere: len(circles)}
        self._buckets = Buckets(len(circles) + 1)

    @property
    def elsewhere(self) -> str:
        """The channel of all places outside the circles."""
        return f"a{self.generation}:other"

    def around(self, x: float, y: float) -> list[int]:
        """Numbers of the circles that hold a place, the one it lies deepest in first."""
        found = around(x, y, self._x, self._y, self._r, 0.0)
        depths = np.hypot(x - self._x[found], y - self._y[found]) / self._r[found]
        numbers: list[int] = found[np.argsort(depths, kind="stable")].tolist()
        return numbers

    def hold(self, rows: Ints) -> NDArray[np.bool_]:
        """Whether the owner of each row is in some circle."""
        offsets, keys = memberships(rows, self.table.x, self.table.y, self._x, self._y, self._r)
        return keys[offsets[:-1]] < len(self.circles)

    def insert(self, rows: Ints) -> None:
        offsets, keys = memberships(rows, self.table.x, self.table.y, self._x, self._y, self._r)
        self._buckets.remove(rows)
        self._buckets.insert(rows, offsets, keys)

    def removed(self, rows: Ints) -> None:
        self._buckets.remove(rows)

    def moved(self, rows: Ints) -> None:
        """Nothing: only an assignment changes the channels that a subscription listens to."""

    def members(self) -> Ints:
        return self._buckets.members()

    def channels(self, row: int) -> list[int]:
        """Numbers of the circles whose channels the row listens to; the number after the last: elsewhere."""
        return self._buckets.keys(row)

    def match(self, publication: Publish) -> Ints | None:
        channel = publication.channel
        if channel is not None and channel not in self._names and not self._trust_location:
            self.discarded += 1
            return NO_ROWS
        keys = self.channels_of(publication)
        if keys is None:
            return None
        if self.resolver:
            wanted = set(keys.tolist())
            rows = [r for r in self.members().tolist() if not wanted.isdisjoint(self._buckets.keys(r))]
            return np.array(rows, np.int64)
        return self._buckets.rows(keys)

    def channels_of(self, publication: Publish) -> Ints | None:
        """Numbers of the circles whose channels an event is for; the number after the last: elsewhere. None
        if the event says neither its place nor its channel, none of them if it means another map."""
        channel = publication.channel
        if channel is not None and channel not in self._names and not self._trust_location:
            return NO_ROWS
        if publication.location is not None:
            # Circles overlap and are enlarged: the place says more than the one channel of the publisher.
            px, py = publication.location
            keys = around(px, py, self._x, self._y, self._r, self.extension)
            if not len(around(px, py, self._x, self._y, self._r, 0.0)):
                keys = np.append(keys, len(self.circles))
        elif channel is not None and channel in self._names:
            keys = np.array((self._names[channel],), np.int64)
        else:
            return None
        return keys
