"""Accounts of stored objects: the objects and bytes of each key, and whether it may have more."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from bypass.live.broker.config import ObjectLimits
from bypass.live.broker.objects.changes import ChangeOutcome
from bypass.live.broker.store.statements import Change
from bypass.protocol.storage import OperationStatus

OVER_OBJECTS, OVER_BYTES = "objects_over_number", "objects_over_bytes"
OVER_ALL_OBJECTS, OVER_ALL_BYTES = "objects_over_total_number", "objects_over_total_bytes"

_WRITE = Change(4, "INSERT OR REPLACE INTO accounts @")
_FORGET = Change(1, "DELETE FROM accounts WHERE account IN (@)")


@dataclass(slots=True)
class ObjectAccount:
    """The objects of one key, uploads included; their bytes, with those of metadata; and its tombstones."""

    objects: int = 0
    bytes: int = 0
    tombstones: int = 0


class ObjectAccounts:
    """All accounts. `write` stores the changed ones, in the transaction that changes the objects."""

    def __init__(self, limits: ObjectLimits) -> None:
        self.objects = 0
        self.bytes = 0
        self._limits = limits
        self._accounts: dict[str, ObjectAccount] = {}
        self._changed: set[str] = set()

    def load(self, connection: sqlite3.Connection) -> None:
        """Read the accounts in the store, in place of those in memory."""
        rows = connection.execute("SELECT account, objects, bytes, tombstones FROM accounts").fetchall()
        self._accounts = {name: ObjectAccount(*counts) for name, *counts in rows}
        self._changed.clear()
        self.objects = sum(each.objects for each in self._accounts.values())
        self.bytes = sum(each.bytes for each in self._accounts.values())

    def refusal(self, name: str, charge: int) -> ChangeOutcome | None:
        """Why an account may not have one more object of so many bytes; None if it may."""
        limits, account = self._limits, self._accounts.get(name, ObjectAccount())
        checks = (
            (account.objects + 1, limits.objects_per_key, f"objects of {name}", OVER_OBJECTS),
            (account.bytes + charge, limits.bytes_per_key, f"bytes of objects of {name}", OVER_BYTES),
            (self.objects + 1, limits.objects, "objects here", OVER_ALL_OBJECTS),
            (self.bytes + charge, limits.bytes, "bytes of objects here", OVER_ALL_BYTES),
        )
        for count, most, what, reason in checks:
            if count > most:
                detail = f"{count} {what}: expected at most {most}"
                return ChangeOutcome(OperationStatus.QUOTA, detail, reason)
        return None

    def add(self, name: str, charge: int) -> None:
        """Count one more object, of so many bytes, for an account."""
        self._charge(name, 1, charge)

    def remove(self, name: str, charge: int) -> None:
        """Count one object less, of so many bytes, for an account."""
        self._charge(name, -1, -charge)

    def bury(self, name: str, count: int = 1) -> int:
        """Count more tombstones of an account, or fewer if `count` is below 0. Their number then."""
        account = self._account(name)
        account.tombstones += count
        return account.tombstones

    def write(self, connection: sqlite3.Connection) -> None:
        """Write the accounts that have changed."""
        changed = [(name, self._accounts[name]) for name in sorted(self._changed)]
        kept = [(name, each) for name, each in changed if each.objects or each.tombstones]
        _WRITE.apply(connection, [(name, each.objects, each.bytes, each.tombstones) for name, each in kept])
        gone = [(name,) for name, each in changed if not (each.objects or each.tombstones)]
        _FORGET.apply(connection, gone)
        for (name,) in gone:
            del self._accounts[name]
        self._changed.clear()

    def _charge(self, name: str, objects: int, size: int) -> None:
        account = self._account(name)
        account.objects += objects
        account.bytes += size
        self.objects += objects
        self.bytes += size

    def _account(self, name: str) -> ObjectAccount:
        self._changed.add(name)
        return self._accounts.setdefault(name, ObjectAccount())
