"""Dead letters in their table: found by reason, deleted one by one or when they are old."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

LetterName = tuple[str, int]
"""The log and the sequence of a message: no two letters have the same."""


def read_letters(path: Path, reason: str | None, *, but: str = "") -> pa.Table:
    """All letters with a reason; without one, all that have not the reason `but`. Nothing if there is no
    table."""
    if not DeltaTable.is_deltatable(str(path)):
        return pa.table({})
    letters = DeltaTable(str(path)).to_pyarrow_table()
    wanted = pc.not_equal(letters["reason"], but) if reason is None else pc.equal(letters["reason"], reason)
    return letters.filter(wanted)


def delete_letters(path: Path, names: Iterable[LetterName]) -> None:
    """Delete letters, those that are there."""
    logs: dict[str, list[int]] = {}
    for log, sequence in names:
        logs.setdefault(log, []).append(sequence)
    for log, sequences in logs.items():
        quoted = log.replace("'", "''")
        DeltaTable(str(path)).delete(f"log = '{quoted}' AND sequence IN ({', '.join(map(str, sequences))})")


def expire_letters(path: Path, days: int, now: float) -> None:
    """Delete letters that were received on days before the latest `days`, as of a time (s)."""
    if DeltaTable.is_deltatable(str(path)):
        first = datetime.fromtimestamp(now, UTC) - timedelta(days=days)
        DeltaTable(str(path)).delete(f"day < '{first:%Y-%m-%d}'")
