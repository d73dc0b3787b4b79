"""HTTP: POST /messages/DEVICE has one message, POST /messages any number of frames. 200 says that all of them
are in the log; who gets another answer sends the request again, and what came before is recognised.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import Future

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bypass.ingest.connectors.connector import (
    Connector,
    bound_socket,
    check_at_least,
    until_logged_or_refused,
)
from bypass.ingest.connectors.frames import (
    DeviceMessage,
    FrameReader,
    FrameTooLarge,
    MalformedFrame,
    decode_message,
    largest_message,
)
from bypass.ingest.connectors.intake import LogIntake, MessageRefused
from bypass.ingest.connectors.web_server import TimedRequests, WebServer

RETRY_AFTER_S = 1
STOP_S = 5
_STATUS = {"too large": 413, "device id": 400, "malformed frame": 400, "device rate": 429}
"""Answers by reason; all other reasons mean that it can be tried again soon."""


class HttpConnector(Connector):
    """Listens at `address`. A request has `body_bytes` at most and `body_s` seconds to send them; there are
    `requests` at a time, and others are told to come again."""

    def __init__(
        self, address: str, *, body_bytes: int = 4 << 20, requests: int = 64, body_s: float = 30.0
    ) -> None:
        """Raises InvalidConnector, also if the address cannot be listened at."""
        check_at_least("http", "body_bytes", body_bytes, 1)
        check_at_least("http", "requests", requests, 1)
        check_at_least("http", "body_s", body_s, 0.001)
        self._body_bytes = body_bytes
        self._requests = requests
        self._body_s = body_s
        self._busy = 0
        self._socket = bound_socket("http", address, socket.SOCK_STREAM)
        self.port: int = self._socket.getsockname()[1]

    async def start(self, intake: LogIntake) -> None:
        self._intake = intake
        self._most = largest_message(intake.limits.message_bytes, intake.limits.id_bytes)
        routes = [
            Route("/messages", self._take, methods=["POST"]),
            Route("/messages/{device:path}", self._take, methods=["POST"]),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes),
            http=TimedRequests,
            lifespan="off",
            log_config=None,
            access_log=False,
            limit_concurrency=10 * self._requests,
            timeout_graceful_shutdown=STOP_S,
        )
        self._server = WebServer(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started and not self._serving.done():
            await asyncio.sleep(0)
        if self._serving.done():
            await self._serving

    async def stop(self) -> None:
        self._server.should_exit = True
        await self._serving

    async def _take(self, request: Request) -> Response:
        if self._busy >= self._requests:
            return _refusal(self._intake.refuse("too many requests"))
        self._busy += 1
        try:
            async with asyncio.timeout(self._body_s):
                body = await self._body(request)
            messages = self._messages(request.path_params.get("device"), body)
            return await self._log(messages)
        except MessageRefused as error:
            return _refusal(error)
        except TimeoutError:
            self._intake.refuse("slow request")
            return JSONResponse({"refused": "slow request"}, 408, {"Connection": "close"})
        except ClientDisconnect:
            self._intake.refuse("broken request")
            return Response(status_code=400)
        finally:
            self._busy -= 1

    async def _body(self, request: Request) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > self._body_bytes:
                raise self._intake.refuse(
                    "too large", f"a body of {size} bytes or more: expected {self._body_bytes} at most"
                )
            parts.append(part)
        return b"".join(parts)

    def _messages(self, device: str | None, body: bytes) -> list[DeviceMessage]:
        """Read a body. A part of it that cannot be read makes all of it unreadable. Raises MessageRefused."""
        if device is not None:
            return [DeviceMessage(device, body)]
        frames = FrameReader(self._most)
        try:
            messages = [decode_message(frame) for frame in frames.feed(body)]
        except FrameTooLarge as error:
            raise self._intake.refuse("too large", str(error)) from None
        except MalformedFrame as error:
            raise self._intake.refuse("malformed frame", str(error)) from None
        if not frames.is_complete:
            raise self._intake.refuse("malformed frame", "the body ends in a frame")
        return messages

    async def _log(self, messages: list[DeviceMessage]) -> Response:
        """Hand in messages and wait until they are in the log. Raises MessageRefused if one is not."""
        handed_in: list[Future[None]] = []
        refusal: MessageRefused | None = None
        for message in messages:
            try:
                handed_in.append(self._intake.submit(*message))
            except MessageRefused as error:
                refusal = refusal or error
        if handed_in:
            await until_logged_or_refused(handed_in[-1])
        for done in handed_in:
            done.result()
        if refusal is not None:
            raise refusal
        return JSONResponse({"logged": len(handed_in)})


def _refusal(error: MessageRefused) -> Response:
    status = _STATUS.get(error.reason, 503)
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status in (429, 503) else {}
    return JSONResponse({"refused": error.reason, "detail": error.detail}, status, headers)
