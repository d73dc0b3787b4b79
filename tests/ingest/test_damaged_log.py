"""A machine that lost power: the stream goes on behind what the disk has forgotten, and counts it."""

import os
from pathlib import Path

import pytest

from bypass.ingest.devices.device import Device
from bypass.ingest.log.segment_log import LogLimits, SegmentLog
from bypass.ingest.log.segments import segment_file
from bypass.ingest.sealing import Sealer
from bypass.ingest.service.status import IngestStatus, read_status
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000


def is_balanced(status: IngestStatus) -> bool:
    ends = status.stored + status.filtered + status.duplicates + sum(status.dead_letters.values())
    return status.lag_messages >= 0 and status.received == ends + status.lag_messages


def begin(path: Path, segment_bytes: int = 1 << 20) -> Pipeline:
    pipeline = Pipeline(path, Device(id="device0"))
    pipeline.log.close()
    pipeline.log = SegmentLog(pipeline.folder.logs / "test", limits=LogLimits(segment_bytes=segment_bytes))
    return pipeline


def append(pipeline: Pipeline, *numbers: int) -> None:
    for number in numbers:
        pipeline.append(("device0", message("device0", T + number, a=number)))


def stored(pipeline: Pipeline) -> list[int]:
    return [row["long"] for row in pipeline.rows()]


def file_of(pipeline: Pipeline, first: int = 0) -> Path:
    assert isinstance(pipeline.log, SegmentLog)
    path = segment_file(pipeline.log.path, first)
    assert path is not None
    return path


def lose_power(pipeline: Pipeline) -> None:
    """Begin a new life of the log, and of the workers."""
    pipeline.log.close()
    pipeline.log = SegmentLog(pipeline.folder.logs / "test")
    pipeline.restart()


def test_a_batch_that_was_fixed_goes_on_without_blocks_that_are_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = begin(tmp_path)
    append(pipeline, *range(5))
    pipeline.step("tasks")
    size = file_of(pipeline).stat().st_size
    os.truncate(file_of(pipeline), size // 5 * 3 + 7)
    lose_power(pipeline)
    append(pipeline, 7, 8)
    pipeline.run()
    status = read_status(pipeline.folder)
    assert stored(pipeline) == [0, 1, 2, 7, 8]
    assert (status.dead_letters, status.received, status.lag_messages) == ({"damaged log": 2}, 7, 0)
    assert "2 messages were in the log and are not any more: they are lost" in caplog.text


def test_blocks_that_are_gone_after_they_were_stored_stay_counted(tmp_path: Path) -> None:
    pipeline = begin(tmp_path)
    append(pipeline, *range(5))
    pipeline.step("offset")  # the table has them, and nobody told the log
    os.truncate(file_of(pipeline), 10)
    lose_power(pipeline)
    assert is_balanced(read_status(pipeline.folder))
    append(pipeline, 7)
    pipeline.run()
    status = read_status(pipeline.folder)
    assert (status.stored, status.received, is_balanced(status)) == (6, 6, True)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("where", ["head", "body"])
def test_a_damaged_block_does_not_hide_those_behind_it(tmp_path: Path, fixed: bool, where: str) -> None:
    pipeline = begin(tmp_path)
    append(pipeline, *range(5))
    if fixed:
        pipeline.step("tasks")
    path = file_of(pipeline)
    size = path.stat().st_size // 5
    with path.open("r+b") as file:
        file.seek(2 * size + (0 if where == "head" else 40))
        file.write(b"\0" * 8)
    lose_power(pipeline)
    append(pipeline, 7)
    pipeline.run()
    status = read_status(pipeline.folder)
    assert stored(pipeline) == [0, 1, 3, 4, 7]
    assert (status.dead_letters, is_balanced(status)) == ({"damaged log": 1}, True)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_segment_that_is_gone_does_not_hide_those_behind_it(tmp_path: Path, compressed: bool) -> None:
    pipeline = begin(tmp_path, segment_bytes=1)
    append(pipeline, *range(5))
    assert isinstance(pipeline.log, SegmentLog)
    pipeline.log._retired.result()
    assert file_of(pipeline, 2).name.endswith(".zst")
    if compressed:
        file_of(pipeline, 2).write_bytes(b"?" * 30)
    else:
        file_of(pipeline, 2).unlink()
    pipeline.run()
    status = read_status(pipeline.folder)
    assert stored(pipeline) == [0, 1, 3, 4]
    assert (status.dead_letters, is_balanced(status)) == ({"damaged log": 1}, True)


def test_lives_of_a_writer_are_read_one_after_the_other(tmp_path: Path) -> None:
    """A connector that began anew while the stream was behind: what a device has numbered stays in order."""
    device = Device(id="device0", sequenced=True)
    pipeline = Pipeline(tmp_path, device, most=500)
    sealer = Sealer(suite=device.suite)
    number = 0
    for _ in range(3):
        for _ in range(8):
            sealed = [
                ("device0", sealer.seal(message("device0", T + at, a=at), at))
                for at in range(number, number + 250)
            ]
            pipeline.append(*sealed)
            number += 250
        pipeline.log.close()
        pipeline.log = SegmentLog(pipeline.folder.logs / "test")
    SegmentLog(pipeline.folder.logs / "another").close()  # a life without messages holds nobody up
    progress = pipeline.run()
    assert (progress.stored, progress.dead_letters) == (6000, {})


def test_a_compressed_segment_that_cannot_be_unpacked_is_counted(tmp_path: Path) -> None:
    pipeline = begin(tmp_path)
    append(pipeline, *range(4))
    lost = file_of(pipeline).parent
    lose_power(pipeline)
    assert isinstance(pipeline.log, SegmentLog)
    pipeline.log._retired.result()
    (compressed,) = lost.glob("*.zst")
    compressed.write_bytes(compressed.read_bytes()[:-5])
    lose_power(pipeline)
    append(pipeline, 4, 5)
    pipeline.run()
    status = read_status(pipeline.folder)
    assert stored(pipeline) == [4, 5]
    assert (status.received, status.dead_letters, is_balanced(status)) == (6, {"damaged log": 4}, True)
