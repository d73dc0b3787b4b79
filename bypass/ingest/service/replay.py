"""Dead letters once more: they go through the log again, with the registry as it is now."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from bypass.ingest.categories import partition_of
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.block import Records
from bypass.ingest.log.catalogue import find_log
from bypass.ingest.stream.task import REPLAYS

MOST = 10_000
REPLAYED = "replayed"


def replay_letters(folder: IngestFolder, reason: str | None = None) -> int:
    """Log dead letters with a reason once more, and delete them. Gives how many.

    Without a reason, all but those that are too old to be told from copies: they may be stored already.

    Who is killed in between finds some of them in both places: they may then be stored twice. Raises LogInUse
    if somebody else replays, LogFull and LogFailed.
    """
    path = str(folder.dead_letters)
    if not DeltaTable.is_deltatable(path):
        return 0
    table = DeltaTable(path)
    letters = table.to_pyarrow_table()
    if reason is None:
        letters = letters.filter(pc.not_equal(letters["reason"], REPLAYED))
    else:
        letters = letters.filter(pc.equal(letters["reason"], reason))
    log = find_log(folder).open_writer(REPLAYS, synced=True)
    try:
        for batch in letters.to_batches(MOST):
            log.append(_records(batch))
    finally:
        log.close()
    if letters.num_rows:
        quoted = (reason or REPLAYED).replace("'", "''")
        table.delete(f"reason {'<>' if reason is None else '='} '{quoted}'")
    return int(letters.num_rows)


def _records(letters: pa.RecordBatch) -> Records:
    records = Records()
    for row in letters.to_pylist():
        records.add(row["device"], partition_of(row["device"]), row["payload"], row["received"])
    return records
