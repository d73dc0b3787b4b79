"""The repair of tables: commits and checkpoints that the loss of power has cut off."""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from bypass.ingest import batch_sync
from bypass.ingest.devices.device import Device
from bypass.ingest.service.table_repair import DamagedTable, repair_tables
from bypass.ingest.stream import sink
from bypass.ingest.tables import delta
from bypass.ingest.tables.compaction import compact
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000


def filled(path: Path, batches: int) -> Pipeline:
    pipeline = Pipeline(path, Device(id="device0"))
    for number in range(batches):
        append(pipeline, number)
        pipeline.step()
    return pipeline


def append(pipeline: Pipeline, number: int) -> None:
    pipeline.append(("device0", message("device0", T + number, a=number)), ("stranger", b"?"))


def commits(table: Path) -> list[Path]:
    return sorted((table / "_delta_log").glob("*.json"))


def values(pipeline: Pipeline) -> list[int]:
    return [row["long"] for row in pipeline.rows()]


def cut(content: bytes, how: str) -> bytes:
    lines = content.splitlines(keepends=True)
    return {
        "within a line": content[: len(content) // 2],
        "its last byte": content[:-1],
        "behind its head": lines[0],
        "behind its files": b"".join(lines[:-1]),
        "zeros": bytes(len(content)),
    }[how]


@pytest.mark.parametrize(
    "how", ["within a line", "its last byte", "behind its head", "behind its files", "zeros"]
)
def test_a_commit_that_was_cut_off_before_its_batch_was_noted_is_done_again(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = filled(tmp_path, 2)
    append(pipeline, 2)
    with monkeypatch.context() as power:
        power.setattr(sink, "note_batch", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            pipeline.step()
    for table in (pipeline.folder.measurements, pipeline.folder.dead_letters):
        last = commits(table)[-1]
        last.write_bytes(cut(last.read_bytes(), how))
    repair_tables(pipeline.folder)
    assert caplog.text.count("was cut off, as by the loss of power: it is emptied") == 2
    pipeline.restart()
    assert pipeline.run().stored == 3
    assert values(pipeline) == [0, 1, 2]
    assert len(pipeline.letters()) == 3


def test_a_commit_of_a_batch_that_was_noted_stays_as_it_is(tmp_path: Path) -> None:
    pipeline = filled(tmp_path, 2)
    last = commits(pipeline.folder.measurements)[-1]
    whole = last.read_bytes()
    last.write_bytes(whole[:-1])
    with pytest.raises(DamagedTable, match="has batches up to 0: expected 1, which was done: restore"):
        repair_tables(pipeline.folder)
    assert last.read_bytes() == whole[:-1]
    last.write_bytes(whole)
    repair_tables(pipeline.folder)
    assert values(pipeline) == [0, 1]


def test_a_commit_that_the_disk_has_forgotten_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = filled(tmp_path, 2)
    commits(pipeline.folder.dead_letters)[-1].write_bytes(b"")
    with caplog.at_level(logging.WARNING):
        repair_tables(pipeline.folder)
    assert "dead_letters: has batches up to 0: expected 1, which was done" in caplog.text


@pytest.mark.parametrize("how", ["within a line", "behind its head", "behind its files"])
def test_a_compaction_that_was_cut_off_doubles_nothing_and_is_done_again(tmp_path: Path, how: str) -> None:
    pipeline = filled(tmp_path, 4)
    assert compact(pipeline.folder.measurements).files == 4
    last = commits(pipeline.folder.measurements)[-1]
    last.write_bytes(cut(last.read_bytes(), how))
    repair_tables(pipeline.folder)
    assert values(pipeline) == [0, 1, 2, 3]
    assert compact(pipeline.folder.measurements).files == 4
    assert values(pipeline) == [0, 1, 2, 3]


def test_a_table_whose_making_was_cut_off_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"))
    append(pipeline, 0)
    with monkeypatch.context() as power:
        power.setattr(sink, "note_batch", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            pipeline.step()
    for path in commits(pipeline.folder.measurements):
        path.write_bytes(path.read_bytes()[:20])
    repair_tables(pipeline.folder)
    assert pipeline.run().stored == 1
    assert values(pipeline) == [0]


def test_a_checkpoint_that_was_cut_off_is_removed_while_commits_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "CHECKPOINT_COMMITS", 3)
    pipeline = filled(tmp_path, 6)
    log = pipeline.folder.measurements / "_delta_log"
    latest = sorted(log.glob("*.checkpoint.parquet"))[-1]
    whole = latest.read_bytes()
    latest.write_bytes(whole[:-9])
    repair_tables(pipeline.folder)
    assert (latest.exists(), (log / "_last_checkpoint").exists()) == (False, False)
    assert values(pipeline) == list(range(6))
    latest.write_bytes(whole[:-9])
    (log / f"{int(latest.name[:20]):020d}.json").unlink()
    with pytest.raises(DamagedTable, match="cannot be read, nor can commit 5: restore the folder"):
        repair_tables(pipeline.folder)


def test_old_commits_go_once_a_checkpoint_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta, "CHECKPOINT_COMMITS", 3)
    pipeline = filled(tmp_path, 3)
    two_days_ago = time.time() - 2 * 86_400
    for path in commits(pipeline.folder.measurements):
        os.utime(path, (two_days_ago, two_days_ago))
    append(pipeline, 3)
    append(pipeline, 4)
    pipeline.run()
    assert len(commits(pipeline.folder.measurements)) == 5  # a commit itself removes none
    delta.forget_commits(pipeline.folder.measurements)
    names = [int(path.stem) for path in commits(pipeline.folder.measurements)]
    assert names == [2, 3, 4]
    assert values(pipeline) == list(range(5))
    assert DeltaTable(str(pipeline.folder.measurements)).version() == 4
    head = json.loads(commits(pipeline.folder.measurements)[-1].read_text().splitlines()[0])
    assert head["commitInfo"][delta.ACTIONS] == "2"


def test_few_files_of_a_long_log_are_looked_at_to_sync_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_sync, "LATEST", 2)
    pipeline = filled(tmp_path, 3)
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.readlink(f"/proc/self/fd/{file}")))
    batch_sync.sync_commits(pipeline.folder, 0)
    files = [Path(path) for path in synced if path.endswith(".json")]
    assert sorted(files) == sorted(
        path
        for table in (pipeline.folder.measurements, pipeline.folder.dead_letters)
        for path in commits(table)[-2:]
    )
