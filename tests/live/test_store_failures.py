"""What goes wrong with a store's file is said in one line, and nothing that was written is lost by it."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bypass.live.broker.store import database
from bypass.live.broker.store.recipients import pack_recipients
from bypass.live.broker.store.store import Batch, Loaded, Logged, Recipient, Store, StoreFailed

pytestmark = pytest.mark.slow

PAGE = 4096
NOBODY = 65534  # the user


def filled(first: int, count: int, size: int = 250) -> Batch:
    batch = Batch()
    batch.client(1, "alice", 2**64 - 1, 0.0)
    for seq in range(first, first + count):
        raw = seq.to_bytes(4, "big") * (size // 4)
        batch.logged(Logged(seq, 0.0, seq, 1, 0, 0, raw, pack_recipients([Recipient(1, (1,), False)])))
    batch.setting("latest", str(first + count - 1))
    return batch


def refusal(action: Callable[[], object], path: Path) -> str:
    """What the one line says after it has named the file."""
    with pytest.raises(StoreFailed) as failed:
        action()
    line = str(failed.value)
    assert "\n" not in line
    assert line.startswith(f"{path.resolve()}: ")
    return line.removeprefix(f"{path.resolve()}: ")


def state(store: Store) -> tuple[Loaded, list[Logged]]:
    loaded = store.load()
    return loaded, store.read(range(loaded.last_seq + 1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with 200 publications, closed."""
    path = tmp_path / "bypass.db"
    store = Store(path)
    store.write(filled(1, 200))
    store.close()
    return path


# -- processes that are killed ----------------------------------------------------------------------------

WRITES_FOR_EVER = """
import sys
from pathlib import Path
from bypass.live.broker.store.recipients import pack_recipients
from bypass.live.broker.store.store import Batch, Logged, Recipient, Store

store = Store(Path(sys.argv[1]), sync=sys.argv[2])
seq = store.load().last_seq
while True:
    batch = Batch()
    batch.client(1, "alice", 1, 0.0)
    first = seq + 1
    for seq in range(first, first + 1 + seq * 7 % 90):
        raw = seq.to_bytes(4, "big") * (seq % 200)
        batch.logged(Logged(seq, 0.0, seq, 1, 0, 0, raw, pack_recipients([Recipient(1, (seq,), False)])))
    batch.published(1, seq, seq)
    batch.released(range(first - 600, seq - 599))
    batch.setting("latest", str(seq))
    store.write(batch)
    print(seq, flush=True)
"""


@pytest.mark.parametrize("sync", ["full", "normal"])
def test_a_killed_process_loses_nothing_that_was_written(sync: str, tmp_path: Path) -> None:
    path = tmp_path / "bypass.db"
    randomness = random.Random()
    for _ in range(6):
        command = [sys.executable, "-c", WRITES_FOR_EVER, str(path), sync]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = "".join(process.stdout.readline() for _ in range(randomness.randint(1, 60)))
            for _ in range(randomness.randrange(100_000)):  # somewhere within one of the next writes
                pass
            process.kill()
            said += process.stdout.read()
        written = int(said.splitlines()[-1])
        store = Store(path)
        loaded = store.load()
        latest = loaded.last_seq
        assert latest >= written
        assert loaded.settings == {"latest": str(latest)}
        assert [client.published for client in loaded.clients] == [latest]
        kept = list(range(max(1, latest - 599), latest + 1))
        assert [waiting.seq for waiting in loaded.waiting] == kept
        assert [logged.raw for logged in store.read(kept)] == [
            seq.to_bytes(4, "big") * (seq % 200) for seq in kept
        ]
        store.close()


# -- no room ----------------------------------------------------------------------------------------------


