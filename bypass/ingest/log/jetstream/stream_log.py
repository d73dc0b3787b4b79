"""The log in a stream of NATS JetStream: `nats://HOST:PORT,...`, with options behind a question mark."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Set

import pyarrow as pa

from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.block import HEAD, DamagedBlock, decode_body, decode_head
from bypass.ingest.log.jetstream.key_leases import KeyLeases
from bypass.ingest.log.jetstream.reader import find_position, last_sequence, read_blocks
from bypass.ingest.log.jetstream.stream import Consumed, LogStream, StreamPosition, StreamSettings
from bypass.ingest.log.jetstream.writer import JetStreamWriter
from bypass.ingest.log.leases import LeaseTable
from bypass.ingest.log.message_log import LogFailed, LogWriter, MessageLog, Position, Positions
from bypass.ingest.log.writer_lock import WriterLock

STREAM = "jetstream"
"""The name of the one log that there is, among positions."""

UNBOUNDED = 1 << 62
STEPS = 32
"""How many earlier positions are kept, to find what was consumed so long ago that it may go."""

MOST_ATTEMPTS = 10
log = logging.getLogger(__name__)


class JetStreamLog(MessageLog):
    """The stream of an installation, which all its writers share."""

    def __init__(self, folder: IngestFolder, address: str, options: Mapping[str, str]) -> None:
        self._folder = folder
        self._stream = LogStream(folder, StreamSettings.of(address, options))

    def open_writer(self, name: str, *, synced: bool = False) -> LogWriter:
        lock = WriterLock(self._folder.logs / name)
        try:
            if synced:
                log.warning(
                    "%s: whether servers sync before they acknowledge cannot be seen from here: "
                    "expected `sync_interval: always` in their configuration",
                    self._stream.connection.servers,
                )
            return JetStreamWriter(self._stream, name, lock)
        except BaseException:
            lock.release()
            raise

    def ends(self, start: Positions, most_records: int, most_bytes: int) -> dict[str, Position]:
        begin = StreamPosition.of(start.get(STREAM, ()))
        end = find_position(self._stream, begin, most_records, most_bytes)
        return dict(start) if end == begin else {STREAM: end.numbers}

    def read(self, start: Positions, end: Positions, parts: Set[int]) -> Iterator[tuple[str, pa.RecordBatch]]:
        if STREAM not in end:
            return
        begin, until = StreamPosition.of(start.get(STREAM, ())), StreamPosition.of(end[STREAM])
        last_sequence(self._stream, begin)
        for part in sorted(parts):
            for block in read_blocks(self._stream, begin, until, part):
                head = decode_head(block.data)
                yield block.log, decode_body(head, block.data[HEAD.size :])

    def consume(self, end: Positions) -> None:
        """Blocks are removed that were consumed so long ago as they are kept."""
        if STREAM not in end:
            return
        position, now = StreamPosition.of(end[STREAM]), time.time()
        consumed, kept_s = self._stream.consumed(), self._stream.settings.retention_s
        if position.sequence < consumed.sequence:
            return
        earlier = consumed.earlier
        if not earlier or earlier[-1][0] <= now - kept_s / STEPS:
            earlier = [*earlier, (now, position.sequence)]
        gone = [sequence for at, sequence in earlier if at <= now - kept_s]
        kept = [each for each in earlier if each[0] > now - kept_s]
        self._stream.note_consumed(Consumed(position.sequence, position.records, kept))
        if gone:
            self._stream.remove(gone[-1])

    def appended(self, taken: Positions) -> int:  # noqa: ARG002
        """Records that were consumed are known by number; those behind them are counted."""
        for _ in range(MOST_ATTEMPTS):
            consumed = self._stream.consumed()
            begin = StreamPosition(consumed.sequence, consumed.records)
            try:
                return find_position(self._stream, begin, UNBOUNDED, UNBOUNDED, UNBOUNDED).records
            except DamagedBlock:  # more was consumed and removed meanwhile
                continue
        raise LogFailed(f"stream {self._stream.settings.name}: blocks vanish: expected to count them")

    def leases(self) -> LeaseTable:
        return KeyLeases(self._stream)

    def close(self) -> None:
        self._stream.connection.close()
