"""Delta tables: files become rows by a commit, which carries the batch that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction
from deltalake.transaction import AddAction, RemoveAction

from bypass.ingest.tables.files import WrittenFile
from bypass.support.durable_files import sync_below

APPLICATION = "bypass-ingest"
"""The name under which commits count batches."""

CHECKPOINT_COMMITS = 50
"""After so many commits a checkpoint is written, from which readers begin."""

COMMITS_KEPT = "interval 2 hours"
"""How long commits are kept that a checkpoint has: whoever opens the table lists them all."""

ACTIONS = "bypassActions"
"""The key of a commit's head that says how many actions follow it: one that was cut off has fewer."""

AFTER_COMMIT = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)
"""Commits leave those of before where they are: only a checkpoint that is on the disk takes their place."""


def open_table(path: Path, schema: pa.Schema, partition: Sequence[str]) -> DeltaTable:
    """The table at a path; it is made if there is none."""
    if not DeltaTable.is_deltatable(str(path)):
        path.mkdir(parents=True, exist_ok=True)
        DeltaTable.create(
            str(path),
            schema,
            mode="ignore",
            partition_by=list(partition),
            configuration={
                "delta.checkpointInterval": str(CHECKPOINT_COMMITS),
                "delta.logRetentionDuration": COMMITS_KEPT,
            },
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
    commit_actions(table, actions, schema, partition, [Transaction(APPLICATION, batch)])
    return True


def commit_actions(
    table: DeltaTable,
    actions: list[AddAction | RemoveAction],
    schema: pa.Schema,
    partition: Sequence[str],
    transactions: Sequence[Transaction] = (),
) -> None:
    """Change a table by one commit. Raises CommitFailedError if somebody else has changed the same files."""
    table.create_write_transaction(
        actions,
        "append",
        schema,
        list(partition),
        commit_properties=CommitProperties(
            custom_metadata={ACTIONS: str(len(actions) + len(transactions))},
            app_transactions=list(transactions),
        ),
        post_commithook_properties=AFTER_COMMIT,
    )


def forget_commits(path: Path) -> None:
    """Remove old commits that a checkpoint has, once that is on the disk. Raises OSError."""
    checkpoints = sorted((path / "_delta_log").glob("*.checkpoint.parquet"))
    if checkpoints:
        sync_below(path, checkpoints[-1:])
        DeltaTable(str(path)).cleanup_metadata()
