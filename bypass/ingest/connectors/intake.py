"""The intake: connectors hand in messages, which are appended to the log together and then acknowledged."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bypass.errors import shown
from bypass.ingest.categories import partition_of
from bypass.ingest.log.block import Records
from bypass.ingest.log.message_log import LogFailed, LogFull, LogWriter
from bypass.root_error import BypassError
from bypass.support.durable_files import replace_file

SAVE_S = 1.0
"""How often the counts of refusals are written: those since then are lost with a process that is killed."""

FOR_GOOD = frozenset(("too large", "device id"))
"""Reasons that are the message's own. One that was refused for another may be handed in again."""

T = TypeVar("T")
log = logging.getLogger(__name__)


class MessageRefused(BypassError):
    """A message was not taken. `reason` is one of few short texts, so that it can be counted."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


@dataclass(frozen=True, slots=True)
class IntakeLimits:
    """Bounds of what waits to be appended, of one message and its device's id, and of the messages that one
    device may send in a second (None: as many as it likes)."""

    messages: int = 100_000
    bytes: int = 64 << 20
    message_bytes: int = 1 << 20
    id_bytes: int = 256
    device_messages_s: int | None = None


class _Waiting(NamedTuple):
    device: str
    payload: bytes
    received: int
    done: Future[None] | None


class LogIntake:
    """Takes messages from any thread. A thread of its own appends what has come meanwhile as one block.

    A message is acknowledged when its future is done; one whose future has an exception may be in
    the log nevertheless.
    Futures are done in the order in which messages were handed in.
    """

    def __init__(
        self,
        log: LogWriter,
        counts: Path,
        *,
        limits: IntakeLimits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Continue the counts of refusals in the file `counts`."""
        given = limits or IntakeLimits()
        self.limits = replace(given, message_bytes=min(given.message_bytes, log.message_bytes))
        self._log = log
        self._clock = clock
        self._counts = counts
        self.refused = Counter[str](_read_counts(counts))
        self._saved = self.refused.total()
        self._waiting: list[_Waiting] = []
        self._bytes = 0
        self._tasks: list[Callable[[], None]] = []
        self._second = 0
        self._sent: dict[str, int] = {}  # by each device, in this second
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)
        self._thread.start()

    def submit(self, device: str, payload: bytes) -> Future[None]:
        """Hand in a message. Gives a future that is done once it is in the log.

        Raises MessageRefused, and counts why: the message is too large, or too much waits already.
        """
        done = Future[None]()
        self._hand_in(device, payload, done)
        return done

    def submit_unacknowledged(self, device: str, payload: bytes) -> None:
        """Hand in a message whose sender is promised nothing. Raises MessageRefused as `submit` does."""
        self._hand_in(device, payload, None)

    def refuse(self, reason: str, detail: str = "") -> MessageRefused:
        """Count a message that is not taken. Gives what may be raised to say so."""
        with self._changed:
            self.refused[reason] += 1
        return MessageRefused(reason, detail)

    def run(self, function: Callable[[], T]) -> Future[T]:
        """Have the thread that appends call a function, between two appends. Raises MessageRefused if
        closed."""
        done = Future[T]()
        with self._changed:
            if self._closing:
                raise MessageRefused("stopping")
            self._tasks.append(lambda: _settle(done, function))
            self._changed.notify()
        return done

    def close(self) -> None:
        """Append what waits, and stop. The log stays open."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _hand_in(self, device: str, payload: bytes, done: Future[None] | None) -> None:
        limits = self.limits
        if len(payload) > limits.message_bytes:
            raise self.refuse("too large", f"{len(payload)} bytes: expected {limits.message_bytes} at most")
        if not device.isprintable() or not 0 < len(device.encode()) <= limits.id_bytes:
            raise self.refuse(
                "device id", f"{shown(device)}: expected 1 to {limits.id_bytes} printable bytes"
            )
        now = self._clock()
        with self._changed:
            if self._closing:
                raise self.refuse("stopping")
            if len(self._waiting) >= limits.messages or self._bytes + len(payload) > limits.bytes:
                raise self.refuse("busy", f"{len(self._waiting)} messages wait to be stored")
            if limits.device_messages_s is not None:
                self._charge(device, int(now), limits.device_messages_s)
            self._waiting.append(_Waiting(device, payload, int(now * 1000), done))
            self._bytes += len(payload)
            self._changed.notify()

    def _charge(self, device: str, second: int, most: int) -> None:
        if second != self._second:
            self._second = second
            self._sent.clear()
        sent = self._sent.get(device, 0)
        if sent >= most:
            raise self.refuse("device rate", f"{device}: {sent} messages in this second")
        self._sent[device] = sent + 1

    def _run(self) -> None:
        while True:
            idle = False
            with self._changed:
                if not self._waiting and not self._tasks and not self._closing:
                    idle = not self._changed.wait(SAVE_S)
                batch, self._waiting, self._bytes = self._waiting, [], 0
                tasks, self._tasks = self._tasks, []
                closing = self._closing
            if batch:
                self._append(batch)
            for task in tasks:
                task()
            if idle or closing:
                self._flush()
            self._save()
            if closing and not batch and not tasks:
                return

    def _append(self, batch: list[_Waiting]) -> None:
        records = Records()
        for device, payload, received, _ in batch:
            records.add(device, _category(device), payload, received)
        failure: MessageRefused | None = None
        try:
            self._log.append(records)
        except LogFull as error:
            failure = MessageRefused("log full", str(error))
        except LogFailed as error:
            failure = MessageRefused("log failed", str(error))
        except Exception as error:  # nobody may wait for ever, whatever it was
            log.exception("%d messages could not be appended", len(batch))
            failure = MessageRefused("log failed", shown(error))
        if failure is not None:
            with self._changed:
                self.refused[failure.reason] += len(batch)
        for *_, done in batch:
            if done is None or not done.set_running_or_notify_cancel():
                continue
            if failure is None:
                done.set_result(None)
            else:
                done.set_exception(failure)

    def _flush(self) -> None:
        """Do not let what a log may hold in memory wait for the next message."""
        try:
            self._log.flush()
        except LogFailed as error:
            log.warning("%s", error)

    def _save(self) -> None:
        """Write the counts of refusals, if there are new ones. A disk that is full is tried again later."""
        with self._changed:
            total, text = self.refused.total(), json.dumps(self.refused)
        if total == self._saved:
            return
        try:
            replace_file(self._counts, text, synced=False)
        except OSError as error:
            log.warning("%s: counts of refusals cannot be written: %s", self._counts, error.strerror)
            return
        self._saved = total


def _settle(done: Future[Any], function: Callable[[], Any]) -> None:
    """Give a future what a function gives or raises."""
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except Exception as error:
        done.set_exception(error)
    else:
        done.set_result(result)


@lru_cache(maxsize=200_000)
def _category(device: str) -> int:
    """The category of a device, by its id."""
    return partition_of(device)


def _read_counts(path: Path) -> dict[str, int]:
    try:
        counts: dict[str, int] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):  # a machine that lost power may have left it empty
        return {}
    return counts
