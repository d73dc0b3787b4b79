"""Retention: days and bytes of each data region are limited, and what is removed is counted."""

import logging
import threading
import time
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from bypass.cli.group import commands
from bypass.ingest.devices.device import Device
from bypass.ingest.service import stream_process
from bypass.ingest.service.status import read_status
from bypass.ingest.tables import retention
from bypass.ingest.tables.compaction import compact
from bypass.ingest.tables.retention import InvalidRetention, RegionLimits, expire_regions, set_retention
from tests.ingest.pipeline import Pipeline, message

DAY_MS = 86_400_000
TODAY = date(2025, 11, 18)
T = 1_763_459_000_000  # on that day


def filled(path: Path, days: int, files: int = 1) -> Pipeline:
    """An installation with two regions that have received something on each of the last `days` days."""
    pipeline = Pipeline(path, Device(id="device0", region="short"), Device(id="device1"), tasks=1)
    for day in range(days):
        for file in range(files):
            at = T - day * DAY_MS
            pipeline.append(*((f"device{d}", message(f"device{d}", at + file, a=d)) for d in (0, 1)), at=at)
            pipeline.step()
    return pipeline


def days_of(pipeline: Pipeline, device: str) -> list[int]:
    """The days that are left of a device, as their distance from today."""
    times = {row["received"] for row in pipeline.rows() if row["device"] == device}
    return sorted((T - time) // DAY_MS for time in times)


def expire(pipeline: Pipeline) -> list[retention.Expiry]:
    return expire_regions(pipeline.folder.measurements, pipeline.folder.retention, TODAY)


def sizes(pipeline: Pipeline, region: str) -> dict[str, int]:
    """The bytes of each day of a region."""
    found: dict[str, int] = {}
    adds = pa.table(DeltaTable(str(pipeline.folder.measurements)).get_add_actions(flatten=True)).to_pylist()
    for add in adds:
        if add["partition.region"] == region:
            found[add["partition.day"]] = found.get(add["partition.day"], 0) + add["size_bytes"]
    return found


def test_days_before_the_limit_of_a_region_are_removed_and_counted(tmp_path: Path) -> None:
    pipeline = filled(tmp_path, 5)
    before = sizes(pipeline, "short")
    assert expire(pipeline) == []
    set_retention(pipeline.folder.retention, "short", RegionLimits(days=2))
    (done,) = expire(pipeline)
    assert (done.region, done.days, done.files, done.rows, done.over) == ("short", 2, 2, 2, 0)
    assert days_of(pipeline, "device0") == [0, 1, 2]
    assert days_of(pipeline, "device1") == [0, 1, 2, 3, 4]
    assert expire(pipeline) == []
    status = read_status(pipeline.folder)
    assert status.expired_rows == {"short": 2}
    assert status.expired_bytes == {"short": sum(before.values()) - sum(sizes(pipeline, "short").values())}
    set_retention(pipeline.folder.retention, "short", RegionLimits(days=1))
    expire(pipeline)
    assert read_status(pipeline.folder).expired_rows == {"short": 3}
    assert read_status(pipeline.folder).stored == 10  # what was stored was, though it is gone


def test_the_oldest_days_beyond_the_bytes_of_a_region_are_removed_but_never_today(tmp_path: Path) -> None:
    pipeline = filled(tmp_path, 4)
    by_day = [size for _, size in sorted(sizes(pipeline, "short").items(), reverse=True)]
    set_retention(pipeline.folder.retention, "short", RegionLimits(bytes=by_day[0] + by_day[1]))
    (done,) = expire(pipeline)
    assert (done.days, done.bytes, done.over) == (2, sum(by_day[2:]), 0)
    assert days_of(pipeline, "device0") == [0, 1]
    set_retention(pipeline.folder.retention, "short", RegionLimits(bytes=1))
    (done,) = expire(pipeline)
    assert (done.days, done.over) == (1, by_day[0] - 1)
    (again,) = expire(pipeline)
    assert (again.files, again.over) == (0, by_day[0] - 1)
    assert days_of(pipeline, "device0") == [0]


def test_a_region_without_limits_is_kept(tmp_path: Path) -> None:
    pipeline = filled(tmp_path, 3)
    set_retention(pipeline.folder.retention, "short", RegionLimits(days=1))
    set_retention(pipeline.folder.retention, "short", RegionLimits())
    assert expire(pipeline) == []


def test_few_files_are_removed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = filled(tmp_path, 3, files=2)
    monkeypatch.setattr(retention, "MOST_FILES", 3)
    for region in ("short", "default"):
        set_retention(pipeline.folder.retention, region, RegionLimits(days=1))
    assert [done.files for done in expire(pipeline)] == [2, 1]
    assert [done.files for done in expire(pipeline)] == [1]
    assert expire(pipeline) == []


def test_the_stream_and_compaction_go_on_after_a_removal(tmp_path: Path) -> None:
    pipeline = filled(tmp_path, 2, files=4)
    set_retention(pipeline.folder.retention, "default", RegionLimits(days=1))
    set_retention(pipeline.folder.retention, "short", RegionLimits(bytes=1))
    expire(pipeline)
    compact(pipeline.folder.measurements)
    pipeline.append(("device0", message("device0", T + 99, a=1)), at=T)
    pipeline.run()
    assert len(pipeline.rows()) == 4 + 8 + 1


def test_the_process_of_the_stream_removes_by_itself_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = filled(tmp_path, 2)
    set_retention(pipeline.folder.retention, "short", RegionLimits(days=1))
    monkeypatch.setattr(stream_process, "COMPACT_S", 0.01)
    caplog.set_level(logging.INFO)
    stop = threading.Event()
    housekeeping = threading.Thread(
        target=stream_process._keep_house, args=(pipeline.folder, stop, 30, 1, True)
    )
    housekeeping.start()
    looked, end = threading.Event(), time.monotonic() + 20
    while "expired" not in caplog.text and time.monotonic() < end:
        looked.wait(0.01)
    stop.set()
    housekeeping.join()
    assert "region short: 2 days expired, 2 files, 2 rows" in caplog.text  # all of it is older than a day now
    assert {row["device"] for row in pipeline.rows()} == {"device1"}
    assert read_status(pipeline.folder).expired_rows == {"short": 2}


def test_limits_are_set_and_shown_by_command(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        asked = ["ingest", "retain", "--folder", str(tmp_path), *arguments]
        result = CliRunner().invoke(commands, asked, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    run("vehicles", "--days", "30", "--bytes", "20GB")
    run("meters", "--days", "365")
    assert [line.split() for line in run().splitlines()] == [
        ["region", "days", "bytes", "expired", "rows", "expired", "bytes"],
        ["meters", "365", "-", "0", "0"],
        ["vehicles", "30", "20,000,000,000", "0", "0"],
    ]
    run("meters")
    assert "meters" not in run()


@pytest.mark.parametrize("values", [{"days": 0}, {"bytes": 0}, {"days": 10**6}])
def test_limits_that_are_none_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(InvalidRetention, match=r"(days|bytes) is \d+: expected at"):
        RegionLimits(**values)


def test_regions_whose_names_are_quoted_expire_once(tmp_path: Path) -> None:
    device = Device(id="device0").model_copy(update={"region": "süd / 1"})
    pipeline = Pipeline(tmp_path, device, tasks=1)
    pipeline.append(("device0", message("device0", T, a=1)), at=T - 5 * DAY_MS)
    pipeline.step()
    set_retention(pipeline.folder.retention, "süd / 1", RegionLimits(days=1))
    assert [done.files for done in expire(pipeline)] == [1]
    assert (expire(pipeline), pipeline.rows()) == ([], [])
    assert read_status(pipeline.folder).expired_rows == {"süd / 1": 1}


def test_a_chore_that_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = filled(tmp_path, 1, files=4)
    pipeline.folder.retention.write_bytes(b"no database" * 100)
    monkeypatch.setattr(stream_process, "COMPACT_S", 0.01)
    caplog.set_level(logging.INFO)
    stop = threading.Event()
    housekeeping = threading.Thread(
        target=stream_process._keep_house, args=(pipeline.folder, stop, 30, 1, True)
    )
    housekeeping.start()
    looked, end = threading.Event(), time.monotonic() + 20
    while "compaction: 8 files" not in caplog.text and time.monotonic() < end:
        looked.wait(0.01)
    stop.set()
    housekeeping.join()
    assert "retention failed" in caplog.text
    assert "compaction: 8 files" in caplog.text
