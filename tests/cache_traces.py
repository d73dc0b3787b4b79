"""Requests for caches: popular keys, loops that are longer than a cache, and keys that come once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate

POPULAR, EXPONENT = 2000, 0.9
LOOPS = (150, 300, 450)
"""Lengths of the loops, of which one after the other goes round a few times."""
LAPS = 4
BURST = 40
"""Requests in a row of popular keys, of a loop, or of new keys."""


def made_trace(requests: int, seed: int = 1) -> list[int]:
    """So many keys: half of them by Zipf's law, two fifths from loops, one tenth new."""
    drawn = random.Random(seed)
    weights = list(accumulate(1 / rank**EXPONENT for rank in range(1, POPULAR + 1)))
    loops, fresh = _loops(), iter(range(10**6, 10**9))
    trace: list[int] = []
    while len(trace) < requests:
        kind = drawn.random()
        if kind < 0.5:
            trace += drawn.choices(range(POPULAR), cum_weights=weights, k=BURST)
        else:
            source = loops if kind < 0.9 else fresh
            trace += [next(source) for _ in range(BURST)]
    return trace[:requests]


def _loops() -> Iterator[int]:
    while True:
        for number, length in enumerate(LOOPS):
            for _ in range(LAPS):
                yield from range(10_000 * (number + 1), 10_000 * (number + 1) + length)
