"""The peer of `objects.py`: objects in a table of PostgreSQL, with a GIN index on their tags, and NOTIFY."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from threading import Thread
from typing import Any

TABLE = """
CREATE TABLE objects (
    arrival bigserial PRIMARY KEY, owner bigint NOT NULL, name text NOT NULL, published bigint NOT NULL,
    tags text[] NOT NULL, metadata bytea NOT NULL, data bytea NOT NULL, UNIQUE (owner, name)
);
CREATE INDEX ON objects USING gin (tags);
CREATE INDEX ON objects (published DESC, owner DESC, name DESC);
"""
INSERT = "INSERT INTO objects (owner, name, published, tags, metadata, data) VALUES (%s, %s, %s, %s, %s, %s)"
TELL = "SELECT pg_notify('objects', %s)"
TOGETHER = 100
"""Insertions in one transaction: as many as our clients have in one packet."""


class Peer:
    """A database that stores objects. `sync` "normal" gives up the last moments if power is lost, as ours."""

    def __init__(self, where: str, sync: str) -> None:
        import psycopg

        self._where = where
        self._commit = "on" if sync == "full" else "off"
        self._connection = psycopg.connect(where, autocommit=True)
        self._connection.execute(TABLE)

    def load(self, rows: Iterable[Sequence[Any]]) -> None:
        """Put objects into the table, and let it know its statistics."""
        with (
            self._connection.cursor() as cursor,
            cursor.copy("COPY objects (owner, name, published, tags, metadata, data) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)
        self._connection.execute("VACUUM ANALYZE objects")

    def pages(self, asked: Sequence[tuple[list[str], list[str]]], limit: int) -> tuple[list[float], float]:
        """Milliseconds until the first page is there, and how many objects are on it, in the middle."""
        taken, hits = [], []
        for present, absent in asked:
            began = time.perf_counter()
            found = self._connection.execute(
                "SELECT metadata FROM objects WHERE tags @> %s::text[] AND NOT tags && %s::text[] "
                "ORDER BY published DESC, owner DESC, name DESC LIMIT %s",
                (present, absent, limit),
                prepare=True,
            ).fetchall()
            taken.append(1e3 * (time.perf_counter() - began))
            hits.append(len(found))
        return taken, statistics.median(hits)

    def notified(self, count: int) -> list[float]:
        """Milliseconds from an insertion to the notification of who listens."""
        import psycopg

        taken = []
        with psycopg.connect(self._where, autocommit=True) as publisher:
            publisher.execute(f"SET synchronous_commit = {self._commit}")
            self._connection.execute("LISTEN objects")
            for number in range(count):
                row = (1, f"news {number}", round(time.time() * 1e6), ["news"], b"", bytes(200))
                began = time.perf_counter()
                with publisher.transaction():
                    publisher.execute(INSERT, row, prepare=True)
                    publisher.execute(TELL, (f"news {number}",), prepare=True)
                next(self._connection.notifies(timeout=60))
                taken.append(1e3 * (time.perf_counter() - began))
            self._connection.execute("UNLISTEN objects")
        return taken

    def inserted(self, clients: int, rows: Sequence[Sequence[Sequence[Any]]]) -> float:
        """Insertions a second of some clients together, each told to who listens."""
        import psycopg

        connections = [psycopg.connect(self._where) for _ in range(clients)]

        def work(connection: Any, own: Sequence[Sequence[Any]]) -> None:
            connection.execute(f"SET synchronous_commit = {self._commit}")
            with connection.cursor() as cursor:
                for first in range(0, len(own), TOGETHER):
                    some = own[first : first + TOGETHER]
                    cursor.executemany(INSERT, some)
                    cursor.executemany(TELL, [(row[1],) for row in some])
                    connection.commit()

        threads = [Thread(target=work, args=pair) for pair in zip(connections, rows, strict=True)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - began
        for connection in connections:
            connection.close()
        return sum(map(len, rows)) / seconds

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()
