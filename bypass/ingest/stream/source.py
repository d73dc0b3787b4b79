"""The source of the stream: Spark asks here how far the logs go, and has tasks do their parts of a batch."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows

from bypass.ingest.batch_sync import sync_done
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.devices.snapshot import remove_snapshots
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.catalogue import find_log
from bypass.ingest.stream.memory import forget_steps
from bypass.ingest.stream.offsets import StreamOffset
from bypass.ingest.stream.plans import forget_plans, latest_plan
from bypass.ingest.stream.progress import read_progress
from bypass.ingest.stream.task import TaskOrder, run_task

RESULTS = pa.schema([pa.field("result", pa.binary())])
"""A row is what one task has done. Messages and rows do not pass through Spark: each process of Python on the
way would cost as much as all stages of a message."""

LOOK_MS = 1000
MOST_BYTES = 256 << 20
"""How much of a log one batch has at most, whatever the number of messages."""


class LogSource(DataSource):
    """Gives the results of tasks. Options: `folder`, `tasks`, `most` (messages a batch), `synced`."""

    @classmethod
    def name(cls) -> str:
        return "bypass-log"

    def schema(self) -> str:
        return "result BINARY"

    def streamReader(self, schema: Any) -> LogReader:  # noqa: N802, ARG002 - Spark calls it so
        return LogReader(self.options)


class LogReader(DataSourceStreamReader):
    """Finds the ends of all logs, and divides batches into tasks by category."""

    def __init__(self, options: Any) -> None:
        self.path = options["folder"]
        self.tasks = int(options["tasks"])
        self.most = int(options["most"])
        self.synced = options.get("synced") == "true"
        self._planned: float | None = (
            None  # when this reader has found the latest end, by a clock without jumps
        )

    @property
    def folder(self) -> IngestFolder:
        return IngestFolder(Path(self.path))

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return StreamOffset(tasks=self.tasks).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        before = StreamOffset.from_json(start)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else 1 << 62
        logs = find_log(self.folder).ends(before.logs, most, MOST_BYTES)
        plans = latest_plan(self.folder.plans)
        clock = self._clock(before)
        if logs == before.logs and plans == before.plans and not self._is_due(before, clock):
            return start
        self._planned = time.monotonic()
        with DeviceRegistry(self.folder.registry) as registry:
            version = int(registry.snapshot(self.folder.snapshots).stem)
        keys = KeyStore(self.folder.keys).version
        return StreamOffset(before.step + 1, logs, version, plans, clock, self.tasks, keys).to_json()

    def _clock(self, before: StreamOffset) -> int:
        """The time of a batch (ms). It never goes back, and if the machine's has gone back, it goes on by the
        time that passes: what policies hold back does not wait until the machine's has caught up."""
        now = int(time.time() * 1000)
        if now >= before.clock:
            return now
        passed = LOOK_MS if self._planned is None else int((time.monotonic() - self._planned) * 1000)
        return before.clock + passed

    def _is_due(self, before: StreamOffset, clock: int) -> bool:
        """Whether a batch without messages is of use: something is held back, and a second has passed."""
        return read_progress(self.folder.progress).held > 0 and clock - before.clock >= LOOK_MS

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        encode = msgspec.json.encode
        return [
            InputPartition(encode(TaskOrder(self.path, number, start, end))) for number in range(end["tasks"])
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        order = msgspec.json.decode(partition.value, type=TaskOrder)
        done = msgspec.json.encode((order.end, run_task(order)))
        yield pa.record_batch([pa.array([done], pa.binary())], schema=RESULTS)

    def commit(self, end: dict[str, Any]) -> None:
        offset = StreamOffset.from_json(end)
        if self.synced:
            sync_done(self.folder)
        find_log(self.folder).consume(offset.logs)
        forget_steps(self.folder.state, offset.step)
        self._forget_versions(offset)

    def _forget_versions(self, committed: StreamOffset) -> None:
        """Remove what only batches before this one have used: no batch after it is fixed with less."""
        if remove_snapshots(self.folder.snapshots, committed.registry):
            with DeviceRegistry(self.folder.registry) as registry:
                registry.forget(committed.registry)
        forget_plans(self.folder.plans, committed.plans)
        KeyStore(self.folder.keys).forget(committed.keys)
