"""The progress of the stream: what became of the messages of each batch, noted once."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bypass.ingest.stream.offsets import StreamOffset
from bypass.ingest.stream.task import DAMAGED, TaskResult
from bypass.root_error import BypassError
from bypass.support.database import open_database

_SCHEMA = """
CREATE TABLE IF NOT EXISTS batches (
    batch INTEGER PRIMARY KEY, at REAL NOT NULL, offset TEXT NOT NULL, read INTEGER NOT NULL,
    stored INTEGER NOT NULL, filtered INTEGER NOT NULL, duplicates INTEGER NOT NULL, held INTEGER NOT NULL,
    dead_letters TEXT NOT NULL, measurements INTEGER NOT NULL, bytes INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS begun (batch INTEGER PRIMARY KEY, offset TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS totals (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS policies (name TEXT PRIMARY KEY, devices INTEGER);
CREATE TABLE IF NOT EXISTS warnings (number INTEGER PRIMARY KEY AUTOINCREMENT, line TEXT NOT NULL UNIQUE);
"""
_KEPT = 10_000
"""How many batches and warnings are kept one by one; totals have all batches."""

KEPT_S = 7 * 86_400
"""For how long earlier batches are kept, those of a minute as one."""

_MINUTE_MS = 60_000
_SUMMED = ("read", "stored", "filtered", "duplicates", "measurements", "bytes")


class BatchCounts(NamedTuple):
    """The counts of one batch, or of several of the same minute that came one after the other.

    The latest of them was planned at `clock` (ms) with the plans up to number `plans`, and noted at `at` (s
    since 1970).
    """

    batch: int
    clock: int
    plans: int
    at: float
    read: int
    stored: int
    filtered: int
    duplicates: int
    dead_letters: int
    measurements: int
    bytes: int

    @property
    def seconds(self) -> float:
        """The time that the batch took."""
        return max(0.0, self.at - self.clock / 1000)


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """The messages that the stream has taken, by what became of them. `held` wait in open buckets.

    `policies` are the mechanisms that run, with the devices that each serves; None stands for all others.
    `unusable` counts devices whose policy could not be used, by policy.
    """

    batch: int = -1
    at: float = 0.0
    offset: StreamOffset = field(default_factory=StreamOffset)
    read: int = 0
    stored: int = 0
    filtered: int = 0
    duplicates: int = 0
    held: int = 0
    dead_letters: dict[str, int] = field(default_factory=dict)
    measurements: int = 0
    bytes: int = 0
    policies: dict[str, int | None] = field(default_factory=dict)
    unusable: dict[str, int] = field(default_factory=dict)


class BatchMismatch(BypassError):
    """The tables have a batch with the same number that ended elsewhere: the checkpoint is not of their
    time."""


def begin_batch(path: Path, batch: int, offset: StreamOffset) -> None:
    """Note where a batch ends, before any table has it. Raises BatchMismatch if one with this number ended
    elsewhere, or if that is not known any more: the tables would take it for the same one, and lose it."""
    mine = json.dumps(offset.to_json())
    with closing(open_database(path, _SCHEMA)) as database, database:
        known = dict(
            database.execute(
                "SELECT batch, offset FROM batches WHERE batch >= ?1 "
                "UNION SELECT batch, offset FROM begun WHERE batch >= ?1",
                (batch,),
            )
        )
        if known and known.get(batch) != mine:
            raise BatchMismatch(
                f"batch {batch}: {path} has it with another end: expected a checkpoint of the same time: "
                "restore the whole folder from one backup, or begin with a new one"
            )
        database.execute("INSERT OR IGNORE INTO begun VALUES (?, ?)", (batch, mine))
        database.execute("DELETE FROM begun WHERE batch < ?", (batch,))


def latest_begun(path: Path) -> int:
    """The number of the latest batch that a table may have; -1 if there is none."""
    if not path.exists():
        return -1
    with closing(open_database(path, _SCHEMA)) as database:
        statement = "SELECT max(batch) FROM (SELECT batch FROM begun UNION SELECT batch FROM batches)"
        (batch,) = database.execute(statement).fetchone()
        return -1 if batch is None else int(batch)


def latest_stored(path: Path) -> tuple[int, int]:
    """The numbers of the latest batches that were noted with measurements, and with dead letters that have
    rows; -1 for none."""
    if not path.exists():
        return -1, -1
    with closing(open_database(path, _SCHEMA)) as database:
        rows = "EXISTS (SELECT 1 FROM json_each(dead_letters) WHERE key != ?)"
        measurements, letters = (
            database.execute(
                f"SELECT coalesce(max(batch), -1) FROM batches WHERE {condition}",  # noqa: S608
                values,
            ).fetchone()[0]
            for condition, values in (("measurements > 0", ()), (rows, (DAMAGED,)))
        )
    return measurements, letters


def note_batch(path: Path, batch: int, offset: StreamOffset, results: Iterable[TaskResult]) -> None:
    """Add a batch to the progress, unless it was noted before."""
    results = list(results)
    letters: Counter[str] = Counter()
    for result in results:
        letters.update(result.dead_letters)
    sums = {
        name: sum(getattr(result, name) for result in results)
        for name in ("read", "stored", "filtered", "duplicates", "held", "measurements")
    }
    sums["bytes"] = sum(file.size for result in results for files in result.files.values() for file in files)
    with closing(open_database(path, _SCHEMA)) as database, database:
        changed = database.execute(
            "INSERT OR IGNORE INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                batch,
                time.time(),
                json.dumps(offset.to_json()),
                *(sums[name] for name in ("read", "stored", "filtered", "duplicates", "held")),
                json.dumps(letters),
                sums["measurements"],
                sums["bytes"],
            ),
        )
        if not changed.rowcount:
            return
        totals = {name: value for name, value in sums.items() if name != "held"}
        totals |= {f"dead_letters.{reason}": value for reason, value in letters.items()}
        unusable = Counter(policy for result in results for _, policy, _ in result.unusable)
        totals |= {f"unusable.{policy}": value for policy, value in unusable.items()}
        database.executemany(
            "INSERT INTO totals VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value",
            totals.items(),
        )
        database.execute("DELETE FROM policies")
        database.executemany("INSERT INTO policies VALUES (?, ?)", _served(results).items())
        _join_earlier(database, batch - _KEPT)


def _join_earlier(database: sqlite3.Connection, upto: int) -> None:
    """Join the batch `upto` with those before it that have its minute and its plans. Remove the first one if
    it is too old: a batch adds no more than one."""
    rows = database.execute(
        "SELECT batch, offset, dead_letters FROM batches WHERE batch <= ? ORDER BY batch DESC LIMIT 2",
        (upto,),
    ).fetchall()
    if len(rows) == 2:
        (batch, end, letters), (before, offset, others) = rows
        (minute, plans), earlier = _minute(end), _minute(offset)
        if (minute, plans) == earlier:
            sums = ", ".join(f"{name} = batches.{name} + other.{name}" for name in _SUMMED)
            both = Counter(json.loads(letters)) + Counter(json.loads(others))
            database.execute(
                f"UPDATE batches SET {sums}, dead_letters = ? FROM batches AS other "  # noqa: S608
                "WHERE batches.batch = ? AND other.batch = ?",
                (json.dumps(both), batch, before),
            )
            database.execute("DELETE FROM batches WHERE batch = ?", (before,))
    database.execute(
        "DELETE FROM batches WHERE batch = (SELECT min(batch) FROM batches) AND batch <= ? AND at < ?",
        (upto, time.time() - KEPT_S),
    )


def _minute(offset: str) -> tuple[int, int]:
    """The minute and the latest plan of a batch that ends there."""
    end = json.loads(offset)
    return end["clock"] // _MINUTE_MS, end["plans"]


def note_warnings(path: Path, lines: Iterable[str]) -> list[str]:
    """Note what operators must know, each line once; gives those that are new. What workers write to their
    own logs nobody sees: the process of the stream logs what is noted here."""
    lines = [*dict.fromkeys(lines)]
    if not lines:
        return []
    with closing(open_database(path, _SCHEMA)) as database, database:
        new = [
            line
            for line in lines
            if database.execute("INSERT OR IGNORE INTO warnings (line) VALUES (?)", (line,)).rowcount
        ]
        database.execute(
            "DELETE FROM warnings WHERE number <= (SELECT max(number) FROM warnings) - ?", (_KEPT,)
        )
    return new


def read_warnings(path: Path, after: int) -> list[tuple[int, str]]:
    """Read the warnings behind a number, each with its own, in order."""
    if not path.exists():
        return []
    with closing(open_database(path, _SCHEMA)) as database:
        return list(
            database.execute("SELECT number, line FROM warnings WHERE number > ? ORDER BY number", (after,))
        )


def _served(results: Iterable[TaskResult]) -> dict[str, int | None]:
    """The mechanisms that run in all parts, with the devices that each serves."""
    served: dict[str, int | None] = {}
    for result in results:
        for name, devices in result.policies.items():
            known = served.get(name, 0)
            served[name] = None if devices is None or known is None else devices + known
    return served


def read_progress(path: Path) -> StreamProgress:
    """Read the progress of the stream as of its latest batch."""
    if not path.exists():
        return StreamProgress()
    with closing(open_database(path, _SCHEMA)) as database:
        database.execute("BEGIN")
        latest: Any = database.execute(
            "SELECT batch, at, offset, held FROM batches ORDER BY batch DESC LIMIT 1"
        ).fetchone()
        totals = dict(database.execute("SELECT name, value FROM totals"))
        policies = dict(database.execute("SELECT name, devices FROM policies"))
    if latest is None:
        return StreamProgress()
    batch, at, offset, held = latest
    letters, unusable = (
        {name.partition(".")[2]: value for name, value in totals.items() if name.startswith(kind)}
        for kind in ("dead_letters.", "unusable.")
    )
    named = {name: totals.get(name, 0) for name in _SUMMED}
    return StreamProgress(
        batch,
        at,
        StreamOffset.from_json(json.loads(offset)),
        held=held,
        dead_letters=letters,
        policies=policies,
        unusable=unusable,
        **named,
    )


def read_batches(path: Path, limit: int = -1) -> list[BatchCounts]:
    """Read the counts of the latest batches, the newest first: of all that are kept, or of so many."""
    if not path.exists():
        return []
    with closing(open_database(path, _SCHEMA)) as database:
        rows = database.execute(
            "SELECT batch, json_extract(offset, '$.clock'), json_extract(offset, '$.plans'), at, read,"
            " stored, filtered, duplicates, (SELECT coalesce(sum(value), 0) FROM json_each(dead_letters)),"
            " measurements, bytes FROM batches ORDER BY batch DESC LIMIT ?",
            (limit,),
        )
        return [BatchCounts(*row) for row in rows]
