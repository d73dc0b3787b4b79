"""The loss of power: with full sync, what was acknowledged is stored once, whatever the disk forgets."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.streaming.datasource import ReadMaxRows

from bypass.ingest.devices.device import Device
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.catalogue import find_log
from bypass.ingest.service.checkpoint_repair import repair_checkpoint
from bypass.ingest.stream.progress import latest_begun
from bypass.ingest.stream.query import start_query
from bypass.ingest.stream.sink import TableWriter
from bypass.ingest.stream.source import LogReader
from bypass.ingest.tables.compaction import compact
from bypass.models.compute.engines import SparkEngine
from tests.ingest.disk import Disk, DiskState
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000
TRIED = 16
"""How many moments are tried, of those at which something was synced."""

DEVICES = [f"device{number}" for number in range(4)]


def note(folder: IngestFolder, kind: str, number: int, content: str) -> None:
    """Write a file of a checkpoint, as Spark does: it is not synced."""
    path = folder.checkpoint / kind / str(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"v1\n{content}")
    path.with_name(f".{number}.crc").write_bytes(b"crc\0\0\0\2\0" + bytes(4 * -(-(len(content) + 3) // 512)))


class CheckpointedWriter(TableWriter):
    """Notes that a batch was done when it is committed."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        super().commit(messages, batchId)
        note(IngestFolder(Path(self.folder)), "commits", batchId, "{}")


class CheckpointedPipeline(Pipeline):
    """A pipeline with a checkpoint as Spark writes it, which goes on from there."""

    def __init__(self, path: Path, *devices: Device, synced: bool = True) -> None:
        super().__init__(path, *devices, log="segments?retention=0&bytes=8000000")
        self.log.close()
        self.log = find_log(self.folder).open_writer("test", synced=synced)
        self.writer = CheckpointedWriter(str(path), synced)
        repair_checkpoint(self.folder)
        offsets, commits = (self._numbers(kind) for kind in ("offsets", "commits"))
        if offsets:
            last = offsets[-1]
            ends = [self._offset(number) for number in offsets[-2:]]
            if commits and commits[-1] == last:
                self.offset, self.batch = ends[-1], last + 1
            else:
                self.pending, self.batch = ends[-1], last
                self.offset = ends[0] if last else None

    def step(self, fail_at: str = "") -> bool:
        reader = LogReader({"folder": str(self.folder.path), "tasks": "2", "most": "1000"})
        self.offset = self.offset or reader.initialOffset()
        end = self.pending or reader.latestOffset(self.offset, ReadMaxRows(self.most))
        if end == self.offset:
            return False
        self.pending = end
        note(self.folder, "offsets", self.batch, json.dumps({"batchTimestampMs": 1}) + "\n" + json.dumps(end))
        return super().step(fail_at)

    def _numbers(self, kind: str) -> list[int]:
        folder = self.folder.checkpoint / kind
        names = [path.name for path in folder.iterdir()] if folder.exists() else []
        return sorted(int(name) for name in names if name.isdecimal())

    def _offset(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            (self.folder.checkpoint / "offsets" / str(number)).read_text().split("\n")[2]
        )
        return found


@pytest.mark.slow
def test_a_stream_that_is_synced_goes_on_wherever_power_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments: list[tuple[DiskState, int]] = []
    acknowledged = 0
    disk = Disk(tmp_path / "f", monkeypatch, lambda: moments.append((disk.state(), acknowledged)))
    pipeline = CheckpointedPipeline(tmp_path / "f", *(Device(id=name) for name in DEVICES))
    for batch in range(4):
        for name in DEVICES:
            pipeline.append((name, message(name, T + batch, a=batch)))
            acknowledged += 1
        pipeline.append(("stranger", b""))
        assert pipeline.step()
        if batch == 2:
            assert compact(pipeline.folder.measurements, fewest=2).files
    monkeypatch.undo()
    disk.close()
    assert len(moments) > 100
    for number, (state, sent) in enumerate(moments[:: len(moments) // TRIED]):
        state.write(tmp_path / "f", tmp_path / f"after{number}")
        again = CheckpointedPipeline(tmp_path / f"after{number}", synced=False)
        progress = again.run()
        stored = [(row["device"], row["time"]) for row in again.rows()]
        assert len(set(stored)) == len(stored) == progress.stored, number
        assert len(stored) >= sent, number
        again.log.close()


def test_files_of_the_checkpoint_that_were_cut_off_are_removed_if_nobody_needs_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = CheckpointedPipeline(tmp_path, Device(id="device1"), synced=False)
    for number in range(3):
        pipeline.append(("device1", message("device1", T + number, a=1)))
        pipeline.step()
    checkpoint = tmp_path / "checkpoint"
    (checkpoint / "commits" / "2").write_bytes(b"")
    (checkpoint / "offsets" / "3").write_bytes(b'v1\n{}\n{"st')
    (checkpoint / "offsets" / ".2.crc").write_bytes(bytes(12))
    with caplog.at_level(logging.WARNING):
        repair_checkpoint(IngestFolder(tmp_path))
    names = {path.relative_to(checkpoint).as_posix() for path in checkpoint.rglob("*") if path.is_file()}
    assert names >= {"offsets/2", "offsets/.1.crc", "commits/1"}
    assert not names & {"offsets/3", "offsets/.2.crc", "commits/2", "commits/.2.crc"}
    assert caplog.text.count("was cut off, as by the loss of power") == 5
    # The end of a batch that tables may have stays, whatever it looks like: Spark says so.
    assert latest_begun(pipeline.folder.progress) == 2
    (checkpoint / "offsets" / "2").write_bytes(b"")
    repair_checkpoint(IngestFolder(tmp_path))
    assert (checkpoint / "offsets" / "2").exists()


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_goes_on_from_a_checkpoint_that_was_cut_off(tmp_path: Path, spark: SparkEngine) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"))

    def run() -> list[int]:
        repair_checkpoint(pipeline.folder)
        query = start_query(spark.session, tmp_path, once=True, synced=True)
        assert query.awaitTermination(120)
        return [row["time"] - T for row in pipeline.rows()]

    pipeline.append(("device0", message("device0", T, a=1)))
    assert run() == [0]
    pipeline.append(("device0", message("device0", T + 1, a=1)))
    assert run() == [0, 1]
    last = latest_begun(pipeline.folder.progress)
    offsets, commits = (tmp_path / "checkpoint" / name for name in ("offsets", "commits"))
    (offsets / str(last + 1)).write_bytes(b"")
    (commits / str(last)).write_bytes((commits / str(last)).read_bytes()[:-1])
    (commits / f".{last}.crc").write_bytes(b"")
    pipeline.append(("device0", message("device0", T + 2, a=1)))
    run()  # the batch that was cut off is repeated, and recognised; a run that ends may end with that
    assert run() == [0, 1, 2]
