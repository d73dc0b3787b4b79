"""From messages to packets: what a client gets in a turn goes out together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from bypass.live.broker.sessions.notifications import (
    MOST_BYTES_IN_A_PACKET,
    MOST_IN_A_PACKET,
    Composer,
    Notifications,
)
from bypass.live.broker.sessions.sessions import Sessions
from bypass.protocol.wire import pack


class PacketSender:
    """Sends packets by `send_packet(route, packet)`, which gives whether one was taken; and counts."""

    def __init__(self, send_packet: Callable[[bytes, bytes | memoryview], bool], sessions: Sessions) -> None:
        self.bytes_out = 0
        self.stalled = 0  # packets that a client did not take
        self._send_packet = send_packet
        self._sessions = sessions
        self._composer = Composer()
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

    def notify(self, notifications: Notifications) -> None:
        """Send notifications to those whose connections are still the same."""
        if not notifications.count:
            return
        began = time.monotonic()
        send_packet, by_slot = self._send_packet, self._sessions.by_slot
        for data, packets in self._composer.packets(notifications, self._sessions.awaited.slots):
            for slot, start, end in packets:
                session = by_slot.get(slot)
                # One that did not take a packet is given up: the next ones for it have nowhere to go.
                if session is None or session.route is None:
                    continue
                if not send_packet(session.route, data[start:end]):
                    self.stalled += 1
            self.bytes_out += packets[-1][-1] if packets else 0
        self._notifications += notifications.count
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
