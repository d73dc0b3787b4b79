"""Dead letters in their table: found by reason, deleted one by one or when they are old."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

READ_AT_ONCE = 1000
LARGEST_JOINED = 32 << 20
"""Files of dead letters that are joined have so many bytes at most."""

LetterName = tuple[str, int]
"""The log and the sequence of a message: no two letters have the same."""


def read_letters(path: Path, reason: str | None, *, but: str = "") -> Iterator[pa.RecordBatch]:
    """Read the letters with a reason, as of now; without one, all that have not the reason `but`. Few are in
    memory at once. Nothing if there is no table."""
    if DeltaTable.is_deltatable(str(path)):
        letters = DeltaTable(str(path)).to_pyarrow_dataset()
        # Commits have no summary of reasons: batches are filtered, not files.
        for batch in letters.to_batches(batch_size=READ_AT_ONCE, batch_readahead=1, fragment_readahead=1):
            reasons = batch.column("reason")
            yield batch.filter(pc.not_equal(reasons, but) if reason is None else pc.equal(reasons, reason))


def compact_letters(path: Path, *, fewest: int = 4) -> int:
    """Join the small files of each day that has at least `fewest` of them. Gives how many were joined; none
    if somebody else has changed them meanwhile."""
    if not DeltaTable.is_deltatable(str(path)):
        return 0
    table = DeltaTable(str(path))
    adds = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    files = Counter(each["partition.day"] for each in adds if each["size_bytes"] < LARGEST_JOINED)
    joined = 0
    for day in sorted(day for day, count in files.items() if count >= fewest):
        try:
            done = table.optimize.compact([("day", "=", day)], LARGEST_JOINED, max_concurrent_tasks=1)
        except CommitFailedError:
            break
        joined += done["numFilesRemoved"]
    return joined


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