def test_after_a_write_without_room_the_store_is_as_before(path: Path) -> None:
    store = Store(path)
    before = state(store)
    (pages,) = store._writer.execute("PRAGMA page_count").fetchone()
    store._writer.execute(f"PRAGMA max_page_count = {pages + 20}")
    batch = filled(201, 500)
    batch.forgotten(1)
    batch.record(0.0, "transition", "{}")
    for _ in range(3):
        assert "no room to write" in refusal(lambda: store.write(batch), path)
        assert state(store) == before
        assert store.records(1) == []
    store.write(filled(201, 10))  # there is room for this
    store._writer.execute("PRAGMA max_page_count = 1000000")
    store.write(filled(211, 500))
    after = state(store)
    assert len(after[1]) == 710
    store.close()
    store = Store(path)
    assert state(store) == after
    store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Four megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_stops_nothing_but_writing(small_disk: Path) -> None:
    path = small_disk / "bypass.db"
    filler = small_disk / "filler"
    store = Store(path)
    store.write(filled(1, 100))
    filler.write_bytes(bytes(1 << 20))

    def write_on() -> None:
        for first in range(101, 100_000, 100):
            before[:] = [state(store)]
            batches.append(filled(first, 100, size=1000))
            store.write(batches[-1])

    before: list[object] = []
    batches: list[Batch] = []
    assert "no room to write" in refusal(write_on, path)
    assert len(batches) > 1
    assert [state(store)] == before
    assert "no room to write" in refusal(lambda: store.write(batches[-1]), path)
    assert [state(store)] == before
    filler.unlink()
    store.write(batches[-1])
    after = state(store)
    assert after[0].last_seq == 100 + 100 * len(batches)
    store.close()
    store = Store(path)
    assert state(store) == after
    store.close()


def turned_over(first: int, count: int) -> Batch:
    """So many publications, and those before them released: nothing is to be kept for long."""
    batch = filled(first, count, size=1000)
    batch.released(range(first - count, first))
    return batch


def test_a_small_disk_is_not_filled_by_what_is_released(small_disk: Path) -> None:
    """Five times its size is written, a little at a time."""
    store = Store(small_disk / "bypass.db", sync="normal")
    for first in range(1, 20_000, 50):
        store.write(turned_over(first, 50))
    store.close()


def test_what_the_log_takes_is_given_back_when_others_have_filled_the_disk(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SHARE", 1)  # the log may grow to the size of the disk
    path, wal = small_disk / "bypass.db", small_disk / "bypass.db-wal"
    first = 1
    for size in (1 << 18, 1 << 20):  # first the file itself gets as large as it has to be
        store = Store(path, sync="normal")
        while wal.stat().st_size < size:
            store.write(turned_over(first, 50))
            first += 50
        if size < 1 << 20:
            store.close()
    for each in (path, wal):  # as a process leaves them that is killed
        shutil.copy(each, tmp_path / each.name)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(PAGE))
    assert "no room to write" in refusal(lambda: store.write(turned_over(first, 50)), path)
    os.truncate(filler, filler.stat().st_size - 16 * PAGE)  # less than a batch has
    with suppress(StoreFailed):
        store.write(turned_over(first, 50))
    for again in range(first, first + 2500, 50):
        store.write(turned_over(again, 50))
    store.close()
    store = Store(tmp_path / path.name)
    assert (tmp_path / wal.name).stat().st_size == 0
    store.close()


def test_a_store_that_has_no_room_to_be_made_is_made_later(small_disk: Path) -> None:
    path = small_disk / "bypass.db"
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(PAGE))
    assert "no room to write" in refusal(lambda: Store(path), path)
    filler.unlink()
    store = Store(path)
    store.write(filled(1, 10))
    store.close()


@pytest.mark.parametrize(
    ("free", "meaning"), [(4096, "no room to write (4096 bytes free)"), (1 << 30, "check the disk")]
)
def test_a_disk_error_is_taken_for_want_of_room_if_there_is_little(
    free: int, meaning: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "room", lambda path: free)
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    assert meaning in str(database.failure(tmp_path / "bypass.db", error))


def test_a_batch_that_cannot_be_stored_leaves_nothing_behind(path: Path) -> None:
    store = Store(path)
    before = state(store)
    batch = filled(201, 10)
    batch.setting("name", "\ud800")
    with pytest.raises(UnicodeEncodeError):
        store.write(batch)
    assert state(store) == before
    store.write(filled(201, 10))
    store.close()


# -- no right to write ------------------------------------------------------------------------------------


@pytest.fixture
def ordinary_user() -> Iterator[Path]:
    """A directory of a user for whom permissions count."""
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid():
            yield Path(folder)
        else:
            os.chown(folder, NOBODY, -1)
            os.seteuid(NOBODY)
            try:
                yield Path(folder)
            finally:
                os.seteuid(0)


def test_a_file_or_directory_that_may_not_be_written_is_refused(ordinary_user: Path) -> None:
    path = ordinary_user / "bypass.db"
    Store(path).close()
    path.chmod(0o400)
    assert "cannot be opened for writing (Permission denied)" in refusal(lambda: Store(path), path)
    path.chmod(0o600)
    (ordinary_user / "bypass.db-lock").unlink()
    ordinary_user.chmod(0o500)
    assert "cannot be opened for writing (Permission denied)" in refusal(lambda: Store(path), path)
    new = ordinary_user / "new.db"
    assert "cannot be opened for writing (Permission denied)" in refusal(lambda: Store(new), new)
    ordinary_user.chmod(0o700)
    Store(path).close()


