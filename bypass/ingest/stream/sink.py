"""The sink of the stream: files that tasks have written become rows of the tables, batch by batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from bypass.ingest.batch_sync import sync_batch, sync_commits
from bypass.ingest.folder import IngestFolder
from bypass.ingest.stream.offsets import StreamOffset
from bypass.ingest.stream.progress import begin_batch, note_batch, note_warnings
from bypass.ingest.stream.task import TaskResult
from bypass.ingest.tables.delta import commit_batch
from bypass.ingest.tables.schema import DEAD_LETTERS, MEASUREMENTS

log = logging.getLogger(__name__)

PARTITIONS = {"measurements": ("region", "day"), "dead_letters": ("day",)}
SCHEMAS = {"measurements": MEASUREMENTS, "dead_letters": DEAD_LETTERS}


class TableSink(DataSource):
    """Commits what tasks have written. Options: `folder`, `synced`."""

    @classmethod
    def name(cls) -> str:
        return "bypass-tables"

    def streamWriter(self, schema: Any, overwrite: bool) -> TableWriter:  # noqa: N802, ARG002 - Spark calls it so
        return TableWriter(self.options["folder"], self.options["synced"] == "true")


@dataclass
class TaskDone(WriterCommitMessage):
    """The message of a task to the driver: the end of the batch, and its result, both encoded."""

    results: list[bytes]


class TableWriter(DataSourceStreamArrowWriter):
    """Commits a batch: first the measurements, then dead letters, then the progress. Each knows a batch
    that it has; one with the same number and other messages is refused before. With `synced`, each is on the
    disk before the next."""

    def __init__(self, folder: str, synced: bool = False) -> None:
        self.folder, self.synced = folder, synced

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return TaskDone([result for batch in iterator for result in batch.column(0).to_pylist()])

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        folder = IngestFolder(Path(self.folder))
        done = [
            msgspec.json.decode(result, type=tuple[dict[str, Any], TaskResult])
            for message in messages
            if isinstance(message, TaskDone)
            for result in message.results
        ]
        results = [result for _, result in done]
        files = {
            name: [file for result in results for file in result.files.get(name, ())] for name in SCHEMAS
        }
        if done:
            end = StreamOffset.from_json(done[0][0])
            if self.synced:
                rows = [folder.path / name / file.path for name in files for file in files[name]]
                sync_batch(folder, batchId, end.step, rows)
            begin_batch(folder.progress, batchId, end)
        began = time.time()
        for name in ("measurements", "dead_letters"):
            commit_batch(folder.path / name, SCHEMAS[name], PARTITIONS[name], files[name], batchId)
        if self.synced:
            sync_commits(folder, began)
        for line in note_warnings(folder.progress, _warnings(results, batchId)):
            log.warning("%s", line)
        if done:
            note_batch(folder.progress, batchId, StreamOffset.from_json(done[0][0]), results)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing was added: files that no commit names are removed by compaction."""


def _warnings(results: list[TaskResult], batch: int) -> list[str]:
    """The lines that operators must read of a batch, beyond its counts."""
    lines = [
        f"batch {batch}: {result.lost} messages were in the log and are not any more: they are lost"
        for result in results
        if result.lost
    ]
    lines += [
        f"device {device} keeps everything: its policy {policy} cannot be used: {error}"
        for result in results
        for device, policy, error in result.unusable
    ]
    lines += [
        f"all messages of a device become dead letters: its configuration cannot be used: {each}"
        for result in results
        for each in result.unreadable
    ]
    failed = sorted({failure for result in results for failure in result.failed})
    return lines + [f"batch {batch}: {failure}" for failure in failed]
