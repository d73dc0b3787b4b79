"""A block: the records of one append, in columns, as they are on disk.

Head: magic, length of the body, CRC-32 of the rest of the head and the body, number of records, sequence of
the first record. Body: times of receipt, ends of device ids, ends of payloads, categories, device ids,
payloads. Columns begin at multiples of eight bytes, so that Arrow can use them in place.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from bypass.root_error import BypassError

MAGIC = b"BPL1"
HEAD = struct.Struct("<4sIIIQ")
_REST = struct.Struct("<IQ")
ALIGNMENT = 8
MOST_BYTES = 1 << 30
"""Offsets are 32 bits wide, and a reader holds a block as a whole."""

RECORDS = pa.schema(
    [
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("category", pa.uint16(), nullable=False),
        pa.field("received", pa.int64(), nullable=False),
        pa.field("device", pa.string(), nullable=False),
        pa.field("payload", pa.binary(), nullable=False),
    ]
)
"""The columns that readers get; `received` is in milliseconds."""


class DamagedBlock(BypassError):
    """Bytes where a block should be are none: cut off, overwritten or never written."""


@dataclass(slots=True)
class Records:
    """Messages on their way into a log, in columns: ids of devices, their categories, payloads, and when
    each was received (ms)."""

    devices: list[bytes] = field(default_factory=list)  # in UTF-8
    categories: list[int] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)
    received: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.payloads)

    def add(self, device: str, category: int, payload: bytes, received: int) -> None:
        """Append one message."""
        self.devices.append(device.encode())
        self.categories.append(category)
        self.payloads.append(payload)
        self.received.append(received)


@dataclass(frozen=True, slots=True)
class BlockHead:
    """The head of a block: the length of its body, and the numbers of its records."""

    length: int
    crc: int
    count: int
    first: int

    @property
    def end(self) -> int:
        """The sequence behind its last record."""
        return self.first + self.count


def encode(records: Records, first: int) -> list[bytes]:
    """The block of these records, in pieces to write one after the other; its first record has sequence
    `first`."""
    count = len(records)
    body: list[bytes] = []
    for column in (
        np.asarray(records.received, np.int64),
        _ends(records.devices),
        _ends(records.payloads),
        np.asarray(records.categories, np.uint16),
        b"".join(records.devices),
        b"".join(records.payloads),
    ):
        data = column if isinstance(column, bytes) else column.tobytes()
        body += (data, bytes(-len(data) % ALIGNMENT))
    length = sum(map(len, body))
    if length > MOST_BYTES:
        raise ValueError(f"block of {length} bytes: expected at most {MOST_BYTES}")
    crc = zlib.crc32(_REST.pack(count, first))
    for data in body:
        crc = zlib.crc32(data, crc)
    return [HEAD.pack(MAGIC, length, crc, count, first), *body]


def decode_head(data: bytes) -> BlockHead:
    """The head of a block. Raises DamagedBlock."""
    if len(data) < HEAD.size:
        raise DamagedBlock(f"head of {len(data)} bytes: expected {HEAD.size}")
    magic, length, crc, count, first = HEAD.unpack_from(data)
    if magic != MAGIC or length > MOST_BYTES or length < count * 18:
        raise DamagedBlock(f"head {data[: HEAD.size]!r}: expected the head of a block")
    return BlockHead(length, crc, count, first)


def decode_body(head: BlockHead, body: bytes) -> pa.RecordBatch:
    """The records of a block, in place. Raises DamagedBlock."""
    check_body(head, body)
    count, at = head.count, 0
    buffer = pa.py_buffer(body)
    columns = []
    for size in (8 * count, 4 * (count + 1), 4 * (count + 1), 2 * count):
        columns.append(buffer.slice(at, size))
        at += size + -size % ALIGNMENT
    received, device_ends, payload_ends, categories = columns
    devices = int.from_bytes(device_ends[4 * count :].to_pybytes(), "little")
    payloads = int.from_bytes(payload_ends[4 * count :].to_pybytes(), "little")
    start = at + devices + -devices % ALIGNMENT
    if start + payloads > len(body):
        raise DamagedBlock(f"columns of {start + payloads} bytes: expected at most {len(body)}")
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.arange(head.first, head.end, dtype=np.int64)),
            pa.Array.from_buffers(pa.uint16(), count, [None, categories]),
            pa.Array.from_buffers(pa.int64(), count, [None, received]),
            pa.Array.from_buffers(pa.string(), count, [None, device_ends, buffer.slice(at, devices)]),
            pa.Array.from_buffers(pa.binary(), count, [None, payload_ends, buffer.slice(start, payloads)]),
        ],
        schema=RECORDS,
    )


def check_body(head: BlockHead, body: bytes) -> None:
    """Raises DamagedBlock if a body is not the one that the head speaks of."""
    if len(body) != head.length:
        raise DamagedBlock(f"body of {len(body)} bytes: expected {head.length}")
    crc = zlib.crc32(body, zlib.crc32(_REST.pack(head.count, head.first)))
    if crc != head.crc:
        raise DamagedBlock(
            f"checksum {crc:08x} of the block at sequence {head.first}: expected {head.crc:08x}"
        )


def _ends(values: Sequence[bytes]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Where each value begins when all are joined, and where the last one ends."""
    ends = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=ends[1:])
    return ends.astype(np.int32)
