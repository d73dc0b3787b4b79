"""The lock of a writer: one process at a time has its name."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from bypass.ingest.log.message_log import LogInUse


class WriterLock:
    """Holds the lock in a writer's folder until it is released, or the process ends."""

    def __init__(self, writer: Path) -> None:
        """Take the lock of the writer whose folder this is; the folder is made. Raises LogInUse."""
        writer.mkdir(parents=True, exist_ok=True)
        self._file = os.open(writer / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise LogInUse(f"{writer}: expected a log that no other process writes to") from None

    def release(self) -> None:
        """Let others have the name."""
        os.close(self._file)
