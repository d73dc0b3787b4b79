"""A multimap from keys to rows in flat arrays: insert and remove in constant time, read without Python.

Every index of this package is one of these with its own idea of a key: the cell a subscriber stands in,
the channels a subscription listens to, the attraction points around it.
"""

from __future__ import annotations

import numpy as np

from bypass.support.arrays import Ints
from bypass.support.kernel import kernel

NONE = -1
ROW, KEY, BEFORE, AFTER, CHAIN = range(5)  # columns of an entry


@kernel
def link(
    head: Ints, counts: Ints, entries: Ints, chain: Ints, free: int, rows: Ints, offsets: Ints, keys: Ints
) -> int:
    """Put rows[i] under keys[offsets[i]:offsets[i+1]]; gives the new head of the free list."""
    for i in range(len(rows)):
        row = rows[i]
        for k in range(offsets[i], offsets[i + 1]):
            key = keys[k]
            entry = free
            free = entries[entry, AFTER]
            first = head[key]
            entries[entry, ROW] = row
            entries[entry, KEY] = key
            entries[entry, BEFORE] = NONE
            entries[entry, AFTER] = first
            entries[entry, CHAIN] = chain[row]
            if first != NONE:
                entries[first, BEFORE] = entry
            head[key] = entry
            chain[row] = entry
            counts[key] += 1
    return free


@kernel
def unlink(head: Ints, counts: Ints, entries: Ints, chain: Ints, free: int, rows: Ints) -> tuple[int, int]:
    """Take the rows out of every bucket; gives the new head of the free list and how many it gained."""
    gained = 0
    for row in rows:
        entry = chain[row]
        while entry != NONE:
            key, before, after = entries[entry, KEY], entries[entry, BEFORE], entries[entry, AFTER]
            if before == NONE:
                head[key] = after
            else:
                entries[before, AFTER] = after
            if after != NONE:
                entries[after, BEFORE] = before
            counts[key] -= 1
            entries[entry, AFTER] = free
            free = entry
            entry = entries[entry, CHAIN]
            gained += 1
        chain[row] = NONE
    return free, gained


@kernel
def collect(head: Ints, counts: Ints, entries: Ints, keys: Ints) -> Ints:
    """The rows under any of `keys`, ascending, each once."""
    total = 0
    for key in keys:
        total += counts[key]
    rows = np.empty(total, np.int64)
    i = 0
    for key in keys:
        entry = head[key]
        while entry != NONE:
            rows[i] = entries[entry, ROW]
            i += 1
            entry = entries[entry, AFTER]
    rows.sort()
    if len(keys) > 1:
        kept = 0
        for j in range(total):
            if kept == 0 or rows[j] != rows[kept - 1]:
                rows[kept] = rows[j]
                kept += 1
        rows = rows[:kept].copy()
    return rows


@kernel
def collect_each(head: Ints, counts: Ints, entries: Ints, offsets: Ints, keys: Ints) -> tuple[Ints, Ints]:
    """`collect` for many sets of keys: those of set i, and its rows, are from offsets[i] to offsets[i +
    1]."""
    ends = np.zeros(len(offsets), np.int64)
    total = 0
    for key in keys:
        total += counts[key]
    rows = np.empty(total, np.int64)
    for i in range(len(offsets) - 1):
        found = collect(head, counts, entries, keys[offsets[i] : offsets[i + 1]])
        ends[i + 1] = ends[i] + len(found)
        rows[ends[i] : ends[i + 1]] = found
    return ends, rows[: ends[-1]]


class Buckets:
    """Rows by key; a row may be under several keys. `head`, `entries`, `chain` are for kernels to read."""

    __slots__ = ("_free", "_used", "chain", "counts", "entries", "head")

    def __init__(self, keys: int) -> None:
        self.head = np.full(keys, NONE, np.int64)
        self.counts = np.zeros(keys, np.int64)
        self.chain = np.full(16, NONE, np.int64)
        self.entries = np.empty((0, 5), np.int64)
        self._free = NONE
        self._used = 0

    def insert(self, rows: Ints, offsets: Ints, keys: Ints) -> None:
        """Put each of `rows`, which must be under no key yet, under its distinct keys.

        Row `rows[i]` gets `keys[offsets[i]:offsets[i + 1]]`.
        """
        if len(rows) == 0:
            return
        self._make_room(int(rows.max()), len(keys))
        self._free = link(self.head, self.counts, self.entries, self.chain, self._free, rows, offsets, keys)
        self._used += len(keys)

    def make_keys(self, keys: int) -> None:
        """Have at least so many keys; new ones hold no rows."""
        if keys > len(self.head):
            size = max(keys, 2 * len(self.head))
            self.head = np.append(self.head, np.full(size - len(self.head), NONE, np.int64))
            self.counts = np.append(self.counts, np.zeros(size - len(self.counts), np.int64))

    def remove(self, rows: Ints) -> None:
        """Take `rows` out everywhere; rows that are nowhere are left alone."""
        rows = rows[rows < len(self.chain)]
        self._free, gained = unlink(self.head, self.counts, self.entries, self.chain, self._free, rows)
        self._used -= gained

    def __contains__(self, row: int) -> bool:
        return row < len(self.chain) and bool(self.chain[row] != NONE)

    def members(self) -> Ints:
        """Every row that is under some key, ascending."""
        return np.flatnonzero(self.chain != NONE)

    def rows(self, keys: Ints) -> Ints:
        """The rows under any of `keys`, ascending, each once."""
        return collect(self.head, self.counts, self.entries, keys)

    def keys(self, row: int) -> list[int]:
        """The keys that `row` is under, ascending."""
        found: list[int] = []
        entry = int(self.chain[row]) if row < len(self.chain) else NONE
        while entry != NONE:
            found.append(int(self.entries[entry, KEY]))
            entry = int(self.entries[entry, CHAIN])
        return sorted(found)

    def _make_room(self, last_row: int, wanted: int) -> None:
        if last_row >= len(self.chain):
            chain = np.full(max(last_row + 1, 2 * len(self.chain)), NONE, np.int64)
            chain[: len(self.chain)] = self.chain
            self.chain = chain
        capacity = len(self.entries)
        if self._used + wanted > capacity:
            grown = max(2 * capacity, self._used + wanted, 16)
            entries = np.empty((grown, 5), np.int64)
            entries[:capacity] = self.entries
            entries[capacity:, AFTER] = np.arange(capacity + 1, grown + 1)
            entries[grown - 1, AFTER] = self._free
            self.entries = entries
            self._free = capacity
