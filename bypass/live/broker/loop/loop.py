"""One thread that serves sockets and timers: everything a live broker does, it does there, in turns."""

from __future__ import annotations

import heapq
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from math import ceil
from socket import socketpair
from typing import Any

import zmq

log = logging.getLogger(__name__)

LONGEST_WAIT = 1.0

PAUSE_S = 0.002
"""How long what arrives is left to gather: to look for each packet would cost more than to take it."""


class LoopTimer:
    """Something that will happen unless it is cancelled."""

    __slots__ = ("action", "args")

    def __init__(self, action: Callable[..., None] | None, args: tuple[Any, ...]) -> None:
        self.action = action
        self.args = args

    def cancel(self) -> None:
        """Never fire; harmless if it has fired."""
        self.action = None
        self.args = ()


class Loop:
    """Turns of waiting for sockets, serving them, and doing what is due.

    An action that raises is logged, and the loop goes on: one client's mistake must not end all others'
    service. Only `soon` and `stop` may be called from other threads.
    """

    def __init__(self) -> None:
        self.end_of_turn: Callable[[], None] = _nothing
        """Called after whatever was done in a turn."""
        self.gather_until = 0.0
        """Up to this monotonic time, what arrives is left to gather for a while before it is looked at."""
        self.idle = 0.0  # seconds for which it has waited
        self._poller = zmq.Poller()
        self._served: dict[Any, Callable[[], None]] = {}
        self._again: set[Any] = set()
        self._timers: list[tuple[float, int, LoopTimer]] = []
        self._number = itertools.count()
        self._soon: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._began = time.time() - time.monotonic()
        self._running = False
        self._awake, self._waker = socketpair()
        self._awake.setblocking(False)
        self._waker.setblocking(False)
        self.serve(self._awake.fileno(), self._woken)

    def now(self) -> float:
        """Seconds since 1970 by the clock at the start, and never going back since."""
        return self._began + time.monotonic()

    def after(self, delay: float, action: Callable[..., None], *args: Any) -> LoopTimer:
        """Call `action(*args)` in `delay` seconds."""
        timer = LoopTimer(action, args)
        heapq.heappush(self._timers, (time.monotonic() + delay, next(self._number), timer))
        return timer

    def serve(self, socket: zmq.Socket[bytes] | int, action: Callable[[], None]) -> None:
        """Call `action` in every turn in which something can be read from `socket`."""
        self._served[socket] = action
        self._poller.register(socket, zmq.POLLIN)

    def leave(self, socket: zmq.Socket[bytes] | int) -> None:
        """Do not look at a socket until it is served again."""
        if self._served.pop(socket, None) is not None:
            self._poller.unregister(socket)

    def again(self, socket: zmq.Socket[bytes] | int) -> None:
        """Serve a socket in the next turn, whether something can be read from it or not."""
        self._again.add(socket)

    def soon(self, action: Callable[..., None], *args: Any) -> None:
        """Call `action(*args)` in the loop's thread; from any thread."""
        self._soon.append((action, args))
        with suppress(OSError):  # it is awake, or has ended
            self._waker.send(b"\0")

    def run_while(self, condition: Callable[[], bool]) -> None:
        """Go on while a condition holds, which is looked at after each turn; what is served stays so."""
        while condition():
            self._turn()

    def run(self) -> None:
        """Go on until `stop` is called."""
        self._running = True
        while self._running:
            self._turn()
        for socket in list(self._served):
            self.leave(socket)

    def close(self) -> None:
        """Let go of what wakes it; after it has ended, or instead of running it."""
        self._awake.close()
        self._waker.close()

    def stop(self) -> None:
        """Let this be the last turn; from any thread."""
        self.soon(self._stop)

    def _stop(self) -> None:
        self._running = False

    def _turn(self) -> None:
        began = time.monotonic()
        again, self._again = self._again, set()
        wait = 0.0 if again else LONGEST_WAIT
        if self._timers:
            wait = min(max(self._timers[0][0] - began, 0.0), wait)
        if self.gather_until > began:
            wait = min(wait, self.gather_until - began)
            pause = min(wait, PAUSE_S)
            time.sleep(pause)
            wait -= pause
        ready = self._poller.poll(ceil(wait * 1000.0))
        self.idle += time.monotonic() - began
        for socket in {*dict(ready), *again}:
            action = self._served.get(socket)
            if action is not None:
                self._guarded(action)
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if timer.action is not None:
                self._guarded(timer.action, *timer.args)
        self._guarded(self.end_of_turn)

    def _woken(self) -> None:
        with suppress(BlockingIOError):
            self._awake.recv(4096)
        while self._soon:
            action, args = self._soon.popleft()
            self._guarded(action, *args)

    def _guarded(self, action: Callable[..., None], *args: Any) -> None:
        try:
            action(*args)
        except Exception:
            log.exception("the loop goes on after an error")


def _nothing() -> None:
    """Do nothing, at the end of a turn that nobody cares about."""
