"""The backlog of a live broker: packets that are not served yet, so many bytes of each key, and of all."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from bypass.live.broker.loop.sender import Sender
from bypass.live.broker.sessions.quotas import Account
from bypass.protocol.wire import MalformedMessage

WAITING_BYTES, WAITING_BYTES_IN_ALL = 1 << 24, 1 << 28
"""Bytes that wait to be served at most, of one key and of all."""

PACKET_BYTES, MESSAGE_BYTES = 512, 32
"""About so many bytes a packet, and a message in it, takes beside its own."""


class Packet(NamedTuple):
    """Messages that came together from `sender`, `size` bytes, and are charged to `account`: the first
    `taken` are served, the others refused as `over` a quota. `unread` ones, which came after these, are gone.
    `error` is why it is no packet, if it is none. It takes `room` while it waits."""

    sender: Sender
    account: Account
    size: int
    room: int
    messages: Sequence[bytes]
    taken: int
    over: str
    unread: int
    error: MalformedMessage | None


class Backlog:
    """Packets in the order in which they came."""

    def __init__(self) -> None:
        self._packets: deque[Packet] = deque()
        self.bytes = 0  # that they take together

    def __len__(self) -> int:
        return len(self._packets)

    def has(self, account: Account, room: int) -> bool:
        """Whether there is so much room for a packet; a key of which nothing waits has it."""
        if self.bytes + room > WAITING_BYTES_IN_ALL:
            return False
        return not account.waiting or account.waiting + room <= WAITING_BYTES

    def put(self, packet: Packet) -> None:
        """Have a packet wait."""
        self.bytes += packet.room
        packet.account.waiting += packet.room
        self._packets.append(packet)

    def take(self) -> Packet:
        """The first packet, which does not wait any more."""
        packet = self._packets.popleft()
        self.bytes -= packet.room
        packet.account.waiting -= packet.room
        return packet


def room_of(size: int, messages: int) -> int:
    """The memory that a packet of so many bytes and messages takes, about."""
    return size + PACKET_BYTES + MESSAGE_BYTES * messages
