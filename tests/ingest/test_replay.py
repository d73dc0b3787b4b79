"""Replays: each dead letter goes through the log once more, and no more, whatever is killed in between."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bypass.ingest.categories import partition_of
from bypass.ingest.devices.device import Device
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder_lock import FolderInUse, only_one
from bypass.ingest.log.block import Records
from bypass.ingest.log.catalogue import find_log
from bypass.ingest.names import REPLAYS
from bypass.ingest.sealing import Sealer
from bypass.ingest.service import replay
from bypass.ingest.service.replay import replay_letters
from bypass.ingest.stream.sequences import MOST_GAPS
from bypass.ingest.tables.letters import compact_letters, expire_letters
from tests.command import refused
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000
DAY_S = 86_400

KILLED = """
import os, signal, sys
from pathlib import Path
from bypass.ingest.folder import IngestFolder
from bypass.ingest.service import replay

delete = replay.delete_letters

def kill(path, names):
    if sys.argv[2] == "deleted":
        delete(path, names)
    os.kill(os.getpid(), signal.SIGKILL)

replay.delete_letters = kill
replay.replay_letters(IngestFolder(Path(sys.argv[1])))
"""


def with_letters(path: Path, *numbers: int) -> Pipeline:
    pipeline = Pipeline(path, Device(id="other"))
    pipeline.append(*(("device0", message("device0", T + number, a=number)) for number in numbers))
    pipeline.run()
    with DeviceRegistry(pipeline.folder.registry) as registry:
        registry.register(Device(id="device0"))
    return pipeline


@pytest.mark.parametrize(("place", "again"), [("logged", 3), ("deleted", 0)])
def test_a_replay_that_is_killed_is_finished_by_the_next(tmp_path: Path, place: str, again: int) -> None:
    pipeline = with_letters(tmp_path, 0, 1, 2)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), place], check=False)
    assert killed.returncode < 0
    if place == "logged":
        pipeline.run()  # some of the letters may be stored already when they come again
    assert replay_letters(pipeline.folder) == again
    assert pipeline.letters() == []
    progress = pipeline.run()
    assert [row["long"] for row in pipeline.rows()] == [0, 1, 2]
    assert (progress.read, progress.stored, progress.duplicates) == (6 + again, 3, again)
    assert progress.dead_letters == {"unknown device": 3}


def test_a_letter_that_is_refused_again_is_one_letter_however_often_it_is_logged(tmp_path: Path) -> None:
    pipeline = with_letters(tmp_path, 0)
    with DeviceRegistry(pipeline.folder.registry) as registry:
        registry.remove("device0")
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), "logged"], check=False)
    assert replay_letters(pipeline.folder) == 1
    progress = pipeline.run()
    assert [letter["log"] for letter in pipeline.letters()] == [f"{REPLAYS}/1"]
    assert (progress.duplicates, progress.dead_letters) == (1, {"unknown device": 2})
    assert pipeline.letters()[0]["payload"] == message("device0", T, a=0)


def test_letters_that_come_meanwhile_and_those_of_other_reasons_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = with_letters(tmp_path, 0, 1, 2)
    pipeline.append(("device0", b"{"))
    pipeline.run()
    monkeypatch.setattr(replay, "MOST", 2)
    assert replay_letters(pipeline.folder, "unknown device") == 3
    (letter,) = pipeline.letters()
    assert letter["stage"] == "parse"
    progress = pipeline.run()
    assert (progress.stored, os.listdir(pipeline.folder.logs / REPLAYS / "1") != []) == (3, True)


def test_one_process_at_a_time_replays(tmp_path: Path) -> None:
    pipeline = with_letters(tmp_path, 0)
    lock = pipeline.folder.path / "replay.lock"
    with only_one(lock, "a test"), pytest.raises(FolderInUse, match="another process replays dead letters"):
        replay_letters(pipeline.folder)


def test_letters_that_are_old_are_removed(tmp_path: Path) -> None:
    pipeline = with_letters(tmp_path)
    now = time.time()
    for days in (0, 9, 12):
        pipeline.append(("stranger", b"?"), at=int((now - days * DAY_S) * 1000))
    pipeline.run()
    expire_letters(pipeline.folder.dead_letters, 10, now)
    assert len(pipeline.letters()) == 2


def test_copies_that_both_became_letters_are_stored_once_and_the_next_one_is_known(tmp_path: Path) -> None:
    pipeline = with_letters(tmp_path, 0, 0)
    assert replay_letters(pipeline.folder) == 2
    pipeline.run()
    pipeline.append(("device0", message("device0", T, a=0)))
    progress = pipeline.run()
    assert [row["long"] for row in pipeline.rows()] == [0]
    assert (progress.stored, progress.duplicates) == (1, 2)


def test_the_number_of_a_replayed_message_is_noted(tmp_path: Path) -> None:
    device = Device(id="device0", suite="NULL_CKSM-FLETCHER16", sequenced=True)
    sealer = Sealer(suite="NULL_CKSM-FLETCHER16")
    count, last = 1100 + 2 * MOST_GAPS, 2 * MOST_GAPS + 2
    first, *others = [sealer.seal(message("device0", T + n, a=n), n) for n in range(count)]
    pipeline = Pipeline(tmp_path, Device(id="other"), most=5000)
    pipeline.append(("device0", first), ("device0", first))
    pipeline.run()
    with DeviceRegistry(pipeline.folder.registry) as registry:
        registry.register(device)
    replay_letters(pipeline.folder)
    pipeline.append(("device0", first))
    progress = pipeline.run()
    assert (progress.stored, progress.duplicates) == (1, 2)
    late, others = others[:last:2], others[1:last:2] + others[last:]
    pipeline.append(*(("device0", each) for each in (*others, *late)))
    assert pipeline.run().dead_letters == {"unknown device": 2, "replayed": 1}  # one gap more than are known
    assert replay_letters(pipeline.folder, "replayed") == 1
    # Nobody can tell whether the old one had come: an operator has said so.
    assert pipeline.run().stored == count


@pytest.mark.parametrize("record", [b"", b"?", b"\xff\xff" + 8 * b"\0" + b"test/1"])
def test_a_record_of_the_replay_log_that_is_none_is_a_letter(tmp_path: Path, record: bytes) -> None:
    pipeline = with_letters(tmp_path)
    log = find_log(pipeline.folder).open_writer(REPLAYS)
    records = Records()
    records.add("device0", partition_of("device0"), record, T)
    log.append(records)
    log.close()
    assert pipeline.run().dead_letters == {"malformed replay": 1}
    (letter,) = pipeline.letters()
    assert (letter["stage"], letter["payload"]) == ("replay", record)


@pytest.mark.parametrize("name", ["site/a", "replay", "", "..", "a b", "x" * 129])
def test_connectors_have_names_that_the_stream_reads(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, error = refused(capsys, "ingest", "start", "--folder", tmp_path / "i", "--name", name, "--no-stream")
    assert error.startswith("connectors: name is ")
    assert not (tmp_path / "i").exists()


def test_files_of_letters_are_joined_and_replayed(tmp_path: Path) -> None:
    pipeline = with_letters(tmp_path)
    for number in range(5):
        pipeline.append(("device1", message("device1", T + number, a=number)))
        pipeline.step()
    before = sorted(letter["sequence"] for letter in pipeline.letters())
    assert compact_letters(pipeline.folder.dead_letters) == 5
    assert compact_letters(pipeline.folder.dead_letters) == 0
    assert sorted(letter["sequence"] for letter in pipeline.letters()) == before
    pipeline.append(("device1", b"?"))
    pipeline.run()
    assert replay_letters(pipeline.folder) == 6
    assert pipeline.letters() == []
