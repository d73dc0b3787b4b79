"""Faults of a machine rather than of a process: it stands still, has no room, no descriptors, another time.

Each fault is over when its function ends, and nothing that was acknowledged may be lost by it.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.live.crash_processes import until

if TYPE_CHECKING:
    from tests.live.crashes import World

DAY = 86_400.0
STRANGERS = 30


@contextmanager
def mounted_disk(place: Path, size: str) -> Iterator[Path | None]:
    """A file system of its own at `place`; None if there is no right to mount one."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def no_room(place: Path) -> Iterator[None]:
    """The disk is full."""
    filler = place / "filler"
    try:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        yield
    finally:
        filler.unlink()


def full_disk(world: World) -> None:
    """Events are refused for a while, because there is no room. The store is on a `mounted_disk`."""
    before = len(world.ledger.refused)

    def refuses() -> bool:
        world.ledger.read()
        return len(world.ledger.refused) > before

    with world.operations.paused, no_room(world.store.parent):  # plans would be refused, too
        until(refuses, "events are refused")


def no_descriptors(world: World) -> None:
    """The broker may open nothing more, for some seconds in which strangers connect."""
    held = len(os.listdir(f"/proc/{world.broker.pid}/fd"))
    limits = resource.prlimit(world.broker.pid, resource.RLIMIT_NOFILE)
    with ExitStack() as strangers:
        resource.prlimit(world.broker.pid, resource.RLIMIT_NOFILE, (held, limits[1]))
        try:
            for _ in range(STRANGERS):
                strangers.enter_context(_connection(world.endpoint))
            time.sleep(world.rng.uniform(1.0, 3.0))
        finally:
            resource.prlimit(world.broker.pid, resource.RLIMIT_NOFILE, limits)


def _connection(endpoint: str) -> socket.socket:
    scheme, _, place = endpoint.partition("://")
    family = socket.AF_UNIX if scheme == "ipc" else socket.AF_INET
    stranger = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    host, _, port = place.rpartition(":")
    with suppress(BlockingIOError):  # nobody takes it off the queue
        stranger.connect(place if scheme == "ipc" else (host, int(port)))
    return stranger


def clock_jump(world: World) -> None:
    """The broker's machine comes up with another time: hours or weeks ahead, or behind."""
    world.stop_broker("clock")
    world.clock_ahead = world.rng.choice((-1, 1)) * world.rng.choice((DAY / 24, 8 * DAY, 60 * DAY))
    world.broker.start()


def pause(world: World) -> None:
    """One process stands still for longer than others wait for an answer."""
    process = world.rng.choice([world.broker, *world.clients]).pid
    os.kill(process, signal.SIGSTOP)
    try:
        time.sleep(world.rng.uniform(10.0, 15.0))
    finally:
        os.kill(process, signal.SIGCONT)


FAULTS: dict[str, Callable[[World], None]] = {
    each.__name__.replace("_", " "): each for each in (pause, clock_jump, no_descriptors, full_disk)
}
"""By name; the last one needs a store on a `mounted_disk`."""
