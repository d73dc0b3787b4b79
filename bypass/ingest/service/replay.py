"""Dead letters once more: they go through the log again, with the registry as it is now.

A letter is deleted when it is in the log. A process that is killed in between leaves letters in both places:
the next replay logs them again, and the stream knows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from bypass.ingest.categories import partition_of
from bypass.ingest.folder import IngestFolder
from bypass.ingest.folder_lock import only_one
from bypass.ingest.log.block import Records
from bypass.ingest.log.catalogue import find_log
from bypass.ingest.log.message_log import LogWriter
from bypass.ingest.names import REPLAYS
from bypass.ingest.stream.replays import encode_replay
from bypass.ingest.tables.letters import delete_letters, read_letters

MOST = 10_000
MOST_BYTES = 64 << 20
"""How many letters a portion has at most, and bytes, with one letter more."""

REPLAYED = "replayed"


def replay_letters(folder: IngestFolder, reason: str | None = None) -> int:
    """Log dead letters with a reason once more, and delete them. Gives how many.

    Without a reason, all but those that are too old to be told from copies: they may be stored already. Each
    letter goes through the stages once, whatever is killed in between. Raises FolderInUse if another process
    replays, LogInUse, LogFull and LogFailed.
    """
    with only_one(folder.path / "replay.lock", "another process replays dead letters"):
        count = 0
        log: LogWriter | None = None
        try:
            for portion in _portions(read_letters(folder.dead_letters, reason, but=REPLAYED)):
                if log is None:
                    log = find_log(folder).open_writer(REPLAYS, synced=True)
                log.append(_records(portion))
                delete_letters(folder.dead_letters, [(row["log"], row["sequence"]) for row in portion])
                count += len(portion)
        finally:
            if log is not None:
                log.close()
        return count


def _portions(letters: Iterable[pa.RecordBatch]) -> Iterator[list[dict[str, Any]]]:
    portion: list[dict[str, Any]] = []
    size = 0
    for batch in letters:
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
        payload = encode_replay(row["log"], row["sequence"], row["payload"])
        records.add(row["device"], partition_of(row["device"]), payload, row["received"])
    return records
