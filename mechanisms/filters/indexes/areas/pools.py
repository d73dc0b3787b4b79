"""Blocks of numbers in one flat array that grows: taken and released in constant time.

Rooms come in sizes of four steps to the double, so that at most a fifth of each stays empty; released
blocks of a size form a chain through their first elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bypass.support.arrays import Ints
from bypass.support.kernel import kernel

NONE = -1
SIZES = 160
USED = SIZES
"""The element of a list of released blocks that says how much of its pool was ever taken."""


def new_free_list() -> Ints:
    """The heads of the chains of released blocks by size, for an empty pool, and how much of it is used:
    0."""
    heads = np.full(SIZES + 1, NONE, np.int64)
    heads[USED] = 0
    return heads


@kernel
def size_for(length: int) -> int:
    """The number of the smallest size whose room is at least `length`."""
    if length <= 4:
        return 0
    octave = 0
    while (8 << octave) <= length:
        octave += 1
    beyond = length - (4 << octave)
    return 4 * octave + ((beyond + (1 << octave) - 1) >> octave)


@kernel
def room_of(size: int) -> int:
    """The number of elements of a block of this size."""
    return (4 + (size & 3)) << (size >> 2)


@kernel
def take_block(pool: Any, free: Ints, size: int) -> tuple[Any, int]:
    """A block of this size: the pool, which is another one if it had to grow, and where the block begins."""
    start = free[size]
    if start != NONE:
        free[size] = np.int64(pool[start])
        return pool, start
    start = free[USED]
    free[USED] += room_of(size)
    if free[USED] > len(pool):
        grown = np.empty(free[USED] + (free[USED] >> 2) + 64, pool.dtype)
        grown[:start] = pool[:start]
        pool = grown
    return pool, start


@kernel
def release_block(pool: Any, free: Ints, start: int, size: int) -> None:
    """Give a block back."""
    pool[start] = free[size]
    free[size] = start
