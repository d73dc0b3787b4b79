"""TCP with replies: each frame is answered in order, with nothing but a zero once its message is in the log.

A reply is one byte with the length of a reason, and the reason: empty means that the message is in the log.
Frames may be sent without waiting for replies. Who sends faster than messages can be stored is not read from.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from concurrent.futures import Future

from bypass.ingest.connectors.connector import (
    Connector,
    bound_socket,
    check_at_least,
    until_logged_or_refused,
)
from bypass.ingest.connectors.frames import (
    FrameReader,
    FrameTooLarge,
    MalformedFrame,
    decode_message,
    largest_message,
)
from bypass.ingest.connectors.intake import LogIntake, MessageRefused

MOST_UNANSWERED = 1000
"""Frames of one connection that wait for a reply before it is read on."""

READ_BYTES = 64 << 10
STOP_S = 5.0


class TcpConnector(Connector):
    """Listens at `address`. A connection over which nothing comes, or no reply can be sent, for `idle_s`
    seconds is closed; when there are `connections` already, a new one is closed at once and counted."""

    def __init__(self, address: str, *, connections: int = 1000, idle_s: float = 600.0) -> None:
        """Raises InvalidConnector, also if the address cannot be listened at."""
        check_at_least("tcp", "connections", connections, 1)
        check_at_least("tcp", "idle_s", idle_s, 0.001)
        self._most = connections
        self._idle_s = idle_s
        self._socket = bound_socket("tcp", address, socket.SOCK_STREAM)
        self.port: int = self._socket.getsockname()[1]
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, intake: LogIntake) -> None:
        self._intake = intake
        self._server = await asyncio.start_server(self._connected, sock=self._socket, limit=READ_BYTES)

    async def stop(self) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections, timeout=STOP_S)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= self._most:
            self._intake.refuse("too many connections")
            writer.transport.abort()
            return
        self._connections.add(task)
        connection = _Connection(self._intake, reader, writer, self._idle_s)
        try:
            await connection.serve()
        except asyncio.CancelledError:
            pass  # the connector ends
        finally:
            self._connections.discard(task)
            writer.transport.abort()


class _Connection:
    """One peer: reads its frames, and answers them in order."""

    def __init__(
        self, intake: LogIntake, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, idle_s: float
    ) -> None:
        self._intake = intake
        self._reader = reader
        self._writer = writer
        self._idle_s = idle_s
        self._frames = FrameReader(largest_message(intake.limits.message_bytes, intake.limits.id_bytes))
        self._unanswered: deque[Future[None]] = deque()
        self._more = asyncio.Event()
        self._room = asyncio.Event()
        self._over = False

    async def serve(self) -> None:
        """Serve until the peer ends or is silent for too long, and answer what it has sent."""
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._answer())
                await self._read()
                self._over = True
                self._more.set()
        except* (OSError, TimeoutError):
            pass  # nothing more can be said to it

    async def _read(self) -> None:
        while True:
            async with asyncio.timeout(self._idle_s):
                data = await self._reader.read(READ_BYTES)
            if not data:
                if not self._frames.is_complete:
                    self._intake.refuse("malformed frame")
                return
            try:
                for message in self._frames.feed(data):
                    self._unanswered.append(self._hand_in(message))
                    if len(self._unanswered) >= MOST_UNANSWERED:
                        await self._until_room()
            except FrameTooLarge as error:
                self._unanswered.append(_failed(self._intake.refuse("too large", str(error))))
                return
            self._more.set()

    def _hand_in(self, message: bytes) -> Future[None]:
        try:
            return self._intake.submit(*decode_message(message))
        except MalformedFrame as error:
            return _failed(self._intake.refuse("malformed frame", str(error)))
        except MessageRefused as error:
            return _failed(error)

    async def _until_room(self) -> None:
        self._room.clear()
        self._more.set()
        async with asyncio.timeout(self._idle_s):
            await self._room.wait()

    async def _answer(self) -> None:
        """Write replies. The intake is in order: when the first message is done, many others are, too."""
        while self._unanswered or not self._over:
            if not self._unanswered:
                self._more.clear()
                await self._more.wait()
                continue
            if not self._unanswered[0].done():
                await until_logged_or_refused(self._unanswered[0])
            replies = []
            while self._unanswered and self._unanswered[0].done():
                replies.append(_reply(self._unanswered.popleft()))
            self._writer.write(b"".join(replies))
            async with asyncio.timeout(self._idle_s):
                await self._writer.drain()
            self._room.set()


def _failed(refusal: MessageRefused) -> Future[None]:
    failed = Future[None]()
    failed.set_exception(refusal)
    return failed


def _reply(done: Future[None]) -> bytes:
    failure = done.exception()
    if failure is None:
        return b"\0"
    reason = (failure.reason if isinstance(failure, MessageRefused) else "failed").encode()
    return bytes([len(reason)]) + reason
