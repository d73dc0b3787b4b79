"""A limit on packets from one address, so that a flood from there leaves time for others."""

from __future__ import annotations

from collections.abc import Callable

PACKETS_PER_S = 5000.0
MOST_AT_ONCE = 2000.0
MOST_SOURCES = 1024


class MemberBudget:
    """How many packets are still taken from each address. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left: dict[int, tuple[float, float]] = {}  # packets, and when; who was heard last is last

    def takes(self, source: int) -> bool:
        """Say whether one more packet from an address is taken."""
        now = self._clock()
        left, at = self._left.pop(source, (MOST_AT_ONCE, now))
        left = min(MOST_AT_ONCE, left + PACKETS_PER_S * (now - at))
        taken = left >= 1.0
        if len(self._left) == MOST_SOURCES:
            del self._left[next(iter(self._left))]
        self._left[source] = (left - taken, now)
        return taken
