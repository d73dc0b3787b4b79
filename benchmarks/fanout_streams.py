"""Subscribers and publishers of `fanout.py` that speak to mosquitto, nats-server and redis-server.

As much of their protocols as it takes, on plain sockets: a client library would be what limits.
"""

from __future__ import annotations

import select
import socket
import struct
from abc import abstractmethod
from collections import deque

from fanout_clients import PAYLOAD, PUBLISHERS, Load, Tally, payload
from fanout_places import Places

READ_BYTES = 1 << 16
LONG = 3600


class StreamLoad(Load):
    """Connections by number: subscribers, then publishers. What has arrived in part waits for the rest."""

    def __init__(self, port: int, tally: Tally, publishers: int) -> None:
        self.tally = tally
        self.subscribers = len(tally.places.subscribers)
        self.ready = 0  # answers to what was said before the first event
        self._sockets = [
            socket.create_connection(("127.0.0.1", port)) for _ in range(self.subscribers + publishers)
        ]
        self._rest = [b""] * len(self._sockets)
        self._poll = select.epoll()
        self._number: dict[int, int] = {}
        for number, each in enumerate(self._sockets):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._poll.register(each.fileno(), select.EPOLLIN)
            self._number[each.fileno()] = number

    def send(self, number: int, data: bytes) -> None:
        self._sockets[number].sendall(data)

    def read(self, wait: float) -> None:
        for descriptor, _ in self._poll.poll(wait):
            number = self._number[descriptor]
            data = self._rest[number] + self._sockets[number].recv(READ_BYTES)
            if not data:
                raise ConnectionError(f"connection {number} was closed")
            self._rest[number] = data[self.take(number, data) :]

    @abstractmethod
    def take(self, number: int, data: bytes) -> int:
        """Take what is complete of the bytes that have arrived; gives how many those are."""

    def settle(self) -> None:
        """Do nothing: acknowledgements are sent at once."""

    def close(self) -> None:
        self._poll.close()
        for each in self._sockets:
            each.close()


class MqttLoad(StreamLoad):
    """MQTT 3.1.1. A subscriber has all cells that have something of its circle, an event goes to its cell."""

    def __init__(self, port: int, places: Places, qos: int) -> None:
        super().__init__(port, Tally(places, places.copies), PUBLISHERS)
        self._qos = qos
        self._packet_id = 0
        clean = 0 if qos else 2
        connected = self.subscribers + PUBLISHERS
        for number in range(connected):
            body = b"\x00\x04MQTT\x04" + struct.pack(">BH", clean, LONG) + _text(f"client-{number}")
            self.send(number, _mqtt(0x10, body))
        self.read_until(lambda: self.ready == connected)
        for number, cells in enumerate(places.cells):
            filters = b"".join(_text(cell) + bytes((qos,)) for cell in cells)
            self.send(number, _mqtt(0x82, b"\x00\x01" + filters))
        self.read_until(lambda: self.ready == connected + self.subscribers)

    def publish(self) -> None:
        serial = self.tally.publish()
        body = _text(self.tally.places.cell_of[self.tally.event(serial)])
        if self._qos:
            self._packet_id = self._packet_id % 0xFFFF + 1
            body += struct.pack(">H", self._packet_id)
        publisher = self.subscribers + serial % PUBLISHERS
        self.send(publisher, _mqtt(0x30 | self._qos << 1, body + payload(serial)))

    def take(self, number: int, data: bytes) -> int:
        start, receipts = 0, []
        while len(data) - start >= 2:
            at, length, shift = start + 1, 0, 0
            while at < len(data):
                length |= (data[at] & 0x7F) << shift
                at, shift = at + 1, shift + 7
                if not data[at - 1] & 0x80:
                    break
            else:
                break
            if len(data) < at + length:
                break
            kind = data[start] >> 4
            if kind == 3:
                topic = data[at] << 8 | data[at + 1]
                if data[start] & 6:
                    receipts.append(b"\x40\x02" + data[at + 2 + topic : at + 4 + topic])
                self.tally.arrived(struct.unpack_from("<I", data, at + length - PAYLOAD)[0], number)
            elif kind in (2, 9):
                self.ready += 1
            start = at + length
        if receipts:
            self.send(number, b"".join(receipts))
        return start


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def _mqtt(first: int, body: bytes) -> bytes:
    length, left = bytearray(), len(body)
    while True:
        left, low = left >> 7, left & 0x7F
        length.append(low | (0x80 if left else 0))
        if not left:
            return bytes((first,)) + bytes(length) + body


