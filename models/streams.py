"""Random numbers that belong to one client and one purpose, whoever else takes part in the run."""

from __future__ import annotations

import math
from enum import IntEnum

from numpy.random import Generator, Philox

from bypass.errors import BypassError


class InvalidRequest(BypassError):
    """The number of clients, the duration or the seed that a model was asked for makes no sense."""


class Purpose(IntEnum):
    """What a stream is for. A number, once given, stays: it is part of the streams' keys."""

    MOBILITY = 1
    WORKLOAD = 2


def stream(seed: int, purpose: Purpose, client: int) -> Generator:
    """The random numbers of (seed, purpose, client): a function of these three alone.

    The three fill disjoint bits of the key of a counter-based generator, so no two streams overlap.
    """
    return Generator(Philox(key=purpose << 96 | client << 64 | seed))


def check_request(clients: int, duration: float, seed: int) -> None:
    """Raise InvalidRequest unless there is somebody to simulate, for a while, with a seed of 64 bits."""
    if not 1 <= clients <= 2**32:
        raise InvalidRequest(f"clients is {clients}: expected 1 to 2**32")
    if not (math.isfinite(duration) and duration > 0):
        raise InvalidRequest(f"duration is {duration} s: expected a finite time above 0")
    if not 0 <= seed < 2**64:
        raise InvalidRequest(f"seed is {seed}: expected 0 to 2**64 - 1")
