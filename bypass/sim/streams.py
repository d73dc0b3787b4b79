"""Random streams: each host draws from a stream of its own for each purpose."""

from __future__ import annotations

import hashlib
import random


def stream(seed: int, host: int, purpose: str) -> random.Random:
    """The stream of (seed, host, purpose): a function of these three alone, the same on every machine."""
    digest = hashlib.blake2b(f"{seed}/{host}/{purpose}".encode(), digest_size=16).digest()
    return random.Random(int.from_bytes(digest, "little"))
