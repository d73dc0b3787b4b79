"""Groups by key, side by side in memory with the first predicates to test: following pointers costs more than
the tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bypass.mechanisms.filters.indexes.buckets import NONE
from bypass.mechanisms.matching.columns import NumberPool, Rooms, grown
from bypass.support.arrays import Ints
from bypass.support.kernel import kernel

INLINE = 4
"""So many predicates stand beside a group."""

POSTING, GROUP, REST, TESTS = range(4)  # columns of `records`; rest: whether there is more than the tests
K_START, K_COUNT, K_ROOM = range(3)  # columns of `keys`
SLOT, KEY, NEXT = range(
    3
)  # columns of `postings`: where its record is, under which key; the group's next one


@kernel
def put(
    posting: int, group: int, key: int, rest: bool, tests: Ints,
    keys: Ints, records: Ints, postings: Ints, first: Ints,
) -> None:  # fmt: skip
    """Write a record at the end of a key that has room."""
    slot = keys[key, K_START] + keys[key, K_COUNT]
    keys[key, K_COUNT] += 1
    records[slot, POSTING] = posting
    records[slot, GROUP] = group
    records[slot, REST] = rest
    for i in range(INLINE):
        records[slot, TESTS + i] = tests[i]
    postings[posting, SLOT] = slot
    postings[posting, KEY] = key
    postings[posting, NEXT] = first[group]
    first[group] = posting


@kernel
def move(key: int, start: int, room: int, keys: Ints, records: Ints, postings: Ints) -> None:
    """Move the records of a key to a place with more room."""
    old = keys[key, K_START]
    for i in range(keys[key, K_COUNT]):
        records[start + i] = records[old + i]
        postings[records[start + i, POSTING], SLOT] = start + i
    keys[key, K_START] = start
    keys[key, K_ROOM] = room


@kernel
def take(group: int, keys: Ints, records: Ints, postings: Ints, first: Ints) -> Ints:
    """Remove all records of a group, where the last ones under its keys fill the gaps; gives the postings."""
    count = 0
    posting = first[group]
    while posting != NONE:
        count += 1
        posting = postings[posting, NEXT]
    gone = np.empty(count, np.int64)
    posting = first[group]
    for i in range(count):
        gone[i] = posting
        slot, key = postings[posting, SLOT], postings[posting, KEY]
        keys[key, K_COUNT] -= 1
        last = keys[key, K_START] + keys[key, K_COUNT]
        records[slot] = records[last]
        postings[records[slot, POSTING], SLOT] = slot
        posting = postings[posting, NEXT]
    first[group] = NONE
    return gone


class Postings:
    """Groups by key; a group may be under several. The arrays are for kernels to read."""

    def __init__(self) -> None:
        self.keys: Ints = np.zeros((1, 3), np.int64)
        self.records: Ints = np.zeros((0, TESTS + INLINE), np.int64)
        self._rooms = Rooms()
        self.postings: Ints = np.zeros((0, 3), np.int64)
        self.first: Ints = np.zeros(0, np.int64)
        self._numbers = NumberPool()

    def add(self, group: int, keys: Sequence[int], tests: Sequence[int], rest: bool, largest: int) -> None:
        """Put a group, which is under no key yet, under some distinct ones, with predicates to test first.

        `rest`: these are not all that it has. There are no keys above `largest`.
        """
        inline = np.full(INLINE, NONE, np.int64)
        inline[: len(tests)] = tests
        self.keys = grown(self.keys, largest + 1)
        self.first = grown(self.first, group + 1, NONE)
        for key in keys:
            posting = self._numbers.take()
            self.postings = grown(self.postings, posting + 1)
            _, count, room = self.keys[key].tolist()
            if count == room:
                self._move(key, max(2 * room, 1))
            put(posting, group, key, rest, inline, self.keys, self.records, self.postings, self.first)

    def remove(self, group: int) -> None:
        """Take a group out everywhere."""
        for posting in take(group, self.keys, self.records, self.postings, self.first).tolist():
            self._numbers.give_back(posting)

    def count(self, keys: Ints) -> int:
        """How many records are under some keys."""
        return int(self.keys[keys, K_COUNT].sum())

    def groups_under(self, key: int) -> list[int]:
        """The groups under a key."""
        start, count, _ = self.keys[key].tolist()
        groups: list[int] = self.records[start : start + count, GROUP].tolist()
        return groups

    def _move(self, key: int, room: int) -> None:
        start, _, before = self.keys[key].tolist()
        place = self._rooms.take(room)
        self.records = grown(self.records, self._rooms.used)
        move(key, place, room, self.keys, self.records, self.postings)
        if before:
            self._rooms.give_back(start, before)
