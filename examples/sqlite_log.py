"""A log of your own: messages of all writers in one SQLite file, for an installation on one machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Set
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from bypass.ingest import IngestFolder, LogWriter, MessageLog
from bypass.ingest.categories import PARTS
from bypass.ingest.log.block import RECORDS, DamagedBlock, Records
from bypass.ingest.log.leases import FileLeases, LeaseTable
from bypass.ingest.log.message_log import (
    LogFailed,
    LogFull,
    Position,
    Positions,
    whole_number,
)
from bypass.ingest.log.writer_lock import WriterLock

NAME = "sqlite"
PAGE = 4096
TABLES = """
CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY AUTOINCREMENT, log TEXT, sequence INTEGER,
    category INTEGER, received INTEGER, device TEXT, payload BLOB);
CREATE TABLE IF NOT EXISTS lives (life INTEGER PRIMARY KEY AUTOINCREMENT);
"""


def opened(path: Path, most_bytes: int, synced: bool = True) -> sqlite3.Connection:
    """The file, in which there is so much room."""
    database = sqlite3.connect(path, timeout=10, check_same_thread=False)
    database.executescript(
        f"PRAGMA journal_mode=WAL; PRAGMA synchronous={'FULL' if synced else 'NORMAL'};"
        f"PRAGMA max_page_count={most_bytes // PAGE}; {TABLES}"
    )
    return database


class SqliteWriter(LogWriter):
    """A writer; an append is a transaction."""

    message_bytes = 1 << 24

    def __init__(self, database: sqlite3.Connection, name: str, lock: WriterLock) -> None:
        with database:
            self.path = f"{name}/{database.execute('INSERT INTO lives DEFAULT VALUES').lastrowid}"
        self.sequence = 0
        self._database, self._lock = database, lock

    def append(self, records: Records) -> int:
        first = self.sequence
        names = (device.decode() for device in records.devices)
        columns = zip(records.categories, records.received, names, records.payloads, strict=True)
        try:
            with self._database:
                self._database.executemany(
                    "INSERT INTO records VALUES (NULL, ?, ?, ?, ?, ?, ?)",
                    [(self.path, first + number, *row) for number, row in enumerate(columns)],
                )
        except sqlite3.Error as error:
            full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
            raise (LogFull if full else LogFailed)(f"{NAME}: {error}: expected to append") from error
        self.sequence += len(records)
        return first

    def flush(self) -> None:
        """Nothing is held in memory."""

    def close(self) -> None:
        self._database.close()
        self._lock.release()


class SqliteLog(MessageLog):
    """A position is the id of the next record. What was consumed is removed at once."""

    def __init__(self, folder: IngestFolder, address: str, options: Mapping[str, str]) -> None:
        self._folder, self._path = folder, folder.path / "log.db"
        self._bytes = whole_number(options, "bytes", 4 << 30, 1 << 20)

    def open_writer(self, name: str, *, synced: bool = False) -> LogWriter:
        lock = WriterLock(self._folder.logs / name)
        return SqliteWriter(opened(self._path, self._bytes, synced), name, lock)

    def ends(self, start: Positions, most_records: int, most_bytes: int) -> dict[str, Position]:
        begin = start.get(NAME, (1,))
        rows = self._rows("SELECT id, length(payload) FROM records WHERE id >= ? ORDER BY id LIMIT ?",
                          *begin, min(most_records, 1 << 40))  # fmt: skip
        end, size = begin[0], 0
        for number, length in rows:
            if size >= most_bytes:
                break
            end, size = number + 1, size + length
        return dict(start) if end == begin[0] else {NAME: (end,)}

    def read(self, start: Positions, end: Positions, parts: Set[int]) -> Iterator[tuple[str, pa.RecordBatch]]:
        (begin,), (until,) = start.get(NAME, (1,)), end.get(NAME, (1,))
        if until > begin and not self._rows("SELECT 1 FROM records WHERE id = ?", begin):
            raise DamagedBlock(f"{self._path}: expected record {begin}")
        for log, *row in self._rows(
            "SELECT log, sequence, category, received, device, payload FROM records "
            "WHERE id >= ? AND id < ? ORDER BY id", begin, until
        ):  # fmt: skip
            if row[1] % PARTS in parts:
                yield log, pa.record_batch([pa.array([value], field.type) for value, field in
                                            zip(row, RECORDS, strict=True)], schema=RECORDS)  # fmt: skip

    def consume(self, end: Positions) -> None:
        with closing(opened(self._path, self._bytes)) as database, database:
            database.execute("DELETE FROM records WHERE id < ?", end.get(NAME, (1,)))

    def appended(self, taken: Positions) -> int:
        return sum(
            number for (number,) in self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'records'")
        )

    def leases(self) -> LeaseTable:
        return FileLeases(self._folder.connectors)

    def close(self) -> None:
        """Nothing is open between two calls."""

    def _rows(self, query: str, *values: int) -> list[Any]:
        with closing(opened(self._path, self._bytes)) as database:
            return database.execute(query, values).fetchall()
