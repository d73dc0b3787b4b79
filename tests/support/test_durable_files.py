"""Files that are written whole or not at all, and locks in files."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from bypass.support.durable_files import replace_file, replacing, sync_below
from bypass.support.file_lock import FileLock


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, "before")
    with suppress(ZeroDivisionError), replacing(path) as unfinished:
        unfinished.write_text("half")
        assert path.read_text() == "before"
        raise ZeroDivisionError
    assert path.read_text() == "before"
    replace_file(path, b"after", mode=0o600)
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "nowhere" / "file", "")


@pytest.mark.parametrize("synced", [True, False])
def test_a_file_is_synced_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: bool
) -> None:
    told: list[tuple[str, bool]] = []

    def note(descriptor: int) -> None:
        name = Path(os.readlink(f"/proc/self/fd/{descriptor}")).name
        told.append((name.partition(".")[0] or "unfinished", (tmp_path / "file").exists()))

    monkeypatch.setattr(os, "fsync", note)
    replace_file(tmp_path / "file", "content", synced=synced)
    assert told == ([("unfinished", False), (tmp_path.name, True)] if synced else [])


def test_files_are_synced_before_the_folders_that_lead_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda each: told.append(os.readlink(f"/proc/self/fd/{each}")))
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").touch()
    sync_below(tmp_path, [tmp_path / "a" / "b" / "file"])
    assert told == [str(tmp_path / each) for each in ("a/b/file", "a/b", "a", "")]


def test_a_lock_is_had_by_one_at_a_time(tmp_path: Path) -> None:
    with FileLock(tmp_path / "made" / "lock"), pytest.raises(BlockingIOError):
        FileLock(tmp_path / "made" / "lock")
    FileLock(tmp_path / "made" / "lock", wait=True).release()
