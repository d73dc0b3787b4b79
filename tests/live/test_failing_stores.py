"""Stores that fail while clients are at work: who publishes is told why, nobody gets what was refused, what
was acknowledged arrives, and all goes on when the store works again."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.live.crash_faults import mounted_disk, no_room
from tests.live.crash_processes import until
from tests.live.crashes import World

ENOUGH = 8

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
]  # many processes start, and others may use the machine


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Large enough for what the store writes before it puts things into their places."""
    with mounted_disk(tmp_path / "disk", "32m") as place:
        if place is None:
            pytest.skip("needs the right to mount a file system")
        yield place


@contextmanager
def no_growth(world: World) -> Iterator[None]:
    """The broker may not write behind the first bytes of any file."""
    unlimited = resource.prlimit(world.broker.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(world.broker.pid, resource.RLIMIT_FSIZE, (8192, unlimited[1]))
    try:
        yield
    finally:
        resource.prlimit(world.broker.pid, resource.RLIMIT_FSIZE, unlimited)


@contextmanager
def read_only(world: World) -> Iterator[None]:
    """The store and its log may not be written, also not by who has them open."""
    files = [str(world.store), f"{world.store}-wal"]
    with world.store.open("r+b", buffering=0) as file:
        if shutil.which("chattr") is None or subprocess.run(["chattr", "+i", *files], check=False).returncode:
            pytest.skip("needs a file system with immutable files, and the right to make them so")
        try:
            with suppress(PermissionError):
                os.pwrite(file.fileno(), os.pread(file.fileno(), 1, 0), 0)
                pytest.skip("needs a file system on which open files can be made immutable")
            yield
        finally:
            subprocess.run(["chattr", "-i", *files], check=True)


def fails_for_a_while(world: World, complaint: str) -> None:
    """Wait until enough was refused, for this reason."""
    before = len(world.ledger.refused)

    def enough() -> bool:
        world.broker.ended()
        world.ledger.read()
        return len(world.ledger.refused) >= before + ENOUGH

    until(enough, "events are refused")
    *_, latest = world.ledger.refused.values()
    assert complaint in latest
    assert complaint in world.status()["store"]["failing"]


def works_again(world: World) -> None:
    """Wait until enough is safe again, and check that all of it has arrived, and nothing else."""
    world.check()
    ledger = world.ledger
    before = len(ledger.safe)

    def enough() -> bool:
        ledger.read()
        return len(ledger.safe) >= before + ENOUGH

    until(enough, "events are safe again")
    world.check()
    assert world.status()["store"]["failing"] is None
    assert world.violations == []
    for subscriber in ledger.subscribers.values():
        assert not subscriber.got & ledger.refused.keys()


def test_a_full_disk(small_disk: Path, tmp_path: Path) -> None:
    world = World(tmp_path, seed=1, publishers=1, store=small_disk / "store.db", size=1000)
    with world.running(transitions=False):
        with no_room(small_disk):
            fails_for_a_while(world, "no room to write")
        works_again(world)
        assert "events and subscriptions are refused until it works again" in world.broker.said()
        with no_room(small_disk):
            fails_for_a_while(world, "no room to write")
            world.broker.kill()
        world.broker.start()
        works_again(world)


@pytest.mark.parametrize("trouble", [no_growth, read_only])
def test_files_that_cannot_be_written_any_more(trouble: object, tmp_path: Path) -> None:
    world = World(tmp_path, seed=1, publishers=1, subscribers=1)
    with world.running(transitions=False):
        with trouble(world):  # type: ignore[operator]
            fails_for_a_while(world, "cannot be read or written")
        works_again(world)


def test_a_damaged_store_is_refused_and_nothing_is_lost_once_it_is_restored(tmp_path: Path) -> None:
    world = World(tmp_path, seed=1, publishers=1, subscribers=1)
    with world.running(transitions=False):
        works_again(world)
        world.broker.kill()
        copy = tmp_path / "copy"
        copy.mkdir()
        for path in tmp_path.glob("store.db*"):
            shutil.copy(path, copy)
        connection = sqlite3.connect(world.store)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # all is in the one file
        connection.close()
        damaged = world.store.read_bytes()
        world.store.write_bytes(damaged[:4096] + bytes(byte ^ 0xFF for byte in damaged[4096:]))
        world.broker.start()
        assert world.broker.exit_code() == 2
        (line,) = world.broker.said().splitlines()
        assert line.startswith(f"bypass: error: {world.store}: damaged")
        assert "restore it from a copy" in line
        shutil.copytree(copy, tmp_path, dirs_exist_ok=True)
        world.broker.start()
        works_again(world)
