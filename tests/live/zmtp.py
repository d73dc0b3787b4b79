"""Peers that speak ZMTP 3.0 themselves, byte by byte: they can say what no ZeroMQ library does."""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from select import select
from termios import TIOCOUTQ
from typing import Self, TypeVar

from bypass.protocol.messages import Message
from bypass.protocol.wire import decode, encode, unpack
from tests.live.brokers import PATIENCE, until

M = TypeVar("M", bound=Message)

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
MORE, LONG, COMMAND = 1, 2, 4


def frame(body: bytes, flags: int = 0) -> bytes:
    """A frame as it is written on a connection."""
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return bytes([flags | LONG]) + struct.pack("!Q", len(body)) + body


PING = frame(b"\x04PING\0\0", COMMAND)


class RawPeer:
    """A DEALER that has shaken hands with a broker on a port of this machine, under an `identity` of its own
    if it is given one."""

    def __init__(self, port: int, identity: bytes = b"") -> None:
        self.port = port
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        try:
            self.socket.sendall(GREETING)
            self._read(len(GREETING))
            known = _property(b"Socket-Type", b"DEALER") + _property(b"Identity", identity)
            self.socket.sendall(frame(b"\x05READY" + known, COMMAND))
            _, length = self._read(2)
            self._read(length)
        except BaseException:
            self.socket.close()
            raise

    def send(self, *packets: bytes) -> None:
        """Write packets, each as one message."""
        self.socket.sendall(b"".join(map(frame, packets)))

    def flood(self, packet: bytes) -> Iterator[None]:
        """Write bytes again and again until the broker has ended the connection; after each part of them
        something else can be done.

        Who does not look hears nothing of an end while the other side has no room: not even a reset comes.
        """
        self.socket.setblocking(False)
        rest = memoryview(packet)
        with suppress(ConnectionError):
            while True:
                reading, writing, _ = select([self.socket], [self.socket], [], PATIENCE)
                if not reading and not writing:
                    raise TimeoutError(f"the broker has neither read nor ended this for {PATIENCE} s")
                if reading and not self.socket.recv(1 << 16):
                    return
                if writing:
                    rest = rest[self.socket.send(rest) :] or memoryview(packet)
                yield

    def until_ended(self) -> None:
        """Wait until the broker has ended the connection, whatever it says before."""
        with suppress(ConnectionError):
            while self.socket.recv(1 << 16):
                pass

    def until_read(self) -> None:
        """Wait until ZeroMQ has read all that was written."""
        until(lambda: self._on_its_way() == 0 and self._unread() == 0)

    def reset(self) -> None:
        """Break the connection, and wait until the broker's side knows."""
        name = self.socket.getsockname()[1]
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        until(lambda: _connections().get((self.port, name)) is None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def _on_its_way(self) -> int:
        return int.from_bytes(ioctl(self.socket, TIOCOUTQ, bytes(4)), sys.byteorder)

    def _unread(self) -> int | None:
        return _connections().get((self.port, self.socket.getsockname()[1]))

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the broker has ended the connection")
            data += part
        return data


def _property(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + struct.pack("!I", len(value)) + value


def _connections() -> dict[tuple[int, int], int]:
    """Bytes that wait at one end of each connection of this machine, by the ports of both ends."""
    found = {}
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        _, here, there, _, queues, *_ = line.split()
        ports = int(here.rpartition(":")[2], 16), int(there.rpartition(":")[2], 16)
        found[ports] = int(queues.partition(":")[2], 16)
    return found


class RawBroker:
    """A ROUTER on a port of this machine, for one client, that shakes hands when it is told to `meet` it."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE)
        self.port = self._listener.getsockname()[1]
        self.endpoint = f"tcp://127.0.0.1:{self.port}"
        self.socket: socket.socket

    def meet(self) -> None:
        """Shake hands with whoever connects first."""
        self.socket, _ = self._listener.accept()
        self.socket.settimeout(PATIENCE)
        self.socket.sendall(GREETING)
        self._read(len(GREETING))
        self._frame()
        known = _property(b"Socket-Type", b"ROUTER") + _property(b"Identity", b"")
        self.socket.sendall(frame(b"\x05READY" + known, COMMAND))

    def get(self, kind: type[M]) -> M:
        """The next message of a kind; what comes before it is dropped, also out of the same packet."""
        while True:
            flags, body = self._frame()
            if not flags & COMMAND:
                for message in map(decode, unpack(body)):
                    if isinstance(message, kind):
                        return message

    def send(self, *messages: Message) -> None:
        """Write messages, each as a packet."""
        self.socket.sendall(b"".join(frame(encode(each)) for each in messages))

    def until_sent(self) -> None:
        """Wait until the client's machine has got all that was written."""
        until(lambda: int.from_bytes(ioctl(self.socket, TIOCOUTQ, bytes(4)), sys.byteorder) == 0)

    def reset(self) -> None:
        """Break the connection, and have nobody listen any more."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        with suppress(AttributeError):
            self.socket.close()

    def _frame(self) -> tuple[int, bytes]:
        (flags,) = self._read(1)
        size = int.from_bytes(self._read(8 if flags & LONG else 1))
        return flags, self._read(size)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the client has ended the connection")
            data += part
        return data
