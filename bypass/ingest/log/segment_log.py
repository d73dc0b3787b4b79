"""A log in segment files, written by one process.

Each life of a writer has a log of its own, `WRITER/LIFE`: nothing is ever appended to what an earlier life
has left, so a sequence never means two records, whatever a machine that lost power has forgotten.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bypass.ingest.log.block import MOST_BYTES, Records, encode
from bypass.ingest.log.lives import consumed, end_life, is_ended, latest_life, lives, retire
from bypass.ingest.log.message_log import LogFailed, LogFull, LogWriter
from bypass.ingest.log.segments import OPEN, repair, segment_name
from bypass.ingest.log.writer_lock import WriterLock
from bypass.support.durable_files import sync

log = logging.getLogger(__name__)

MOST_PIECES = 1024
"""How many pieces one system call may write."""


@dataclass(frozen=True, slots=True)
class LogLimits:
    """Bounds of one writer's logs: bytes in all, bytes of a segment, and how long what was consumed is
    kept."""

    bytes: int = 4 << 30
    segment_bytes: int = 64 << 20
    retention_s: float = 3600.0


class SegmentFile:
    """The segment that is written to. What fails is taken back as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.held_bytes = 0
        self._held: list[bytes] = []
        self._descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)

    def hold(self, pieces: list[bytes]) -> None:
        """Keep a block in memory until the next `flush`."""
        self._held += pieces
        self.held_bytes += sum(map(len, pieces))

    def flush(self) -> None:
        """Hand everything to the operating system. Raises OSError; then it is still held."""
        pieces, size = self._held, self.size
        try:
            for at in range(0, len(pieces), MOST_PIECES):
                part = pieces[at : at + MOST_PIECES]
                expected = sum(map(len, part))
                written = os.writev(self._descriptor, part)
                if written < expected:
                    rest = memoryview(b"".join(part))[written:]
                    while rest:
                        rest = rest[os.write(self._descriptor, rest) :]
                size += expected
        except OSError:
            os.ftruncate(self._descriptor, self.size)
            raise
        self.forget()
        self.size = size

    def forget(self) -> None:
        """Drop what is held and not flushed."""
        self._held = []
        self.held_bytes = 0

    def sync(self) -> None:
        """Have the disk keep what was flushed. Raises OSError."""
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Close the file; what is held is flushed first."""
        self.flush()
        os.close(self._descriptor)


class SegmentLog(LogWriter):
    """Appends blocks to segment files. `settle` makes a block as durable as it has to be before it is
    acknowledged."""

    message_bytes = MOST_BYTES // 2

    def __init__(
        self,
        writer: Path,
        *,
        settle: Callable[[SegmentFile], None] = SegmentFile.flush,
        limits: LogLimits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Begin a new life of the writer whose folder this is. Raises LogInUse."""
        self.settle = settle
        self._limits = limits or LogLimits()
        self._clock = clock
        self._writer = writer
        self._lock = WriterLock(writer)
        for life in lives(writer):
            log = writer / str(life)
            if not is_ended(log):  # one that was knows how much it had, whatever the disk has forgotten since
                end_life(log, max(repair(log).sequence, consumed(log)))
        self.life = latest_life(writer) + 1
        self.path = writer / str(self.life)
        self.path.mkdir()
        for folder in (writer, *writer.parents[:2]):  # up to the installation's
            sync(folder)
        self.sequence = 0
        self._segment = self._begin_segment()
        self._gap = False  # whether numbers are missing here: readers pass over that between two segments
        self._completed = 0  # bytes of all segments that this life has completed
        self._kept = 0, 0  # bytes that were kept at the last look, and `_completed` before it
        self._housekeeper = ThreadPoolExecutor(1, "log housekeeping")
        self._retired = self._housekeeper.submit(self._retire, self._limits.retention_s)

    def append(self, records: Records) -> int:
        """Write records as one block, and settle it. Gives the sequence of the first one.

        Raises LogFull and LogFailed: nothing must be acknowledged then. Records whose sync has failed may be
        read nevertheless.
        """
        if not len(records):
            return self.sequence
        pieces = encode(records, self.sequence)
        size = sum(map(len, pieces))
        if self._taken + size > self._limits.bytes and self._retired.done():
            self._retired = self._housekeeper.submit(self._retire, 0.0)
        taken = self._taken
        if taken + size > self._limits.bytes:
            raise LogFull(
                f"{self._writer}: {taken} bytes and {size} more: expected {self._limits.bytes} at most"
            )
        before = None
        try:
            if self._gap or self._segment.size >= self._limits.segment_bytes:
                self._next_segment()
            before = self._segment.size
            self._segment.hold(pieces)
            self.settle(self._segment)
        except BaseException as error:
            if before is not None and self._segment.size > before:
                self.sequence += len(
                    records
                )  # it was not settled, but it is in the file: its numbers are taken
            if self._segment.held_bytes > (0 if before is None else size):
                self._gap = True  # blocks of earlier appends are dropped, whose numbers are taken as well
            self._segment.forget()
            if not isinstance(error, OSError):
                raise
            raise LogFailed(
                f"{self._segment.path}: {error.strerror}: expected to write {size} bytes"
            ) from error
        first, self.sequence = self.sequence, self.sequence + len(records)
        return first

    @property
    def segment(self) -> SegmentFile:
        """The file that is written to."""
        return self._segment

    def flush(self) -> None:
        """Hand what is held to the operating system. Raises LogFailed."""
        try:
            self._segment.flush()
        except OSError as error:
            raise LogFailed(f"{self._segment.path}: {error.strerror}: expected to write") from error

    def close(self) -> None:
        """Flush what is held, and let go of the log. Raises OSError."""
        self._housekeeper.shutdown()
        self._segment.close()
        end_life(self.path, self.sequence)
        self._lock.release()

    def _begin_segment(self) -> SegmentFile:
        segment = SegmentFile(self.path / (segment_name(self.sequence) + OPEN))
        try:
            sync(self.path)
        except OSError:
            segment.close()
            segment.path.unlink()
            raise
        return segment

    def _next_segment(self) -> None:
        self._segment.flush()
        self._segment.sync()
        complete, self._segment = self._segment, self._begin_segment()
        self._gap = False
        self._completed += complete.size
        complete.close()
        self._retired = self._housekeeper.submit(self._retire, self._limits.retention_s)

    def _retire(self, retention_s: float) -> None:
        """Remove what was consumed so long ago; where there is no room, at once."""
        before = self._completed  # what is completed meanwhile is counted twice until the next time
        try:
            self._kept = retire(self._writer, self.life, self._clock() - retention_s), before
        except OSError as error:
            log.warning("%s: %s: consumed segments stay; trying again", self._writer, error)

    @property
    def _taken(self) -> int:
        """The bytes of all segments that are there, at least."""
        kept, before = self._kept
        return kept + self._completed - before + self._segment.size
