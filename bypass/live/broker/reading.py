"""What arrives at a broker, some packets at a time: all are received, then all are decoded.

One message after the other, each with everything that it leads to, takes up to a fourth longer: whenever it
comes to a step, the code of the others has displaced its own in the processor's caches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import zmq

from bypass.live.broker.authentication import PUBLIC_KEY
from bypass.messages import Message
from bypass.wire import MalformedMessage, decode_raw, unpack

MOST_AT_A_TIME = 500
MOST_BYTES_AT_A_TIME = 1 << 21
"""Messages, and bytes, that are read, to the end of a packet, before what they led to is stored and sent."""

NOW = int(zmq.NOBLOCK)

Decoded: TypeAlias = tuple[Message, bytes] | bytes | MalformedMessage
"""A message, and of a publication its body as it came; a message that is too large, as it came; or why there
is none."""


class Packet(NamedTuple):
    """Messages that came together on a route, in the last `frame` of what was received."""

    route: bytes
    frame: zmq.Frame
    messages: list[Decoded]

    @property
    def user(self) -> str:
        """The key of whoever sent it; empty if it has none."""
        try:
            return str(self.frame.get(PUBLIC_KEY))
        except zmq.ZMQError:
            return ""


class PacketReader:
    """Reads packets from a ROUTER. Messages of more than `largest` bytes are not decoded."""

    def __init__(self, socket: zmq.Socket[bytes], largest: int, counters: Counter[str]) -> None:
        self._socket = socket
        self._largest = largest
        self._counters = counters

    def packets(self) -> list[Packet]:
        """Some of what has arrived; nothing is waited for."""
        return [
            Packet(route, frame, [self._decoded(each) for each in messages])
            for route, frame, messages in self._received()
        ]

    def _received(self) -> list[tuple[bytes, zmq.Frame, Sequence[bytes | MalformedMessage]]]:
        receive = self._socket.recv
        received: list[tuple[bytes, zmq.Frame, Sequence[bytes | MalformedMessage]]] = []
        count = size = 0
        while count < MOST_AT_A_TIME and size < MOST_BYTES_AT_A_TIME:
            try:
                route = receive(NOW)
            except zmq.Again:
                break
            frame = receive(copy=False)
            if frame.more:
                self._skip_rest()
                count += 1
                continue
            packet = frame.bytes
            size += len(packet)
            messages: Sequence[bytes | MalformedMessage]
            try:
                messages = unpack(packet)
            except MalformedMessage as error:
                messages = (error,)
            count += len(messages)
            received.append((route, frame, messages))
        self._counters["bytes_in"] += size
        return received

    def _skip_rest(self) -> None:
        """A packet of several parts is none of ours; its rest must not be taken for the next one."""
        self._counters["malformed"] += 1
        while self._socket.get(zmq.RCVMORE):
            self._socket.recv()

    def _decoded(self, data: bytes | MalformedMessage) -> Decoded:
        if isinstance(data, MalformedMessage) or len(data) > self._largest:
            return data
        try:
            return decode_raw(data)
        except MalformedMessage as error:
            return error
