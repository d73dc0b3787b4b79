"""Compaction: small files of a partition become one, and rows of one minute become one row."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction

from bypass.ingest.tables.delta import commit_actions
from bypass.ingest.tables.files import file_path, write_rows
from bypass.ingest.tables.rows import STANDARD, batched, read
from bypass.ingest.tables.schema import MEASUREMENTS, PARTITION, PLURAL
from bypass.support.durable_files import sync_below

LARGE = 128 << 20
"""Files of this size are left as they are."""

ORPHAN_H = 1
"""How old a file must be that no commit names: younger ones may be of a batch that is not committed yet."""


class Compacted(NamedTuple):
    """The work of one compaction: files and rows before and after."""

    files: int = 0
    rows: int = 0
    files_after: int = 0
    rows_after: int = 0


def compact(path: Path, *, fewest: int = 4) -> Compacted:
    """Join the small files of each partition that has at least `fewest` of them. Readers see no difference.

    The stream may go on meanwhile: if somebody else has changed the same files, nothing is done.
    """
    if not DeltaTable.is_deltatable(str(path)):
        return Compacted()
    table = DeltaTable(str(path))
    partitions: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for add in pa.table(table.get_add_actions(flatten=True)).to_pylist():
        if add["size_bytes"] < LARGE:
            key = tuple(add[f"partition.{name}"] for name in PARTITION)
            partitions.setdefault(key, []).append(add)
    done = [
        _join(table, path, dict(zip(PARTITION, key, strict=True)), group)
        for key, files in partitions.items()
        if len(files) >= fewest
        for group in _groups(files)
        if len(group) > 1
    ]
    return Compacted(*(sum(column) for column in zip(*done, strict=True))) if done else Compacted()


def remove_orphans(path: Path) -> int:
    """Remove files that no version of the last hour names. Gives how many."""
    if not DeltaTable.is_deltatable(str(path)):
        return 0
    removed = DeltaTable(str(path)).vacuum(
        retention_hours=ORPHAN_H, dry_run=False, enforce_retention_duration=False, full=True
    )
    return len(removed)


def _groups(files: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Divide files into groups that are joined at once, the smallest first, of `LARGE` bytes at most."""
    group: list[dict[str, Any]] = []
    size = 0
    for each in sorted(files, key=lambda each: (each["size_bytes"], each["path"])):
        if size + each["size_bytes"] > LARGE:
            yield group
            group, size = [], 0
        group.append(each)
        size += each["size_bytes"]
    yield group


def _join(table: DeltaTable, path: Path, partition: dict[str, str], files: list[dict[str, Any]]) -> Compacted:
    rows = pa.concat_tables(_read_file(path, file_path(each["path"]), partition) for each in files)
    single = rows.filter(pc.is_null(rows["offsets"]))
    many = batched(_with_lists(read(rows.filter(pc.is_valid(rows["offsets"])))))
    joined = pa.concat_tables([single, many]).sort_by(
        [(name, "ascending") for name in ("device", "metric", "time")]
    )
    written = write_rows(path, joined, PARTITION, "compacted")
    sync_below(path, [path / file.path for file in written])  # it takes the place of files that may be synced
    actions: list[AddAction | RemoveAction] = [
        AddAction(file.path, file.size, file.partition, file.modified, False, file.summary)
        for file in written
    ]
    now = int(time.time() * 1000)
    actions += [RemoveAction(file_path(each["path"]), False, now) for each in files]
    try:
        commit_actions(table, actions, MEASUREMENTS, PARTITION)
    except CommitFailedError:
        return Compacted()
    return Compacted(len(files), rows.num_rows, 1, joined.num_rows)


def _read_file(path: Path, name: str, partition: dict[str, str]) -> pa.Table:
    rows = pq.read_table(path / name, partitioning=None)
    for column, value in partition.items():
        rows = rows.append_column(column, pa.array([value] * rows.num_rows, pa.string()))
    return rows.select(MEASUREMENTS.names).cast(MEASUREMENTS)


def _with_lists(single: pa.Table) -> pa.Table:
    """Rows of the standard model with the columns that the batched one has besides, empty."""
    columns = {name: single[name] for name in STANDARD}
    columns |= {
        name: pa.nulls(single.num_rows, MEASUREMENTS.field(name).type) for name in ("offsets", *PLURAL)
    }
    return pa.table([columns[name] for name in MEASUREMENTS.names], schema=MEASUREMENTS)
