"""An HTTP server of an installation, at a free port of this machine, and those that call it."""

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import urlencode

from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as connect_socket
from websockets.typing import Subprotocol

from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.exposure.server import ExposureServer
from bypass.ingest.exposure.tenant_limits import ServingLimits
from bypass.ingest.exposure.tokens import issue_token
from bypass.ingest.folder import IngestFolder


class Reply(NamedTuple):
    status: int
    content: Any
    headers: dict[str, str]


class Served:
    """One server, and requests to it."""

    def __init__(self, folder: IngestFolder, port: int) -> None:
        self.folder, self.port = folder, port

    def token(self, tenant: str = "default", *operations: str, seconds: float = 60) -> str:
        return issue_token(KeyStore(self.folder.keys), tenant, operations or ("query",), seconds)

    def request(
        self,
        path: str,
        token: str | None = None,
        *,
        method: str = "GET",
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = dict(headers or {})
            if token is not None:
                sent["Authorization"] = f"Bearer {token}"
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            content = response.read()
            named = {name.lower(): value for name, value in response.getheaders()}
            if named.get("content-type") == "application/json":
                return Reply(response.status, json.loads(content), named)
            return Reply(response.status, content.decode(), named)
        finally:
            connection.close()

    def get(self, path: str, token: str | None = None, **parameters: Any) -> Reply:
        return self.request(f"{path}?{urlencode(parameters)}" if parameters else path, token)

    def subscribe(
        self,
        token: str | None,
        *,
        slow: bool = False,
        subprotocols: Sequence[str] | None = None,
        **parameters: Any,
    ) -> ClientConnection:
        """Connect a subscriber; one that is slow has little room for what it has not read."""
        plain = socket.socket()
        if slow:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        plain.connect(("127.0.0.1", self.port))
        return connect_socket(
            f"ws://127.0.0.1:{self.port}/subscribe?{urlencode(parameters)}",
            additional_headers=None if token is None else {"Authorization": f"Bearer {token}"},
            subprotocols=None if subprotocols is None else [Subprotocol(each) for each in subprotocols],
            max_size=None,
            max_queue=1 if slow else 16,
            sock=plain,
            compression=None,
            proxy=None,
        )


@contextmanager
def serving(folder: IngestFolder, limits: ServingLimits | None = None) -> Iterator[Served]:
    """Serve a folder while the context lasts."""
    server = ExposureServer(folder, "127.0.0.1:0", limits=limits)
    ready, loop = threading.Event(), asyncio.new_event_loop()
    tasks: list[asyncio.Task[None]] = []

    async def run() -> None:
        started = asyncio.Event()
        tasks.append(asyncio.ensure_future(server.run(started)))
        waiting = asyncio.ensure_future(started.wait())
        await asyncio.wait([tasks[0], waiting], return_when="FIRST_COMPLETED")
        waiting.cancel()
        ready.set()
        with suppress(asyncio.CancelledError):
            await tasks[0]

    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(loop.run_until_complete, run())
        assert ready.wait(30)
        try:
            yield Served(folder, server.port)
            assert not running.done(), "the server has ended"
        finally:
            loop.call_soon_threadsafe(tasks[0].cancel)
            running.result(30)  # raises what has ended the server
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()
