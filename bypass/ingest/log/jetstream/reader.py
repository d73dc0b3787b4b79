"""How blocks of the stream are found and read.

Finding looks at headers alone, through a consumer that exists meanwhile; it sees a stream from its beginning
without gaps, however far the server that it asks has come. Reading asks for blocks of one part from a
sequence on, and whichever server has a replica answers. How many there are is known from finding them: a
replica that has not got them yet is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from uuid import uuid4

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from bypass.ingest.log.block import DamagedBlock
from bypass.ingest.log.jetstream.connection import ANSWER_S
from bypass.ingest.log.jetstream.stream import LogStream, StreamPosition
from bypass.ingest.log.jetstream.writer import COUNT_HEADER, LOG_HEADER

MOST_BLOCKS = 20_000
"""Blocks that one batch has at most: each costs a look at its headers."""

FETCH_BLOCKS = 500
READ_BLOCKS = 256
READ_BYTES = 8 << 20
CONSUMER_S = 30.0


class StoredBlock(NamedTuple):
    """A block as it is in the stream: its sequence there, the log of its writer, and its bytes. Messages
    that no writer has sent have no log."""

    sequence: int
    log: str
    data: bytes


def find_position(
    stream: LogStream,
    start: StreamPosition,
    most_records: int,
    most_bytes: int,
    most_blocks: int = MOST_BLOCKS,
) -> StreamPosition:
    """The position behind the last block from `start` on, with one block more than the bounds at most.

    Raises LogFailed, and DamagedBlock if `start` was removed.
    """
    last = last_sequence(stream, start)
    if last < start.sequence:
        return start
    search = BlockSearch(stream, start, last, most_records, most_bytes, most_blocks)
    return stream.connection.call("find", search.run)


def last_sequence(stream: LogStream, start: StreamPosition) -> int:
    """The sequence of the last block. Raises LogFailed, and DamagedBlock if something behind `start` was
    removed."""
    first, last = stream.state()
    if first > start.sequence and last >= start.sequence:
        raise DamagedBlock(
            f"stream {stream.settings.name}: first block {first}: expected {start.sequence} to be there"
        )
    return last


class BlockSearch:
    """One search from a position on, up to a sequence that the stream has reached."""

    def __init__(
        self, stream: LogStream, start: StreamPosition, last: int, records: int, most_bytes: int, blocks: int
    ) -> None:
        self._stream, self._start, self._last = stream, start, last
        self._most = records, most_bytes, blocks

    async def run(self, client: Client, js: JetStreamContext) -> StreamPosition:
        name, consumer = self._stream.settings.name, f"find-{uuid4().hex}"
        await js.add_consumer(
            name,
            ConsumerConfig(
                name=consumer,
                deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=self._start.sequence,
                ack_policy=AckPolicy.NONE,
                headers_only=True,
                mem_storage=True,
                num_replicas=1,
                inactive_threshold=CONSUMER_S,
            ),
        )
        subscription = await js.pull_subscribe_bind(consumer=consumer, stream=name)
        try:
            return await self.follow(subscription)
        finally:
            await subscription.unsubscribe()
            await client.publish(f"$JS.API.CONSUMER.DELETE.{name}.{consumer}")  # else it goes by itself

    async def follow(self, subscription: JetStreamContext.PullSubscription) -> StreamPosition:
        """Count blocks until there are enough. Raises TimeoutError if one was not heard of."""
        most_records, most_bytes, most_blocks = self._most
        position, blocks = self._start.sequence - 1, list(self._start.blocks)
        records = size = seen = 0
        while position < self._last and records < most_records and size < most_bytes and seen < most_blocks:
            for message in await subscription.fetch(min(FETCH_BLOCKS, self._last - position), ANSWER_S):
                if records >= most_records or size >= most_bytes or seen >= most_blocks:
                    break
                seen += 1
                at, headers = message.metadata.sequence, message.headers or {}
                if at.consumer != seen:  # a connection that ended took one with it: the search begins again
                    raise TimeoutError("a block was not heard of")
                position = at.stream
                if is_block(headers):
                    blocks[int(message.subject.rpartition(".")[2], 16)] += 1
                    records += int(headers[COUNT_HEADER])
                    size += int(headers["Nats-Msg-Size"])
        return StreamPosition(position + 1, self._start.records + records, tuple(blocks))


def read_blocks(
    stream: LogStream, start: StreamPosition, end: StreamPosition, part: int
) -> Iterator[StoredBlock]:
    """The blocks of a part from `start` up to `end`, in order. Raises LogFailed and DamagedBlock."""
    left, sequence = end.blocks[part] - start.blocks[part], start.sequence
    while left:
        request: dict[str, int | str] = {
            "seq": sequence,
            "batch": min(left, READ_BLOCKS),
            "max_bytes": READ_BYTES,
            "next_by_subj": stream.subject(part),
        }
        for block in stream.connection.call("read", _Fetch(stream.settings.name, request).run):
            sequence = block.sequence + 1
            if block.sequence >= end.sequence:
                raise DamagedBlock(
                    f"{stream.subject(part)}: {left} blocks before sequence {end.sequence} are gone: "
                    f"expected {end.blocks[part] - start.blocks[part]} from {start.sequence} on"
                )
            if block.log:
                yield block
                left -= 1


class _Fetch:
    """One request for some blocks."""

    def __init__(self, name: str, request: dict[str, int | str]) -> None:
        self._name, self._request = name, request

    async def run(self, client: Client, _: JetStreamContext) -> list[StoredBlock]:
        inbox = client.new_inbox()
        subscription = await client.subscribe(inbox)
        blocks: list[StoredBlock] = []
        try:
            await client.publish(
                f"$JS.API.DIRECT.GET.{self._name}", json.dumps(self._request).encode(), reply=inbox
            )
            while True:
                message = await subscription.next_msg(ANSWER_S)
                if message.headers is None or "Status" in message.headers:
                    break
                blocks.append(_stored(message, blocks[-1].sequence if blocks else 0))
        finally:
            await subscription.unsubscribe()
        if not blocks:  # this replica has not got them yet
            raise nats.errors.NoRespondersError
        return blocks


def _stored(message: Msg, before: int) -> StoredBlock:
    """The block in an answer, which says which one came before it. Raises TimeoutError if one is missing."""
    headers = message.headers or {}
    if int(headers["Nats-Last-Sequence"]) != before:
        raise TimeoutError("an answer was lost")
    log = headers[LOG_HEADER] if is_block(headers) else ""
    return StoredBlock(int(headers["Nats-Sequence"]), log, message.data)


def is_block(headers: Mapping[str, str]) -> bool:
    """Whether a message of the stream is one of a writer; others are left out."""
    return bool(headers.get(LOG_HEADER)) and headers.get(COUNT_HEADER, "").isdecimal()
