"""The log in segment files: a folder for each writer, in it one for each of its lives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from bypass.errors import shown
from bypass.ingest.categories import PARTS
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.leases import FileLeases, LeaseTable
from bypass.ingest.log.lives import appended, consume, ended, is_ended, lives
from bypass.ingest.log.message_log import (
    InvalidLog,
    LogWriter,
    MessageLog,
    Position,
    Positions,
    whole_number,
)
from bypass.ingest.log.segment_log import LogLimits, SegmentFile, SegmentLog
from bypass.ingest.log.segments import LogPosition, find_end, read


class SegmentFiles(MessageLog):
    """The logs of all writers in the folder of an installation; `WRITER/LIFE` is the name of one."""

    def __init__(self, folder: IngestFolder, address: str, options: Mapping[str, str]) -> None:
        if address or options.keys() - {"bytes", "retention"}:
            found = address or dict(options)
            raise InvalidLog(f"segments: {shown(found)}: expected no options but bytes and retention")
        most = whole_number(options, "bytes", 4 << 30, 1 << 20)
        segment = min(64 << 20, most // 8)
        self._limits = LogLimits(most, segment, whole_number(options, "retention", 3600))
        self._folder = folder

    def open_writer(self, name: str, *, synced: bool = False) -> LogWriter:
        settle = _sync if synced else SegmentFile.flush
        return SegmentLog(self._folder.logs / name, settle=settle, limits=self._limits)

    def ends(self, start: Positions, most_records: int, most_bytes: int) -> dict[str, Position]:
        """The room for records is shared among the writers. Lives of one are read one after the other: what
        a device sends to it stays in order."""
        found: dict[str, Position] = {}
        writers = self._writers()
        left = most_records
        for index, writer in enumerate(writers):
            room = max(1, left // (len(writers) - index))
            for life in lives(writer):
                name, log = f"{writer.name}/{life}", writer / str(life)
                begin = LogPosition(*start.get(name, ()))
                try:
                    end = self._end(log, begin, room, most_bytes) if room > 0 else begin
                except FileNotFoundError:  # its writer has removed it meanwhile: all of it was consumed
                    continue
                room -= end.sequence - begin.sequence
                left -= end.sequence - begin.sequence
                if name in start or end.sequence:
                    found[name] = end
                if not is_ended(log) or end.sequence < ended(log):
                    break  # there is more to come of this life
        return found

    def _end(self, log: Path, begin: LogPosition, most_records: int, most_bytes: int) -> LogPosition:
        """The end of one life within bounds: that of all records if nobody writes to it any more, also of
        those that the disk has forgotten."""
        last = ended(log)
        if is_ended(log) and last <= begin.sequence:
            return begin
        end = find_end(log, begin, most_records, most_bytes)
        if end.sequence < last and find_end(log, end, 1, 1) == end:
            return end._replace(sequence=last)
        return end

    def read(self, start: Positions, end: Positions, parts: Set[int]) -> Iterator[tuple[str, pa.RecordBatch]]:
        wanted = np.isin(np.arange(PARTS), list(parts))
        for name, position in end.items():
            begin = LogPosition(*start.get(name, ()))
            for block in self._blocks(name, begin, LogPosition(*position)):
                if not wanted.all():
                    block = block.filter(pa.array(wanted[block.column("category").to_numpy() % PARTS]))
                if block.num_rows:
                    yield name, block

    def lost(self, start: Positions, end: Positions) -> int:
        """Blocks are read whole for that: only the checksum tells whether one is damaged."""
        lost = 0
        for name, position in end.items():
            begin, until = LogPosition(*start.get(name, ())), LogPosition(*position)
            whole = sum(block.num_rows for block in self._blocks(name, begin, until))
            lost += until.sequence - begin.sequence - whole
        return lost

    def consume(self, end: Positions) -> None:
        for name, position in end.items():
            with suppress(FileNotFoundError):  # its writer may have removed it
                consume(self._folder.logs / name, LogPosition(*position).sequence)

    def appended(self, taken: Positions) -> int:
        return sum(
            appended(
                writer,
                {
                    life: LogPosition(*taken.get(f"{writer.name}/{life}", ())).sequence
                    for life in lives(writer)
                },
            )
            for writer in self._writers()
        )

    def leases(self) -> LeaseTable:
        return FileLeases(self._folder.connectors)

    def close(self) -> None:
        """Nothing is open between two calls."""

    def _blocks(self, name: str, begin: LogPosition, end: LogPosition) -> Iterator[pa.RecordBatch]:
        """Read the blocks of one log; one that its writer has removed has none."""
        with suppress(FileNotFoundError):
            yield from read(self._folder.logs / name, begin, end)

    def _writers(self) -> list[Path]:
        logs = self._folder.logs
        return sorted(path for path in logs.iterdir() if path.is_dir()) if logs.exists() else []


def _sync(segment: SegmentFile) -> None:
    segment.flush()
    segment.sync()
