"""The table of events that an evaluation writes: whom each concerned, and whom each scheme notified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bypass.scenarios.evaluation.judging.judges import Counted
from bypass.scenarios.evaluation.schemes import Scheme
from bypass.support.durable_files import replacing


class EventTable:
    """A table that is being written."""

    def __init__(self, writer: pq.ParquetWriter, schema: pa.Schema) -> None:
        self._writer, self._schema = writer, schema

    @classmethod
    @contextmanager
    def writing(cls, path: Path, schemes: Sequence[Scheme]) -> Iterator[EventTable]:
        """A new table at `path`, which is there when all is written."""
        path.parent.mkdir(parents=True, exist_ok=True)
        schema = _schema(schemes)
        with (
            replacing(path) as unfinished,
            pq.ParquetWriter(unfinished, schema, **_encoding(schema)) as writer,
        ):
            yield cls(writer, schema)

    def add(self, counted: Counted) -> None:
        """Write the events of a window."""
        events = counted.events
        columns = [events.at_us, events.client, events.x, events.y, counted.subscribers]
        for number in range(counted.notified.shape[1]):
            columns += [counted.notified[:, number], counted.correct[:, number]]
        arrays = [
            pa.array(column).cast(field.type) for column, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))


def _schema(schemes: Sequence[Scheme]) -> pa.Schema:
    columns = [
        ("at_us", pa.int64()),
        ("publisher", pa.int32()),
        ("x", pa.float64()),
        ("y", pa.float64()),
        ("subscribers", pa.int32()),
    ]
    for scheme in schemes:
        columns += [(f"{scheme}/notified", pa.int32()), (f"{scheme}/correct", pa.int32())]
    return pa.schema(columns)


def _encoding(schema: pa.Schema) -> dict[str, Any]:
    """Counts repeat, times and places do not: half the time and two thirds of the room of the defaults."""
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [f.name for f in schema if f.name not in ("at_us", "publisher", "x", "y")],
        "column_encoding": {
            "at_us": "DELTA_BINARY_PACKED",
            "publisher": "PLAIN",
            "x": "BYTE_STREAM_SPLIT",
            "y": "BYTE_STREAM_SPLIT",
        },
    }
