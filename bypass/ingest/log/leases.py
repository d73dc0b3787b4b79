"""Leases of connectors, in a table that all of them see and change one after the other."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from bypass.root_error import BypassError

T = TypeVar("T")

_BUSY_S = 5.0
_TABLE = "CREATE TABLE IF NOT EXISTS leases (application TEXT PRIMARY KEY, members BLOB) WITHOUT ROWID"


class LeasesFailed(BypassError):
    """The table of leases cannot be read or changed."""


class MemberLease(msgspec.Struct, frozen=True):
    """The lease of one connector: its machine, when it ends, the filters that it declares to hold, and the
    life that has it. Of two lives with one name, the one with the lower number has lost it."""

    host: str
    deadline: float
    held: tuple[str, ...] = ()
    life: int = 1


class LeaseTable(Protocol):
    """The leases of all connectors, by application."""

    def change(self, application: str, function: Callable[[dict[str, MemberLease]], T]) -> T:
        """Have a function change the leases of an application, by name, while nobody else does. Gives what
        it gives; it may be called again if somebody else was faster. Raises LeasesFailed."""


decode_leases = msgspec.json.Decoder(dict[str, MemberLease]).decode
encode_leases = msgspec.json.encode


class FileLeases:
    """Leases in an SQLite file."""

    def __init__(self, path: Path) -> None:
        """Use the file `path`. Raises LeasesFailed."""
        self._path = path
        try:
            with sqlite3.connect(path, timeout=_BUSY_S) as table:
                table.execute(_TABLE)
            table.close()
        except sqlite3.Error as error:
            raise LeasesFailed(f"{path}: {error}: expected the table of connectors") from None

    def change(self, application: str, function: Callable[[dict[str, MemberLease]], T]) -> T:
        # Connections are not kept: any thread may call.
        table = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        try:
            table.execute("BEGIN IMMEDIATE")
            row = table.execute("SELECT members FROM leases WHERE application = ?", (application,)).fetchone()
            members = decode_leases(row[0]) if row else {}
            result = function(members)
            table.execute(
                "INSERT OR REPLACE INTO leases VALUES (?, ?)", (application, encode_leases(members))
            )
            table.execute("COMMIT")
        except sqlite3.Error as error:
            raise LeasesFailed(f"{self._path}: {error}: expected to change the leases") from None
        finally:
            table.close()
        return result
