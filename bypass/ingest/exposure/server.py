"""The HTTP server of an installation: calls, continuous queries, figures and the page."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from bypass.errors import shown
from bypass.ingest.connectors.connector import Address, InvalidConnector, bound_socket
from bypass.ingest.connectors.web_server import TimedRequests, WebServer
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.exposure.answers import answer, refusal
from bypass.ingest.exposure.calls import Calls
from bypass.ingest.exposure.continuous import ContinuousQueries, SubscriberProtocol
from bypass.ingest.exposure.dashboard import Dashboard
from bypass.ingest.exposure.observer import IngestObserver
from bypass.ingest.exposure.query_turns import QueryTurns
from bypass.ingest.exposure.tenant_limits import ServingLimits, TenantLimits
from bypass.ingest.folder import IngestFolder
from bypass.live.addresses import is_loopback
from bypass.root_error import BypassError

log = logging.getLogger(__name__)

STOP_S = 3
LARGEST_MESSAGE = 4096
"""Bytes of a message of a subscriber, all of which are dropped."""


class InvalidServing(BypassError):
    """An address, certificate or key that cannot be served with."""


def check_serving(address: str, certificate: Path | None, key: Path | None, insecure: bool) -> None:
    """Refuse an address that other machines reach without TLS, unless `insecure` says that somebody else
    encrypts, and files that are not there. Raises InvalidServing, and InvalidConnector for no address."""
    if (certificate is None) != (key is None):
        raise InvalidServing("certificate and key: expected both, or none of them")
    for path in (certificate, key):
        if path is not None and not path.is_file():
            raise InvalidServing(f"file {shown(str(path))}: is not there: expected a certificate, or its key")
    if certificate is None and not insecure and not _is_loopback(address):
        raise InvalidServing(
            f"serve: address {address}: is reached from other machines: expected --tls-cert and --tls-key, "
            "or --insecure"
        )


def _is_loopback(address: str) -> bool:
    try:
        return is_loopback(Address.of("serve", address).host)
    except OSError as error:
        raise InvalidConnector(
            f"serve: address {address}: {error.strerror}: expected one of this machine"
        ) from None


class ExposureServer:
    """Serves one installation at HOST:PORT; port 0 takes a free one."""

    def __init__(
        self,
        folder: IngestFolder,
        address: str,
        *,
        tls: tuple[Path, Path] | None = None,
        insecure: bool = False,
        limits: ServingLimits | None = None,
    ) -> None:
        """Listen. `tls` has the files of a certificate and its key. Raises as `check_serving` does, and
        InvalidConnector if the address cannot be had."""
        self._folder, self._tls = folder, tls
        self._limits = ServingLimits() if limits is None else limits
        certificate, key = tls or (None, None)
        check_serving(address, certificate, key, insecure)
        self._socket = bound_socket("serve", address, socket.SOCK_STREAM)
        self.port: int = self._socket.getsockname()[1]
        self._loopback = _is_loopback(address)

    async def run(self, started: asyncio.Event | None = None) -> None:
        """Serve until the task is cancelled. Raises InvalidServing for a certificate that is none."""
        tenants = TenantLimits(self._limits)
        turns = QueryTurns(self._limits)
        calls = Calls(self._folder, self._limits, tenants, turns)
        continuous = ContinuousQueries(self._folder, self._limits, tenants, turns)
        observer = IngestObserver(self._folder)
        dashboard = Dashboard(observer, KeyStore(self._folder.keys), tenants, self._loopback)
        app = Starlette(
            routes=[
                Route("/devices", calls.devices),
                Route("/metadata", calls.metadata),
                Route("/latest", calls.latest),
                Route("/range", calls.range),
                Route("/register", calls.register, methods=["POST"]),
                WebSocketRoute("/subscribe", continuous.serve),
                Route("/metrics", dashboard.metrics),
                Route("/healthz", _healthy),
                Route("/events", dashboard.events),
                *(Route(path, dashboard.part) for path in dashboard.parts),
            ],
            exception_handlers={BypassError: _refuse, HTTPException: _tell, Exception: _fail},
        )
        server = WebServer(self._config(app))
        looking = asyncio.ensure_future(dashboard.run())
        serving = asyncio.ensure_future(server.serve(sockets=[self._socket]))
        try:
            while not server.started and not serving.done():
                await asyncio.sleep(0.01)
            if started is not None and server.started:
                started.set()
            await asyncio.wait([looking, serving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
            server.should_exit = True
            await serving

    def _config(self, app: Starlette) -> uvicorn.Config:
        config = uvicorn.Config(
            app,
            http=TimedRequests,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            ws=SubscriberProtocol,
            ws_max_size=LARGEST_MESSAGE,
            ws_per_message_deflate=False,
            limit_concurrency=4 * self._limits.subscribers,
            timeout_graceful_shutdown=STOP_S,
            ssl_certfile=None if self._tls is None else str(self._tls[0]),
            ssl_keyfile=None if self._tls is None else str(self._tls[1]),
        )
        try:
            config.load()
        except OSError as error:  # also of the TLS library
            raise InvalidServing(
                f"certificate: {error.strerror or error}: expected one in PEM, and its key"
            ) from None
        return config


async def _healthy(_request: Request) -> Response:
    return Response("ok\n", media_type="text/plain")


async def _refuse(_request: Request, error: Exception) -> Response:
    assert isinstance(error, BypassError)
    response = refusal(error)
    if response.status_code == 500:
        log.error("a request failed: %s", error)
    return response


async def _tell(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return answer({"error": error.detail}, error.status_code, dict(error.headers or {}))


async def _fail(_request: Request, _error: Exception) -> Response:
    return answer({"error": "internal error"}, 500)  # the server logs it
