"""A pipeline without Spark: the same source, tasks and sink, driven one batch at a time as Spark does."""

from pathlib import Path
from typing import Any

import msgspec
from deltalake import DeltaTable
from pyspark.sql.streaming.datasource import ReadMaxRows

from bypass.ingest.categories import partition_of
from bypass.ingest.devices.device import Device
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.block import Records
from bypass.ingest.log.catalogue import choose_log, find_log
from bypass.ingest.stream import memory, task
from bypass.ingest.stream.progress import StreamProgress, read_progress
from bypass.ingest.stream.sink import TableWriter, TaskDone
from bypass.ingest.stream.source import LogReader
from bypass.ingest.tables.rows import read

JSON = msgspec.json.encode


def message(device: str, time: int, /, **values: float | str) -> bytes:
    """A JSON message with one measurement for each value."""
    types = {int: "Long", float: "Double", str: "String"}
    telemetries = [{"metric": m, "value": v, "type": types[type(v)]} for m, v in values.items()]
    return JSON({"id": device, "timestamp": time, "telemetries": telemetries})


class Pipeline:
    """One installation with a log of its own. `fail_at` names a point at which the next batch is broken
    off."""

    def __init__(
        self, path: Path, *devices: Device, tasks: int = 2, most: int = 1000, log: str = "segments"
    ) -> None:
        self.folder = IngestFolder(path)
        choose_log(self.folder, log)
        self.tasks, self.most = tasks, most
        self.batch = 0
        self.offset: dict[str, Any] | None = None
        self.pending: dict[str, Any] | None = None
        self.clock: int | None = None
        """The time of batches (ms), if it is not that of the machine."""
        with DeviceRegistry(self.folder.registry) as registry:
            registry.register(*devices)
        self.log = find_log(self.folder).open_writer("test")
        self.writer = TableWriter(str(path))

    def append(self, *messages: tuple[str, bytes], at: int = 1_763_459_000_000) -> None:
        """Log messages of devices, as a connector does."""
        records = Records()
        for device, payload in messages:
            records.add(device, partition_of(device), payload, at)
        self.log.append(records)

    def step(self, fail_at: str = "") -> bool:
        """Run the next batch, or the one that failed before once more. Gives whether there was any."""
        options = {"folder": str(self.folder.path), "tasks": str(self.tasks), "most": str(self.most)}
        reader = LogReader(options | {"synced": "true" if self.writer.synced else "false"})
        if self.offset is None:
            self.offset = reader.initialOffset()
        end = self.pending or reader.latestOffset(self.offset, ReadMaxRows(self.most))
        if end == self.offset:
            return False
        if self.clock is not None and self.pending is None:
            end = {**end, "clock": self.clock}
        self.pending = end
        messages: list[TaskDone] = []
        for partition in reader.partitions(self.offset, end):
            if fail_at == "tasks" and len(messages) == 1:
                return True
            results = reader.read(partition)
            messages.append(TaskDone([row for batch in results for row in batch.column(0).to_pylist()]))
        if fail_at == "commit":
            return True
        self.writer.commit(list(messages), self.batch)
        if fail_at == "offset":
            return True
        reader.commit(end)
        self.offset, self.pending, self.batch = end, None, self.batch + 1
        return True

    def restart(self) -> None:
        """Forget what workers have in memory, as new processes have."""
        memory._cache.clear()
        task._chains.clear()

    def run(self) -> StreamProgress:
        """Run batches until there is nothing more."""
        while self.step():
            pass
        return self.progress()

    def progress(self) -> StreamProgress:
        return read_progress(self.folder.progress)

    def rows(self) -> list[dict[str, Any]]:
        """All measurements, one by one, in the order of time."""
        if not DeltaTable.is_deltatable(str(self.folder.measurements)):
            return []
        rows = read(DeltaTable(str(self.folder.measurements)).to_pyarrow_table()).to_pylist()
        return sorted(rows, key=lambda row: (row["device"], row["time"], row["metric"], row["sequence"]))

    def letters(self) -> list[dict[str, Any]]:
        """All dead letters."""
        if not DeltaTable.is_deltatable(str(self.folder.dead_letters)):
            return []
        letters: list[dict[str, Any]] = (
            DeltaTable(str(self.folder.dead_letters)).to_pyarrow_table().to_pylist()
        )
        return letters
