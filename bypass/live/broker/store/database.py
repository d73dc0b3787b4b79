"""The file of a store: one process at a time has it, and what is wrong with it is said in one line."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Literal, NamedTuple

from bypass.errors import BypassError
from bypass.live.broker.store.migration import OLDEST, PRESENT, CopyFailed, migrate

log = logging.getLogger(__name__)

WAL_PAGES, FEWEST_WAL_PAGES = 4000, 100
"""Pages that gather in the log before they are put into their places (16 MB); fewer on a small disk."""

SHARE = 8
"""The log is to take one part in so many of the room that a disk has when the store is opened."""

_MAGIC = b"SQLite format 3\0"
_PATIENCE = 1.0  # s that another program may keep the file locked
_LITTLE = 1 << 20  # bytes; with less room than that a failed operation is taken for a full disk

# What changes often has narrow rows of its own: a commit writes each page that has changed as a whole.
_SCHEMA = """
CREATE TABLE clients (number INTEGER PRIMARY KEY, name TEXT NOT NULL, life INTEGER NOT NULL,
    seen REAL NOT NULL);
CREATE TABLE marks (client INTEGER PRIMARY KEY, published INTEGER NOT NULL DEFAULT 0,
    known INTEGER NOT NULL DEFAULT 0, cursor INTEGER NOT NULL DEFAULT 0, sent INTEGER NOT NULL DEFAULT 0);
CREATE TABLE lanes (client INTEGER NOT NULL, handle INTEGER NOT NULL, cursor INTEGER NOT NULL,
    sent INTEGER NOT NULL, reached INTEGER NOT NULL, PRIMARY KEY (client, handle)) WITHOUT ROWID;
CREATE TABLE behind (client INTEGER NOT NULL, handle INTEGER NOT NULL, places BLOB NOT NULL,
    PRIMARY KEY (client, handle)) WITHOUT ROWID;
CREATE TABLE owed (client INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (client, id)) WITHOUT ROWID;
CREATE TABLE missed (client INTEGER NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (client, reason)) WITHOUT ROWID;
CREATE TABLE places (client INTEGER PRIMARY KEY, x REAL NOT NULL, y REAL NOT NULL, vx REAL NOT NULL,
    vy REAL NOT NULL, at REAL NOT NULL);
CREATE TABLE subscriptions (client INTEGER NOT NULL, handle INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (client, handle)) WITHOUT ROWID;
CREATE TABLE log (seq INTEGER PRIMARY KEY, at REAL NOT NULL, id INTEGER NOT NULL, publisher INTEGER NOT NULL,
    scheme INTEGER NOT NULL, epoch INTEGER NOT NULL, recipients BLOB NOT NULL, raw BLOB NOT NULL,
    owner TEXT NOT NULL DEFAULT '');
CREATE TABLE latest (seq INTEGER NOT NULL);
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE history (number INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL,
    content TEXT NOT NULL);
