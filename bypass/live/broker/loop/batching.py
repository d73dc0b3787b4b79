"""How long a turn collects: a busy broker does more at a time, and so has less to do.

A turn costs a transaction and, for each client that gets something, a packet, however much is in them. As
long as the broker has time to spare, turns are as short as they can be, and events as fast. One that has none
would spend most of its time on packets with a single event in them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

SPARE = 0.5
"""If this share of the time, or more, is to spare, nothing waits."""

LONGEST_S = 0.04
"""How long a turn collects if no time is."""

MEMORY_S = 0.1
"""About how long ago what was once to spare is forgotten."""

LOOK_S = 0.005
"""How often it is found out: to ask for the time of all threads costs more than to take an event."""


class Batching:
    """Decides when a turn ends. Times are monotonic, in seconds.

    Time is to spare if the loop waits, and processors are there for it: the threads that read and write
    sockets and the store need them, too. `used` gives the time of processors that all threads have had.
    """

    def __init__(self, now: float, processors: int, used: Callable[[], float] = time.process_time) -> None:
        self._processors = processors
        self._time_used = used
        self._spare = 1.0
        self._began = self._looked = now
        self._idle, self._used = 0.0, used()

    def until(self, now: float, idle: float) -> float:
        """When the present turn should end; the loop has waited for something to do for so long so far."""
        passed = now - self._looked
        if passed > LOOK_S:
            used = self._time_used()
            free = min((idle - self._idle) / passed, 1.0 - (used - self._used) / passed / self._processors)
            self._spare += (max(free, 0.0) - self._spare) * passed / (passed + MEMORY_S)
            self._looked, self._idle, self._used = now, idle, used
        return self._began + LONGEST_S * max(1.0 - self._spare / SPARE, 0.0)

    def begin(self, now: float) -> None:
        """A turn begins."""
        self._began = now


def usable_processors() -> int:
    """How many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
