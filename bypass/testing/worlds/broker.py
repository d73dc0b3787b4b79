"""A real broker in a thread of the test, and how a test waits for what it does."""

from __future__ import annotations

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


@contextmanager
def running(settings: BrokerConfig) -> Iterator[Service]:
    """A broker that serves until the block ends."""
    service = Service(settings)
    thread = threading.Thread(target=service.run, name="broker under test")
    thread.start()
    try:
        yield service
    finally:
        service.server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def in_loop(service: Service, ask: Callable[[], Any]) -> Any:
    """What `ask` gives in the broker's thread."""
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
