"""A broker's figures over HTTP: for Prometheus, for whoever asks for its health, and for people to look at.

Everything here only reads the snapshot that the broker's loop makes each second, in threads of its own. What
is served tells names and places of clients, and nobody is asked who they are: listen where operators get.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import math
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

from bypass.errors import BypassError
from bypass.live.broker.operations.metrics import CONTENT_TYPE, exposition

log = logging.getLogger(__name__)

Snapshot = Mapping[str, Any]

VIEWERS = 50  # event streams at a time
CONNECTIONS = VIEWERS + 14  # of all kinds: each has a thread
PATIENCE = 5.0  # s to send a request in, and to take what is sent
SILENCE = 5.0  # s after which a stream says that it is alive, and a loop without snapshots is not
POLL = 0.2  # s between two looks at the snapshot
FAREWELL = 0.3  # s for streams to end by themselves when the server closes

TEXT = "text/plain; charset=utf-8"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}


class WebFailed(BypassError):
    """The HTTP server cannot be had at this address."""


class Web:
    """Serves `snapshot()` at `address` ("host:port", "[v6 address]:port"; port 0 takes a free one).

    `/metrics` and `/healthz` always; with `dashboard` also the page at `/` and its stream of snapshots,
    `/events`. Raises WebFailed if the address is none.
    """

    def __init__(self, address: str, snapshot: Callable[[], Snapshot], dashboard: bool) -> None:
        self._host, self._port = _parse(address)
        self._snapshot = snapshot
        self._dashboard = dashboard
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """Where it listens; with the port that was found if any was asked for."""
        return _shown(self._host, self._port)

    def start(self) -> None:
        """Listen, and serve in a thread. Raises WebFailed, naming the address, if it cannot be had."""
        try:
            family, *_, where = socket.getaddrinfo(
                self._host, self._port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            self._server = _Server(family, where, self._snapshot, _page() if self._dashboard else {})
        except OSError as error:
            raise WebFailed(f"http address {self.address}: {error.strerror or error}") from error
        self._port = self._server.server_address[1]
        if self._dashboard and not self._server.loopback:
            log.warning("dashboard at %s: everybody who reaches it sees where clients are", self.address)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL,), name="web", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop serving, tell the viewers, end all connections; takes less than a second."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server.end()
        self._server = self._thread = None


class _Server(ThreadingMixIn, TCPServer):
    """One thread a connection, at most `CONNECTIONS`; has the newest snapshot and tells who waits for it."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 32

    def __init__(
        self, family: int, where: Any, snapshot: Callable[[], Snapshot], page: dict[str, tuple[str, bytes]]
    ) -> None:
        self.address_family = family
        self.page = page
        self.loopback = ipaddress.ip_address(where[0]).is_loopback
        self.closed = False
        self._make = snapshot
        self._snapshot = snapshot()
        self._since = time.monotonic()  # when this snapshot was first seen
        self._frame: tuple[Snapshot, bytes] | None = None
        self._viewers = 0
        self._deadlines: dict[Any, float] = {}  # of connections: until when they must have made their request
        self._changed = threading.Condition()
        super().__init__(where, _Handler)

    # -- snapshots ----------------------------------------------------------------------------------------

    def service_actions(self) -> None:
        """Looks for a new snapshot, and hangs up on who takes too long to ask; called all the time."""
        snapshot, now = self._make(), time.monotonic()
        with self._changed:
            if snapshot["at"] != self._snapshot["at"]:
                self._snapshot, self._since = snapshot, now
                self._changed.notify_all()
            for connection, deadline in self._deadlines.items():
                if now > deadline:
                    _hang_up(connection)

    def latest(self) -> tuple[Snapshot, float]:
        """The newest snapshot and its age in seconds."""
        with self._changed:
            return self._snapshot, time.monotonic() - self._since

    def next_frame(self, last: bytes | None) -> bytes | None:
        """Give the next frame for a viewer who was sent `last`; None if nothing new has come for a while."""
        with self._changed:
            self._changed.wait_for(lambda: self.closed or self._encoded() is not last, SILENCE)
            frame = self._encoded()
        return None if frame is last else frame

    def _encoded(self) -> bytes:
        """The newest snapshot as an event; made once for all viewers, and only if there are any."""
        if self._frame is None or self._frame[0] is not self._snapshot:
            data = json.dumps(self._snapshot, separators=(",", ":"))
            self._frame = self._snapshot, f"data: {data}\n\n".encode()
        return self._frame[1]

    # -- connections --------------------------------------------------------------------------------------

    @contextmanager
    def viewer(self) -> Iterator[bool]:
        """Room for one more event stream, or not."""
        with self._changed:
            admitted = self._viewers < VIEWERS
            self._viewers += admitted
        try:
            yield admitted
        finally:
            with self._changed:
                self._viewers -= admitted

    def asked(self, connection: Any) -> None:
        """The connection has made its request."""
        with self._changed:
            self._deadlines[connection] = math.inf

    def get_request(self) -> Any:
        try:
            return super().get_request()
        except OSError:  # no descriptor is left: to ask again at once would only take time from others
            time.sleep(POLL)
            raise

    def verify_request(self, request: Any, _client_address: Any) -> bool:
        with self._changed:
            if len(self._deadlines) < CONNECTIONS:
                return True
        request.setblocking(False)
        with suppress(OSError):
            request.send(b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n\r\n")
        return False

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._changed:
            self._deadlines[request] = time.monotonic() + PATIENCE
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._changed:
            self._deadlines.pop(request, None)
            self._changed.notify_all()
        super().shutdown_request(request)

    def end(self) -> None:
        """Let streams say farewell, then hang up on those who have not gone."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._deadlines, FAREWELL)
            for connection in self._deadlines:
                _hang_up(connection)
            self._changed.wait_for(lambda: not self._deadlines, FAREWELL)

    def handle_error(self, _request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # who is slow or gone is no error of ours
            log.exception("request of %s", client_address[0])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
    server: _Server

    def version_string(self) -> str:
        return "bypass"

    def log_message(self, text: str, *args: Any) -> None:
        log.debug("%s: %s", self.address_string(), text % args)

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        self.server.asked(self.connection)
        if self.command != "GET":
            self._answer(HTTPStatus.METHOD_NOT_ALLOWED, TEXT, b"GET only\n", Allow="GET")
            return False
        if self.server.loopback and not is_local(self.headers.get_all("Host", [])):
            # A page elsewhere may have pointed its own name at this machine to read what is here.
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, TEXT, b"Host: expected localhost\n")
            return False
        return True

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(HTTPStatus.OK, CONTENT_TYPE, exposition(self.server.latest()[0]))
        elif path == "/healthz":
            trouble = _trouble(*self.server.latest())
            status = HTTPStatus.SERVICE_UNAVAILABLE if trouble else HTTPStatus.OK
            self._answer(status, TEXT, f"{trouble or 'ok'}\n".encode())
        elif path in self.server.page:
            self._answer(HTTPStatus.OK, *self.server.page[path])
        elif path == "/events" and self.server.page:
            with self.server.viewer() as admitted:
                if admitted:
                    self._stream()
                else:
                    self._answer(
                        HTTPStatus.SERVICE_UNAVAILABLE, TEXT, f"{VIEWERS} viewers already\n".encode()
                    )
        else:
            self._answer(HTTPStatus.NOT_FOUND, TEXT, b"nothing here\n")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that the base class cannot read."""
        self._answer(code, TEXT, f"{message or explain or HTTPStatus(code).phrase}\n".encode())

    def _stream(self) -> None:
        """Snapshots as they come. Who cannot take one in time is cut off; who is slower misses some."""
        self._head(HTTPStatus.OK, "text/event-stream; charset=utf-8")
        self.wfile.write(b"retry: 2000\n\n")
        last = None
        while not self.server.closed:
            frame = self.server.next_frame(last)
            self.wfile.write(frame or b":\n\n")
            last = frame or last
        self.wfile.write(b"event: bye\ndata: {}\n\n")

    def _answer(self, status: int, kind: str, body: bytes, **more: str) -> None:
        self._head(status, kind, **{"Content-Length": str(len(body)), **more})
        self.wfile.write(body)

    def _head(self, status: int, kind: str, **more: str) -> None:
        self.request_version = self.protocol_version  # who speaks an older one, or none, gets all headers too
        self.send_response(status)
        for name, value in {"Content-Type": kind, **HEADERS, **more}.items():
            self.send_header(name, value)
        self.end_headers()


def _trouble(snapshot: Snapshot, age: float) -> str | None:
    """Why the broker is not well, or None."""
    if age > SILENCE:
        return f"the broker's loop has been silent for {age:.0f} s"
    failing = snapshot["store"]["failing"]
    return None if failing is None else f"store {snapshot['store']['path']}: {failing}"


def _page() -> dict[str, tuple[str, bytes]]:
    """Path -> type and content of everything that the page is made of."""
    page = {}
    for file in files("bypass.live.broker.operations").joinpath("page").iterdir():
        kind = TYPES.get(file.name[file.name.rfind(".") :])
        if kind is not None:
            page["/" if file.name == "index.html" else f"/{file.name}"] = (
                f"{kind}; charset=utf-8",
                file.read_bytes(),
            )
    return page


def _parse(address: str) -> tuple[str, int]:
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:\s]+)):([0-9]{1,5})", address)
    if match is None or int(match[3]) > 0xFFFF:
        raise WebFailed(f"http address {address!r}: expected HOST:PORT, as in 127.0.0.1:7780 or [::1]:7780")
    return match[1] or match[2], int(match[3])


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_local(hosts: list[str]) -> bool:
    """Whether a request's Host headers are one that names this machine without asking anybody."""
    if len(hosts) != 1:
        return False
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:\s]+))(?::[0-9]*)?", hosts[0])
    if match is None:
        return False
    name = match[1] or match[2]
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # it may have gone by itself
        connection.shutdown(socket.SHUT_RDWR)
