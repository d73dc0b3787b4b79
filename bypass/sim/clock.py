"""Virtual time: a heap of things to do, in whole microseconds. What is due at the same time happens in the
order in which it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol

from bypass.support.units import MICROSECONDS

TimerAction = Callable[..., None]


class SimTimer:
    """A thing to do that can still be called off."""

    __slots__ = ("_action", "_args")

    def __init__(self, action: TimerAction, args: tuple[Any, ...]) -> None:
        self._action: TimerAction | None = action
        self._args = args

    def cancel(self) -> None:
        """Never fire; harmless if it has fired."""
        self._action = None

    def __call__(self) -> None:
        if self._action is not None:
            self._action(*self._args)


class Process(Protocol):
    """Something that keeps its own list of what is due, such as a radio medium."""

    next_us: int
    """When it wants to go on; NEVER if it does not."""

    def advance(self, until_us: int) -> None:
        """Go on, before `until_us`, at least up to the first thing that concerns others, and do that.

        Whoever is called meanwhile must find the clock at the right time.
        """


class VirtualClock:
    """Time that passes only by what is done in it."""

    def __init__(self) -> None:
        self.now_us = 0
        self._processes: list[Process] = []
        self._heap: list[tuple[int, int, TimerAction, tuple[Any, ...]]] = []
        self._number = count()

    def now(self) -> float:
        """Seconds since the start."""
        return self.now_us / MICROSECONDS

    def at(self, time_us: int, action: TimerAction, *args: Any) -> None:
        """Call `action(*args)` at a time, now at the earliest. Cannot be called off: that would cost time."""
        due = time_us if time_us > self.now_us else self.now_us
        heappush(self._heap, (due, next(self._number), action, args))

    def after(self, delay: float, action: TimerAction, *args: Any) -> SimTimer:
        """Call `action(*args)` in `delay` seconds."""
        timer = SimTimer(action, args)
        self.at(self.now_us + round(delay * MICROSECONDS), timer)
        return timer

    def attach(self, process: Process) -> None:
        """Let a process go on as time passes. At the same time, it comes after what the clock has to do."""
        self._processes.append(process)

    def run_until(self, time_us: int) -> None:
        """Do everything that is due before `time_us`, then let it be `time_us`."""
        heap = self._heap
        processes = self._processes
        while True:
            due = heap[0][0] if heap and heap[0][0] < time_us else time_us
            if len(processes) == 1:  # as nearly always
                (process,) = processes
                if process.next_us < due:
                    process.advance(due)
                    continue
            elif processes and self._advance(due):
                continue
            if due == time_us:
                break
            self.now_us, _, action, args = heappop(heap)
            action(*args)
        self.now_us = max(self.now_us, time_us)

    def _advance(self, due_us: int) -> bool:
        """Let that one of several processes go on which is the first to want to before `due_us`; false if
        none does."""
        first, second, *_ = sorted(self._processes, key=lambda process: process.next_us)
        due_us = min(due_us, second.next_us + 1)  # no further than the next one
        if first.next_us >= due_us:
            return False
        first.advance(due_us)
        return True
