"""The bytes of stored objects, read in parts."""

from __future__ import annotations

from bypass.live.broker.objects.object_database import PART_BYTES, part_number
from bypass.live.broker.objects.pages import Query
from bypass.objects.metadata import ObjectKey


def read_bytes(query: Query, key: ObjectKey, offset: int, length: int) -> tuple[bytes | None]:
    """Read up to `length` bytes of an object from an offset on; None in their place if it is not here."""
    row = query("SELECT blob, size FROM objects WHERE owner = ? AND name = ?", key).fetchone()
    if row is None:
        return (None,)
    blob, size = row
    end = min(offset + length, size)
    if offset >= end:
        return (b"",)
    rows = query(
        "SELECT data FROM parts WHERE part BETWEEN ? AND ? ORDER BY part",
        (part_number(blob, offset), part_number(blob, end - 1)),
    ).fetchall()
    first = offset - offset % PART_BYTES
    data = b"".join(data for (data,) in rows)[offset - first : end - first]
    return (data if len(data) == end - offset else None,)  # it may have been deleted in between