CREATE TABLE borders (client INTEGER PRIMARY KEY, data TEXT NOT NULL);
INSERT INTO latest VALUES (0);
"""


class DatabaseKind(NamedTuple):
    """The form of a database: the number that marks its files, its tables, and the versions of its schema, of
    which files of the `oldest` or later ones can be brought to the `present` one. `checked`: the structure of
    a file is checked as a whole when it is opened, which takes long for a large one."""

    application: int
    schema: str
    oldest: int
    present: int
    checked: bool


EVENTS = DatabaseKind(0x62797073, _SCHEMA, OLDEST, PRESENT, True)  # "byps"


class StoreFailed(BypassError):
    """A store cannot be opened, read or written: names the file, what is wrong with it and what to do."""


class StoreFull(StoreFailed):
    """There is no room to write."""


class Lock:
    """That no other process has the store. It ends with the process, however that ends."""

    def __init__(self, path: Path) -> None:
        lock = path.with_name(f"{path.name}-lock")
        try:
            self._file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _inaccessible(path, error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 20, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise _inaccessible(path, error) from error
            by = f"process {holder}" if holder else "unknown process"
            raise StoreFailed(
                f"{path}: in use by another broker ({by}): stop that one, or use another store"
            ) from None
        with suppress(OSError):  # only for the message above; a full disk has no room for it
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, b"%d\n" % os.getpid(), 0)

    def release(self) -> None:
        os.close(self._file)


def open_database(
    path: Path, sync: Literal["full", "normal"], kind: DatabaseKind = EVENTS
) -> sqlite3.Connection:
    """A connection that writes; creates the file if there is none. Who calls has the lock.

    A store of an earlier schema is copied, and changed to the present one.
    """
    _check_file(path)
    connection = connect(path)
    try:
        version = _check(path, connection, kind)
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreFailed(f"{path}: its file system cannot keep a write-ahead log: use a local disk")
        connection.execute(f"PRAGMA synchronous = {sync}")
        (page,) = connection.execute("PRAGMA page_size").fetchone()
        pages = min(max(room(path) // SHARE // page, FEWEST_WAL_PAGES), WAL_PAGES)
        connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
        begin_log_anew(connection)  # one that has filled a disk must not stay there
        connection.execute("PRAGMA cache_size = -16000")
        # A file for what does not fit into the cache could not be opened while descriptors are used up.
        connection.execute("PRAGMA temp_store = MEMORY")
        # Some builds overwrite with zeros what is deleted; that would double what a released row costs.
        connection.execute("PRAGMA secure_delete = OFF")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            connection.executescript(
                f"BEGIN IMMEDIATE; {kind.schema} PRAGMA application_id = {kind.application};"
                f"PRAGMA user_version = {kind.present}; COMMIT;"
            )
        elif version < kind.present:
            copy = migrate(path, connection, version)
            log.warning("%s: changed from schema %d to %d; as it was: %s", path, version, PRESENT, copy.name)
    except CopyFailed as error:
        connection.close()
        raise StoreFailed(
            f"{path}: cannot be copied before its schema is changed ({error}; {room(path)} bytes free): "
            "nothing was changed, make room or check permissions"
        ) from error
    except sqlite3.Error as error:
        connection.close()
        raise failure(path, error) from error
    except StoreFailed:
        connection.close()
        raise
    return connection


def connect(path: Path) -> sqlite3.Connection:
    """A connection without transactions of its own, which any thread may use."""
    try:
        return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise failure(path, error) from error


def failure(path: Path, error: sqlite3.Error) -> StoreFailed:
    """Say what an error of the database means for the people who run the broker."""
    code = getattr(error, "sqlite_errorcode", None)
    match None if code is None else code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return _full(path)
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN if room(path) < _LITTLE:
            return _full(path)
        case sqlite3.SQLITE_IOERR:
            return StoreFailed(f"{path}: cannot be read or written ({error}): check the disk")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(path, str(error))
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return StoreFailed(f"{path}: cannot be written ({error}): check permissions")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreFailed(f"{path}: locked by another program: end what else has it open")
        case _:
            return StoreFailed(f"{path}: {error}")


def begin_log_anew(connection: sqlite3.Connection) -> None:
    """Put what is in the log into its places, and give back the room that it takes. No effect if that is not
    possible now: nothing is lost then."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def damaged(path: Path, found: str) -> StoreFailed:
    """Something in the file is not what was written."""
    return StoreFailed(
        f"{path}: damaged ({' '.join(found.split())}): restore it from a copy, or move it away to begin anew"
    )


def _check_file(path: Path) -> None:
    """Make the file, readable by nobody else, if there is none; else it must be ours to write."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _inaccessible(path, error) from error
    try:
        start = os.pread(file, len(_MAGIC), 0) if S_ISREG(os.fstat(file).st_mode) else b"no file"
    finally:
        os.close(file)
    if start and start != _MAGIC:
        raise StoreFailed(f"{path}: no database: give the store another path, or move this file away")


def _check(path: Path, connection: sqlite3.Connection, kind: DatabaseKind) -> int:
    """The version of the schema; 0 if there is none yet."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != kind.application and (application or version or tables):
        raise StoreFailed(f"{path}: a database of something else: give the store another path")
    if tables and not kind.oldest <= version <= kind.present:
        which = "a newer" if version > kind.present else "an older"
        raise StoreFailed(
            f"{path}: written by {which} version of bypass with schema {version}: "
            f"expected {kind.oldest} to {kind.present}, use that version or another path"
        )
    if kind.checked:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise damaged(path, found)
    return int(version) if tables else 0


def _full(path: Path) -> StoreFull:
    return StoreFull(f"{path}: no room to write ({room(path)} bytes free): make room on its disk")


def _inaccessible(path: Path, error: OSError) -> StoreFailed:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(path)
    return StoreFailed(f"{path}: cannot be opened for writing ({error.strerror}): check path and permissions")


def room(path: Path) -> int:
    """How many bytes are free on the disk of a file."""
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:  # then it is not room that is missing
        return _LITTLE
