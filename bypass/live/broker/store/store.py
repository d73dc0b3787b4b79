"""The store of a broker, one SQLite file: sessions, publications that are waited for, history."""

from __future__ import annotations

import json
import sqlite3
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from bypass.live.broker.store.batch import MAIN, Batch, Logged, Mark, unpack_places
from bypass.live.broker.store.database import (
    Lock,
    StoreFailed,
    StoreFull,
    begin_log_anew,
    connect,
    damaged,
    failure,
    open_database,
    room,
)
from bypass.live.broker.store.recipients import Recipient, own_recipients, unpack_recipients
from bypass.live.broker.store.statements import UNSIGNED, Row, changes

__all__ = ["Batch", "Loaded", "Logged", "Recipient", "Store", "StoreFailed", "StoredClient", "Waiting"]

WAL_BYTES = 64 << 20
"""Size of the write-ahead log at which writing waits for readers, so that the log can begin anew. It does so
earlier if less than its size is left on the disk."""


NO_MARK = Mark(0, 0, [])


class Waiting(NamedTuple):
    """A stored publication of so many bytes, and those that are not done with it. `lanes` are clients and
    their subscriptions for which it waits apart; `partly` are those of the clients who are done with it for
    another subscription. `publisher` and `owner` are as in `Logged`."""

    seq: int
    at: float
    id: int
    recipients: tuple[Recipient, ...]
    size: int
    publisher: int
    owner: str
    lanes: tuple[tuple[int, int], ...] = ()
    partly: frozenset[int] = frozenset()


@dataclass(slots=True)
class StoredClient:
    """A session as it was. `subscriptions` are wire-encoded by handle, `place` is x, y, vx, vy and when.

    `published` is the number of its latest publication. Up to `known` all were taken; of the later ones some
    may have been refused. `missed` is by reason, `lanes` are how far those of its subscriptions have got that
    have one, `mark` the others. `owed` are events that were given up for some of them, wait for others, and
    that it does not have. `seen` is in seconds for which brokers have served this store.
    """

    number: int
    name: str
    life: int
    published: int
    known: int
    seen: float
    mark: Mark = NO_MARK
    missed: dict[str, int] = field(default_factory=dict)
    lanes: dict[int, Mark] = field(default_factory=dict)
    owed: set[int] = field(default_factory=set)
    subscriptions: dict[int, bytes] = field(default_factory=dict)
    place: tuple[float, float, float, float, float] | None = None


@dataclass(slots=True)
class Loaded:
    """All that a broker starts with. `waiting` is in ascending order; `last_seq` is 0 at first. `borders` is
    what was known of watched clients."""

    clients: list[StoredClient]
    waiting: list[Waiting]
    settings: dict[str, str]
    last_seq: int
    borders: dict[int, str] = field(default_factory=dict)


class Store:
    """The store in the file at `path`, which is created if there is none; no other process may have it.

    `sync` "full": what is written survives loss of power. "normal": it survives the end of the process, and
    loss of power may undo the latest writes, in order, as a whole each. Raises `StoreFailed` if the file is
    damaged, not a store, of another version, not to be written, or in use.
    """

    def __init__(self, path: Path, *, sync: Literal["full", "normal"] = "full") -> None:
        self._path = path.resolve()  # one file, one lock, whatever links lead to it
        self._wal = self._path.with_name(f"{self._path.name}-wal")
        with ExitStack() as opened:
            opened.callback(Lock(self._path).release)
            self._writer = open_database(self._path, sync)
            opened.callback(self._writer.close)
            self._of_log = _Reading(self._path, opened)
            self._of_history = _Reading(self._path, opened)
            self._opened = opened.pop_all()

    def load(self) -> Loaded:
        """All but the publications themselves; those that nobody waits for any more are removed."""
        with self._of_log.query() as query:
            behind = {
                (client, handle): unpack_places(places)
                for client, handle, places in query("SELECT client, handle, places FROM behind")
            }
            clients = {
                number: StoredClient(
                    *(number, name, life % UNSIGNED, published, known, seen),
                    Mark(cursor, sent, behind.get((number, MAIN), [])),
                )
                for number, name, life, published, known, seen, cursor, sent in query(
                    "SELECT number, name, life, published, known, seen, cursor, sent "
                    "FROM clients JOIN marks ON client = number ORDER BY number"
                )
            }
            for client, handle, data in query("SELECT client, handle, data FROM subscriptions"):
                clients[client].subscriptions[handle] = data
            for client, handle, cursor, sent, reached in query(
                "SELECT client, handle, cursor, sent, reached FROM lanes"
            ):
                clients[client].lanes[handle] = Mark(cursor, sent, behind.get((client, handle), []), reached)
            for client, number in query("SELECT client, id FROM owed"):
                clients[client].owed.add(number % UNSIGNED)
            for client, reason, count in query("SELECT client, reason, count FROM missed"):
                clients[client].missed[reason] = count
            for client, x, y, vx, vy, at in query("SELECT client, x, y, vx, vy, at FROM places"):
                clients[client].place = (x, y, vx, vy, at)
            settings = dict(query("SELECT key, value FROM settings").fetchall())
            borders = dict(query("SELECT client, data FROM borders").fetchall())
            (last_seq,) = query("SELECT seq FROM latest").fetchone()
            waiting, idle = _waiting(
                query("SELECT seq, at, id, recipients, length(raw), publisher, owner FROM log ORDER BY seq"),
                clients,
            )
        if idle:
            batch = Batch()
            batch.released(idle)
            self.write(batch)
        return Loaded(list(clients.values()), waiting, settings, last_seq, borders)

    def write(self, batch: Batch) -> None:
        """Make all of a batch durable, or raise `StoreFailed` and leave the store as it was.

        The batch may be written again after that. One thread at a time.
        """
        rows_of = [(change, rows) for change, rows in changes(batch) if rows]
        if not rows_of:
            return
        self._shorten_log(room(self._path))  # before the batch takes the room that this may need
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                for change, rows in rows_of:
                    change.apply(self._writer, rows)
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:  # some errors end it themselves
                    self._writer.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            failed = failure(self._path, error)
            if isinstance(failed, StoreFull):  # it may be the log itself that takes the room
                begin_log_anew(self._writer)
            raise failed from error
        self._shorten_log(WAL_BYTES)

    def _shorten_log(self, most: int) -> None:
        """Have the log begin anew if it has more bytes. That it cannot is no failure of a write."""
        with suppress(OSError):
            if self._wal.stat().st_size > most:
                begin_log_anew(self._writer)

    def read(self, seqs: Sequence[int]) -> list[Logged]:
        """Publications in the order of `seqs`, without those that are not there. From any thread."""
        with self._of_log.query() as query:
            rows = query(
                "SELECT seq, at, id, publisher, scheme, epoch, raw, recipients, owner FROM log "
                "WHERE seq IN (SELECT value FROM json_each(?))",
                (json.dumps(list(seqs)),),
            ).fetchall()
            found = {row[0]: _logged(*row) for row in rows}
        return [found[seq] for seq in seqs if seq in found]

    def records(self, limit: int, before: int | None = None) -> list[tuple[int, float, str, str]]:
        """Give the history, newest first: number, time, kind, content. `before` is such a number.

        From any thread.
        """
        with self._of_history.query() as query:
            return query(
                "SELECT number, at, kind, content FROM history WHERE ? IS NULL OR number < ? "
                "ORDER BY number DESC LIMIT ?",
                (before, before, limit),
            ).fetchall()

    def close(self) -> None:
        """Give the file back. Only once nothing is being written."""
        with self._of_log.one, self._of_history.one:
            self._opened.close()


