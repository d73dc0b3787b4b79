"""Replays: each dead letter goes through the log once more, and no more, whatever is killed in between."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bypass.ingest.devices.device import Device
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder_lock import FolderInUse, only_one
from bypass.ingest.service import replay
from bypass.ingest.service.replay import replay_letters
from bypass.ingest.stream.replays import REPLAYS
from bypass.ingest.tables.letters import expire_letters
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
