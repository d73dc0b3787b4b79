"""Continuous queries over WebSocket: pages as they come, each with the cursor behind it.

A subscriber that is cut off, for whatever reason, goes on with the last cursor that it had.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.exposure.answers import SlowSubscriber, refusal, said, status_of
from bypass.ingest.exposure.parameters import (
    granted,
    limit_of,
    parameters_of,
    protocol_of,
    selection_of,
    token_of,
    truth_of,
)
from bypass.ingest.exposure.query_turns import QueryTurns
from bypass.ingest.exposure.tenant_limits import ServingLimits, TenantLimits
from bypass.ingest.exposure.tokens import check_token
from bypass.ingest.folder import IngestFolder
from bypass.ingest.queries.cursor import QueryCursor
from bypass.ingest.queries.plain_rows import plain_rows
from bypass.ingest.queries.reader import MeasurementPage, MeasurementReader
from bypass.ingest.queries.selection import Selection
from bypass.ingest.queries.subscription import subscribe
from bypass.root_error import BypassError

CHECK_S = 1.0
"""The time between two checks of a subscriber's token."""

CODES = 4000
"""Close codes are this and the status that the same refusal has over HTTP."""

_LONGEST_REASON = 120  # bytes that fit into a close frame
_KNOWN = ("devices", "where", "since", "until", "limit", "cursor", "history")


class SubscriberProtocol(WebSocketsSansIOProtocol):
    """Closes connections whose peer takes nothing, too: the close frame goes behind what it has not taken,
    and the connection ends soon."""

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.close":
            self.writable.set()
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # refused: it is no error that nobody accepts any more
        if self.close_timer is not None:
            self.close_timer.cancel()
            self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)


class ContinuousQueries:
    """Serves subscribers of one installation."""

    def __init__(
        self, folder: IngestFolder, limits: ServingLimits, tenants: TenantLimits, turns: QueryTurns
    ) -> None:
        self._folder, self._limits, self._tenants, self._turns = folder, limits, tenants, turns
        self._keys = KeyStore(folder.keys)
        self._reader = MeasurementReader(folder, limits.query_s)

    async def serve(self, socket: WebSocket) -> None:
        """Serve one subscriber, until it goes, is too slow, or its token ends."""
        try:
            grant = granted(socket, self._keys, "query")
            self._tenants.call(grant.tenant)
            parameters = parameters_of(socket, _KNOWN)
            selection = selection_of(parameters, grant.tenant)
            limit = limit_of(parameters, self._limits.rows)
            history = truth_of(parameters, "history", True)
            with self._tenants.subscriber(grant.tenant):
                cursor = await self._turns.run(grant.tenant, lambda: self._cursor(parameters))
                await socket.accept(subprotocol=protocol_of(socket))
                await self._feed(socket, selection, history, cursor, limit)
        except BypassError as error:
            with suppress(RuntimeError, WebSocketDisconnect):
                await socket.send_denial_response(refusal(error))

    def _cursor(self, parameters: dict[str, str]) -> QueryCursor | None:
        if "cursor" not in parameters:
            return None
        cursor = QueryCursor.parse(parameters["cursor"])
        self._reader.check(cursor)
        return cursor

    async def _feed(
        self, socket: WebSocket, selection: Selection, history: bool, cursor: QueryCursor | None, limit: int
    ) -> None:
        tasks = [
            asyncio.ensure_future(work)
            for work in (
                self._send(socket, selection, history, cursor, limit),
                self._until_token_ends(socket),
                _until_gone(socket),
            )
        ]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        error = next((task.exception() for task in done if task.exception() is not None), None)
        if isinstance(error, BypassError):
            reason = said(error).encode()[:_LONGEST_REASON].decode(errors="ignore")
            with suppress(RuntimeError, WebSocketDisconnect):
                await socket.close(CODES + status_of(error), reason)
        elif error is not None and not isinstance(error, WebSocketDisconnect):
            with suppress(RuntimeError, WebSocketDisconnect):
                await socket.close(1011, "internal error")
            raise error

    async def _send(
        self, socket: WebSocket, selection: Selection, history: bool, cursor: QueryCursor | None, limit: int
    ) -> None:
        pages = subscribe(
            self._folder,
            selection,
            history=history,
            cursor=cursor,
            limit=limit,
            reader=self._reader,
            run=partial(self._turns.run, selection.tenant),
        )
        async for page in pages:
            text = await asyncio.to_thread(_encoded, page)
            try:
                async with asyncio.timeout(self._limits.slow_s):
                    await socket.send_text(text)
            except TimeoutError:
                raise SlowSubscriber(
                    f"subscriber: took no message for {self._limits.slow_s:g} s: expected it to read; "
                    "go on with the last cursor"
                ) from None

    async def _until_token_ends(self, socket: WebSocket) -> None:
        """Raises InvalidToken and OperationNotAllowed."""
        token = token_of(socket)
        while True:
            check_token(self._keys, token).need("query")
            await asyncio.sleep(CHECK_S)


async def _until_gone(socket: WebSocket) -> None:
    """Drop what a subscriber sends, until it goes."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def _encoded(page: MeasurementPage) -> str:
    return msgspec.json.encode({"rows": plain_rows(page.rows), "cursor": str(page.cursor)}).decode()
