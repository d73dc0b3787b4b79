"""The keys of a batch of changes that the store knows already, looked up together."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from bypass.live.broker.objects.changes import DONE, Outcome
from bypass.objects.metadata import Metadata, ObjectKey, content_hash
from bypass.protocol.storage import OperationStatus

TAKEN, DELETED = "objects_key_taken", "objects_deleted_before"

_SAME = (
    "(owner, name) IN (SELECT CAST(json_extract(value, '$[0]') AS INTEGER), json_extract(value, '$[1]') "
    "FROM json_each(?))"
)


class KnownObject(NamedTuple):
    """An object that is here: the number of its arrival, whose it is, and the record of its metadata."""

    arrival: int
    account: str
    digest: bytes
    commitment: bytes

    def opened_by(self, opening: bytes) -> bool:
        """Whether this is the secret that a deletion needs."""
        return content_hash(opening) == self.commitment
