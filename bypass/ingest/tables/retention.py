"""Retention: how long and how much of each data region is kept, and the removal of the rest."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction

from bypass.errors import BypassError, shown
from bypass.ingest.tables.delta import commit_actions
from bypass.ingest.tables.files import file_path
from bypass.ingest.tables.schema import MEASUREMENTS, PARTITION
from bypass.support.database import open_database

MOST_FILES = 10_000
"""How many files are removed at once; the rest is removed the next time."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS regions (region TEXT PRIMARY KEY, days INTEGER, bytes INTEGER);
CREATE TABLE IF NOT EXISTS expired (region TEXT PRIMARY KEY, rows INTEGER NOT NULL, bytes INTEGER NOT NULL);
"""


class InvalidRetention(BypassError):
    """A retention that cannot be kept to."""


@dataclass(frozen=True, slots=True)
class RegionLimits:
    """The limits of a data region. What was received `days` days before today or later is kept, and no more
    than `bytes` bytes: older days are removed first, today never. None: no such limit."""

    days: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        """Raises InvalidRetention."""
        for name in ("days", "bytes"):
            value = getattr(self, name)
            if value is not None and not 1 <= value < 1 << 62:
                raise InvalidRetention(f"{name} is {shown(value)}: expected at least 1")
        if self.days is not None and self.days > 100_000:
            raise InvalidRetention(f"days is {self.days}: expected at most 100000")


class Expiry(NamedTuple):
    """The removal from one region: its days, files, rows and bytes; `over` bytes are left beyond the limit,
    of today."""

    region: str
    days: int
    files: int
    rows: int
    bytes: int
    over: int


def set_retention(path: Path, region: str, limits: RegionLimits) -> None:
    """Limit a region from now on. One without limits is kept for ever."""
    with closing(open_database(path, _SCHEMA)) as database, database:
        database.execute("DELETE FROM regions WHERE region = ?", (region,))
        if limits != RegionLimits():
            values = (region, limits.days, limits.bytes)
            database.execute("INSERT INTO regions VALUES (?, ?, ?)", values)


def read_retentions(path: Path) -> dict[str, RegionLimits]:
    """Read the limits of all regions that have any."""
    if not path.exists():
        return {}
    with closing(open_database(path, _SCHEMA)) as database:
        rows = database.execute("SELECT region, days, bytes FROM regions ORDER BY region")
        return {region: RegionLimits(days, size) for region, days, size in rows}


def read_expired(path: Path) -> dict[str, tuple[int, int]]:
    """Read the rows and bytes that were removed of each region, in total."""
    if not path.exists():
        return {}
    with closing(open_database(path, _SCHEMA)) as database:
        rows = database.execute("SELECT region, rows, bytes FROM expired ORDER BY region")
        return {region: (count, size) for region, count, size in rows}


def expire_regions(table: Path, settings: Path, today: date) -> list[Expiry]:
    """Remove what is beyond the limits of its region, and count it; gives what was done where anything was,
    or where a limit cannot be kept.

    If somebody else has changed the same files meanwhile, nothing is done. A process that is killed between
    the removal and its count leaves it uncounted.
    """
    retentions = read_retentions(settings)
    if not retentions or not DeltaTable.is_deltatable(str(table)):
        return []
    delta = DeltaTable(str(table))
    by_region: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for add in pa.table(delta.get_add_actions(flatten=True)).to_pylist():
        days = by_region.setdefault(add["partition.region"], {})
        days.setdefault(add["partition.day"], []).append(add)
    found: list[Expiry] = []
    removed: list[dict[str, Any]] = []
    for region, retention in retentions.items():
        days = by_region.get(region, {})
        files, over = _beyond(days, retention, today, MOST_FILES - len(removed))
        removed += files
        rows, size = (sum(each[name] for each in files) for name in ("num_records", "size_bytes"))
        if files or over:
            found.append(
                Expiry(region, len({each["partition.day"] for each in files}), len(files), rows, size, over)
            )
    if removed:
        now = int(time.time() * 1000)
        actions: list[AddAction | RemoveAction] = [
            RemoveAction(file_path(each["path"]), True, now) for each in removed
        ]
        try:
            commit_actions(delta, actions, MEASUREMENTS, PARTITION)
        except CommitFailedError:
            return []
        _count(settings, found)
    return found


def _beyond(
    days: dict[str, list[dict[str, Any]]], retention: RegionLimits, today: date, most: int
) -> tuple[list[dict[str, Any]], int]:
    """The files of a region that are beyond its limits, at most so many, whole days if that is possible; and
    the bytes beyond the limit that are of today."""
    first = (today - timedelta(days=retention.days)).isoformat() if retention.days is not None else ""
    size = sum(each["size_bytes"] for files in days.values() for each in files)
    limit = size if retention.bytes is None else retention.bytes
    chosen: list[dict[str, Any]] = []
    for day, files in sorted(days.items()):
        if day >= today.isoformat() or (day >= first and size <= limit):
            break
        room = files[: most - len(chosen)]
        chosen += room
        size -= sum(each["size_bytes"] for each in room)
        if len(room) < len(files):
            return chosen, 0
    return chosen, max(0, size - limit)


def _count(path: Path, found: list[Expiry]) -> None:
    with closing(open_database(path, _SCHEMA)) as database, database:
        database.executemany(
            "INSERT INTO expired VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET "
            "rows = rows + excluded.rows, bytes = bytes + excluded.bytes",
            [(each.region, each.rows, each.bytes) for each in found if each.files],
        )
