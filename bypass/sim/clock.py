"""Virtual time: a heap of things to do, in whole microseconds. What is due at the same time happens in the
order in which it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

MICROSECONDS = 1_000_000

Action = Callable[..., None]


class SimTimer:
    """A thing to do that can still be called off."""

    __slots__ = ("_action", "_args")

    def __init__(self, action: Action, args: tuple[Any, ...]) -> None:
        self._action: Action | None = action
        self._args = args

    def cancel(self) -> None:
        """Never fire; harmless if it has fired."""
        self._action = None

    def __call__(self) -> None:
        if self._action is not None:
            self._action(*self._args)


class VirtualClock:
    """Time that passes only by what is done in it."""

    def __init__(self) -> None:
        self.now_us = 0
        self._heap: list[tuple[int, int, Action, tuple[Any, ...]]] = []
        self._number = count()

    def now(self) -> float:
        """Seconds since the start."""
        return self.now_us / MICROSECONDS

    def at(self, time_us: int, action: Action, *args: Any) -> None:
        """Call `action(*args)` at a time, now at the earliest. Cannot be called off: that would cost time."""
        due = time_us if time_us > self.now_us else self.now_us
        heappush(self._heap, (due, next(self._number), action, args))

    def after(self, delay: float, action: Action, *args: Any) -> SimTimer:
        """Call `action(*args)` in `delay` seconds."""
        timer = SimTimer(action, args)
        self.at(self.now_us + round(delay * MICROSECONDS), timer)
        return timer

    def run_until(self, time_us: int) -> None:
        """Do everything that is due before `time_us`, then let it be `time_us`."""
        heap = self._heap
        while heap and heap[0][0] < time_us:
            self.now_us, _, action, args = heappop(heap)
            action(*args)
        self.now_us = max(self.now_us, time_us)
