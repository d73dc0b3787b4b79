"""Files: a folder is watched, and each file in it is taken once, as a whole.

`NAME.frames` has frames, one behind the other. `NAME.lines` has a message a line: the device's id, a tab, and
the payload. A file is written elsewhere, or under another name, and renamed when it is complete. When the log
has all of it, it is moved to the folder `taken`; one that cannot be read to its end is moved to `refused`,
and nothing of it is taken.

Beside a file is noted how much of it the log has, after each thousand messages: if the process dies, it goes
on there, and at most a thousand messages are logged twice, which the pipeline recognises.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from itertools import islice
from pathlib import Path

from bypass.ingest.connectors.connector import Connector, InvalidConnector, check_at_least
from bypass.ingest.connectors.frames import (
    DeviceMessage,
    FrameReader,
    FrameTooLarge,
    MalformedFrame,
    decode_message,
    largest_message,
)
from bypass.ingest.connectors.intake import FOR_GOOD, LogIntake, MessageRefused
from bypass.support.durable_files import replace_file

CHUNK = 1000
"""Messages after which it is noted that the log has them."""

READ_BYTES = 1 << 20
FRAMES, LINES = ".frames", ".lines"
NOTE = ".progress"

log = logging.getLogger(__name__)


class FilesConnector(Connector):
    """Looks into `folder` every `interval_s` seconds."""

    def __init__(self, folder: Path, *, interval_s: float = 1.0) -> None:
        """Raises InvalidConnector if there is no such folder."""
        check_at_least("files", "interval_s", interval_s, 0.001)
        if not folder.is_dir():
            raise InvalidConnector(f"files: {folder}: expected a folder")
        self._folder = folder
        self._interval_s = interval_s
        self._stopping = threading.Event()

    async def start(self, intake: LogIntake) -> None:
        self._intake = intake
        for name in ("taken", "refused"):
            (self._folder / name).mkdir(exist_ok=True)
        self._watching = asyncio.create_task(asyncio.to_thread(self._watch))

    async def stop(self) -> None:
        self._stopping.set()
        await self._watching

    def _watch(self) -> None:
        while not self._stopping.is_set():
            for path in self._found():
                if self._stopping.is_set():
                    break
                try:
                    self._take(path)
                except OSError as error:  # others are taken meanwhile
                    log.warning("%s: %s: expected to read it; will try again", path, error.strerror)
            self._stopping.wait(self._interval_s)

    def _found(self) -> list[Path]:
        """The files that wait to be taken; none if the folder cannot be read now."""
        try:
            there = sorted(self._folder.iterdir())
        except OSError as error:
            log.warning("%s: %s: expected to read it; will try again", self._folder, error.strerror)
            return []
        return [path for path in there if path.suffix in (FRAMES, LINES) and path.is_file()]

    def _take(self, path: Path) -> None:
        """Take a file, from where it was left. Raises OSError."""
        note = path.with_name(path.name + NOTE)
        most = largest_message(self._intake.limits.message_bytes, self._intake.limits.id_bytes)
        try:
            for _ in _messages(path, most):
                pass
        except (MalformedFrame, FrameTooLarge) as error:
            self._intake.refuse("malformed file")
            log.warning("%s: %s; it is refused", path, error)
            _move(path, self._folder / "refused")
            note.unlink(missing_ok=True)
            return
        state = path.stat()
        mark = [state.st_size, state.st_mtime_ns]
        taken = _noted(note, mark)
        messages = islice(_messages(path, most), taken, None)
        while chunk := list(islice(messages, CHUNK)):
            if not self._log(chunk):
                return
            taken += len(chunk)
            replace_file(note, json.dumps({"file": mark, "taken": taken}), synced=False)
        _move(path, self._folder / "taken")
        note.unlink(missing_ok=True)

    def _log(self, messages: list[DeviceMessage]) -> bool:
        """Hand in messages until the log has all that can be taken. Gives False if the connector is stopped
        before."""
        while messages:
            handed_in: list[tuple[DeviceMessage, Future[None]]] = []
            again: list[DeviceMessage] = []
            for message in messages:
                try:
                    handed_in.append((message, self._intake.submit(*message)))
                except MessageRefused as error:
                    if error.reason not in FOR_GOOD:
                        again.append(message)
            again += [message for message, done in handed_in if done.exception() is not None]
            if again and self._stopping.wait(self._interval_s):
                return False
            messages = again
        return True


def _messages(path: Path, most: int) -> Iterator[DeviceMessage]:
    """Read a file message by message. Raises MalformedFrame, FrameTooLarge and OSError."""
    return _frames(path, most) if path.suffix == FRAMES else _lines(path, most)


def _frames(path: Path, most: int) -> Iterator[DeviceMessage]:
    frames = FrameReader(most)
    with path.open("rb") as file:
        while data := file.read(READ_BYTES):
            for frame in frames.feed(data):
                yield decode_message(frame)
    if not frames.is_complete:
        raise MalformedFrame("it ends in a frame")


def _lines(path: Path, most: int) -> Iterator[DeviceMessage]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(most + 2):
            number += 1
            if len(line) > most + 1:
                raise FrameTooLarge(f"line {number}: expected {most} bytes at most")
            name, tab, payload = line.rstrip(b"\r\n").partition(b"\t")
            if not tab:
                raise MalformedFrame(f"line {number}: expected an id, a tab and a payload")
            try:
                yield DeviceMessage(name.decode(), payload)
            except UnicodeDecodeError:
                raise MalformedFrame(f"line {number}: the id is no UTF-8: expected it to be") from None


def _noted(note: Path, mark: list[int]) -> int:
    """How many messages of a file the log has, unless it is another file by now."""
    try:
        noted = json.loads(note.read_text())
        return int(noted["taken"]) if noted["file"] == mark else 0
    except (FileNotFoundError, ValueError, KeyError):
        return 0


def _move(path: Path, folder: Path) -> None:
    """Move a file into a folder, under a name that is free there."""
    target, number = folder / path.name, 1
    while target.exists():
        number += 1
        target = folder / f"{path.stem}-{number}{path.suffix}"
    os.rename(path, target)
