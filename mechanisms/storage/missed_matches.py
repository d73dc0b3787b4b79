"""Notifications that did not arrive: their subscribers are told again, until nothing comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bypass.protocol.storage import FoundObjects
from bypass.transitions.recent import Recent

FIRST_WAIT_S = 5.0
LONGEST_WAIT_S = 60.0
"""A subscriber is tried again after the first of these times, then after twice as long, up to the last; at
once if it is heard."""


class MissedMatches:
    """The queries of which a notification came back, each with the time of its oldest object.

    So much is kept of a query, however much it misses. `tell(query, since_us)` tells its subscriber again of
    all that was published since then; `after` is that of the host.
    """

    def __init__(self, after: Callable[..., Any], tell: Callable[[int, int], None]) -> None:
        self._after = after
        self._tell = tell
        self._since_us: dict[int, int] = {}
        self._waits: Recent[int, float] = Recent()

    def __len__(self) -> int:
        """The number of queries that wait to be told again."""
        return len(self._since_us)

    def add(self, found: FoundObjects) -> None:
        """A notification, of at least one object, did not reach its subscriber."""
        query, oldest = found.query, min(each.published_us for each in found.items)
        known = self._since_us.get(query)
        self._since_us[query] = oldest if known is None else min(known, oldest)
        if known is None:
            wait = self._waits.get(query, FIRST_WAIT_S)
            self._waits[query] = min(2.0 * wait, LONGEST_WAIT_S)
            self._after(wait, self._again, query)

    def heard(self, node: int | None) -> None:
        """A node was heard: if it has missed something, it is told now."""
        for query in [each for each in self._since_us if each >> 32 == node]:
            self._waits.pop(query, None)
            self._again(query)

    def _again(self, query: int) -> None:
        since_us = self._since_us.pop(query, None)
        if since_us is not None:
            self._tell(query, since_us)
