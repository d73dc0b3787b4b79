"""Files of a table: rows written as Parquet, a file for each partition, before any commit names them."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_SUMMARISED = ("tenant", "device", "metric", "type", "time", "received", "log", "sequence")
"""Columns whose smallest and largest values a commit names, so that readers can leave files out."""

PACKED = ("time", "received", "sequence", "offsets.list.element")
"""Columns that are packed as differences, which take as many bits as they need. Neither Delta nor Parquet has
numbers of 16 bits without a sign: offsets are 32 bits wide, and take 17 in a file."""


class WrittenFile(msgspec.Struct, frozen=True):
    """A file that a commit may add: its path below the table, its partition, its size and a summary of its
    rows."""

    path: str
    partition: dict[str, str]
    size: int
    rows: int
    summary: str
    modified: int


def file_path(logged: str) -> str:
    """Give the path of a file below its table, as it is on disk and as actions name it. Delta's log quotes
    it."""
    return unquote(logged)


def write_rows(table: Path, rows: pa.Table, partition: Sequence[str], name: str) -> list[WrittenFile]:
    """Write rows below a table's folder. No reader sees them before they are committed. Raises OSError."""
    keys = rows.select(partition).group_by(list(partition)).aggregate([]).to_pylist()
    written = []
    for key in keys:
        mine = rows
        if len(keys) > 1:
            masks = [pc.equal(rows[column], value) for column, value in key.items()]
            mask = masks[0]
            for other in masks[1:]:
                mask = pc.and_(mask, other)
            mine = rows.filter(mask)
        written.append(_write(table, mine.drop_columns(list(partition)), key, name))
    return written


def _write(table: Path, rows: pa.Table, partition: dict[str, str], name: str) -> WrittenFile:
    below = Path(*(f"{column}={quote(value, safe='')}" for column, value in partition.items()))
    folder = table / below
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{uuid.uuid4().hex[:12]}.parquet"
    pq.write_table(rows, path, compression="zstd", **_encodings(rows.schema))
    status = path.stat()
    nulls = {column: rows[column].null_count for column in rows.column_names}
    summary: dict[str, dict[str, Any]] = {"minValues": {}, "maxValues": {}, "nullCount": nulls}
    for column in _SUMMARISED:
        if column in rows.column_names:
            least = pc.min_max(rows[column]).as_py()
            summary["minValues"][column], summary["maxValues"][column] = least["min"], least["max"]
    text = json.dumps({"numRecords": rows.num_rows, **summary})
    where = os.path.join(
        *(f"{column}={quote(value, safe='')}" for column, value in partition.items()), path.name
    )
    return WrittenFile(
        where, dict(partition), status.st_size, rows.num_rows, text, int(status.st_mtime * 1000)
    )


def _encodings(schema: pa.Schema) -> dict[str, Any]:
    """The encodings of columns: differences for those that grow from row to row, a dictionary for others."""
    leaves = [f"{each.name}.list.element" if pa.types.is_list(each.type) else each.name for each in schema]
    return {
        "use_dictionary": [leaf for leaf in leaves if leaf not in PACKED],
        "column_encoding": {leaf: "DELTA_BINARY_PACKED" for leaf in leaves if leaf in PACKED},
    }
