"""A writer of the log in JetStream: what is appended together is divided into blocks by part."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import Header, PubAck

from bypass.ingest.categories import PARTS
from bypass.ingest.log.block import Records, encode
from bypass.ingest.log.jetstream.stream import LogStream
from bypass.ingest.log.message_log import LogFull, LogWriter
from bypass.ingest.log.writer_lock import WriterLock

LOG_HEADER = "Bypass-Log"
COUNT_HEADER = "Bypass-Records"

BLOCK_BYTES = 512 << 10
"""A block is closed before it is larger, unless it has one record."""

_RECORD_BYTES = 18
_HEADS_BYTES = 4096
"""Room for the head of a block, the headers of its message and the id of a device."""


class _Block(NamedTuple):
    part: int
    first: int
    records: int
    data: bytes


class JetStreamWriter(LogWriter):
    """Publishes blocks, and waits until the servers have acknowledged all of them.

    A block that is not answered is sent again under the same id, which servers recognise.
    """

    def __init__(self, stream: LogStream, name: str, lock: WriterLock) -> None:
        """Begin a new life. Raises LogFailed and InvalidLog."""
        life = stream.put(f"writer.{name.encode().hex()}", b"")  # a revision: higher than all before
        self.path = f"{name}/{life}"
        self.sequence = 0
        self.message_bytes = stream.connection.max_payload - _HEADS_BYTES
        self._stream = stream
        self._lock = lock

    def append(self, records: Records) -> int:
        first = self.sequence
        blocks: dict[int, list[_Block]] = {}
        for part, group in divide(records):
            data = b"".join(encode(group, self.sequence))
            blocks.setdefault(part, []).append(_Block(part, self.sequence, len(group), data))
            self.sequence += len(group)  # its numbers are taken, whatever becomes of it
        try:
            self._publish(blocks)
        except LogFull:
            if not self._make_room():
                raise
            self._publish(blocks)
        return first

    def flush(self) -> None:
        """Nothing is held in memory."""

    def close(self) -> None:
        self._lock.release()

    def _publish(self, blocks: dict[int, list[_Block]]) -> None:
        """Publish blocks, those of each part one after the other: they stay in order, whatever is sent
        again."""

        async def publish_all() -> list[BaseException | None]:
            parts = (self._publish_part(each) for each in blocks.values())
            return await asyncio.gather(*parts, return_exceptions=True)

        failures = [error for error in self._stream.connection.run(publish_all()) if error is not None]
        for error in sorted(failures, key=lambda error: isinstance(error, LogFull)):
            raise error

    async def _publish_part(self, blocks: list[_Block]) -> None:
        for block in blocks:
            headers: dict[str, str] = {
                Header.MSG_ID: f"{self.path}/{block.first}",
                LOG_HEADER: self.path,
                COUNT_HEADER: str(block.records),
            }
            publish = partial(self._send, self._stream.subject(block.part), block.data, headers)
            await self._stream.connection.persist("publish", publish)

    async def _send(
        self, subject: str, data: bytes, headers: dict[str, str], _: Client, js: JetStreamContext
    ) -> PubAck:
        return await js.publish(subject, data, stream=self._stream.settings.name, headers={**headers})

    def _make_room(self) -> bool:
        """Remove at once all that was consumed. Gives whether there was any."""
        consumed = self._stream.consumed().sequence
        if self._stream.state()[0] >= consumed:
            return False
        self._stream.remove(consumed)
        return True


def divide(records: Records, most_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, Records]]:
    """Divide records by part, into groups of so many bytes at most, or of one record. Those of a part stay
    in order."""
    groups: dict[int, Records] = {}
    sizes = [0] * PARTS
    columns = zip(records.devices, records.categories, records.payloads, records.received, strict=True)
    for device, category, payload, received in columns:
        part = category % PARTS
        group = groups.get(part)
        size = len(device) + len(payload) + _RECORD_BYTES
        if group is None or sizes[part] + size > most_bytes:
            if group is not None:
                yield part, group
            group = groups[part] = Records()
            sizes[part] = 0
        sizes[part] += size
        group.devices.append(device)
        group.categories.append(category)
        group.payloads.append(payload)
        group.received.append(received)
    yield from groups.items()
