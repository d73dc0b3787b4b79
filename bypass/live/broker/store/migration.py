"""Stores of earlier versions: copied, then changed to the present schema as a whole or not at all."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

OLDEST = 2
"""The earliest schema that can be changed."""

PRESENT = 4

# Ages are in seconds for which brokers have served the store, not in time of day: who was seen last, and what
# came last, is of the beginning of that. Earlier versions did not say why events were missed.
_FROM_2 = """
CREATE TABLE lanes (client INTEGER NOT NULL, handle INTEGER NOT NULL, cursor INTEGER NOT NULL,
    PRIMARY KEY (client, handle)) WITHOUT ROWID;
CREATE TABLE missed (client INTEGER NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (client, reason)) WITHOUT ROWID;
INSERT INTO missed SELECT client, 'before 0.1.1', missed FROM marks WHERE missed > 0;
ALTER TABLE marks DROP COLUMN missed;
CREATE TEMP TABLE latest_time AS SELECT max(
    (SELECT coalesce(max(seen), 0) FROM clients), (SELECT coalesce(max(at), 0) FROM log)) AS at;
UPDATE clients SET seen = seen - (SELECT at FROM latest_time);
UPDATE log SET at = at - (SELECT at FROM latest_time);
DROP TABLE temp.latest_time;
"""

# Earlier versions did not say what of the events that wait a client may have been sent (anything, therefore),
# and who is charged for them. Whatever came for a subscription with a lane was there. What clients were told
# of plans was in another form: without it, they are told all that holds.
_FROM_3 = """
ALTER TABLE marks ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;
UPDATE marks SET sent = 9223372036854775807;
ALTER TABLE lanes ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN reached INTEGER NOT NULL DEFAULT 0;
UPDATE lanes SET sent = 9223372036854775807, reached = 9223372036854775807;
CREATE TABLE behind (client INTEGER NOT NULL, handle INTEGER NOT NULL, places BLOB NOT NULL,
    PRIMARY KEY (client, handle)) WITHOUT ROWID;
CREATE TABLE owed (client INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (client, id)) WITHOUT ROWID;
ALTER TABLE log ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE TABLE borders (client INTEGER PRIMARY KEY, data TEXT NOT NULL);
DELETE FROM settings WHERE key LIKE 'told/%';
"""

_STEPS = {2: _FROM_2, 3: _FROM_3}


class CopyFailed(Exception):
    """The store could not be copied, and was not changed."""


def migrate(path: Path, connection: sqlite3.Connection, version: int) -> Path:
    """Change a store to the present schema; gives where its copy is. A process that is killed meanwhile
    leaves the store as it was.

    Raises CopyFailed, and what the database raises.
    """
    copy = _copy(path, connection, version)
    steps = "".join(_STEPS[each] for each in range(version, PRESENT))
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {steps} PRAGMA user_version = {PRESENT}; COMMIT;")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return copy


def _copy(path: Path, connection: sqlite3.Connection, version: int) -> Path:
    copy = path.with_name(f"{path.name}.schema-{version}")
    begun = path.with_name(f"{copy.name}-begun")
    try:
        begun.unlink(missing_ok=True)
        os.close(os.open(begun, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(begun, isolation_level=None)) as target:
            target.execute("PRAGMA journal_mode = OFF")
            connection.backup(target)
        _sync(begun)
        begun.replace(copy)
        _sync(path.parent)
    except (OSError, sqlite3.Error) as error:
        begun.unlink(missing_ok=True)
        raise CopyFailed(f"{copy.name}: {error}") from error
    return copy


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
