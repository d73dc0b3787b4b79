"""Dead letters in their table: found by reason, deleted one by one or when they are old."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction

from bypass.ingest.tables.delta import AFTER_COMMIT, commit_actions
from bypass.ingest.tables.files import file_path
from bypass.ingest.tables.schema import DEAD_LETTERS

READ_AT_ONCE = 1000
LARGEST_JOINED = 32 << 20
"""Files of dead letters that are joined have so many bytes at most."""

LETTER_BYTES = 10_000_000_000
"""How many bytes of dead letters are kept unless somebody says otherwise: anybody can send some."""

SHOWN_BYTES = 32
"""How many bytes of a message are shown of a dead letter; a token that it carries is longer."""

LetterName = tuple[str, int]
"""The log and the sequence of a message: no two letters have the same."""


def read_letters(path: Path, reason: str | None, *, but: str = "") -> Iterator[pa.RecordBatch]:
    """Read the letters with a reason, as of now; without one, all that have not the reason `but`. Few are in
    memory at once. Nothing if there is no table."""
    for batch in _batches(path):
        reasons = batch.column("reason")
        yield batch.filter(pc.not_equal(reasons, but) if reason is None else pc.equal(reasons, reason))


def _batches(path: Path, columns: dict[str, pc.Expression] | None = None) -> Iterator[pa.RecordBatch]:
    """Read all letters, few at once. Commits have no summary of columns: a filter for files would find
    none."""
    if DeltaTable.is_deltatable(str(path)):
        letters = DeltaTable(str(path)).to_pyarrow_dataset()
        yield from letters.to_batches(
            columns=columns, batch_size=READ_AT_ONCE, batch_readahead=1, fragment_readahead=1
        )


class LetterList(NamedTuple):
    """Dead letters that were found: how many there are by reason, and the latest of them, newest first.

    A letter has `received` (ms), `device`, `stage`, `reason`, `detail`, the length of its message in `bytes`,
    the beginning of it in `payload` (hex), and its name: `log` and `sequence`.
    """

    reasons: dict[str, int]
    latest: list[dict[str, Any]]


def list_letters(
    path: Path,
    most: int,
    *,
    reason: str | None = None,
    device: str | None = None,
    since: int | None = None,
    until: int | None = None,
) -> LetterList:
    """List letters with a reason, of a device, and received within a time (ms), the end excluded, as far as
    these are given. No more than `most` are kept in memory."""
    reasons: Counter[str] = Counter()
    latest: list[dict[str, Any]] = []
    tests = [
        (name, passes, value)
        for name, passes, value in (
            ("reason", pc.equal, reason),
            ("device", pc.equal, device),
            ("received", pc.greater_equal, since),
            ("received", pc.less, until),
        )
        if value is not None
    ]
    payload = pc.field("payload")
    columns = {name: pc.field(name) for name in DEAD_LETTERS.names if name not in ("day", "payload")}
    columns |= {"bytes": pc.binary_length(payload), "payload": pc.binary_slice(payload, 0, SHOWN_BYTES)}
    for batch in _batches(path, columns):
        for name, passes, value in tests:
            batch = batch.filter(passes(batch.column(name), value))
        reasons.update(batch.column("reason").to_pylist())
        latest = nlargest(most, (*latest, *batch.to_pylist()), lambda row: (row["received"], row["sequence"]))
    for row in latest:
        row["payload"] = row["payload"].hex()
    return LetterList(dict(reasons), latest)


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
            done = table.optimize.compact(
                [("day", "=", day)],
                LARGEST_JOINED,
                max_concurrent_tasks=1,
                post_commithook_properties=AFTER_COMMIT,
            )
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
        predicate = f"log = '{quoted}' AND sequence IN ({', '.join(map(str, sequences))})"
        DeltaTable(str(path)).delete(predicate, post_commithook_properties=AFTER_COMMIT)


def expire_letters(path: Path, days: int, now: float) -> None:
    """Delete letters that were received on days before the latest `days`, as of a time (s)."""
    if DeltaTable.is_deltatable(str(path)):
        first = datetime.fromtimestamp(now, UTC) - timedelta(days=days)
        DeltaTable(str(path)).delete(f"day < '{first:%Y-%m-%d}'", post_commithook_properties=AFTER_COMMIT)


class LettersRemoved(NamedTuple):
    """Dead letters that were removed to make room, and the bytes that they took."""

    letters: int = 0
    bytes: int = 0


def bound_letters(path: Path, most_bytes: int) -> LettersRemoved:
    """Remove the oldest letters, whole files, while there are more than so many bytes. Gives what was
    removed; nothing if somebody else has changed the same files meanwhile.

    Their files go the next time that there is too much: whoever reads them now can end with that.
    """
    if not DeltaTable.is_deltatable(str(path)):
        return LettersRemoved()
    table = DeltaTable(str(path))
    adds = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    size = sum(each["size_bytes"] for each in adds)
    if size <= most_bytes:
        return LettersRemoved()
    table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    gone: list[dict[str, Any]] = []
    for each in sorted(adds, key=itemgetter("partition.day", "modification_time", "path")):
        gone.append(each)
        size -= each["size_bytes"]
        if size <= most_bytes:
            break
    now = int(time.time() * 1000)
    removals: list[AddAction | RemoveAction] = [
        RemoveAction(file_path(each["path"]), True, now) for each in gone
    ]
    try:
        commit_actions(table, removals, DEAD_LETTERS, ("day",))
    except CommitFailedError:
        return LettersRemoved()
    rows, removed = (sum(each[name] for each in gone) for name in ("num_records", "size_bytes"))
    return LettersRemoved(rows, removed)
