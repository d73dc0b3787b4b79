"""Virtual time: a heap of actions, in whole microseconds. Actions that are due at the same time are done in
the order in which they were requested."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol

from bypass.support.units import MICROSECONDS

TimerAction = Callable[..., None]


class SimTimer:
    """An action that can still be cancelled."""

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
    """A part of the simulation with its own list of due actions, such as a radio medium."""

    next_us: int
    """When it wants to go on; NEVER if it does not."""

    def advance(self, until_us: int) -> None:
        """Advance, before `until_us`, at least to the first action that concerns others, and do it.

        The clock must show the right time to everything that is called meanwhile.
        """


class VirtualClock:
    """A clock that moves only when the actions that are due are done."""

    def __init__(self) -> None:
        self.now_us = 0
        self._processes: list[Process] = []
        self._heap: list[tuple[int, int, TimerAction, tuple[Any, ...]]] = []
        self._number = count()

    def now(self) -> float:
        """Seconds since the start."""
        return self.now_us / MICROSECONDS

    def at(self, time_us: int, action: TimerAction, *args: Any) -> None:
        """Call `action(*args)` at a time, now at the earliest. It cannot be cancelled, which makes it
        cheaper."""
        due = time_us if time_us > self.now_us else self.now_us
        heappush(self._heap, (due, next(self._number), action, args))

    def after(self, delay: float, action: TimerAction, *args: Any) -> SimTimer:
        """Call `action(*args)` in `delay` seconds."""
        timer = SimTimer(action, args)
        self.at(self.now_us + round(delay * MICROSECONDS), timer)
        return timer

    def attach(self, process: Process) -> None:
        """Let a process advance with the clock. At the same time, the clock's own actions come first."""
        self._processes.append(process)

    def run_until(self, time_us: int) -> None:
        """Do everything that is due before `time_us`, then set the clock to `time_us`."""
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
        """Advance the process that is due first, if one is due before `due_us`; returns whether one was."""
        first, second, *_ = sorted(self._processes, key=lambda process: process.next_us)
        due_us = min(due_us, second.next_us + 1)  # no further than the next one
        if first.next_us >= due_us:
            return False
        first.advance(due_us)
        return True
