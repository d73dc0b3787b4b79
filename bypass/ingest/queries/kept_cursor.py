"""Cursors that outlive a process: each is kept in a small file of the installation."""

from __future__ import annotations

import os
import time

from bypass.ingest.folder import IngestFolder
from bypass.ingest.queries.commits import CommitLog
from bypass.ingest.queries.cursor import QueryCursor
from bypass.ingest.queries.invalid import InvalidCursor

LATE_S, GIVEN_UP_S = 1800.0, 86_400.0
"""A reader that is so far behind may need files which compaction has replaced, and they must not be removed;
one that is a day behind is not waited for."""

_SUFFIX = ".cursor"


class KeptCursor:
    """The place of one reader, by its name, and how many pages it has dealt with."""

    def __init__(self, folder: IngestFolder, name: str) -> None:
        self._file = folder.readers / f"{name}{_SUFFIX}"
        self._file.parent.mkdir(parents=True, exist_ok=True)

    def load(self) -> tuple[QueryCursor, int] | None:
        """The place; None if there is none yet. Raises InvalidCursor if it cannot be read."""
        try:
            text, pages = self._file.read_text().split()
            return QueryCursor.parse(text), int(pages)
        except FileNotFoundError:
            return None
        except ValueError:
            raise InvalidCursor(f"{self._file}: is damaged: expected a cursor and a number") from None

    def keep(self, cursor: QueryCursor, pages: int) -> None:
        """Replace the place; it is safe when this returns."""
        unfinished = self._file.with_suffix(f".{os.getpid()}.new")
        with unfinished.open("w") as file:
            file.write(f"{cursor} {pages}\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._file)


def needs_old_files(folder: IngestFolder) -> bool:
    """Whether a reader is so late that old files of the table must stay. Raises InvalidCursor if a place is
    damaged."""
    log, now = CommitLog(folder.measurements), time.time()
    names = [path.stem for path in folder.readers.glob(f"*{_SUFFIX}")] if folder.readers.exists() else []
    places = [KeptCursor(folder, name).load() for name in names]
    ages = [log.age(place[0].version + 1, now) for place in places if place is not None]
    return any(LATE_S < age < GIVEN_UP_S for age in ages)