def test_a_file_system_that_may_not_be_written_is_refused(small_disk: Path) -> None:
    path = small_disk / "bypass.db"
    Store(path).close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert "cannot be opened for writing (Read-only file system)" in refusal(lambda: Store(path), path)


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "bypass.db"
    assert "(No such file or directory): check path" in refusal(lambda: Store(missing), missing)
    assert "(Is a directory): check path" in refusal(lambda: Store(tmp_path), tmp_path)


# -- not a store, or not any more -------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"\n", b"SQLite format 3", random.Random(1).randbytes(50_000)])
def test_a_file_that_is_no_database_is_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    assert refusal(lambda: Store(path), path).startswith("no database: give the store another path")
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "bypass.db"
    path.touch()
    store = Store(path)
    store.write(filled(1, 1))
    store.close()


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE clients (number INTEGER PRIMARY KEY)")
    other.close()
    before = path.read_bytes()
    assert "a database of something else" in refusal(lambda: Store(path), path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 2**31 - 1])
def test_another_version_of_the_schema_is_left_alone(version: int, path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {version}")
    other.close()
    before = path.read_bytes()
    assert f"with schema {version}: expected 2 to 4" in refusal(lambda: Store(path), path)
    assert path.read_bytes() == before


def test_every_damaged_page_is_noticed(path: Path) -> None:
    content = path.read_bytes()
    assert len(content) > 20 * PAGE
    for start in range(PAGE, len(content), PAGE):
        flipped = bytes(byte ^ 0xFF for byte in content[start : start + PAGE])
        path.write_bytes(content[:start] + flipped + content[start + PAGE :])
        assert "move it away to begin anew" in refusal(lambda: Store(path), path)
    # The first page has the header: its tables cannot be known without it.
    path.write_bytes(content[:100] + bytes(PAGE - 100) + content[PAGE:])
    assert "move it away to begin anew" in refusal(lambda: Store(path), path)
    path.write_bytes(content)
    Store(path).close()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_file_that_was_cut_off_is_noticed(share: float, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert "move it away to begin anew" in refusal(lambda: Store(path), path)


def test_damage_while_the_store_is_open_is_noticed(path: Path) -> None:
    store = Store(path)
    content = path.read_bytes()
    path.write_bytes(content[:PAGE] + random.Random(1).randbytes(len(content) - PAGE))
    assert "damaged" in refusal(lambda: store.read(range(200)), path)
    assert "damaged" in refusal(store.load, path)
    store.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE log SET recipients = x'0102030405' WHERE seq = 7",
        "UPDATE log SET recipients = x'ffffffff' WHERE seq = 7",
        "UPDATE log SET recipients = x'04000000010000000200000001000000' WHERE seq = 7",
        "INSERT INTO subscriptions VALUES (99, 1, x'00')",
    ],
)
def test_contents_that_make_no_sense_are_damage(change: str, path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute(change)
    other.commit()
    other.close()
    store = Store(path)
    assert "damaged (contents" in refusal(store.load, path)
    store.close()


# -- one process at a time --------------------------------------------------------------------------------


def test_a_store_in_use_is_refused_by_whatever_name(path: Path) -> None:
    store = Store(path)
    link = path.with_name("link.db")
    link.symlink_to(path)
    for name in (path, link):
        said = refusal(lambda name=name: Store(name), path)  # type: ignore[misc]
        assert said.startswith(f"in use by another broker (process {os.getpid()}): stop that one")
    store.write(filled(201, 1))  # the first one is not disturbed
    store.close()
    Store(link).close()


def test_a_store_is_free_once_its_process_is_dead(path: Path) -> None:
    command = [sys.executable, "-c", WRITES_FOR_EVER, str(path), "normal"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        assert f"in use by another broker (process {process.pid})" in refusal(lambda: Store(path), path)
        process.kill()
    Store(path).close()


def test_another_program_that_keeps_the_file_locked_delays_writing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PATIENCE", 0.01)
    store = Store(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "locked by another program" in refusal(lambda: store.write(filled(201, 1)), path)
    assert store.load().last_seq == 200
    other.execute("ROLLBACK")
    other.close()
    store.write(filled(201, 1))
    assert store.load().last_seq == 201
    store.close()
