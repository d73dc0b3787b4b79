"""A batch as statements: which rows of the store's tables change, in which order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import chain
from typing import Any

from bypass.live.broker.store.batch import Batch, pack_places

HISTORY = 10_000
"""Records that are kept; older ones go."""

UNSIGNED = 1 << 64
"""Numbers of 64 bits are signed in the database; this modulo takes them back."""

Row = tuple[Any, ...]


class Change:
    """A statement for many rows at a time; `sql` has @ where the rows go.

    Each execution lets other threads run, and waits for its turn again: few large ones are faster.
    """

    def __init__(self, columns: int, sql: str) -> None:
        row = f"({','.join('?' * columns)})"
        self._sql = [
            (size, sql.replace("@", "VALUES " + ",".join([row] * size))) for size in (128, 32, 8, 2, 1)
        ]

    def apply(self, connection: sqlite3.Connection, rows: list[Row]) -> None:
        start = 0
        for size, sql in self._sql:
            while len(rows) - start >= size:
                connection.execute(sql, list(chain.from_iterable(rows[start : start + size])))
                start += size


_FORGET = (
    Change(1, "DELETE FROM clients WHERE number IN (@)"),
    Change(1, "DELETE FROM marks WHERE client IN (@)"),
    Change(1, "DELETE FROM places WHERE client IN (@)"),
    Change(1, "DELETE FROM subscriptions WHERE client IN (@)"),
    Change(1, "DELETE FROM lanes WHERE client IN (@)"),
    Change(1, "DELETE FROM behind WHERE client IN (@)"),
    Change(1, "DELETE FROM owed WHERE client IN (@)"),
    Change(1, "DELETE FROM missed WHERE client IN (@)"),
)
_CLIENTS = Change(4, "INSERT OR REPLACE INTO clients @")
_MARKS = Change(1, "INSERT OR IGNORE INTO marks (client) @")
_SUBSCRIBE = Change(
    3,
    "INSERT OR REPLACE INTO subscriptions SELECT * FROM (@) "
    "WHERE EXISTS (SELECT 1 FROM clients WHERE number = column1)",
)
_UNSUBSCRIBE = Change(
    2,
    # Without the casts all subscriptions would be gone through.
    "DELETE FROM subscriptions WHERE (client, handle) IN "
    "(SELECT CAST(column1 AS INTEGER), CAST(column2 AS INTEGER) FROM (@))",
)
_PLACES = Change(
    6,
    "INSERT OR REPLACE INTO places SELECT * FROM (@) "
    "WHERE EXISTS (SELECT 1 FROM clients WHERE number = column1)",
)
_COUNTS = Change(3, "UPDATE marks SET published = column2, known = column3 FROM (@) WHERE client = column1")
_CURSORS = Change(3, "UPDATE marks SET cursor = column2, sent = column3 FROM (@) WHERE client = column1")
_LANES = Change(
    5,
    "INSERT OR REPLACE INTO lanes SELECT * FROM (@) "
    "WHERE EXISTS (SELECT 1 FROM clients WHERE number = column1)",
)
_NO_LANES = Change(
    2,
    "DELETE FROM lanes WHERE (client, handle) IN "
    "(SELECT CAST(column1 AS INTEGER), CAST(column2 AS INTEGER) FROM (@))",
)
_BEHIND = Change(
    3,
    "INSERT OR REPLACE INTO behind SELECT * FROM (@) "
    "WHERE EXISTS (SELECT 1 FROM clients WHERE number = column1)",
)
_NOT_BEHIND = Change(
    2,
    "DELETE FROM behind WHERE (client, handle) IN "
    "(SELECT CAST(column1 AS INTEGER), CAST(column2 AS INTEGER) FROM (@))",
)
_OWED = Change(
    2,
    "INSERT OR REPLACE INTO owed SELECT * FROM (@) "
    "WHERE EXISTS (SELECT 1 FROM clients WHERE number = column1)",
)
_NOT_OWED = Change(
    2,
    "DELETE FROM owed WHERE (client, id) IN "
    "(SELECT CAST(column1 AS INTEGER), CAST(column2 AS INTEGER) FROM (@))",
)
_MISSED = Change(
    3,
    "INSERT OR REPLACE INTO missed SELECT * FROM (@) "
    "WHERE EXISTS (SELECT 1 FROM clients WHERE number = column1)",
)
_LOG = Change(9, "INSERT OR REPLACE INTO log @")
_LATEST = Change(1, "UPDATE latest SET seq = max(seq, column1) FROM (@)")
_RELEASE = Change(1, "DELETE FROM log WHERE seq IN (@)")
_BORDERS = Change(2, "INSERT OR REPLACE INTO borders @")
_NO_BORDERS = Change(1, "DELETE FROM borders WHERE client IN (@)")
_SETTINGS = Change(2, "INSERT OR REPLACE INTO settings @")
_HISTORY = Change(3, "INSERT INTO history (at, kind, content) @")
_BOUND = Change(1, "DELETE FROM history WHERE number <= (SELECT max(number) FROM history) - (@)")


def changes(batch: Batch) -> Iterator[tuple[Change, list[Row]]]:
    """Rows and what to do with them, in this order; there may be none of a kind."""
    departed: list[Row] = [(number,) for number in batch.departed]
    for change in _FORGET:
        yield change, departed
    yield (
        _CLIENTS,
        [(number, name, signed(life), seen) for number, (name, life, seen) in batch.clients.items()],
    )
    yield _MARKS, [(number,) for number in batch.clients]
    handles = [(client, *item) for client, own in batch.subscriptions.items() for item in own.items()]
    yield _SUBSCRIBE, [row for row in handles if row[2] is not None]
    yield _UNSUBSCRIBE, [row[:2] for row in handles if row[2] is None]
    yield _PLACES, [(client, *place) for client, place in batch.places.items()]
    yield _COUNTS, [(client, *counts) for client, counts in batch.counts.items()]
    yield _CURSORS, [(client, *marks) for client, marks in batch.cursors.items()]
    lanes = [(client, *item) for client, own in batch.lanes.items() for item in own.items()]
    yield _LANES, [(client, handle, *marks) for client, handle, marks in lanes if marks is not None]
    yield _NO_LANES, [row[:2] for row in lanes if row[2] is None]
    behind = [(client, *item) for client, own in batch.behind.items() for item in own.items()]
    yield _BEHIND, [(client, handle, pack_places(places)) for client, handle, places in behind if places]
    yield _NOT_BEHIND, [row[:2] for row in behind if not row[2]]
    owed = [
        (client, signed(each), still) for client, own in batch.owed.items() for each, still in own.items()
    ]
    yield _OWED, [row[:2] for row in owed if row[2]]
    yield _NOT_OWED, [row[:2] for row in owed if not row[2]]
    yield _MISSED, [(client, *item) for client, own in batch.missed.items() for item in own.items()]
    spent = batch.spent
    yield (
        _LOG,
        [
            (
                logged.seq,
                logged.at,
                signed(logged.id),
                logged.publisher,
                logged.scheme,
                logged.epoch,
                logged.recipients,
                logged.raw,
                logged.owner,
            )
            for logged in batch.log
            if logged.seq not in spent
        ],
    )
    yield _LATEST, [(max(logged.seq for logged in batch.log),)] if batch.log else []
    yield _RELEASE, [(seq,) for seq in spent]
    yield _BORDERS, [row for row in batch.borders.items() if row[1] is not None]
    yield _NO_BORDERS, [(client,) for client, data in batch.borders.items() if data is None]
    yield _SETTINGS, list(batch.settings.items())
    yield _HISTORY, list(batch.history)
    yield _BOUND, [(HISTORY,)] if batch.history else []


def signed(number: int) -> int:
    """As the database has it."""
    return number if number < UNSIGNED // 2 else number - UNSIGNED
