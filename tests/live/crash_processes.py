"""Processes that can be killed and started again."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 60.0
"""Seconds that something may take on a machine with much else to do; more counts as never."""


def until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Wait for a condition. Raises AssertionError with what it never came to."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {patience:g} s")
        time.sleep(0.02)


class Child:
    """A process that can be killed and started again. `life` counts its starts; what it says is in `log`."""

    def __init__(self, name: str, role: str, folder: Path, command: Callable[[int], list[str]]) -> None:
        self.name = name
        self.role = role
        self.life = 0
        self.journal = folder / f"{name}.journal"
        self.log = folder / f"{name}.log"
        self.journal.touch()
        self.log.touch()
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self.log_at = 0  # where the log of this life begins

    def start(self) -> None:
        self.life += 1
        self.log_at = self.log.stat().st_size
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command(self.life), stdout=log, stderr=log, cwd=ROOT)

    def kill(self) -> None:
        """At once, without a chance to do anything about it. Raises AssertionError if it has ended before."""
        self.ended()
        self.end()

    def end(self) -> None:
        """It is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def exit_code(self) -> int:
        """Once it has ended by itself."""
        assert self._process is not None
        code = self._process.wait(PATIENCE)
        self._process = None
        return code

    def ended(self) -> None:
        """Raises AssertionError if it has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise AssertionError(f"{self.name} has ended by itself: {self.said()[-2000:]}")

    def said(self) -> str:
        """What it has said in this life."""
        with self.log.open("rb") as log:
            log.seek(self.log_at)
            return log.read().decode()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid
