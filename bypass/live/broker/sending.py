"""From messages to packets: what a client gets in a turn goes out together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from bypass.wire import pack, recipient

MOST_IN_A_PACKET = 256
MOST_BYTES_IN_A_PACKET = 1 << 18
"""Messages, and bytes of them unless it is a single one."""

PARTS = 3
"""Of a notification: what precedes it in a packet with others, its head, which is the client's, and its rest,
which is the event's."""

HEAD_BYTES = len(recipient(0))


class Sending:
    """Sends packets by `send_packet(route, packet)`, which gives whether one was taken; and counts."""

    def __init__(self, send_packet: Callable[[bytes, bytes], bool]) -> None:
        self.bytes_out = 0
        self.stalled = 0  # packets that a client did not take
        self._send_packet = send_packet
        self._notifications = 0
        self._seconds = 0.0  # that they took

    @property
    def mean_s(self) -> float:
        """How long it takes to send a notification."""
        return self._seconds / max(self._notifications, 1)

    def send(self, messages: Mapping[bytes, list[bytes]]) -> None:
        """Send messages, by route."""
        for route, own in messages.items():
            for together in _portions(own):
                packet = pack(together)
                self.bytes_out += len(packet)
                if not self._send_packet(route, packet):
                    self.stalled += 1
                    break

    def notify(self, notifications: Mapping[bytes, list[bytes]]) -> None:
        """Send notifications, by route, in their PARTS: these are put together once, in their packets."""
        began = time.monotonic()
        send_packet, size, count = self._send_packet, 0, 0
        for route, parts in notifications.items():
            count += len(parts)
            if len(parts) == PARTS:
                packet = parts[1] + parts[2]
            elif len(parts) > PARTS * MOST_IN_A_PACKET or (
                len(packet := b"".join(parts)) > MOST_BYTES_IN_A_PACKET
            ):
                heads, rests = parts[1::PARTS], parts[2::PARTS]
                self.send({route: [head + rest for head, rest in zip(heads, rests, strict=True)]})
                continue
            size += len(packet)
            if not send_packet(route, packet):
                self.stalled += 1
        self.bytes_out += size
        self._notifications += count // PARTS
        self._seconds += time.monotonic() - began


def _portions(messages: list[bytes]) -> Iterator[list[bytes]]:
    """Messages that go into one packet each."""
    if len(messages) <= MOST_IN_A_PACKET and sum(map(len, messages)) <= MOST_BYTES_IN_A_PACKET:
        yield messages
        return
    first = size = 0
    for position, message in enumerate(messages):
        size += len(message)
        if position > first and (size > MOST_BYTES_IN_A_PACKET or position - first == MOST_IN_A_PACKET):
            yield messages[first:position]
            first, size = position, len(message)
    yield messages[first:]
