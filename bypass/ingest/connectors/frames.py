"""Frames: how a device's id and its message travel together over TCP, UDP, HTTP and in files.

A message is two bytes with the length of the id, the id in UTF-8, and the payload. A frame is four bytes with
the length of such a message, and the message. Numbers are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from bypass.root_error import BypassError

_LENGTH = struct.Struct(">I")
_ID_LENGTH = struct.Struct(">H")


class MalformedFrame(BypassError):
    """Bytes that are no message with an id."""


class FrameTooLarge(BypassError):
    """A frame that says it is longer than frames may be: what follows cannot be read."""


class DeviceMessage(NamedTuple):
    """A device's id, and what it has sent."""

    device: str
    payload: bytes


def encode_message(device: str, payload: bytes) -> bytes:
    """The id and the payload as one datagram. Raises struct.error for an id longer than 65,535 bytes."""
    name = device.encode()
    return _ID_LENGTH.pack(len(name)) + name + payload


def encode_frame(device: str, payload: bytes) -> bytes:
    """The id and the payload as one frame of a stream. Raises as `encode_message` does."""
    message = encode_message(device, payload)
    return _LENGTH.pack(len(message)) + message


def decode_message(data: bytes) -> DeviceMessage:
    """The message in these bytes. Raises MalformedFrame."""
    begin = _ID_LENGTH.size
    end = begin + _ID_LENGTH.unpack_from(data)[0] if len(data) >= begin else begin + 1
    if end > len(data):
        raise MalformedFrame(f"{len(data)} bytes: expected the length of an id, the id and a payload")
    try:
        return DeviceMessage(data[begin:end].decode(), data[end:])
    except UnicodeDecodeError:
        raise MalformedFrame("the id is no UTF-8: expected it to be") from None


class FrameReader:
    """Cuts a stream of bytes into the messages of its frames, none longer than `most` bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = b""

    @property
    def is_complete(self) -> bool:
        """Whether the stream may end here: no part of a frame is left."""
        return not self._rest

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Cut what has come next. Gives each message that is complete, before it looks at the next one.

        All have to be taken before more is fed. Raises FrameTooLarge.
        """
        data = self._rest + data if self._rest else data
        at = 0
        while len(data) - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(data, at)
            if length > self._most:
                raise FrameTooLarge(f"a frame of {length} bytes: expected {self._most} at most")
            end = at + _LENGTH.size + length
            if end > len(data):
                break
            yield data[at + _LENGTH.size : end]
            at = end
        self._rest = data[at:]


def largest_message(payload_bytes: int, id_bytes: int) -> int:
    """How long a message is whose payload and id are as long as they may be."""
    return _ID_LENGTH.size + id_bytes + payload_bytes
