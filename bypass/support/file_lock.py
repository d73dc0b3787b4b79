"""A lock in a file: one process at a time has it, and it ends with the process, however that ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self


class FileLock:
    """Holds the lock until it is released; as a context manager, until its end."""

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        """Take the lock in the file `path`, which is made, and its folder, too. Raises BlockingIOError if
        somebody else has it, unless it is waited for, and OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BaseException:
            os.close(self._file)
            raise

    def release(self) -> None:
        """Let others have it."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.release()
