"""The columns of the tables.

A row of `MEASUREMENTS` is one measurement (standard model), or those of one metric of one device within a
minute (batched model): then `time` is the minute, `offsets` has milliseconds behind it, and the plural
columns have the values. Both forms may be in one table; `read` in `rows.py` gives the first for either.
"""

from __future__ import annotations

import pyarrow as pa

TYPES = ("Long", "Double", "String", "Bytes")
SINGLE = ("long", "double", "label", "blob")
PLURAL = ("longs", "doubles", "labels", "blobs")
"""Columns of values, in the order of their types."""

PARTITION = ("region", "day")
"""Columns that are folders: data regions, and the day of receipt, which no device can choose."""

MINUTE_MS = 60_000

_VALUES = (pa.int64(), pa.float64(), pa.string(), pa.binary())

MEASUREMENTS = pa.schema(
    [
        pa.field("region", pa.string(), nullable=False),
        pa.field("day", pa.string(), nullable=False),
        pa.field("tenant", pa.string(), nullable=False),
        pa.field("device", pa.string(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("uom", pa.string()),
        pa.field("time", pa.int64(), nullable=False),
        *(pa.field(name, of) for name, of in zip(SINGLE, _VALUES, strict=True)),
        pa.field("offsets", pa.list_(pa.int32())),
        *(pa.field(name, pa.list_(of)) for name, of in zip(PLURAL, _VALUES, strict=True)),
        pa.field("received", pa.int64(), nullable=False),
        pa.field("log", pa.string(), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
    ]
)
"""`received` (ms), `log` and `sequence` are those of the message, in a batched row of its first one."""

DEAD_LETTERS = pa.schema(
    [
        pa.field("day", pa.string(), nullable=False),
        pa.field("device", pa.string(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("detail", pa.string(), nullable=False),
        pa.field("payload", pa.binary(), nullable=False),
        pa.field("received", pa.int64(), nullable=False),
        pa.field("log", pa.string(), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
    ]
)
