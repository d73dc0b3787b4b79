"""The worlds that a live edge knows, in an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bypass.mechanisms.storage.infra.edge.service.worlds import KeptWorld
from bypass.support.database import DatabaseUnavailable, open_database

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS worlds (world TEXT PRIMARY KEY, name TEXT NOT NULL, epoch INTEGER NOT NULL);"
)

_KEEP = "INSERT INTO worlds VALUES (?, ?, ?) ON CONFLICT (world) DO UPDATE SET epoch = excluded.epoch"


class SqliteWorldStore:
    """Keeps worlds in a file; what is kept is on the disk when `keep` returns. Raises DatabaseUnavailable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = open_database(path, _SCHEMA)
        self._database.execute("PRAGMA synchronous=FULL")

    def load(self) -> Iterable[KeptWorld]:
        """All worlds, in the order in which they came."""
        with self._explained():
            rows = self._database.execute("SELECT world, name, epoch FROM worlds ORDER BY rowid").fetchall()
            return [KeptWorld(*row) for row in rows]

    def keep(self, world: KeptWorld) -> None:
        """Keep a world, or its new epoch."""
        with self._explained(), self._database:
            self._database.execute(_KEEP, world)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise DatabaseUnavailable(f"{self._path}: {error}: expected a store of worlds") from error
