"""Archives: all that is stored goes on to a sink, page by page, each once.

An archive keeps the cursor behind what its sink has. A page that the sink has taken and whose cursor was not
kept comes again, with the same name and the same rows, by which the sink recognises it.
"""

from __future__ import annotations

import threading

from bypass.errors import shown
from bypass.ingest.exposure.archives.sinks import ArchiveSink, InvalidArchive, find_sink
from bypass.ingest.folder import IngestFolder
from bypass.ingest.queries.kept_cursor import InvalidReaderName, KeptCursor, check_reader_name
from bypass.ingest.queries.reader import MeasurementReader

PAGE_ROWS = 50_000
"""Rows of a page. It is part of what a name stands for: archives that exist would take others for copies."""

LOOK_S = 0.5


def parse_archive(text: str) -> tuple[str, str]:
    """The name and the sink of an archive that is written NAME=SINK. Raises InvalidArchive, also for a sink
    that does not exist."""
    name, equals, sink = text.partition("=")
    if not equals:
        raise InvalidArchive(f"archive {shown(text)}: expected NAME=SINK, as in cold=parquet:/var/archive")
    try:
        check_reader_name(name)
    except InvalidReaderName as error:
        raise InvalidArchive(f"archive {shown(text)}: {error}") from None
    find_sink(sink)
    return name, sink


class Archive:
    """Hands all measurements of an installation to one sink. One process has it at a time."""

    def __init__(self, folder: IngestFolder, name: str, sink: ArchiveSink) -> None:
        """Go on where the archive of that name was, or begin with all that there is. Raises InvalidCursor if
        its place is none of this table, and InvalidReaderName."""
        self._reader = MeasurementReader(folder)
        self._sink = sink
        self._place = KeptCursor(folder, "archive", name)
        self._resume()

    def _resume(self) -> None:
        place = self._place.load()
        if place is None:  # kept before anything is handed on, because the pages follow from it
            place = self._reader.begin(), 0
            self._place.keep(*place)
        self._reader.check(place[0])
        self._cursor, self._page = place

    def run(self, stop: threading.Event) -> None:
        """Hand on what there is and what comes, until `stop` is set. Raises CursorExpired if what comes next
        was removed, FolderInUse if another process has this archive, and what the sink raises."""
        with self._place.alone():
            self._resume()
            while not stop.is_set():
                if not self.step():
                    stop.wait(LOOK_S)

    def step(self) -> bool:
        """Hand on the next page; gives whether there may be more."""
        page = self._reader.page(None, self._cursor, PAGE_ROWS)
        if page.is_last:
            return False
        if page.rows.num_rows:
            self._sink.store(f"{self._page:012d}", page.rows)
            self._page += 1
        self._cursor = page.cursor
        self._place.keep(self._cursor, self._page)
        return True
