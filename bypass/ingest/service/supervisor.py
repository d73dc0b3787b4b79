"""The supervisor: starts the processes of an installation, and starts again those that end."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence

from bypass.ingest.service.attachment import ATTACHED

log = logging.getLogger(__name__)

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
STEADY_S = 60.0
"""A process that has run for so long starts again at once when it ends."""

STOP_S = 20.0


class Supervisor:
    """Keeps processes running, each by itself. What ends is said with its exit code, and started again
    after a wait that doubles while it goes on ending. All of them end with the supervisor."""

    def __init__(self, commands: Mapping[str, Sequence[str]]) -> None:
        """`commands` are modules with arguments, by the name of the process."""
        self._commands = commands
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._started: dict[str, float] = {}
        self._waits = dict.fromkeys(commands, FIRST_WAIT_S)
        self._due = dict.fromkeys(commands, 0.0)

    def run(self, stop: threading.Event, look_s: float = 0.2) -> None:
        """Keep all processes running until `stop` is set; then end them."""
        try:
            while not stop.wait(look_s):
                self._look()
        finally:
            self._end()

    def processes(self) -> dict[str, int]:
        """The ids of those that run now, by name."""
        return {name: process.pid for name, process in self._processes.items() if process.poll() is None}

    def _look(self) -> None:
        now = time.monotonic()
        for name, command in self._commands.items():
            process = self._processes.get(name)
            if process is not None and (code := process.poll()) is not None:
                del self._processes[name]
                lasted = now - self._started[name]
                wait = self._waits[name] = (
                    FIRST_WAIT_S if lasted >= STEADY_S else min(2 * self._waits[name], LONGEST_WAIT_S)
                )
                self._due[name] = now + wait
                log.warning("%s ended with %d; it is started again in %.1f s", name, code, wait)
            if name not in self._processes and now >= self._due[name]:
                self._processes[name] = subprocess.Popen(  # noqa: S603 - our own modules
                    [sys.executable, "-m", *command, ATTACHED], stdin=subprocess.PIPE
                )
                self._started[name] = now
                log.info("%s runs as process %d", name, self._processes[name].pid)

    def _end(self) -> None:
        for process in self._processes.values():
            process.terminate()
        end = time.monotonic() + STOP_S
        for name, process in self._processes.items():
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.warning("%s did not end in %d s: it is killed", name, STOP_S)
                process.kill()
                process.wait()
