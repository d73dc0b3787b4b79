"""An intake with a log in a folder, for tests of what hands in messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from bypass.ingest.connectors.intake import IntakeLimits, LogIntake
from bypass.ingest.log.lives import lives
from bypass.ingest.log.segment_log import SegmentFile, SegmentLog
from bypass.ingest.log.segments import LogPosition, find_end, read

EVERYTHING = 1 << 60


class Gate:
    """Settles blocks, unless it is told to wait or to fail."""

    def __init__(self) -> None:
        self.open = Event()
        self.open.set()
        self.waiting = Event()
        self.error: OSError | None = None

    def settle(self, segment: SegmentFile) -> None:
        self.waiting.set()
        assert self.open.wait(20)
        if self.error is not None:
            raise self.error
        segment.flush()


@dataclass
class LoggedIntake:
    """The intake and its log."""

    log: SegmentLog
    intake: LogIntake
    gate: Gate

    def logged(self) -> list[tuple[str, bytes]]:
        return logged(self.log.path.parent)


@contextmanager
def reception(
    folder: Path, limits: IntakeLimits | None = None, clock: Callable[[], float] | None = None
) -> Iterator[LoggedIntake]:
    """An intake until the block ends. Its log is in `folder`/log."""
    gate = Gate()
    log = SegmentLog(folder / "log", settle=gate.settle)
    options = {} if clock is None else {"clock": clock}
    intake = LogIntake(log, folder / "refused.json", limits=limits, **options)
    try:
        yield LoggedIntake(log, intake, gate)
    finally:
        gate.open.set()
        intake.close()
        log.close()


def logged(writer: Path) -> list[tuple[str, bytes]]:
    """The ids and payloads of all lives of a writer, in order."""
    found = []
    for life in lives(writer):
        path, start = writer / str(life), LogPosition()
        end = find_end(path, start, EVERYTHING, EVERYTHING)
        for block in read(path, start, end):
            found += [(row["device"], row["payload"]) for row in block.to_pylist()]
    return found


def blocks(writer: Path) -> list[int]:
    """How many records each block of the only life has."""
    path, start = writer / "1", LogPosition()
    return [block.num_rows for block in read(path, start, find_end(path, start, EVERYTHING, EVERYTHING))]
