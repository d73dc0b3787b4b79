"""Messages that do not end: ZeroMQ keeps the parts of a message, unseen, until the last of them has come."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress

MOST_UNFINISHED_BYTES = 16_777_216
"""Bytes that may come on a connection without a message being whole: no broker sends as much in one."""

LOOK_S = 0.25
"""How often to look."""

TCP_INFO = getattr(socket, "TCP_INFO", None)  # only Linux tells
RECEIVED = struct.Struct("=128xQ")
"""Where Linux says how many bytes have come on a connection."""

Identity = tuple[int, int]
"""Of a socket, which no other has while it is open."""


def identity_of(descriptor: int) -> Identity | None:
    """Of the socket behind a descriptor; None if there is none."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def bytes_received(peer: socket.socket) -> int:
    """How many bytes have come on a connection; 0 if the system does not tell. Raises OSError."""
    if TCP_INFO is not None:
        with suppress(struct.error):
            found = RECEIVED.unpack(peer.getsockopt(socket.IPPROTO_TCP, TCP_INFO, RECEIVED.size))
            return int(found[0])
    return 0


class UnfinishedMessage:
    """Measures the bytes that have come on a connection, behind a descriptor, since its last whole message.

    On other systems than Linux, and on other connections than TCP, nobody can tell, and nothing has.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._identity = identity_of(descriptor)
        self._messages = 0
        self._before = 0  # bytes that had come when a message was last found to be whole

    def too_large(self, messages: int) -> str:
        """Say what is wrong if far too much has come since a message was whole; `messages` is how many have
        been until now."""
        received = self._received()
        if messages != self._messages:
            self._messages, self._before = messages, received
        size = received - self._before
        if size <= MOST_UNFINISHED_BYTES:
            return ""
        return f"a message of {size} bytes that does not end: expected at most {MOST_UNFINISHED_BYTES}"

    def _received(self) -> int:
        with suppress(OSError):
            copy = os.dup(self._descriptor)  # from here on nobody else can get it
            try:
                if identity_of(copy) == self._identity:
                    peer = socket.socket(fileno=copy)
                    try:
                        return bytes_received(peer)
                    finally:
                        peer.detach()
            finally:
                os.close(copy)
        return self._before
