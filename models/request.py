"""The request that every model gets: a number of clients, a duration and a seed."""

from __future__ import annotations

import math

from bypass.errors import BypassError


class InvalidRequest(BypassError):
    """The number of clients, the duration or the seed of a request is out of range."""


def check_request(clients: int, duration: float, seed: int) -> None:
    """Raise InvalidRequest unless there is at least one client, a positive duration, and a seed of 64
    bits."""
    if not 1 <= clients < 2**31:
        raise InvalidRequest(f"clients is {clients}: expected 1 to 2**31 - 1")
    if not (math.isfinite(duration) and duration > 0):
        raise InvalidRequest(f"duration is {duration} s: expected a finite time above 0")
    if not 0 <= seed < 2**64:
        raise InvalidRequest(f"seed is {seed}: expected 0 to 2**64 - 1")
