"""Real time on asyncio's loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any


class AsyncClock:
    """The time and the timers of the running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = time.time() - time.monotonic()

    def now(self) -> float:
        """Seconds since 1970 by the clock at the start, and never going back since."""
        return self._began + time.monotonic()

    def after(self, delay: float, action: Callable[..., None], *args: Any) -> asyncio.Handle:
        """Call `action(*args)` in `delay` seconds; with 0, when what is being done now is done."""
        if delay <= 0.0:
            return self._loop.call_soon(action, *args)
        return self._loop.call_later(delay, action, *args)
