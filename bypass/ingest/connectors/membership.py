"""Membership: which connectors live, and what each is subscribed to, in a table that all of them see.

A connector lives while its lease lasts. It renews the lease; one that was paused for longer finds that it has
lost it. What a connector declares to hold, it is subscribed to: it declares a filter after the broker has
confirmed it, and takes the declaration back before it unsubscribes. It may take it back only if the living
ones still cover all categories: so there is no moment at which nobody is subscribed, whoever sees what.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bypass.ingest.categories import Node
from bypass.ingest.connectors.connector import InvalidConnector, check_at_least
from bypass.ingest.connectors.filters import ApplicationFilters

LEASE_S = 10.0
_BUSY_S = 5.0
_TABLE = """CREATE TABLE IF NOT EXISTS connectors (
    application TEXT, name TEXT, host TEXT, deadline REAL, held TEXT, PRIMARY KEY (application, name)
) WITHOUT ROWID"""


class Renewal(NamedTuple):
    """The answer to a renewed lease: who lives, it among them, and whether its lease had
    run out before."""

    living: tuple[Node, ...]
    lost: bool


class Membership:
    """One connector of an application among the others. `node` has a name that no other connector has."""

    def __init__(
        self,
        path: Path,
        filters: ApplicationFilters,
        node: Node,
        *,
        lease_s: float = LEASE_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Use the table in the file `path`; the connector is no member yet. Raises InvalidConnector."""
        check_at_least("membership", "lease_s", lease_s, 0.001)
        self.node = node
        self.lease_s = lease_s
        self.filters = filters
        self._path = path
        self._clock = clock
        try:
            with self._transaction() as table:
                table.execute(_TABLE)
        except sqlite3.Error as error:
            raise InvalidConnector(f"{path}: {error}: expected the table of connectors") from None

    def join(self) -> None:
        """Begin to live, with nothing held. An earlier life of the same name ends. Raises sqlite3.Error."""
        with self._transaction() as table:
            self._extend(table, "[]")

    def renew(self) -> Renewal:
        """Live on, and see who does. Raises sqlite3.Error."""
        with self._transaction() as table:
            own = table.execute(
                "SELECT deadline, held FROM connectors WHERE application = ? AND name = ?", self._key
            ).fetchone()
            lost = own is None or own[0] < self._clock()
            self._extend(table, own[1] if own else "[]")
            return Renewal(tuple(node for node, _ in self._living(table)), lost)

    def declare(self, held: frozenset[str]) -> None:
        """Say what the connector is subscribed to. Raises sqlite3.Error."""
        with self._transaction() as table:
            self._declare(table, held)

    def release(self, held: frozenset[str], unwanted: frozenset[str]) -> frozenset[str]:
        """Take back the declaration of unwanted filters, as far as the living ones cover all categories
        without them. Gives those that it may unsubscribe from now. Raises sqlite3.Error."""
        covers = self.filters.covers
        with self._transaction() as table:
            others = [each for node, each in self._living(table) if node.name != self.node.name]
            covered = frozenset[str]().union(*map(covers, others))
            released = frozenset[str]()
            for each in sorted(unwanted):
                if covers(frozenset((each,))) <= covered | covers(held - released - {each}):
                    released |= {each}
            self._declare(table, held - released)
        return released

    def leave(self) -> None:
        """Stop to live, at once. Raises sqlite3.Error."""
        with self._transaction() as table:
            table.execute("DELETE FROM connectors WHERE application = ? AND name = ?", self._key)

    @property
    def _key(self) -> tuple[str, str]:
        return self.filters.application, self.node.name

    def _extend(self, table: sqlite3.Connection, held: str) -> None:
        deadline = self._clock() + self.lease_s
        table.execute(
            "INSERT OR REPLACE INTO connectors VALUES (?, ?, ?, ?, ?)",
            (*self._key, self.node.host, deadline, held),
        )

    def _declare(self, table: sqlite3.Connection, held: frozenset[str]) -> None:
        """Note what is held; the lease ends when it would have."""
        table.execute(
            "UPDATE connectors SET held = ? WHERE application = ? AND name = ?",
            (json.dumps(sorted(held)), *self._key),
        )

    def _living(self, table: sqlite3.Connection) -> list[tuple[Node, frozenset[str]]]:
        rows = table.execute(
            "SELECT name, host, held FROM connectors WHERE application = ? AND deadline >= ?",
            (self.filters.application, self._clock()),
        )
        return [(Node(name, host), frozenset(json.loads(held))) for name, host, held in rows]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The table, to oneself. Connections are not kept: any thread may call."""
        table = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        try:
            table.execute("BEGIN IMMEDIATE")
            yield table
            table.execute("COMMIT")
        finally:
            table.close()
