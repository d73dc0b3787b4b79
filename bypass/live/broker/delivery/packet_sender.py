"""From messages to packets: what a client gets in a turn goes out together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import zmq

from bypass.live.broker.sessions.notifications import (
    MOST_BYTES_IN_A_PACKET,
    MOST_IN_A_PACKET,
    Composer,
    Notifications,
)
from bypass.live.broker.sessions.sessions import Sessions
from bypass.protocol.wire import pack

Failed = dict[bytes, str]
"""Routes on which a packet was not taken, and why: the client is gone, or it takes nothing."""

UNREACHABLE, STALLED = "unreachable", "stalled"


class PacketSender:
    """Sends packets by `send_packet(route, packet)`, which raises ZMQError if one is not taken; and counts.

    A route on which a packet fails gets no further ones; what it would have got is sent when its client
    connects again.
    """

    def __init__(self, send_packet: Callable[[bytes, bytes | memoryview], None], sessions: Sessions) -> None:
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

    def send(self, messages: Mapping[bytes, list[bytes]]) -> Failed:
        """Send messages, by route; give the routes on which that has failed."""
        failed: Failed = {}
        for route, own in messages.items():
            for together in _portions(own):
                packet = pack(together)
                self.bytes_out += len(packet)
                try:
                    self._send_packet(route, packet)
                except zmq.ZMQError as error:
                    failed[route] = self._reason(error)
                    break
        return failed

    def notify(self, notifications: Notifications, failed: Failed) -> None:
        """Send notifications to those whose connections are still the same and have not failed; add to these
        where it fails now."""
        if not notifications.count:
            return
        began = time.monotonic()
        send_packet, by_slot = self._send_packet, self._sessions.by_slot
        for data, packets in self._composer.packets(notifications, self._sessions.awaited.slots):
            for slot, start, end in packets:
                route = by_slot[slot].route
                if route is None or route in failed:
                    continue
                try:
                    send_packet(route, data[start:end])
                except zmq.ZMQError as error:
                    failed[route] = self._reason(error)
            self.bytes_out += packets[-1][-1] if packets else 0
        self._notifications += notifications.count
        self._seconds += time.monotonic() - began

    def _reason(self, error: zmq.ZMQError) -> str:
        if error.errno == zmq.EHOSTUNREACH:
            return UNREACHABLE
        self.stalled += 1
        return STALLED


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
