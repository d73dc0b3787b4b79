"""The memory of a part of the devices between batches: in the worker that had it last, and in files for any
other.

Each step writes a file, `PART/STEP-AFTER`, with what has changed since step `AFTER`: the steps of larger
files are longer ago. A file takes in what smaller ones before it have, so that there are few, and that each
change is written few times. A step's file follows from the step before and the log alone: whoever repeats
a batch writes the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bypass.ingest.stream.identities import IdentityWindow
from bypass.ingest.stream.policies import Policies
from bypass.ingest.stream.sequences import SequenceWindow
from bypass.root_error import BypassError
from bypass.support.durable_files import replace_file

GROWTH = 2
"""A file takes in those before it that are at most so many times as large."""

GONE = msgspec.msgpack.encode(None)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode
_cache: dict[tuple[Path, int], tuple[int, PartMemory]] = {}  # folder, part -> step, memory


class MemoryLost(BypassError):
    """A file that the stream has to go on from is not there, or cannot be read."""


class MemoryFile(msgspec.Struct):
    """The form of changes on disk: of identities in order with the step of each, of sequences by device,
    and of policies by key."""

    identities: bytes
    steps: bytes
    sequences: dict[str, tuple[int, bytes]]
    policies: dict[str, bytes]


@dataclass(slots=True)
class _Changes:
    """Changes since a step, without identities."""

    after: int
    sequences: dict[str, tuple[int, bytes]]
    policies: dict[str, bytes]


class PartMemory:
    """Knows earlier batches of one part of the devices: identities, sequences, and what policies hold."""

    def __init__(self) -> None:
        self.identities = IdentityWindow()
        self.sequences = SequenceWindow()
        self.policies: Policies | None = None
        self._changes: list[_Changes] = []  # as many as the window of identities has parts

    def remember(self, step: int, identities: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """Note the identities of the messages that a step has taken, once for each step."""
        self.identities.add(step, identities)

    def policy_memory(self) -> dict[str, Any]:
        """The memory that policies begin with."""
        latest: dict[str, bytes] = {}
        for each in self._changes:
            latest |= each.policies
        return {key: _decode(data) for key, data in latest.items() if data != GONE}

    def export(self, start: int) -> tuple[int, MemoryFile]:
        """The file of a step that follows `start`, and the step since which it has all changes."""
        changes = {} if self.policies is None else self.policies.changes()
        fresh = {key: _encode(data) for key, data in changes.items()}
        self._changes.append(_Changes(start, self.sequences.changes(), fresh))
        count = self._count_to_join()
        joined = self._changes[-count]
        for later in self._changes[len(self._changes) - count + 1 :]:
            joined.sequences |= later.sequences
            joined.policies |= later.policies
        if joined.after == 0:
            joined.policies = {key: data for key, data in joined.policies.items() if data != GONE}
        self._changes[-count:] = [joined]
        identities, steps = self.identities.joined(count)
        file = MemoryFile(identities.tobytes(), steps.tobytes(), joined.sequences, joined.policies)
        return joined.after, file

    def apply(self, after: int, file: MemoryFile) -> None:
        """Take over what a file has; files come in the order of steps."""
        identities, steps = (np.frombuffer(data, np.int64) for data in (file.identities, file.steps))
        self.identities.load(identities, steps)
        self.sequences.load(file.sequences)
        self._changes.append(_Changes(after, file.sequences, file.policies))

    def _count_to_join(self) -> int:
        """How many of the latest changes become one: sizes grow backwards then."""
        sizes = [
            size + len(each.sequences) + len(each.policies)
            for size, each in zip(self.identities.sizes(), self._changes, strict=True)
        ]
        count, total = 1, sizes[-1]
        while count < len(sizes) and sizes[-count - 1] <= GROWTH * total:
            total += sizes[-count - 1]
            count += 1
        return count


@contextmanager
def part_memory(folder: Path, part: int, start: int, end: int) -> Iterator[PartMemory]:
    """The memory of a part at step `start`; it is saved as that of step `end` if nothing is raised.

    Raises MemoryLost.
    """
    key = folder, part
    for other in [other for other, (step, _) in _cache.items() if other[0] == folder and step < start]:
        del _cache[other]  # other workers have had these parts since
    step, memory = _cache.pop(key, (-1, PartMemory()))
    if step != start:
        memory = _load(folder / str(part), start)
    yield memory
    after, file = memory.export(start)
    _save(folder / str(part) / f"{end}-{after}", file)
    _cache[key] = end, memory


def forget_steps(folder: Path, committed: int) -> None:
    """Remove the files that nobody needs to go on from step `committed`, or from a later one."""
    for part in folder.iterdir() if folder.exists() else ():
        there = _files(part)
        needed, step = set(), committed
        while step > 0 and step in there:
            needed.add(there[step])
            step = _after(there[step])
        if step > 0:
            continue  # there is no such memory: nothing is removed that may help
        for path in part.iterdir():
            if path not in needed and int(path.name.lstrip(".").partition("-")[0]) <= committed:
                path.unlink(missing_ok=True)


def _load(folder: Path, start: int) -> PartMemory:
    memory = PartMemory()
    there = _files(folder) if start else {}
    files, step = [], start
    while step > 0:
        if step not in there:
            raise MemoryLost(f"{folder}: no file of step {step}: expected what the stream remembers")
        files.append(there[step])
        step = _after(there[step])
    for path in reversed(files):
        memory.apply(_after(path), _read(path))
    return memory


def _files(folder: Path) -> dict[int, Path]:
    """The files of a part by the step that wrote them."""
    if not folder.exists():
        return {}
    names = ((path, path.name.partition("-")) for path in folder.iterdir())
    return {int(step): path for path, (step, _, after) in names if after.isdecimal()}


def _after(path: Path) -> int:
    """The step since which a file has all changes."""
    return int(path.name.partition("-")[2])


def _read(path: Path) -> MemoryFile:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=MemoryFile)
    except (OSError, msgspec.DecodeError) as error:
        raise MemoryLost(f"{path}: {error}: expected what the stream remembers") from None


def _save(path: Path, file: MemoryFile) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, _encode(file), synced=False)
