"""The web server of connectors and calls: uvicorn, in a loop of somebody else, without idle connections."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import h11


class WebServer(uvicorn.Server):
    """Serves in a loop that is somebody else's, and so are the signals."""

    def capture_signals(self) -> Any:
        return nullcontext()


class TimedRequests(H11Protocol):
    """Closes a connection whose next request has not begun in `request_s` seconds: all of its headers must
    have come by then. Bodies are timed by whoever reads them."""

    request_s: ClassVar[float] = 5.0
    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._stop_waiting()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # otherwise the next request was there already
            self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        self._stop_waiting()
        self._closing = self.loop.call_later(self.request_s, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
