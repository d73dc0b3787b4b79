"""The subscriptions and events of `attributes.py`, and the same selection by databases."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import duckdb

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr

KINDS = [f"kind-{n}" for n in range(20)]


class Wanted(NamedTuple):
    """The wish of a subscription: an identifier, a range of levels and a set of kinds."""

    id: int
    low: int
    high: int
    kinds: tuple[str, ...]

    def subscription(self) -> Subscription:
        return (
            (attr("id") == self.id)
            & (attr("level") >= self.low)
            & (attr("level") < self.high)
            & attr("kind").in_(self.kinds)
        )


def draw(number: int, keys: int) -> list[Wanted]:
    """Different subscriptions, of which about one in twenty of those with its identifier accepts an event."""
    random_ = random.Random(1)
    drawn = []
    for _ in range(number):
        low = random_.randrange(90)
        kinds = tuple(random_.sample(KINDS, 10))
        drawn.append(Wanted(random_.randrange(keys), low, low + random_.randint(2, 20), kinds))
    return drawn


def draw_events(number: int, keys: int) -> list[Event]:
    random_ = random.Random(2)
    return [
        Event(id=random_.randrange(keys), level=random_.randrange(100), kind=random_.choice(KINDS))
        for _ in range(number)
    ]


class Sqlite:
    """The same selection by a table with an index, in memory; kinds are bits."""

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self.database = sqlite3.connect(":memory:")
        self.database.execute(
            "CREATE TABLE wanted (number INTEGER, id INTEGER, low REAL, high REAL, kinds INTEGER)"
        )
        self.database.executemany("INSERT INTO wanted VALUES (?, ?, ?, ?, ?)", _rows(wanted))
        self.database.execute("CREATE INDEX by_id ON wanted (id, low, high)")

    def find(self, event: Event) -> list[Any]:
        return self.database.execute(_QUERY, _arguments(event)).fetchall()


class Duck:
    """The same selection by DuckDB, in memory, prepared and on one thread."""

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self.database = duckdb.connect(":memory:", config={"threads": 1})
        self.database.execute(
            "CREATE TABLE wanted (number INTEGER, id INTEGER, low REAL, high REAL, kinds INTEGER)"
        )
        rows = _rows(wanted)
        for first in range(0, len(rows), 1000):
            values = ", ".join(map(str, rows[first : first + 1000]))
            self.database.execute(f"INSERT INTO wanted VALUES {values}")
        self.database.execute("CREATE INDEX by_id ON wanted (id)")

    def find(self, event: Event) -> list[Any]:
        return self.database.execute(_QUERY, _arguments(event)).fetchall()


_QUERY = "SELECT number FROM wanted WHERE id = ? AND low <= ? AND high > ? AND (kinds & ?) != 0"


def _rows(wanted: Sequence[Wanted]) -> list[tuple[int, int, int, int, int]]:
    bits = {kind: 1 << i for i, kind in enumerate(KINDS)}
    return [(n, w.id, w.low, w.high, sum(bits[kind] for kind in w.kinds)) for n, w in enumerate(wanted)]


def _arguments(event: Event) -> tuple[Any, ...]:
    return event["id"], event["level"], event["level"], 1 << KINDS.index(event["kind"])
