"""The lock of a writer: one process at a time has its name."""

from __future__ import annotations

from pathlib import Path

from bypass.ingest.log.message_log import LogInUse
from bypass.support.file_lock import FileLock


class WriterLock(FileLock):
    """Holds the lock in a writer's folder until it is released, or the process ends."""

    def __init__(self, writer: Path) -> None:
        """Take the lock of the writer whose folder this is; the folder is made. Raises LogInUse."""
        try:
            super().__init__(writer / "lock")
        except BlockingIOError:
            raise LogInUse(f"{writer}: expected a log that no other process writes to") from None
