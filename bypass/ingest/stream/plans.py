"""Plans for the pipeline: submitted by anybody, numbered, and carried out by tasks with the next batch."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

from bypass.support.database import open_database
from bypass.transitions import Plan

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS plans (number INTEGER PRIMARY KEY, at REAL NOT NULL, plan BLOB NOT NULL)"
)

_KEPT = 1_000


def submit_plan(path: Path, plan: Plan) -> int:
    """Store a plan; gives its number. Tasks carry it out with the first batch that begins afterwards."""
    with closing(open_database(path, _SCHEMA)) as database, database:
        cursor = database.execute(
            "INSERT INTO plans (at, plan) VALUES (?, ?)", (time.time(), plan.to_bytes())
        )
        return int(cursor.lastrowid or 0)


def latest_plan(path: Path) -> int:
    """The number of the latest plan; 0 if there is none."""
    if not path.exists():
        return 0
    with closing(open_database(path, _SCHEMA)) as database:
        (number,) = database.execute("SELECT coalesce(max(number), 0) FROM plans").fetchone()
        return int(number)


def plans_between(path: Path, after: int, upto: int) -> list[tuple[int, Plan]]:
    """The plans behind one number, up to another, in order."""
    if after >= upto:
        return []
    with closing(open_database(path, _SCHEMA)) as database:
        rows = database.execute(
            "SELECT number, plan FROM plans WHERE number > ? AND number <= ? ORDER BY number", (after, upto)
        ).fetchall()
    return [(number, Plan.from_bytes(data)) for number, data in rows]


def plans_by(path: Path, who: str, most: int = 100) -> list[tuple[int, Plan]]:
    """The latest plans that are signed with a name, in order."""
    if not path.exists():
        return []
    with closing(open_database(path, _SCHEMA)) as database:
        rows = database.execute(
            "SELECT number, plan FROM plans WHERE json_extract(CAST(plan AS TEXT), '$.who') = ?"
            " ORDER BY number DESC LIMIT ?",
            (who, most),
        ).fetchall()
    return [(number, Plan.from_bytes(data)) for number, data in reversed(rows)]


def forget_plans(path: Path, done: int) -> None:
    """Remove plans that were carried out, those up to number `done`, but for the latest `_KEPT`: an adaptive
    policy and people look at them."""
    if done > _KEPT:
        with closing(open_database(path, _SCHEMA)) as database, database:
            database.execute("DELETE FROM plans WHERE number <= ?", (done - _KEPT,))
