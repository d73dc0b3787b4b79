"""The lives of a writer: a log each, until it is consumed and old enough to go.

A life's folder has its segments, `ended` with the sequence behind its last record once nobody writes to it
any more, and `consumed` with the sequence up to which the stream has committed it. `retired` in the writer's
folder has the number of the latest life that was removed, and how many records all removed ones had.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from bypass.ingest.log.segments import ENDED, OPEN, LogPosition, compress, find_end, segment_file, segments
from bypass.support.durable_files import replace_file

UNBOUNDED = 1 << 62
NOTHING: Mapping[int, int] = MappingProxyType({})


def lives(writer: Path) -> list[int]:
    """The numbers of the lives whose logs are there, in order."""
    return sorted(int(path.name) for path in writer.iterdir() if path.name.isdecimal())


def latest_life(writer: Path) -> int:
    """The number of the latest life; 0 if there was none."""
    return max((*lives(writer), _read(writer / "retired")[0]))


def appended(writer: Path, taken: Mapping[int, int] = NOTHING) -> int:
    """How many records were appended in all lives of a writer, removed ones included.

    `taken` has the sequences up to which the stream has read lives: a disk may have forgotten records since.
    """
    while True:
        latest, removed = before = _read(writer / "retired")
        there = [writer / str(life) for life in lives(writer) if life > latest]
        try:
            total = removed + sum(
                max(log_end(log).sequence, ended(log), consumed(log), taken.get(int(log.name), 0))
                for log in there
            )
        except FileNotFoundError:  # one was removed meanwhile
            continue
        if _read(writer / "retired") == before:
            return total


def log_end(log: Path) -> LogPosition:
    """The end of a life's log as of now."""
    numbers = segments(log)
    if not numbers:
        return LogPosition(_read(log / ENDED)[0])
    return find_end(log, LogPosition(numbers[-1], numbers[-1], 0), UNBOUNDED, UNBOUNDED)


def end_life(log: Path, sequence: int) -> None:
    """Note that nobody appends to a log any more, which has records up to `sequence`."""
    _write(log / ENDED, sequence)


def ended(log: Path) -> int:
    """The sequence behind the last record of a log that nobody appends to any more; 0 if somebody may."""
    return _read(log / ENDED)[0]


def is_ended(log: Path) -> bool:
    """Whether nobody appends to a log any more, which may have had no records."""
    return (log / ENDED).exists()


def consume(log: Path, sequence: int) -> None:
    """Note that the stream has committed a log up to `sequence`."""
    if sequence > consumed(log):
        _write(log / "consumed", sequence)


def consumed(log: Path) -> int:
    """The sequence up to which the stream has committed a log."""
    return _read(log / "consumed")[0]


def retire(writer: Path, current: int, before: float) -> int:
    """Compress segments that are complete; remove those that were consumed and not changed since `before`.

    Gives how many bytes remain, without the segment that the current life writes to.
    """
    remaining = 0
    for life in lives(writer):
        log = writer / str(life)
        numbers = segments(log)
        ends = [*numbers[1:], UNBOUNDED if life == current else _read(log / ENDED)[0]]
        for first, end in zip(numbers, ends, strict=False):
            path = segment_file(log, first)
            if path is None or end == UNBOUNDED:
                continue
            if end <= consumed(log) and path.stat().st_mtime <= before:
                path.unlink()
                continue
            if path.name.endswith(OPEN):
                compress(path)
            path = segment_file(log, first)
            remaining += path.stat().st_size if path is not None else 0
        if life != current and not segments(log) and life == lives(writer)[0]:  # in order, for `retired`
            _remove(writer, life)
    return remaining


def _remove(writer: Path, life: int) -> None:
    """Remove the folder of a life, and count what it had; a process that ends in between does so the next
    time."""
    latest, removed = _read(writer / "retired")
    log = writer / str(life)
    records = max(ended(log), consumed(log)) if life > latest else 0
    _write(writer / "retired", max(latest, life), removed + records)
    shutil.rmtree(writer / str(life))


def _read(path: Path) -> tuple[int, int]:
    """The numbers in a small file; zeros if there is none."""
    try:
        first, second = path.read_text().split()
    except FileNotFoundError:
        return 0, 0
    return int(first), int(second)


def _write(path: Path, first: int, second: int = 0) -> None:
    """Replace a small file as a whole."""
    replace_file(path, f"{first} {second}\n")
