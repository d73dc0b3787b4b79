"""The keys of a batch of changes that are taken already: objects and tombstones, looked up together."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from typing import NamedTuple

from bypass.live.broker.objects.changes import DONE, ChangeOutcome
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.protocol.storage import OperationStatus

TAKEN, DELETED = "objects_name_taken", "objects_deleted_before"

_ASKED = (
    "WHERE (owner, name) IN (SELECT CAST(json_extract(value, '$[0]') AS INTEGER), "
    "CAST(json_extract(value, '$[1]') AS TEXT) FROM json_each(?))"
)


class KnownObject(NamedTuple):
    """An object that is here: the number of its arrival (0: in this batch), and the account that owns it."""

    arrival: int
    account: str
    metadata: Metadata


class KnownKeys:
    """Objects and tombstones that have some of these keys; `tombstones` are account and opening."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        keys: Iterable[ObjectKey],
        decode: Callable[[bytes], Metadata],
    ) -> None:
        asked = json.dumps([*keys])
        self.objects = {
            ObjectKey(owner, name): KnownObject(arrival, account, decode(record))
            for owner, name, arrival, account, record in connection.execute(
                f"SELECT owner, name, arrival, account, metadata FROM objects {_ASKED}",  # noqa: S608
                (asked,),
            )
        }
        self.tombstones = {
            ObjectKey(owner, name): (account, opening)
            for owner, name, account, opening in connection.execute(
                f"SELECT owner, name, account, opening FROM tombstones {_ASKED}",  # noqa: S608
                (asked,),
            )
        }

    def answer(self, metadata: Metadata) -> ChangeOutcome | None:
        """The outcome for an object whose key is taken: OK if it is the same object, else a refusal. None if
        the key is free."""
        key = metadata.key
        if key in self.tombstones:
            detail = f"object {key} was deleted: expected a name that is new"
            return ChangeOutcome(OperationStatus.REFUSED, detail, DELETED)
        known = self.objects.get(key)
        if known is None:
            return None
        if (known.metadata.digest, known.metadata.commitment) == (metadata.digest, metadata.commitment):
            return DONE
        detail = f"object {key} exists: expected a name that is new"
        return ChangeOutcome(OperationStatus.REFUSED, detail, TAKEN)

    def add(self, account: str, metadata: Metadata) -> None:
        """Note an object that was stored by this batch."""
        self.objects[metadata.key] = KnownObject(0, account, metadata)
