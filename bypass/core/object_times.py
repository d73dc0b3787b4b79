"""The waits of operations on objects, which a client knows before it stores anything."""

from __future__ import annotations

from typing import NamedTuple

FOREVER = -1
"""As the number of retries: until there is an answer. The waits double, up to the longest."""


class ObjectTimes(NamedTuple):
    """The waits of operations: `timeout_s` for each of `retries` + 1 attempts."""

    timeout_s: float = 2.0
    retries: int = 3
