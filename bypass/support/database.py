"""Small SQLite files of an installation, which several processes read and write."""

from __future__ import annotations

import sqlite3
import zlib
from pathlib import Path

from bypass.root_error import BypassError

_PATIENCE_S = 10.0


class DatabaseUnavailable(BypassError, sqlite3.OperationalError):
    """A file of the installation cannot be opened now: its disk is full, or it is damaged or locked."""


def open_database(path: Path, schema: str) -> sqlite3.Connection:
    """Open a file, and make its tables if they are not there: opening one that exists writes nothing to it.
    Raises DatabaseUnavailable."""
    version = zlib.crc32(schema.encode()) & 0x7FFFFFFF
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path, timeout=_PATIENCE_S)
        try:
            if database.execute("PRAGMA user_version").fetchone() != (version,):
                database.execute("PRAGMA journal_mode=WAL")
                database.executescript(schema)
                database.execute(f"PRAGMA user_version={version}")
        except BaseException:
            database.close()
            raise
    except (OSError, sqlite3.Error) as error:
        raise DatabaseUnavailable(f"{path}: {error}: expected a database that can be opened") from error
    return database
