"""Looking for cyclic garbage less often, for work that keeps many objects and makes few cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

THRESHOLDS = (50_000, 20, 100)

_lock = Lock()
_usual: list[tuple[int, int, int]] = []
"""The thresholds before the first of the blocks that run now, once for each of them."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Have the process look for cyclic garbage rarely while the block runs: each search looks at all objects
    that there are. Blocks of several threads may overlap: it is as before when the last of them has ended."""
    with _lock:
        _usual.append(_usual[0] if _usual else gc.get_threshold())
        gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        with _lock:
            before = _usual.pop()
            if not _usual:
                gc.set_threshold(*before)
