"""The memory of a part of the devices between batches: in the worker that had it last, and in files for any
other.

A file has what one step changed; every `FULL_EVERY` steps it has everything, so that few files have to be
read. A step's file follows from the step before and the log alone: whoever repeats a batch writes the same
one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bypass.ingest.stream.identities import IdentityWindow
from bypass.ingest.stream.sequences import SequenceWindow
from bypass.root_error import BypassError

FULL_EVERY = 32

_cache: dict[tuple[Path, int], tuple[int, PartMemory]] = {}  # folder, part -> step, memory


class MemoryLost(BypassError):
    """A file that the stream has to go on from is not there, or cannot be read."""


class MemoryFile(msgspec.Struct):
    """The form of a part's memory on disk: all of it if `full`, else what its step has changed."""

    full: bool
    identities: bytes
    steps: bytes
    sequences: dict[str, tuple[int, bytes]]
    policies: dict[str, Any]


class PartMemory:
    """Knows earlier batches of one part of the devices: identities, sequences, and what policies hold."""

    def __init__(self) -> None:
        self.identities = IdentityWindow()
        self.sequences = SequenceWindow()
        self.policies: dict[str, Any] = {}
        self._added = np.empty(0, np.int64)

    def remember(self, step: int, identities: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """Note the identities of the messages that a step has taken."""
        self.identities.add(step, identities)
        self._added = identities

    def export(self, step: int, full: bool) -> MemoryFile:
        """The form for the file of a step; changes are noted anew from then on."""
        if full:
            identities, steps = self.identities.parts()
            sequences = self.sequences.export()
        else:
            identities, steps = self._added, np.full(len(self._added), step, np.int64)
            sequences = self.sequences.export(self.sequences.changed)
        self.sequences.changed = set()
        self._added = np.empty(0, np.int64)
        return MemoryFile(full, identities.tobytes(), steps.tobytes(), sequences, self.policies)

    def apply(self, file: MemoryFile) -> None:
        """Take over what a file has."""
        identities, steps = (np.frombuffer(data, np.int64) for data in (file.identities, file.steps))
        for step in np.unique(steps):
            self.identities.add(int(step), identities[steps == step])
        self.sequences.load(file.sequences)
        self.policies = file.policies


@contextmanager
def part_memory(folder: Path, part: int, start: int, end: int) -> Iterator[PartMemory]:
    """The memory of a part at step `start`; it is saved as that of step `end` if nothing is raised.

    Raises MemoryLost.
    """
    key = folder, part
    step, memory = _cache.pop(key, (-1, PartMemory()))
    if step != start:
        memory = _load(folder, part, start)
    yield memory
    _save(folder, part, end, memory.export(end, full=end % FULL_EVERY == 0 or start == 0))
    _cache[key] = end, memory


def forget_steps(folder: Path, committed: int) -> None:
    """Remove the files of steps that nobody goes back to once `committed` is."""
    needed = committed // FULL_EVERY * FULL_EVERY - FULL_EVERY
    for path in folder.iterdir() if folder.exists() else ():
        if path.name.isdecimal() and int(path.name) < needed:
            shutil.rmtree(path, ignore_errors=True)


def _load(folder: Path, part: int, start: int) -> PartMemory:
    memory = PartMemory()
    if start == 0:
        return memory
    files = [_read(_file(folder, start, part))]
    while not files[-1].full:
        files.append(_read(_file(folder, start - len(files), part)))
    for file in reversed(files):
        memory.apply(file)
    return memory


def _file(folder: Path, step: int, part: int) -> Path:
    return folder / str(step) / str(part)


def _read(path: Path) -> MemoryFile:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=MemoryFile)
    except (OSError, msgspec.DecodeError) as error:
        raise MemoryLost(f"{path}: {error}: expected what the stream remembers") from None


def _save(folder: Path, part: int, step: int, file: MemoryFile) -> None:
    path = _file(folder, step, part)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.new")
    unfinished.write_bytes(msgspec.msgpack.encode(file))
    unfinished.replace(path)
