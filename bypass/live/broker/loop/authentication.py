"""Authentication: answers ZeroMQ, which asks about each client before it lets the client in (ZAP)."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from typing import Protocol

import zmq
from zmq.utils import z85

from bypass.errors import shown
from bypass.live.allow_list import Admitted
from bypass.live.keys import BrokerKeys

PUBLIC_KEY = "Public-Key"
"""Property of every frame that an authenticated client has sent: its key in Z85, to look it up again."""

NOBODY = Admitted("", frozenset())
"""All clients of an open broker, which asks for no keys."""

_ADDRESS = "inproc://zeromq.zap.01"
_VERSION = b"1.0"

_log = logging.getLogger(__name__)


class AdmittedKeys(Protocol):
    """A list of keys that are admitted, such as an `AllowList`."""

    def find(self, public_key: bytes | str, /) -> Admitted | None:
        """Give whose key this is, in 32 bytes or in Z85; None if it is nobody's who is admitted."""


class Authenticator:
    """Admits the keys of an allow-list to the sockets of one domain. There is one in a context. Without a
    list, everybody is admitted who has no key.

    Whoever runs it polls `socket` and calls `handle` when there is something to read; clients wait until
    then. `admitted` and `refused` count connections. One for which there is no place is closed without a
    word, so that its client tries again. Raises ValueError for an empty domain: ZeroMQ would ask nobody, and
    admit everybody who knows the broker's public key.
    """

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], allow_list: AdmittedKeys | None, domain: str
    ) -> None:
        if not domain:
            raise ValueError("domain '': expected a name")
        self.has_place: Callable[[Admitted, str], bool] = _always
        """Whether whoever is admitted may have a connection more, from this address."""
        self.is_busy: Callable[[], bool] = _never
        """Whether there is so much to do that newcomers have to wait."""
        self.admitted = 0
        self.refused = 0
        self._allow_list = allow_list
        self._domain = domain.encode()
        self.socket = context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.bind(_ADDRESS)

    def guard(self, socket: zmq.Socket[bytes], keys: BrokerKeys | None) -> None:
        """Let nobody connect to `socket`, which is not bound yet, but those whom this one admits; there are
        keys if there is an allow-list."""
        if keys is not None:
            socket.curve_server = True
            socket.curve_publickey = keys.public
            socket.curve_secretkey = keys.secret
        socket.zap_domain = self._domain
        socket.zap_enforce_domain = True

    def handle(self) -> None:
        """Answer all that is asked now, one question if there is much else to do. Does not wait.

        Who is not answered waits. To refuse it for a while would not do: ZeroMQ keeps such a connection until
        the time for its handshake is over, and its client does not try again before.
        """
        while True:
            try:
                request = self.socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self.socket.send_multipart(self._answer(request))
            if self.is_busy():
                return

    def close(self) -> None:
        """From now on nobody is admitted."""
        self.socket.close()

    def _answer(self, request: list[bytes]) -> list[bytes]:
        number = request[1] if len(request) > 1 else b""
        try:
            key, admitted, address = self._admit(request)
        except _NotAdmitted as refusal:
            self.refused += 1
            _log.info("not admitted: %s", refusal)
            return [_VERSION, number, b"400", b"not admitted", b"", b""]
        if not self.has_place(admitted, address):
            return [_VERSION, number, b"300", b"come again", b"", b""]
        self.admitted += 1
        properties = _property(PUBLIC_KEY, z85.encode(key)) if key else b""
        return [_VERSION, number, b"200", b"OK", admitted.name.encode(), properties]

    def _admit(self, request: list[bytes]) -> tuple[bytes, Admitted, str]:
        """The key that is asked about, whose it is, and where that client is. Raises _NotAdmitted."""
        expected = 6 if self._allow_list is None else 7
        if len(request) != expected or request[0] != _VERSION:
            raise _NotAdmitted(
                f"request of {len(request)} parts: expected {expected}, of version {_VERSION.decode()}"
            )
        _, _, domain, address, _, mechanism, *credentials = request
        where = address.decode(errors="backslashreplace")
        if domain != self._domain:
            raise _NotAdmitted(f"domain {shown(domain)}: expected {self._domain!r}")
        if self._allow_list is None:
            return b"", NOBODY, where
        key = credentials[0]
        if mechanism != b"CURVE" or len(key) != 32:
            raise _NotAdmitted(f"mechanism {shown(mechanism)}: expected CURVE with a key of 32 bytes")
        admitted = self._allow_list.find(key)
        if admitted is None:
            raise _NotAdmitted(
                f"key {z85.encode(key).decode()} from {where!r}: expected one of the allow-list"
            )
        return key, admitted, where


class _NotAdmitted(Exception):
    """Why."""


def _never() -> bool:
    return False


def _always(_: Admitted, __: str) -> bool:
    return True


def _property(name: str, value: bytes) -> bytes:
    return struct.pack("!B", len(name)) + name.encode() + struct.pack("!I", len(value)) + value
