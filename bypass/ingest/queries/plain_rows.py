"""Measurements as plain data, for JSON: the value of each stands in one field, bytes in Base64."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pyarrow as pa

from bypass.ingest.tables.schema import SINGLE, TYPES

_COLUMNS = ("device", "time", "metric", "type", "uom")
_VALUES = dict(zip(TYPES, SINGLE, strict=True))


def plain_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """The rows of the standard model, each with its device, time, metric, type, unit and value."""
    return [
        {**{name: row[name] for name in _COLUMNS}, "value": _plain(row[_VALUES[row["type"]]])}
        for row in rows.select([*_COLUMNS, *SINGLE]).to_pylist()
    ]


def _plain(value: Any) -> Any:
    return b64encode(value).decode() if isinstance(value, bytes) else value
