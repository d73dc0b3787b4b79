"""Sets of circles, as rows of bits: those that a place is in.

The bit after that of the last circle stands for being outside of all.
"""

from __future__ import annotations

import numpy as np

from bypass.mechanisms.filters.indexes.circles import around
from bypass.mechanisms.filters.kernels.judge import Circles
from bypass.support.arrays import Floats, Ints, Words
from bypass.support.kernel import kernel


@kernel
def set_at(x: float, y: float, circles: Circles, extension: float) -> Words:
    """The circles around a place; being outside counts for circles that are not extended."""
    outside = len(circles.x)
    found = np.zeros((outside >> 6) + 1, np.uint64)
    inside = around(x, y, circles.x, circles.y, circles.r, 0.0)
    if len(inside) == 0:
        found[outside >> 6] |= np.uint64(1) << np.uint64(outside & 63)
    if extension > 0.0:
        inside = around(x, y, circles.x, circles.y, circles.r, extension)
    for k in inside:
        found[k >> 6] |= np.uint64(1) << np.uint64(k & 63)
    return found


@kernel
def is_same(a: Words, b: Words) -> bool:
    """Whether two sets are equal."""
    different = np.uint64(0)
    for word in range(len(a)):
        different |= a[word] ^ b[word]
    return bool(different == 0)


@kernel
def overlap(a: Words, b: Words) -> bool:
    """Whether two sets have a circle, or being outside of all, in common."""
    common = np.uint64(0)
    for word in range(len(a)):
        common |= a[word] & b[word]
    return bool(common != 0)


@kernel
def is_outside(a: Words, circles: Circles) -> bool:
    """Whether a set says that its client is outside of all circles."""
    bit = len(circles.x)
    return bool(a[bit >> 6] >> np.uint64(bit & 63) & np.uint64(1))


@kernel
def put_set(sets: Words, k: int, found: Words) -> None:
    """Write a set into row k; a loop, because slices take seconds to compile."""
    for word in range(len(found)):
        sets[k, word] = found[word]


@kernel
def enter_set(found: Words, sets: Words, known: int) -> tuple[int, Words, int]:
    """The number of a set among the known ones, to which it belongs from now on; the sets, how many."""
    for k in range(known):
        if is_same(sets[k], found):
            return k, sets, known
    if known == len(sets):
        more = np.empty((2 * known, sets.shape[1]), np.uint64)
        for k in range(known):
            put_set(more, k, sets[k])
        sets = more
    put_set(sets, known, found)
    return known, sets, known + 1


@kernel
def sets_at(x: Floats, y: Floats, circles: Circles) -> tuple[Ints, Words, int]:
    """The number of each client's set; the sets, how many."""
    set_of = np.empty(len(x), np.int64)
    sets, known = np.empty((64, (len(circles.x) >> 6) + 1), np.uint64), 0
    for i in range(len(x)):
        set_of[i], sets, known = enter_set(set_at(x[i], y[i], circles, 0.0), sets, known)
    return set_of, sets, known
