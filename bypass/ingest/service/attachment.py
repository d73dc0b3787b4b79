"""The tie between a supervisor and its processes: they end with it, however it ends."""

from __future__ import annotations

import os
import signal
import threading

ATTACHED = "--attached"
"""The argument of processes whose standard input is a pipe that the supervisor holds."""


def end_with_supervisor() -> None:
    """Have this process killed when its standard input ends: the system closes it with the supervisor."""
    threading.Thread(target=_watch, name="attachment", daemon=True).start()


def _watch() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGKILL)