class NatsLoad(StreamLoad):
    """Core NATS. A subscriber has all cells that have something of its circle, an event goes to its cell."""

    def __init__(self, port: int, places: Places) -> None:
        super().__init__(port, Tally(places, places.copies), PUBLISHERS)
        greeting = b'CONNECT {"verbose":false,"pedantic":false}\r\n'
        for number in range(self.subscribers + PUBLISHERS):
            cells = places.cells[number] if number < self.subscribers else []
            wanted = "".join(f"SUB {cell} {i}\r\n" for i, cell in enumerate(cells, 1))
            self.send(number, greeting + wanted.encode() + b"PING\r\n")
        self.read_until(lambda: self.ready == self.subscribers + PUBLISHERS)

    def publish(self) -> None:
        serial = self.tally.publish()
        cell = self.tally.places.cell_of[self.tally.event(serial)]
        packet = f"PUB {cell} {PAYLOAD}\r\n".encode() + payload(serial) + b"\r\n"
        self.send(self.subscribers + serial % PUBLISHERS, packet)

    def take(self, number: int, data: bytes) -> int:
        start = 0
        while (end := data.find(b"\r\n", start)) >= 0:
            if data.startswith(b"MSG ", start):
                if len(data) < end + 4 + PAYLOAD:
                    break
                self.tally.arrived(struct.unpack_from("<I", data, end + 2)[0], number)
                end += PAYLOAD + 2
            elif data.startswith(b"PONG", start):
                self.ready += 1
            elif data.startswith(b"PING", start):
                self.send(number, b"PONG\r\n")
            elif data.startswith(b"-ERR", start):
                raise ConnectionError(data[start:end].decode())
            start = end + 2
        return start


class RedisLoad(StreamLoad):
    """A publisher asks who is near, and publishes to the channel of each of them."""

    def __init__(self, port: int, places: Places) -> None:
        super().__init__(port, Tally(places, [len(some) for some in places.recipients_of]), 1)
        self._publisher = self.subscribers
        self._asked: deque[int] = deque()  # events whose recipients are not known yet
        self._degrees = places.degrees[1].tolist()
        for number, (lon, lat) in enumerate(places.degrees[0].tolist()):
            self.send(number, _redis("SUBSCRIBE", _channel(number)))
            self.send(
                self._publisher, _redis("GEOADD", "places", f"{lon:.8f}", f"{lat:.8f}", _channel(number))
            )
        self.read_until(lambda: self.ready == 2 * self.subscribers)

    def publish(self) -> None:
        serial = self.tally.publish()
        lon, lat = self._degrees[self.tally.event(serial)]
        self._asked.append(serial)
        radius = str(self.tally.places.radius)
        place = ("FROMLONLAT", f"{lon:.8f}", f"{lat:.8f}", "BYRADIUS", radius, "m")
        self.send(self._publisher, _redis("GEOSEARCH", "places", *place))

    def take(self, number: int, data: bytes) -> int:
        if number == self._publisher:
            return self._take_replies(data)
        start = 0
        if data.startswith(_SUBSCRIBED) and data.endswith(b":1\r\n"):
            self.ready += 1
            return len(data)
        while len(data) - start >= _MESSAGE:
            self.tally.arrived(struct.unpack_from("<I", data, start + _MESSAGE - PAYLOAD - 2)[0], number)
            start += _MESSAGE
        return start

    def _take_replies(self, data: bytes) -> int:
        start = 0
        commands: list[bytes] = []
        item = len(_CHANNEL)
        while (end := data.find(b"\r\n", start)) >= 0:
            if data[start] == ord(":"):  # GEOADD, or how many got what was published
                self.ready += not self.tally.published
                start = end + 2
                continue
            if data[start] != ord("*"):
                raise ConnectionError(data[start:end].decode())
            count = int(data[start + 1 : end])
            if len(data) < end + 2 + count * item:
                break
            serial = self._asked.popleft()
            self.tally.expected += count - len(self.tally.places.recipients_of[self.tally.event(serial)])
            content = b"$%d\r\n" % PAYLOAD + payload(serial) + b"\r\n"
            for i in range(count):
                channel = data[end + 2 + i * item : end + 2 + (i + 1) * item]
                commands.append(b"*3\r\n$7\r\nPUBLISH\r\n" + channel + content)
            start = end + 2 + count * item
        if commands:
            self.send(self._publisher, b"".join(commands))
        return start


def _channel(number: int) -> str:
    return f"c{number:06d}"


def _item(text: str) -> bytes:
    return f"${len(text)}\r\n{text}\r\n".encode()


def _redis(*words: str) -> bytes:
    return f"*{len(words)}\r\n".encode() + b"".join(map(_item, words))


_CHANNEL = _item(_channel(0))
_SUBSCRIBED = b"*3\r\n$9\r\nsubscribe\r\n"
_MESSAGE = len(b"*3\r\n$7\r\nmessage\r\n" + _CHANNEL + b"$%d\r\n" % PAYLOAD) + PAYLOAD + 2
