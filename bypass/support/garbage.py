"""Looking for cyclic garbage less often, for work that keeps many objects and makes few cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (50_000, 20, 100)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Have the process look for cyclic garbage rarely while the block runs: each search looks at all objects
    that there are."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
