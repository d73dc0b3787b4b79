"""The store of objects, one SQLite file: metadata, an index by tag, bytes in parts, tombstones."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby
from pathlib import Path
from struct import pack, unpack
from typing import Literal

from bypass.live.broker.config import ObjectLimits
from bypass.live.broker.objects.accounts import ObjectAccounts
from bypass.live.broker.objects.changes import (
    DONE,
    AddPart,
    ArrivedObject,
    BeginUpload,
    ChangeOutcome,
    DeleteObject,
    ObjectChange,
    PutObject,
    SweepObjects,
)
from bypass.live.broker.objects.known_keys import KnownKeys
from bypass.live.broker.objects.object_database import OBJECTS, part_number, parts_of
from bypass.live.broker.objects.tag_numbers import WordNumbers
from bypass.live.broker.objects.uploads import Uploads
from bypass.live.broker.store.database import Lock, begin_log_anew, failure, open_database
from bypass.live.broker.store.statements import Change, Row
from bypass.objects.metadata import Metadata
from bypass.protocol.storage import OperationStatus

MOST_TOMBSTONES = 10_000
"""Tombstones of one key; then its oldest go."""

SWEPT = 500
"""Objects that are removed for their age at a time: what else is to be written must not wait for long."""

WAL_BYTES = 128 << 20
"""Size of the write-ahead log at which writing waits for readers, so that the log can begin anew."""

NOT_FOUND, NOT_OWNER = "objects_not_found", "objects_not_owner"

_OBJECTS = Change(11, "INSERT INTO objects @")
_TAGGED = Change(5, "INSERT INTO tagged @")
_PARTS = Change(2, "INSERT OR REPLACE INTO parts @")
_UNTAG = Change(
    4,
    # Without the casts the whole index would be gone through.
    "DELETE FROM tagged WHERE (word, published, owner, name) IN (SELECT CAST(column1 AS INTEGER), "
    "CAST(column2 AS INTEGER), CAST(column3 AS INTEGER), CAST(column4 AS TEXT) FROM (@))",
)


class ObjectStore:
    """The objects in the file at `path`, which is created if there is none; no other process may have it.

    It is for the thread that writes; `pages` reads by connections of its own. `decode` reads metadata from
    its stored bytes. Raises StoreFailed as `Store` does.
    """

    def __init__(
        self,
        path: Path,
        sync: Literal["full", "normal"],
        limits: ObjectLimits,
        decode: Callable[[bytes], Metadata],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.path = path.resolve()
        self._wal = self.path.with_name(f"{self.path.name}-wal")
        self._limits = limits
        self._now = now
        with ExitStack() as opened:
            opened.callback(Lock(self.path).release)
            self._connection = open_database(self.path, sync, OBJECTS)
            opened.callback(self._connection.close)
            self._opened = opened.pop_all()
        self.accounts = ObjectAccounts(limits)
        self._words = WordNumbers()
        self._uploads = Uploads(self._connection, self.accounts, decode)
        self._decode = decode
        self._arrival = 0
        self._latest = (0, 0)  # the numbers in the file
        try:
            with self._failures():
                self._load()
                self._correct_times()
        except BaseException:
            self.close()
            raise

    @property
    def arrival(self) -> int:
        """The number of the latest arrival."""
        return self._arrival

    def apply(self, changes: Sequence[ObjectChange]) -> list[ChangeOutcome]:
        """Make changes durable, all in one transaction. The outcome of each.

        Raises StoreFailed if nothing could be written; all is as before then.
        """
        with self._failures():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                outcomes: list[ChangeOutcome] = []
                for kind, together in groupby(changes, type):
                    outcomes += self._applied(kind, [*together])
                self._words.write(self._connection)
                self.accounts.write(self._connection)
                latest = (self._arrival, self._words.latest)
                if latest != self._latest:
                    self._connection.execute("UPDATE latest SET arrival = ?, word = ?", latest)
                self._connection.execute("COMMIT")
                self._latest = latest
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._load()
                raise
        self._shorten_log()
        return outcomes

    def close(self) -> None:
        """Close the file; another process may have it from now on."""
        self._opened.close()

    def _load(self) -> None:
        self._latest = self._connection.execute("SELECT arrival, word FROM latest").fetchone()
        self._arrival, word = self._latest
        self._words.load(word)
        self.accounts.load(self._connection)
        self._uploads.forget()

    def _correct_times(self) -> None:
        """Count ages from now on where a clock was ahead that is set back now: what came under it would stay
        for as long, and so would all that came later.

        A broker's clock does not jump while it runs, so the oldest and the latest show whether it was ahead.
        """
        now = self._now()
        for table, order in (("objects", "arrival"), ("tombstones", "number"), ("uploads", "blob")):
            ends = f"SELECT at FROM {table} ORDER BY {order}"  # noqa: S608 - names from above
            found = self._connection.execute(
                f"SELECT max(at) FROM (SELECT * FROM ({ends} LIMIT 1)"  # noqa: S608
                f" UNION ALL SELECT * FROM ({ends} DESC LIMIT 1))"
            ).fetchone()
            if found[0] is not None and found[0] > now:
                self._connection.execute(f"UPDATE {table} SET at = ? WHERE at > ?", (now, now))  # noqa: S608

    def _applied(self, kind: type, changes: list[ObjectChange]) -> Iterator[ChangeOutcome]:
        if kind is PutObject:
            return iter(self._put([each for each in changes if isinstance(each, PutObject)]))
        return map(self._apply_one, changes)

    def _apply_one(self, change: ObjectChange) -> ChangeOutcome:
        match change:
            case BeginUpload():
                known = KnownKeys(self._connection, [change.metadata.key], self._decode)
                answer = known.answer(change.metadata)
                return answer or self._uploads.begin(change, self._next_arrival, self._now())
            case AddPart():
                outcome, complete = self._uploads.add(change, self._now())
                if complete is None:
                    return outcome
                put = PutObject(change.account, complete.metadata, complete.record, b"")
                (outcome,) = self._put([put], complete.blob)
                if outcome.arrived is None:  # its name was taken meanwhile: nobody has these bytes
                    self._uploads.remove_parts(complete)
                return outcome
            case DeleteObject():
                return self._delete(change)
            case SweepObjects():
                return self._sweep(change)
        raise AssertionError(change)

    # -- objects that come --------------------------------------------------------------------------------

    def _put(self, puts: Sequence[PutObject], blob: int | None = None) -> list[ChangeOutcome]:
        """Store objects; the bytes of one with a `blob` are there already."""
        known = KnownKeys(self._connection, [each.metadata.key for each in puts], self._decode)
        self._words.find(
            self._connection,
            {(each.metadata.namespace, tag) for each in puts for tag in (*each.metadata.tags, "")},
        )
        objects: list[Row] = []
        tagged: list[Row] = []
        parts: list[Row] = []
        outcomes: list[ChangeOutcome] = []
        now = self._now()
        for account, metadata, record, data in puts:
            charge = metadata.size + len(record)
            outcome = known.answer(metadata) or self.accounts.refusal(account, charge)
            if outcome is not None:
                outcomes.append(outcome)
                continue
            known.add(account, metadata)
            self.accounts.add(account, charge)
            arrival = self._next_arrival()
            bytes_of = arrival if blob is None else blob
            (owner, name), published = metadata.key, metadata.published_us
            numbers = [self._words.number((metadata.namespace, tag)) for tag in (*metadata.tags, "")]
            objects.append(
                (
                    *(arrival, owner, name, account, now, published, metadata.size, charge, bytes_of),
                    pack(f"<{len(numbers)}q", *numbers),
                    record,
                )
            )
            tagged += [(number, published, owner, name, arrival) for number in numbers]
            if blob is None:
                parts.append((part_number(bytes_of, 0), data))
            outcomes.append(
                ChangeOutcome(OperationStatus.OK, arrived=ArrivedObject(arrival, metadata, record))
            )
        _OBJECTS.apply(self._connection, objects)
        tagged.sort()
        _TAGGED.apply(self._connection, tagged)
        _PARTS.apply(self._connection, parts)
        return outcomes

    def _next_arrival(self) -> int:
        self._arrival += 1
        return self._arrival

    # -- objects that go ----------------------------------------------------------------------------------

    def _delete(self, change: DeleteObject) -> ChangeOutcome:
        known = KnownKeys(self._connection, [change.key], self._decode)
        buried = known.tombstones.get(change.key)
        stored = known.objects.get(change.key)
        if stored is None:
            if buried == (change.account, change.opening):
                return DONE
            detail = f"object {change.key}: expected one that is here"
            return ChangeOutcome(OperationStatus.NOT_FOUND, detail, NOT_FOUND)
        if stored.account != change.account or not stored.metadata.opened_by(change.opening):
            detail = f"object {change.key}: expected to be deleted by its owner"
            return ChangeOutcome(OperationStatus.NOT_OWNER, detail, NOT_OWNER)
        self._remove([stored.arrival])
        self._connection.execute(
            "INSERT INTO tombstones (owner, name, account, at, opening) VALUES (?, ?, ?, ?, ?)",
            (*change.key, change.account, self._now(), change.opening),
        )
        if self.accounts.bury(change.account) > MOST_TOMBSTONES:
            self._connection.execute(
                "DELETE FROM tombstones WHERE number = "
                "(SELECT min(number) FROM tombstones WHERE account = ?)",
                (change.account,),
            )
            self.accounts.bury(change.account, -1)
        return ChangeOutcome(OperationStatus.OK, removed=1)

    def _sweep(self, change: SweepObjects) -> ChangeOutcome:
        old = [
            arrival
            for arrival, at in self._connection.execute(
                "SELECT arrival, at FROM objects ORDER BY arrival LIMIT ?", (SWEPT,)
            ).fetchall()
            if at < change.before
        ]
        self._remove(old)
        self._uploads.expire(change.idle)
        rows = self._connection.execute(
            "DELETE FROM tombstones WHERE number IN (SELECT number FROM tombstones ORDER BY number LIMIT ?) "
            "AND at < ? RETURNING account",
            (SWEPT, change.before),
        ).fetchall()
        for (account,) in rows:
            self.accounts.bury(account, -1)
        return ChangeOutcome(OperationStatus.OK, removed=len(old))

    def _remove(self, arrivals: Sequence[int]) -> None:
        tagged: list[Row] = []
        for arrival in arrivals:
            owner, name, account, published, charge, blob, tags = self._connection.execute(
                "DELETE FROM objects WHERE arrival = ? "
                "RETURNING owner, name, account, published, charge, blob, tags",
                (arrival,),
            ).fetchall()[0]
            numbers = unpack(f"<{len(tags) // 8}q", tags)
            self._words.release(numbers)
            tagged += [(number, published, owner, name) for number in numbers]
            self._connection.execute("DELETE FROM parts WHERE part BETWEEN ? AND ?", parts_of(blob))
            self.accounts.remove(account, charge)
        _UNTAG.apply(self._connection, sorted(tagged))

    # -- the file -----------------------------------------------------------------------------------------

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise failure(self.path, error) from error

    def _shorten_log(self) -> None:
        with suppress(OSError):
            if self._wal.stat().st_size > WAL_BYTES:
                begin_log_anew(self._connection)
