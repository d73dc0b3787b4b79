"""The page of an installation, its figures and its health: for operators alone.

At an address of this machine nobody is asked who they are, as with a live broker's page, but the request must
name this machine; anywhere else a token has to allow `operate`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.exposure.answers import ServerBusy
from bypass.ingest.exposure.metrics import CONTENT_TYPE, ingest_exposition
from bypass.ingest.exposure.observer import IngestObserver
from bypass.ingest.exposure.parameters import granted
from bypass.ingest.exposure.tenant_limits import TenantLimits
from bypass.live.broker.operations.web import HEADERS, SILENCE, TEXT, TYPES, VIEWERS, is_local

LOOK_S = 1.0
FIRST_LOOK_S = 2.0
"""How long a request waits if nothing was seen yet."""

SHARED = ("chart.js", "dashboard.css", "icon.svg", "stream.js", "text.js")
"""Parts of the live broker's page that this one uses."""

log = logging.getLogger(__name__)

_HEADERS = {name: value for name, value in HEADERS.items() if name != "Connection"}


class Dashboard:
    """Shows what an observer sees, which looks each second while it runs. A look that fails leaves what was
    seen before."""

    def __init__(
        self, observer: IngestObserver, keys: KeyStore, tenants: TenantLimits, loopback: bool
    ) -> None:
        self._observer, self._keys, self._tenants, self._loopback = observer, keys, tenants, loopback
        self.parts = _parts()
        self._snapshot: dict[str, Any] | None = None
        self._changed = asyncio.Condition()
        self._viewers = 0
        self.closed = False

    async def run(self) -> None:
        """Look again and again, until the task is cancelled."""
        try:
            failed = False
            while True:
                try:
                    snapshot = await asyncio.to_thread(self._observer.look, self._tenants.subscribers())
                except Exception as error:  # a log that is away, or a damaged file: figures alone need them
                    if not failed:
                        log.warning("figures are not up to date: %s", error, exc_info=error)
                    failed = True
                else:
                    failed = False
                    async with self._changed:
                        self._snapshot = snapshot
                        self._changed.notify_all()
                await asyncio.sleep(LOOK_S)
        finally:
            self.closed = True
            async with self._changed:
                self._changed.notify_all()

    def admit(self, request: Request) -> Response | None:
        """The refusal of a request that may not see figures, None if it may. Raises InvalidToken and
        OperationNotAllowed."""
        if not self._loopback:
            granted(request, self._keys, "operate")
        elif not is_local(request.headers.getlist("Host")):
            # A page elsewhere may have pointed its own name at this machine to read what is here.
            return Response("Host: expected localhost\n", 421, _HEADERS, TEXT)
        return None

    async def metrics(self, request: Request) -> Response:
        """The figures for Prometheus. Raises ServerBusy if nothing was seen yet."""
        refused = self.admit(request)
        if refused is not None:
            return refused
        observer = self._observer
        snapshot = {**await self._seen(), "subscribers": self._tenants.subscribers()}
        text = ingest_exposition(snapshot, observer.latency, observer.batch_time)
        return Response(text, 200, {**_HEADERS, "Content-Type": CONTENT_TYPE})

    async def part(self, request: Request) -> Response:
        """A part of the page."""
        refused = self.admit(request)
        if refused is not None:
            return refused
        kind, content = self.parts[request.url.path]
        return Response(content, 200, {**_HEADERS, "Content-Type": kind})

    async def events(self, request: Request) -> Response:
        """The stream of snapshots. Raises ServerBusy if there are too many viewers, or nothing was seen
        yet."""
        refused = self.admit(request)
        if refused is not None:
            return refused
        if self._viewers >= VIEWERS:
            raise ServerBusy(f"{VIEWERS} viewers already: expected fewer")
        return StreamingResponse(
            self._frames(await self._seen()),
            200,
            {**_HEADERS, "Content-Type": "text/event-stream; charset=utf-8"},
        )

    async def _seen(self) -> dict[str, Any]:
        """Give the latest snapshot. Raises ServerBusy if there is none yet."""
        async with self._changed:
            try:
                async with asyncio.timeout(FIRST_LOOK_S):
                    await self._changed.wait_for(lambda: self._snapshot is not None or self.closed)
            except TimeoutError:
                pass
        if self._snapshot is None:
            raise ServerBusy("figures: nothing was seen yet: expected the log to answer")
        return self._snapshot

    async def _frames(self, last: dict[str, Any]) -> AsyncIterator[bytes]:
        """Snapshots as they come; the first has the samples of the minutes before."""
        self._viewers += 1
        try:
            yield b"retry: 2000\n\n" + _frame({**last, "samples": list(self._observer.samples)})
            while not self.closed:
                async with self._changed:
                    try:
                        async with asyncio.timeout(SILENCE):
                            await self._changed.wait()
                    except TimeoutError:
                        pass
                    snapshot = self._snapshot or last
                yield b":\n\n" if snapshot is last else _frame(snapshot)
                last = snapshot
            yield b"event: bye\ndata: {}\n\n"
        finally:
            self._viewers -= 1


def _frame(snapshot: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(snapshot) + b"\n\n"


def _parts() -> dict[str, tuple[str, bytes]]:
    """Path -> type and content of everything that the page is made of."""
    own = list(files("bypass.ingest.exposure").joinpath("page").iterdir())
    shared = files("bypass.live.broker.operations").joinpath("page")
    page = {}
    for file in (*own, *(shared.joinpath(name) for name in SHARED)):
        kind = TYPES.get(file.name[file.name.rfind(".") :])
        if kind is not None:
            path = "/" if file.name == "index.html" else f"/{file.name}"
            page[path] = f"{kind}; charset=utf-8", file.read_bytes()
    return page
