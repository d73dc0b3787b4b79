"""Subscriptions by keys of any kind, such as cells: enough for schemes that need no compiled index."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np

from bypass.mechanisms.filters.indexes.index import Index
from bypass.mechanisms.filters.indexes.table import NO_ROWS, SubscriptionTable
from bypass.protocol.messages import Publish
from bypass.support.arrays import Ints

Listens = Callable[[float, float, float], Iterable[Hashable]]
Falls = Callable[[Publish], Hashable | None]


class KeyIndex(Index):
    """Subscriptions by the keys that they listen to; an event has one.

    `listens(x, y, radius)` gives the keys of a subscription whose owner is at a place, `falls(publication)`
    the key of an event, or None if it does not say enough. A subscription whose owner moves has new keys at
    once.
    """

    def __init__(self, table: SubscriptionTable, resolver: bool, listens: Listens, falls: Falls) -> None:
        super().__init__(table, resolver)
        self._listens = listens
        self._falls = falls
        self._keys: dict[int, frozenset[Hashable]] = {}  # of each row inside
        self._rows: dict[Hashable, set[int]] = {}

    def insert(self, rows: Ints) -> None:
        self.removed(rows)
        for row in rows.tolist():
            self._keys[row] = keys = frozenset() if self.resolver else self._keys_of(row)
            for key in keys:
                self._rows.setdefault(key, set()).add(row)

    def removed(self, rows: Ints) -> None:
        for row in rows.tolist():
            for key in self._keys.pop(row, ()):
                self._rows[key].discard(row)
                if not self._rows[key]:
                    del self._rows[key]

    def moved(self, rows: Ints) -> None:
        inside = [row for row in rows.tolist() if row in self._keys]
        self.insert(np.array(inside, np.int64))

    def match(self, publication: Publish) -> Ints | None:
        key = self._falls(publication)
        if key is None:
            return None
        if self.resolver:
            found: Iterable[int] = [row for row in self._keys if key in self._keys_of(row)]
        else:
            found = self._rows.get(key, ())
        return np.array(sorted(found), np.int64) if found else NO_ROWS

    def members(self) -> Ints:
        return np.array(sorted(self._keys), np.int64)

    def _keys_of(self, row: int) -> frozenset[Hashable]:
        t = self.table
        return frozenset(self._listens(float(t.x[row]), float(t.y[row]), float(t.radius[row])))
