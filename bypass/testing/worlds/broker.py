"""A real broker in a thread of the test, and how a test waits for what it does."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.service import Service

PATIENCE = 20.0
"""Seconds after which a test has waited too long."""


def config(folder: Path, **changes: Any) -> BrokerConfig:
    """An open broker that only this machine reaches."""
    settings: dict[str, Any] = {
        "listen": (f"ipc://{folder}/broker.sock",),
        "open": True,
        "store": folder / "store.db",
        "sync": "normal",
        **changes,
    }
    return BrokerConfig.model_validate(settings)


class RunningBroker:
    """A broker that serves in a thread until it is stopped or killed."""

    def __init__(self, settings: BrokerConfig) -> None:
        self.service = Service(settings)
        self._thread = threading.Thread(target=self.service.run, name="broker under test")
        self._thread.start()

    def stop(self) -> None:
        """End gracefully."""
        self.service.server.stop()
        self._end()

    def kill(self, folder: Path) -> Path:
        """End at once, without a word to clients; gives the store as it is then, in a folder."""
        server = self.service.server

        def die() -> bool:
            copied = copy_store(self.service, folder)
            if copied:
                server.loop.stop()
            return copied

        until(lambda: in_loop(self.service, die))
        self._end()
        return folder / server.config.store.name

    def _end(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def copy_store(service: Service, folder: Path) -> bool:
    """Copy the files of a broker's store as they are, unless they are being written; in its thread."""
    store = service.server.config.store
    if service.server.turns.writing:
        return False
    for path in store.parent.glob(f"{store.name}*"):
        if not path.name.endswith(("-shm", "-lock")):
            shutil.copy(path, folder)
    return True


@contextmanager
def running(settings: BrokerConfig) -> Iterator[Service]:
    """A broker that serves until the block ends."""
    broker = RunningBroker(settings)
    try:
        yield broker.service
    finally:
        broker.stop()


def in_loop(service: Service, ask: Callable[[], Any]) -> Any:
    """Call `ask` in the broker's thread, and give its result."""
    answer: list[Any] = []
    done = threading.Event()

    def act() -> None:
        try:
            answer.append(ask())
        except BaseException as error:
            answer.append(error)
        done.set()

    service.server.loop.soon(act)
    assert done.wait(PATIENCE)
    if isinstance(answer[0], BaseException):
        raise answer[0]
    return answer[0]


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.005)
