"""Locks of an installation: what one process at a time may do."""

from __future__ import annotations

from pathlib import Path

from bypass.root_error import BypassError
from bypass.support.file_lock import FileLock


class FolderInUse(BypassError):
    """Another process does what one at a time may do."""


def only_one(path: Path, what: str) -> FileLock:
    """Take the lock in a file. Raises FolderInUse, which says `what` another process does."""
    try:
        return FileLock(path)
    except BlockingIOError:
        raise FolderInUse(f"{path.parent}: {what}: expected one at a time") from None
