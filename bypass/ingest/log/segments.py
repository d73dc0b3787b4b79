"""Segment files of a log: their names, where blocks begin and end in them, and how they are read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import zstandard

from bypass.ingest.log.block import (
    ALIGNMENT,
    HEAD,
    MAGIC,
    BlockHead,
    DamagedBlock,
    check_body,
    decode_body,
    decode_head,
)
from bypass.support.durable_files import replacing

OPEN = ".log"
COMPRESSED = ".log.zst"
ENDED = "ended"
"""The file in a log's folder that says that nobody writes to it any more."""

LEAST_BYTES = 18
"""The bytes that each record of a block takes at least: so many records may be lost with damaged bytes."""

MOST_CHECKED = 4
"""How many times the bytes of a segment are looked at to find the next block behind damage: messages may
have anything in them that looks like blocks."""


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
    most.

    Where nobody writes any more, bytes that are no block are passed over: see `read`.
    """
    sequence, segment, byte = start
    records = size = 0
    while True:
        later = [
            first for first in segments(log) if first > segment
        ]  # before reading: a segment that has one is complete
        complete = bool(later) or (log / ENDED).exists()
        with _open(log, segment) as file:
            while records < most_records and size < most_bytes:
                found = _find_block(file, byte, sequence, complete)
                if found is None:
                    break
                at, head = found
                byte, sequence = at + HEAD.size + head.length, head.end
                records += head.count
                size += head.length
        if not later or records >= most_records or size >= most_bytes:
            return LogPosition(sequence, segment, byte)
        segment, byte = later[0], 0
        sequence = max(sequence, segment)


def read(log: Path, start: LogPosition, end: LogPosition) -> Iterator[pa.RecordBatch]:
    """The records from `start` up to `end`, block by block. Records of blocks that are damaged or gone are
    left out: the sequences tell how many."""
    sequence, segment, byte = start
    while sequence < end.sequence and segment <= end.segment:
        later = [first for first in segments(log) if first > segment]
        with _open(log, segment) as file:
            while (found := _find_block(file, byte, sequence, complete=True)) is not None:
                at, head = found
                if head.end > end.sequence:
                    return
                body = file.read(head.length)
                byte, sequence = at + HEAD.size + head.length, head.end
                with suppress(DamagedBlock):
                    yield decode_body(head, body)
        if not later:
            return
        segment, byte = later[0], 0
        sequence = max(sequence, segment)


def repair(log: Path) -> LogPosition:
    """Cut off what is no whole block at the end of a log that nobody writes to. Gives its end.

    A process that was killed leaves a block that is cut off; a machine that lost power may leave anything.
    """
    numbers = segments(log)
    if not numbers:
        return LogPosition()
    first = numbers[-1]
    sequence = last = first
    byte = end = 0
    with _open(log, first) as file:
        while (found := _find_block(file, byte, sequence, complete=True)) is not None:
            at, head = found
            byte, sequence = at + HEAD.size + head.length, head.end
            if _has_body(file, at, head):
                end, last = byte, sequence
        length = _length(file)
    path = segment_file(log, first)
    if end < length and path is not None and path.name.endswith(OPEN):
        os.truncate(path, end)
    return LogPosition(last, first, end)


def compress(path: Path) -> None:
    """Replace a segment that is complete by its compressed form. Readers find one or the other at any
    moment."""
    compressed = path.with_suffix("").with_suffix(COMPRESSED)
    with (
        replacing(compressed, synced=True) as unfinished,
        path.open("rb") as source,
        unfinished.open("wb") as target,
    ):
        zstandard.ZstdCompressor(level=3, write_content_size=True).copy_stream(
            source, target, size=path.stat().st_size
        )
    path.unlink()


def _find_block(file: BinaryIO, byte: int, sequence: int, complete: bool) -> tuple[int, BlockHead] | None:
    """The next whole block of a segment from a byte on, with its own byte; the file is at its body then.

    It begins there, with the record that has this sequence. In a segment that is complete it may begin later,
    if what is there is damaged. None if there is none, or none yet.
    """
    length = _length(file)
    head = _read_head(file, byte, length)
    if head is not None and head.first == sequence and (not complete or _is_sound(file, byte, head, length)):
        file.seek(byte + HEAD.size)
        return byte, head
    if not complete or byte >= length:
        return None
    file.seek(byte)
    rest = file.read()
    at, checked = rest.find(MAGIC, 1), 0
    while at >= 0 and checked <= MOST_CHECKED * len(rest):
        head = _read_head(file, byte + at, length) if (byte + at) % ALIGNMENT == 0 else None
        if head is not None and 0 <= head.first - sequence <= at // LEAST_BYTES:
            checked += head.length
            if _has_body(file, byte + at, head):
                file.seek(byte + at + HEAD.size)
                return byte + at, head
        at = rest.find(MAGIC, at + 1)
    return None


def _is_sound(file: BinaryIO, byte: int, head: BlockHead, length: int) -> bool:
    """Whether a head says the truth: the next block begins where and with what it says, or its body is
    right."""
    behind = byte + HEAD.size + head.length
    follower = _read_head(file, behind, length)
    return (follower is not None and follower.first == head.end) or _has_body(file, byte, head)


def _has_body(file: BinaryIO, byte: int, head: BlockHead) -> bool:
    file.seek(byte + HEAD.size)
    try:
        check_body(head, file.read(head.length))
    except DamagedBlock:
        return False
    return True


def _read_head(file: BinaryIO, byte: int, length: int) -> BlockHead | None:
    """The head of a block that is there as a whole; None if there is none at this byte."""
    file.seek(byte)
    try:
        head = decode_head(file.read(HEAD.size))
    except DamagedBlock:
        return None
    return head if byte + HEAD.size + head.length <= length else None


def _open(log: Path, segment: int) -> BinaryIO:
    """A segment to read in; a compressed one is unpacked into memory. One that is gone or cannot be unpacked
    is empty."""
    for ending in (OPEN, COMPRESSED):  # it may be compressed at this moment
        path = log / (segment_name(segment) + ending)
        try:
            if ending == OPEN:
                return path.open("rb", buffering=0)
            return BytesIO(zstandard.ZstdDecompressor().decompress(path.read_bytes()))
        except FileNotFoundError:
            continue
        except zstandard.ZstdError:
            break
    return BytesIO()


def _length(file: BinaryIO) -> int:
    return file.seek(0, os.SEEK_END)
