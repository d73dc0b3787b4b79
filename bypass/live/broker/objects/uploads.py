"""Uploads: objects whose bytes come in parts, kept until they are complete, over restarts, too."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from bypass.live.broker.objects.accounts import ObjectAccounts
from bypass.live.broker.objects.changes import AddPart, BeginUpload, ChangeOutcome
from bypass.live.broker.objects.object_database import PART_BYTES, part_number, parts_of
from bypass.objects.metadata import HASH_BYTES, Metadata, ObjectKey
from bypass.protocol.storage import OperationStatus

MOST_UPLOADS = 8
"""Objects of one key that are incomplete at a time."""

ABANDONED_S = 300.0
"""An upload to which nothing was added for so long gives way to another one of its key."""

UNBEGUN, MISPLACED, DAMAGED = "uploads_unbegun", "uploads_misplaced", "uploads_damaged"
TOO_MANY = "uploads_too_many"


@dataclass(slots=True)
class Upload:
    """An object that is incomplete: `hashed` is the hash of the bytes that were `received`."""

    blob: int
    account: str
    charge: int
    received: int
    metadata: Metadata
    record: bytes
    hashed: blake2b


class Uploads:
    """The uploads of all accounts, for the thread that writes.

    An upload that an earlier process began is read from the store when it goes on.
    """

    def __init__(
        self, connection: sqlite3.Connection, accounts: ObjectAccounts, decode: Callable[[bytes], Metadata]
    ) -> None:
        self._connection = connection
        self._accounts = accounts
        self._decode = decode
        self._known: dict[ObjectKey, Upload] = {}

    def forget(self) -> None:
        """Forget what is in memory, which a failed transaction may have changed; the store is read again."""
        self._known.clear()

    def begin(self, change: BeginUpload, number: Callable[[], int], now: float) -> ChangeOutcome:
        """Begin an upload, or go on with it. The outcome says from which offset on bytes are missing."""
        metadata, record = change.metadata, change.record
        upload = self._find(metadata.key)
        if upload is not None and (upload.record != record or upload.account != change.account):
            self._drop(upload)  # the owner wants another object under this name now
            upload = None
        if upload is None:
            charge = metadata.size + len(record)
            refused = self._accounts.refusal(change.account, charge)
            if refused is not None:
                return refused
            (count, oldest) = self._connection.execute(
                "SELECT count(*), min(at) FROM uploads WHERE account = ?", (change.account,)
            ).fetchone()
            if count >= MOST_UPLOADS and oldest < now - ABANDONED_S:
                count -= self._expire("account = ? AND at = ?", (change.account, oldest))
            if count >= MOST_UPLOADS:
                detail = (
                    f"{count} objects of {change.account} are incomplete: expected at most {MOST_UPLOADS}"
                )
                return ChangeOutcome(OperationStatus.QUOTA, detail, TOO_MANY)
            upload = Upload(number(), change.account, charge, 0, metadata, record, _hash())
            self._known[metadata.key] = upload
            self._accounts.add(change.account, charge)
            self._connection.execute(
                "INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?, 0, ?)",
                (upload.blob, *metadata.key, change.account, now, charge, record),
            )
        return ChangeOutcome(OperationStatus.OK, missing=upload.received)

    def add(self, change: AddPart, now: float) -> tuple[ChangeOutcome, Upload | None]:
        """Add a part. Its outcome, and the upload if that is complete now and has the right hash.

        A part that is there already changes nothing, and is OK.
        """
        upload = self._find(change.key)
        if upload is None or upload.account != change.account:
            detail = f"object {change.key}: expected to be inserted before its parts come"
            return ChangeOutcome(OperationStatus.REFUSED, detail, UNBEGUN), None
        if change.offset < upload.received:
            return ChangeOutcome(OperationStatus.OK, missing=upload.received), None
        size = min(PART_BYTES, upload.metadata.size - upload.received)
        if change.offset != upload.received or len(change.data) != size:
            detail = (
                f"object {change.key}: {len(change.data)} bytes at {change.offset}: "
                f"expected {size} at {upload.received}"
            )
            return ChangeOutcome(OperationStatus.REFUSED, detail, MISPLACED, missing=upload.received), None
        self._connection.execute(
            "INSERT OR REPLACE INTO parts VALUES (?, ?)",
            (part_number(upload.blob, change.offset), change.data),
        )
        upload.hashed.update(change.data)
        upload.received += size
        if upload.received < upload.metadata.size:
            self._connection.execute(
                "UPDATE uploads SET received = ?, at = ? WHERE blob = ?", (upload.received, now, upload.blob)
            )
            return ChangeOutcome(OperationStatus.OK, missing=upload.received), None
        if upload.hashed.digest() != upload.metadata.digest:
            self._drop(upload)
            detail = f"object {change.key}: expected the bytes that its metadata has the hash of"
            return ChangeOutcome(OperationStatus.REFUSED, detail, DAMAGED), None
        self._connection.execute("DELETE FROM uploads WHERE blob = ?", (upload.blob,))
        self._accounts.remove(upload.account, upload.charge)  # the object itself is charged from now on
        del self._known[change.key]
        return ChangeOutcome(OperationStatus.OK), upload

    def expire(self, before: float) -> int:
        """Remove the uploads to which nothing was added since a time. Their number."""
        return self._expire("at < ?", (before,))

    def _expire(self, which: str, values: tuple[object, ...]) -> int:
        rows = self._connection.execute(
            f"SELECT owner, name FROM uploads WHERE {which}",  # noqa: S608
            values,
        ).fetchall()
        for owner, name in rows:
            upload = self._find(ObjectKey(owner, name))
            assert upload is not None
            self._drop(upload)
        return len(rows)

    def remove_parts(self, upload: Upload) -> None:
        """Remove the bytes of an upload."""
        self._connection.execute("DELETE FROM parts WHERE part BETWEEN ? AND ?", parts_of(upload.blob))

    def _drop(self, upload: Upload) -> None:
        self._known.pop(upload.metadata.key, None)
        self._accounts.remove(upload.account, upload.charge)
        self._connection.execute("DELETE FROM uploads WHERE blob = ?", (upload.blob,))
        self.remove_parts(upload)

    def _find(self, key: ObjectKey) -> Upload | None:
        known = self._known.get(key)
        if known is not None:
            return known
        row = self._connection.execute(
            "SELECT blob, account, charge, received, metadata FROM uploads WHERE owner = ? AND name = ?", key
        ).fetchone()
        if row is None:
            return None
        blob, account, charge, received, record = row
        hashed = _hash()
        parts = self._connection.execute(
            "SELECT data FROM parts WHERE part BETWEEN ? AND ? ORDER BY part", parts_of(blob)
        )
        for (data,) in parts:
            hashed.update(data)
        upload = Upload(blob, account, charge, received, self._decode(record), record, hashed)
        self._known[key] = upload
        return upload


def _hash() -> blake2b:
    return blake2b(digest_size=HASH_BYTES)