class _Reading:
    """A connection that reads, for one thread at a time: what is slow must not keep others waiting."""

    def __init__(self, path: Path, opened: ExitStack) -> None:
        self.one = threading.Lock()
        self._path = path
        self._connection = connect(path)
        opened.callback(self._connection.close)

    @contextmanager
    def query(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """A query at a time; what makes no sense is damage, as the database checks no contents."""
        try:
            with self.one:
                yield self._connection.execute
        except sqlite3.Error as error:
            raise failure(self._path, error) from error
        except (struct.error, LookupError, ValueError) as error:
            raise damaged(self._path, f"contents: {error}") from error


class _Progress:
    """How far somebody has got, as a mark says."""

    def __init__(self, mark: Mark) -> None:
        self.reached = mark.reached
        self._cursor = mark.cursor
        self._behind = frozenset(mark.behind or ())

    def waits(self, seq: int) -> bool:
        return self._cursor < seq or seq in self._behind


def _waiting(rows: Iterable[Row], clients: dict[int, StoredClient]) -> tuple[list[Waiting], list[int]]:
    """Publications that somebody waits for, and numbers of the others."""
    waiting: list[Waiting] = []
    idle: list[int] = []
    known: dict[Recipient, Recipient] = {}  # most occur many times: one object for all of them
    cursors = {number: client.mark.cursor for number, client in clients.items()}
    behind = {number: {*client.mark.behind} for number, client in clients.items() if client.mark.behind}
    lanes = {
        number: {handle: _Progress(mark) for handle, mark in client.lanes.items()}
        for number, client in clients.items()
        if client.lanes
    }
    for seq, at, number, data, size, publisher, owner in rows:
        recipients = [
            known.setdefault(recipient, recipient)
            for recipient in unpack_recipients(data)
            if cursors.get(recipient[0], seq) < seq or seq in behind.get(recipient[0], ())
        ]
        apart: tuple[tuple[int, int], ...] = ()
        partly: frozenset[int] = frozenset()
        if lanes:
            waits = {each[0] for each in recipients}
            apart, partly = _apart(seq, unpack_recipients(data), waits, lanes)
            recipients = [
                each for each in recipients if not each[1] or {*each[1]} - lanes.get(each[0], {}).keys()
            ]
        if recipients or apart:
            whose = number % UNSIGNED, tuple(recipients), size, publisher, owner
            waiting.append(Waiting(seq, at, *whose, apart, partly))
        else:
            idle.append(seq)
    return waiting, idle


def _apart(
    seq: int, recipients: Iterable[Recipient], others: set[int], lanes: dict[int, dict[int, _Progress]]
) -> tuple[tuple[tuple[int, int], ...], frozenset[int]]:
    """Clients and their subscriptions in whose lanes a publication waits, and those clients who wait for it
    and are done with it for another subscription. `others` are not done with it where there is no lane."""
    apart: dict[tuple[int, int], None] = {}
    waiting: set[int] = set()
    done: set[int] = set()
    for client, handles, _ in recipients:
        own = lanes.get(client, {})
        for handle in handles if own else ():
            lane = own.get(handle)
            waits = client in others if lane is None or lane.reached < seq else lane.waits(seq)
            (waiting if waits else done).add(client)
            if waits and lane is not None:
                apart[client, handle] = None
    return tuple(apart), frozenset(waiting & done)


def _logged(
    seq: int,
    at: float,
    number: int,
    publisher: int,
    scheme: int,
    epoch: int,
    raw: bytes,
    recipients: bytes,
    owner: str,
) -> Logged:
    own_recipients(recipients, 0)  # raises if that is none
    return Logged(seq, at, number % UNSIGNED, publisher, scheme, epoch, raw, recipients, owner)
