"""The commits of the table of measurements: which files each has added, and which ones a version has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from bypass.ingest.queries.invalid import CursorExpired
from bypass.ingest.tables.delta import APPLICATION
from bypass.ingest.tables.files import file_path
from bypass.ingest.tables.schema import MINUTE_MS


class TableFile(NamedTuple):
    """A file of the table, with its partition, its rows, and the smallest and largest time in it."""

    path: Path
    region: str
    day: str
    rows: int
    earliest: int
    latest: int

    def may_have(self, since: int | None, until: int | None) -> bool:
        """Whether it may have measurements of a window; a batched row has the begin of its minute."""
        return (since is None or self.latest > since - MINUTE_MS) and (until is None or self.earliest < until)


class Commit(NamedTuple):
    """A commit: its time (ms), the number of its batch, and the files with new measurements.

    One that is of no batch, such as a compaction, adds nothing.
    """

    at: int
    batch: int | None
    files: list[TableFile]


class CommitLog:
    """The versions of one table, as its log has them."""

    def __init__(self, table: Path) -> None:
        self._table = table
        self._log = table / "_delta_log"

    def latest(self) -> tuple[str, int]:
        """The identity of the table and its version; "" and -1 if there is none yet."""
        try:
            table = DeltaTable(str(self._table))
        except TableNotFoundError:
            return "", -1
        return str(table.metadata().id), table.version()

    def files(self, version: int) -> list[TableFile]:
        """The files of a version, in an order that is always the same. Raises CursorExpired if the log does
        not know it any more."""
        try:
            table = DeltaTable(str(self._table), version=version)
        except DeltaError as error:
            raise CursorExpired(f"version {version} of the table: {_line(error)}") from None
        added = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        return sorted(
            TableFile(
                self._table / file_path(each["path"]),
                each["partition.region"],
                each["partition.day"],
                each["num_records"],
                each["min.time"],
                each["max.time"],
            )
            for each in added
        )

    def has(self, version: int) -> bool:
        """Whether the log has the commit of a version."""
        return (self._log / f"{version:020d}.json").exists()

    def commit(self, version: int) -> Commit | None:
        """The commit of a version; None if there is none yet. Raises CursorExpired if it was removed."""
        try:
            text = (self._log / f"{version:020d}.json").read_text()
        except FileNotFoundError:
            if self._checkpoint() >= version:
                raise CursorExpired(
                    f"version {version} of the table: was removed: expected a newer one"
                ) from None
            return None
        actions = [json.loads(line) for line in text.splitlines() if line]
        at = next((each["commitInfo"].get("timestamp", 0) for each in actions if "commitInfo" in each), 0)
        batch = next(
            (each["txn"]["version"] for each in actions if each.get("txn", {}).get("appId") == APPLICATION),
            None,
        )
        added = [each["add"] for each in actions if "add" in each and batch is not None]
        return Commit(at, batch, [self._file(each) for each in added])

    def age(self, version: int, now: float) -> float:
        """The seconds since a version was committed; 0 if it is not there."""
        try:
            return max(0.0, now - (self._log / f"{version:020d}.json").stat().st_mtime)
        except FileNotFoundError:
            return 0.0

    def _file(self, add: dict[str, Any]) -> TableFile:
        partition, stats = add["partitionValues"], json.loads(add["stats"])
        return TableFile(
            self._table / file_path(add["path"]),
            partition["region"],
            partition["day"],
            stats["numRecords"],
            stats["minValues"]["time"],
            stats["maxValues"]["time"],
        )

    def _checkpoint(self) -> int:
        """The version up to which single commits may have been removed; -1 for none."""
        try:
            return int(json.loads((self._log / "_last_checkpoint").read_text())["version"])
        except FileNotFoundError:
            return -1


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
