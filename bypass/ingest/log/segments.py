"""Segment files of a log: their names, where blocks begin and end in them, and how they are read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import zstandard

from bypass.ingest.log.block import HEAD, DamagedBlock, check_body, decode_body, decode_head

OPEN = ".log"
COMPRESSED = ".log.zst"


class LogPosition(NamedTuple):
    """A place in a log: the sequence of the next record, the first sequence of its segment, and the byte
    there."""

    sequence: int = 0
    segment: int = 0
    byte: int = 0


def segment_name(first: int) -> str:
    """The name of the segment that begins with a sequence, without its ending. Names sort as sequences do."""
    return f"{first:020d}"


def segments(log: Path) -> list[int]:
    """The first sequences of the segments in a log's folder, in order."""
    names = (path.name for path in log.iterdir())
    return sorted({int(name.partition(".")[0]) for name in names if name.endswith((OPEN, COMPRESSED))})


def segment_file(log: Path, first: int) -> Path | None:
    """The file of a segment, compressed or not; None if there is none (any more)."""
    for ending in (OPEN, COMPRESSED):
        path = log / (segment_name(first) + ending)
        if path.exists():
            return path
    return None


def find_end(log: Path, start: LogPosition, most_records: int, most_bytes: int) -> LogPosition:
    """The position behind the last whole block from `start` on, with one block more than the bounds at
    most."""
    sequence, segment, byte = start
    records = size = 0
    while records < most_records and size < most_bytes:
        path = segment_file(log, segment)
        if path is None:
            if segment == sequence or segment_file(log, sequence) is None:
                break
            segment, byte = sequence, 0  # all of it was read, and it was removed
            continue
        with _open(path) as file:
            length = _length(file)
            while byte + HEAD.size <= length and records < most_records and size < most_bytes:
                file.seek(byte)
                try:
                    head = decode_head(file.read(HEAD.size))
                except DamagedBlock:
                    return LogPosition(sequence, segment, byte)
                if byte + HEAD.size + head.length > length:
                    break
                byte += HEAD.size + head.length
                sequence = head.end
                records += head.count
                size += head.length
        if sequence == segment or segment_file(log, sequence) is None:
            break
        segment, byte = sequence, 0
    return LogPosition(sequence, segment, byte)


def read(log: Path, start: LogPosition, end: LogPosition) -> Iterator[pa.RecordBatch]:
    """The records from `start` up to `end`, block by block. Raises DamagedBlock if one of them cannot be
    read."""
    sequence, segment, byte = start
    while sequence < end.sequence:
        path = segment_file(log, segment)
        if path is None and segment != sequence:
            segment, byte = sequence, 0  # all of it was read, and it was removed
            continue
        if path is None:
            raise DamagedBlock(f"{log / segment_name(segment)}: expected a segment with sequence {sequence}")
        with _open(path) as file:
            length = _length(file)
            while byte < length and sequence < end.sequence:
                file.seek(byte)
                head = decode_head(file.read(HEAD.size))
                yield decode_body(head, file.read(head.length))
                byte += HEAD.size + head.length
                sequence = head.end
        segment, byte = sequence, 0


def repair(log: Path) -> LogPosition:
    """Cut off what is no whole block at the end of a log that nobody writes to. Gives its end.

    A process that was killed leaves a block that is cut off; a machine that lost power may leave anything.
    """
    numbers = segments(log)
    if not numbers:
        return LogPosition()
    first = numbers[-1]
    path = segment_file(log, first)
    assert path is not None
    sequence, byte = first, 0
    with _open(path) as file:
        length = _length(file)
        while byte < length:
            file.seek(byte)
            try:
                head = decode_head(file.read(HEAD.size))
                check_body(head, file.read(head.length))
            except DamagedBlock:
                break
            byte += HEAD.size + head.length
            sequence = head.end
    if byte < length:
        os.truncate(path, byte)
    return LogPosition(sequence, first, byte)


def compress(path: Path) -> None:
    """Replace a segment that is complete by its compressed form. Readers find one or the other at any
    moment."""
    compressed = path.with_suffix("").with_suffix(COMPRESSED)
    part = compressed.with_suffix(".part")
    with path.open("rb") as source, part.open("wb") as target:
        zstandard.ZstdCompressor(level=3, write_content_size=True).copy_stream(
            source, target, size=path.stat().st_size
        )
        target.flush()
        os.fsync(target.fileno())
    part.replace(compressed)
    path.unlink()


def _open(path: Path) -> BinaryIO:
    """A segment to read in; a compressed one is unpacked into memory."""
    try:
        if path.name.endswith(COMPRESSED):
            return BytesIO(zstandard.ZstdDecompressor().decompress(path.read_bytes()))
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        if path.name.endswith(COMPRESSED):
            raise
        return _open(path.with_suffix("").with_suffix(COMPRESSED))  # it was compressed a moment ago


def _length(file: BinaryIO) -> int:
    return file.seek(0, os.SEEK_END)
