"""A node's objects and tombstones in an SQLite file, which one process has at a time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bypass.objects.metadata import Metadata, ObjectKey, StoredObject, Tombstone
from bypass.objects.persistence import HeldObject
from bypass.support.database import DatabaseUnavailable, open_database

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (place INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER NOT NULL,
    name TEXT NOT NULL, secret BLOB, metadata BLOB NOT NULL, data BLOB NOT NULL, UNIQUE (owner, name));
CREATE TABLE IF NOT EXISTS tombstones (place INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER NOT NULL,
    name TEXT NOT NULL, opening BLOB NOT NULL, UNIQUE (owner, name, opening));
"""


class SqlitePersistence:
    """Keeps a node's objects in a file. Each call is on the disk when it returns, or has changed nothing and
    raises DatabaseUnavailable.

    `to_bytes` and `from_bytes` are the encoding of metadata. Only the file's owner can read it, because the
    secrets that delete objects are there. Raises DatabaseUnavailable for a file that another process has.
    """

    def __init__(
        self, path: Path, to_bytes: Callable[[Metadata], bytes], from_bytes: Callable[[bytes], Metadata]
    ) -> None:
        self._path = path
        self._to_bytes = to_bytes
        self._from_bytes = from_bytes
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._database = open_database(path, _SCHEMA)
        with self._explained():
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute("PRAGMA locking_mode=EXCLUSIVE")
            with self._database:  # takes the lock, which stays
                self._database.execute("BEGIN IMMEDIATE")

    def load(self) -> tuple[Sequence[HeldObject], Sequence[Tombstone]]:
        """All objects and tombstones, in the order in which they came."""
        with self._explained():
            rows = self._database.execute("SELECT metadata, secret FROM objects ORDER BY place").fetchall()
            held = [HeldObject(self._from_bytes(metadata), secret) for metadata, secret in rows]
            rows = self._database.execute(
                "SELECT owner, name, opening FROM tombstones ORDER BY place"
            ).fetchall()
            return held, [Tombstone(ObjectKey(owner, name), opening) for owner, name, opening in rows]

    def data(self, key: ObjectKey) -> bytes | None:
        """The bytes of an object; None if it is not here."""
        with self._explained():
            query = "SELECT data FROM objects WHERE owner = ? AND name = ?"
            row = self._database.execute(query, key).fetchone()
            return None if row is None else bytes(row[0])

    def add(self, stored: StoredObject, secret: bytes | None, evicted: Sequence[ObjectKey]) -> None:
        """Keep an object, instead of one with the same key, and forget those that are evicted for it."""
        metadata = self._to_bytes(stored.metadata)
        with self._explained(), self._database:
            self._drop([stored.key, *evicted])
            self._database.execute(
                "INSERT INTO objects (owner, name, secret, metadata, data) VALUES (?, ?, ?, ?, ?)",
                (*stored.key, secret, metadata, stored.data),
            )

    def bury(self, tombstone: Tombstone, forgotten: Sequence[Tombstone], drops: bool) -> None:
        """Keep a tombstone, forget those that had to go for it, and with `drops` the object that it names."""
        with self._explained(), self._database:
            self._database.executemany(
                "DELETE FROM tombstones WHERE owner = ? AND name = ? AND opening = ?",
                [(*each.key, each.opening) for each in forgotten],
            )
            self._database.execute(
                "INSERT OR IGNORE INTO tombstones (owner, name, opening) VALUES (?, ?, ?)",
                (*tombstone.key, tombstone.opening),
            )
            if drops:
                self._drop([tombstone.key])

    def release(self, key: ObjectKey) -> None:
        """Forget an object, without a tombstone."""
        with self._explained(), self._database:
            self._drop([key])

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _drop(self, keys: Sequence[ObjectKey]) -> None:
        self._database.executemany("DELETE FROM objects WHERE owner = ? AND name = ?", keys)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error, ValueError) as error:
            raise DatabaseUnavailable(f"{self._path}: {error}: expected a store of objects") from error
