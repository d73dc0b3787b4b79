"""Locks of an installation: what one process at a time may do."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bypass.root_error import BypassError


class FolderInUse(BypassError):
    """Another process does what one at a time may do."""


@contextmanager
def only_one(path: Path, what: str) -> Iterator[None]:
    """Hold the lock in a file; it ends with the process. Raises FolderInUse, which says `what` another one
    does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FolderInUse(f"{path.parent}: {what}: expected one at a time") from None
        yield
    finally:
        os.close(descriptor)
