"""Delta tables: files become rows by a commit, which carries the batch that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction, RemoveAction

from bypass.ingest.tables.files import WrittenFile

APPLICATION = "bypass-ingest"
"""The name under which commits count batches."""


def open_table(path: Path, schema: pa.Schema, partition: Sequence[str]) -> DeltaTable:
    """The table at a path; it is made if there is none."""
    if not DeltaTable.is_deltatable(str(path)):
        path.mkdir(parents=True, exist_ok=True)
        DeltaTable.create(
            str(path),
            schema,
            mode="ignore",
            partition_by=list(partition),
            configuration={"delta.checkpointInterval": "50", "delta.logRetentionDuration": "interval 1 days"},
        )
    return DeltaTable(str(path))


def commit_batch(
    path: Path, schema: pa.Schema, partition: Sequence[str], files: Sequence[WrittenFile], batch: int
) -> bool:
    """Add the files of a batch to a table, once; without files there is nothing to add. Gives False if the
    batch was committed before: then the files of this attempt are removed."""
    if not files:
        return True
    table = open_table(path, schema, partition)
    done = table.transaction_version(APPLICATION)
    if done is not None and done >= batch:
        for file in files:
            (path / file.path).unlink(missing_ok=True)
        return False
    actions: list[AddAction | RemoveAction] = [
        AddAction(file.path, file.size, file.partition, file.modified, True, file.summary) for file in files
    ]
    table.create_write_transaction(
        actions,
        "append",
        schema,
        list(partition),
        commit_properties=CommitProperties(app_transactions=[Transaction(APPLICATION, batch)]),
    )
    return True
