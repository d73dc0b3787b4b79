"""An archive in a SQLite file: a page and its name are stored in one transaction, so none is there twice.

bypass ingest start --tcp 127.0.0.1:7791 --archive cold=examples/sqlite_archive.py:SqliteArchive
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from bypass.ingest import ArchiveSink, plain_rows

COLUMNS = ("device", "time", "metric", "type", "uom", "value")


class SqliteArchive(ArchiveSink):
    def __init__(self, path: Path = Path("archive.db")) -> None:
        self.path = path

    def store(self, page: str, rows: pa.Table) -> None:
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS pages (name TEXT PRIMARY KEY)")
            database.execute(f"CREATE TABLE IF NOT EXISTS measurements ({', '.join(COLUMNS)})")
            if database.execute("SELECT 1 FROM pages WHERE name = ?", (page,)).fetchone():
                return
            database.execute("INSERT INTO pages VALUES (?)", (page,))
            database.executemany(
                "INSERT INTO measurements VALUES (?, ?, ?, ?, ?, ?)",
                [tuple(row[name] for name in COLUMNS) for row in plain_rows(rows)],
            )
