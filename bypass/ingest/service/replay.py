"""Dead letters once more: they go through the log again, with the registry as it is now.

Letters are logged and deleted in portions. Before a portion is logged, a file says which letters it has and
where in the log it will be: whoever is killed in between leaves all that the next replay has to know.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from bypass.ingest.categories import partition_of
from bypass.ingest.folder import IngestFolder
from bypass.ingest.folder_lock import only_one
from bypass.ingest.log.block import Records
from bypass.ingest.log.lives import consumed
from bypass.ingest.log.segment_log import SegmentFile, SegmentLog
from bypass.ingest.log.segments import repair
from bypass.ingest.stream.task import REPLAYS
from bypass.ingest.tables.letters import LetterName, delete_letters, read_letters

MOST = 10_000
MOST_BYTES = 64 << 20
"""How many letters a portion has at most, and bytes, with one letter more."""

REPLAYED = "replayed"


class ReplayPortion(msgspec.Struct):
    """Letters that are logged together: as a block that ends at a sequence of a life of the log."""

    life: int
    end: int
    letters: list[LetterName]


def replay_letters(folder: IngestFolder, reason: str | None = None) -> int:
    """Log dead letters with a reason once more, and delete them. Gives how many.

    Without a reason, all but those that are too old to be told from copies: they may be stored already. Each
    letter is logged once, whatever is killed in between. Raises FolderInUse if another process replays,
    LogInUse, LogFull and LogFailed.
    """
    with only_one(folder.path / "replay.lock", "another process replays dead letters"):
        _finish(folder)
        letters = read_letters(folder.dead_letters, reason, but=REPLAYED)
        if not letters.num_rows:
            return 0
        log = SegmentLog(folder.logs / REPLAYS, settle=_sync)
        try:
            for portion in _portions(letters):
                names = [(row["log"], row["sequence"]) for row in portion]
                _write(_note(folder), ReplayPortion(log.life, log.sequence + len(portion), names))
                log.append(_records(portion))
                _finish(folder)
        finally:
            log.close()
        return int(letters.num_rows)


def _finish(folder: IngestFolder) -> None:
    """Delete the letters of the portion that is noted, if it is in the log: its life is the latest one."""
    note = _note(folder)
    if not note.exists():
        return
    portion = msgspec.json.decode(note.read_bytes(), type=ReplayPortion)
    life = folder.logs / REPLAYS / str(portion.life)
    if max(repair(life).sequence, consumed(life)) >= portion.end:
        delete_letters(folder.dead_letters, portion.letters)
    note.unlink()


def _note(folder: IngestFolder) -> Path:
    return folder.path / "replay.json"


def _write(path: Path, portion: ReplayPortion) -> None:
    """Write a file whole or not at all, and have the disk keep it."""
    unfinished = path.with_suffix(".new")
    with unfinished.open("wb") as file:
        file.write(msgspec.json.encode(portion))
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def _portions(letters: pa.Table) -> Iterator[list[dict[str, Any]]]:
    portion: list[dict[str, Any]] = []
    size = 0
    for batch in letters.to_batches(MOST):
        for row in batch.to_pylist():
            portion.append(row)
            size += len(row["payload"])
            if len(portion) >= MOST or size >= MOST_BYTES:
                yield portion
                portion, size = [], 0
    if portion:
        yield portion


def _records(letters: list[dict[str, Any]]) -> Records:
    records = Records()
    for row in letters:
        records.add(row["device"], partition_of(row["device"]), row["payload"], row["received"])
    return records


def _sync(file: SegmentFile) -> None:
    file.flush()
    file.sync()
