"""Archives: all that is stored goes on to a sink, once, whatever ends in between."""

import asyncio
import json
import os
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bypass import connect
from bypass.ingest.devices.device import Device
from bypass.ingest.exposure.archives.archive import Archive, parse_archive
from bypass.ingest.exposure.archives.sinks import (
    ArchiveSink,
    InvalidArchive,
    JsonlFiles,
    ParquetFiles,
    find_sink,
)
from bypass.ingest.exposure.event_bridge import EventBridge
from bypass.ingest.folder_lock import FolderInUse, only_one
from bypass.ingest.queries.invalid import InvalidCursor
from bypass.ingest.queries.kept_cursor import InvalidReaderName, needs_old_files
from bypass.ingest.queries.selection import Selection
from bypass.ingest.stream.plans import submit_plan
from bypass.ingest.tables.compaction import compact
from bypass.transitions import Plan
from tests.ingest.pipeline import Pipeline, message
from tests.product import ROOT

T = 1_763_459_000_000


def append(pipeline: Pipeline, *numbers: int) -> None:
    for device in ("a", "b"):
        pipeline.append(*((device, message(device, T + n, v=n, w="text")) for n in numbers))
    pipeline.run()


def lines(folder: Path) -> list[tuple[str, int, str]]:
    found = [json.loads(line) for path in folder.rglob("*.jsonl") for line in path.read_text().splitlines()]
    return sorted((row["device"], row["time"] - T, row["metric"]) for row in found)


def expected(*numbers: int) -> list[tuple[str, int, str]]:
    return sorted((device, n, metric) for device in ("a", "b") for n in numbers for metric in ("v", "w"))


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Pipeline(tmp_path / "installation", Device(id="a"), Device(id="b", tenant="other"))


class Broken(ArchiveSink):
    """Stores as another, and then fails: nobody notes that it has stored."""

    def __init__(self, inner: ArchiveSink) -> None:
        self.inner = inner

    def store(self, page: str, rows: pa.Table) -> None:
        self.inner.store(page, rows)
        raise OSError("the machine is gone")


def test_what_was_stored_and_what_comes_is_archived_once(pipeline: Pipeline, tmp_path: Path) -> None:
    submit_plan(
        pipeline.folder.plans, Plan.from_yaml("actions: [{proxy: row-model, to: batched}]\nplan: rows")
    )
    append(pipeline, 0, 1)
    files = JsonlFiles(tmp_path / "cold")
    archive = Archive(pipeline.folder, "cold", files)
    while archive.step():
        append(pipeline, 2) if archive._page == 1 else None
    assert lines(tmp_path / "cold") == expected(0, 1, 2)
    append(pipeline, 3)
    with pytest.raises(OSError, match="gone"):
        Archive(pipeline.folder, "cold", Broken(files)).run(threading.Event())
    assert lines(tmp_path / "cold") == expected(0, 1, 2, 3)
    compact(pipeline.folder.measurements, fewest=2)
    append(pipeline, 4)
    again = Archive(pipeline.folder, "cold", files)  # the page of 3 comes again, and replaces its file
    while again.step():
        pass
    assert lines(tmp_path / "cold") == expected(0, 1, 2, 3, 4)
    assert {path.parent.name for path in (tmp_path / "cold").rglob("*.jsonl")} == {"2025-11-18"}


def test_parquet_files_have_all_columns(pipeline: Pipeline, tmp_path: Path) -> None:
    append(pipeline, 0)
    archive = Archive(pipeline.folder, "cold", ParquetFiles(tmp_path / "cold"))
    while archive.step():
        pass
    (file,) = (tmp_path / "cold").rglob("*.parquet")
    rows = pq.read_table(file, partitioning=None)
    assert sorted(rows["tenant"].to_pylist()) == ["default", "default", "other", "other"]
    assert rows["long"].to_pylist() == [0, None, 0, None]


