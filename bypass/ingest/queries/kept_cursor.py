"""Cursors that outlive a process: each is kept in a small file of the installation."""

from __future__ import annotations

import logging
import re
import time
from pathlib import Path

from bypass.errors import shown
from bypass.ingest.folder import IngestFolder
from bypass.ingest.folder_lock import only_one
from bypass.ingest.queries.commits import CommitLog
from bypass.ingest.queries.cursor import QueryCursor
from bypass.ingest.queries.invalid import InvalidCursor
from bypass.root_error import BypassError
from bypass.support.durable_files import replace_file
from bypass.support.file_lock import FileLock

log = logging.getLogger(__name__)

LATE_S, GIVEN_UP_S = 1800.0, 86_400.0
"""A reader that is so far behind may need files which compaction has replaced, and they must not be removed;
one that is a day behind is not waited for."""

_SUFFIX = ".cursor"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class InvalidReaderName(BypassError):
    """A name under which no place can be kept: it is part of a path."""


def check_reader_name(name: str) -> str:
    """Give the name of a reader back. Raises InvalidReaderName."""
    if not _NAME.fullmatch(name):
        raise InvalidReaderName(f"name {shown(name)}: expected 1 to 64 letters, digits, _ and -")
    return name


class KeptCursor:
    """The place of one reader, by its kind and its name, and how many pages it has dealt with."""

    def __init__(self, folder: IngestFolder, kind: str, name: str) -> None:
        """Raises InvalidReaderName."""
        self._what = f"{kind} {name}"
        self._file = folder.readers / kind / f"{check_reader_name(name)}{_SUFFIX}"
        self._file.parent.mkdir(parents=True, exist_ok=True)

    def alone(self) -> FileLock:
        """Have the place while the lock is held. Raises FolderInUse if another process has it."""
        return only_one(self._file.with_suffix(".lock"), f"{self._what} runs already")

    def load(self) -> tuple[QueryCursor, int] | None:
        """The place; None if there is none yet. Raises InvalidCursor if it cannot be read."""
        return _read(self._file)

    def keep(self, cursor: QueryCursor, pages: int) -> None:
        """Replace the place; it is safe when this returns."""
        replace_file(self._file, f"{cursor} {pages}\n")


def needs_old_files(folder: IngestFolder) -> bool:
    """Whether a reader is so late that old files of the table must stay. One whose place is damaged cannot go
    on, and is not waited for; that is logged."""
    commits, now = CommitLog(folder.measurements), time.time()
    for path in sorted(folder.readers.glob(f"*/*{_SUFFIX}")):
        try:
            place = _read(path)
        except InvalidCursor as error:
            log.warning("%s; no file is kept for that reader", error)
            continue
        if place is not None and LATE_S < commits.age(place[0].version + 1, now) < GIVEN_UP_S:
            return True
    return False


def _read(path: Path) -> tuple[QueryCursor, int] | None:
    try:
        text, pages = path.read_text().split()
        return QueryCursor.parse(text), int(pages)
    except FileNotFoundError:
        return None
    except (ValueError, InvalidCursor):
        raise InvalidCursor(f"{path}: is damaged: expected a cursor and a number") from None