def test_files_stay_while_an_archive_is_late(pipeline: Pipeline, tmp_path: Path) -> None:
    append(pipeline, 0)
    archive = Archive(pipeline.folder, "cold", JsonlFiles(tmp_path / "cold"))
    while archive.step():
        pass
    append(pipeline, 1)
    assert not needs_old_files(pipeline.folder)
    commit = max((pipeline.folder.measurements / "_delta_log").glob("*.json"))
    os.utime(commit, (time.time() - 3600, time.time() - 3600))
    assert needs_old_files(pipeline.folder)
    os.utime(commit, (time.time() - 90_000, time.time() - 90_000))
    assert not needs_old_files(pipeline.folder)  # an archive that nobody runs any more holds nothing up
    os.utime(commit, (time.time() - 3600, time.time() - 3600))
    assert needs_old_files(pipeline.folder)
    while archive.step():
        pass
    assert not needs_old_files(pipeline.folder)


def test_a_damaged_place_holds_nothing_up_and_is_said(
    pipeline: Pipeline, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    append(pipeline, 0)
    Archive(pipeline.folder, "cold", JsonlFiles(tmp_path / "cold"))
    (damaged,) = pipeline.folder.readers.rglob("*.cursor")
    for content in (b"", b"nonsense 7", b"\xff\xfe"):
        damaged.write_bytes(content)
        caplog.clear()
        assert not needs_old_files(pipeline.folder)
        assert f"{damaged}: is damaged: expected a cursor and a number" in caplog.text
        with pytest.raises(InvalidCursor, match="is damaged"):
            Archive(pipeline.folder, "cold", JsonlFiles(tmp_path / "cold"))


def test_an_archive_and_a_bridge_of_one_name_have_places_of_their_own(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    append(pipeline, 0)
    EventBridge(pipeline.folder, Selection("default"), "ingestion")  # begins behind what there is
    archive = Archive(pipeline.folder, "ingestion", JsonlFiles(tmp_path / "cold"))
    while archive.step():
        pass
    assert lines(tmp_path / "cold") == expected(0)
    for name in ("../fleet", "a/b", "", "x" * 65, "a.b"):
        with pytest.raises(InvalidReaderName, match="expected 1 to 64 letters, digits, _ and -"):
            EventBridge(pipeline.folder, Selection("default"), name)


def test_an_archive_and_a_bridge_run_once_at_a_time(pipeline: Pipeline, tmp_path: Path) -> None:
    archive = Archive(pipeline.folder, "cold", JsonlFiles(tmp_path / "cold"))
    bridge = EventBridge(pipeline.folder, Selection("default"), "cold")
    with (
        only_one(pipeline.folder.readers / "archive" / "cold.lock", "a test"),
        pytest.raises(FolderInUse, match="archive cold runs already: expected one at a time"),
    ):
        archive.run(threading.Event())
    with (
        only_one(pipeline.folder.readers / "events" / "cold.lock", "a test"),
        pytest.raises(FolderInUse, match="events cold runs already: expected one at a time"),
    ):
        asyncio.run(bridge.run(lambda: connect("tcp://127.0.0.1:1", open=True)))


def test_a_sink_may_be_brought_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own_sink.py"
    path.write_text(
        "from bypass.ingest import ArchiveSink\n\n\n"
        "class Own(ArchiveSink):\n    def store(self, page, rows):\n        print(page, rows.num_rows)\n"
    )
    assert type(find_sink(f"{path}:Own")).__name__ == "Own"
    assert parse_archive(f"cold=parquet:{tmp_path}") == ("cold", f"parquet:{tmp_path}")


@pytest.mark.parametrize(
    "text",
    ["cold", "cold=", "cold=parquet", "a b=jsonl:x", "cold=json:JSONDecoder", "cold=nowhere:Sink", "=x:y"],
)
def test_an_archive_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidArchive, match="expected"):
        parse_archive(text)


def test_the_archive_of_the_example_has_each_page_once(pipeline: Pipeline, tmp_path: Path) -> None:
    kind = type(find_sink(f"{ROOT}/examples/sqlite_archive.py:SqliteArchive"))
    sink = kind(tmp_path / "archive.db")  # type: ignore[call-arg]
    append(pipeline, 0, 1)
    with pytest.raises(OSError, match="gone"):
        Archive(pipeline.folder, "cold", Broken(sink)).run(threading.Event())
    again = Archive(pipeline.folder, "cold", sink)
    while again.step():
        pass
    with closing(sqlite3.connect(tmp_path / "archive.db")) as database:
        found = database.execute("SELECT device, time, metric, value FROM measurements").fetchall()
    assert sorted((device, at - T, metric) for device, at, metric, _ in found) == expected(0, 1)
    assert {value for *_, metric, value in found if metric == "v"} == {0, 1}
