"""Subscribers and publishers of `fanout.py` that speak ZMTP: to the bare ROUTER and to our broker.

All connections are made by one ROUTER socket of the load, which tells them apart by the names it gives them:
a thousand DEALERs would have to be polled, and the load must not be what limits. To a server it is the same.
"""

from __future__ import annotations

import math
import struct
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import zmq
from fanout_places import Places

from bypass import Event, Subscription, attr
from bypass.live.client.session.receipts import LATEST_S, MOST_TOGETHER
from bypass.live.keys import ClientKeys
from bypass.protocol.messages import ContextUpdate, Kind, Message, Publish, Subscribe
from bypass.protocol.session import Ack, Hello, Ping, Welcome
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire import decode, encode, pack, unpack

PAYLOAD = 128
PUBLISHERS = 8
PATIENCE = 60.0
PACKETS_AT_A_TIME = 500

RADIAL = 1


def payload(serial: int) -> bytes:
    """The payload of an event; it begins with the event's number."""
    return struct.pack("<I", serial) + bytes(PAYLOAD - 4)


class Tally:
    """Counts of published events and their deliveries. `latencies` are of useful deliveries, while
    `timing`."""

    def __init__(self, places: Places, copies: list[int]) -> None:
        self.places = places
        self.expected = 0  # copies that a server has to make of what was published
        self.useful_expected = 0
        self.received = 0
        self.useful = 0
        self.timing = False
        self.latencies: list[float] = []
        self._copies = copies
        self._sent: list[float] = []

    @property
    def published(self) -> int:
        return len(self._sent)

    def event(self, serial: int) -> int:
        """The index, among the places' events, of the event with this number."""
        return serial % len(self.places.near)

    def publish(self) -> int:
        """Count a publication and return its number."""
        serial = len(self._sent)
        self._sent.append(time.perf_counter())
        event = self.event(serial)
        self.expected += self._copies[event]
        self.useful_expected += len(self.places.recipients_of[event])
        return serial

    def arrived(self, serial: int, subscriber: int) -> None:
        self.received += 1
        near = self.places.near[serial % len(self.places.near)][subscriber]
        self.useful += near
        if self.timing and near:
            self.latencies.append(time.perf_counter() - self._sent[serial])


class Load(ABC):
    """Subscribers and publishers of one system, who are connected and subscribed once it is made."""

    tally: Tally

    @abstractmethod
    def publish(self) -> None:
        """Publish the next event."""

    @abstractmethod
    def read(self, wait: float) -> None:
        """Take some of what has arrived; wait for something, at most so many seconds."""

    @abstractmethod
    def settle(self) -> None:
        """Send what is still to be said about events that have arrived."""

    @abstractmethod
    def close(self) -> None:
        """End all connections."""

    def read_until(self, done: Callable[[], bool]) -> None:
        """Read until it is done. Raises TimeoutError."""
        deadline, tally = time.monotonic() + PATIENCE, self.tally
        while not done():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{type(self).__name__}: {tally.received} of {tally.expected} have come")
            self.read(0.01)


class Keys(NamedTuple):
    """For CURVE: the client's pair, and the server's public key."""

    public: bytes
    secret: bytes
    server: bytes


class Connections:
    """Many connections to one server, by number."""

    def __init__(self) -> None:
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self.context.socket(zmq.ROUTER)
        self.socket.set(zmq.ROUTER_MANDATORY, 1)
        self.socket.set(zmq.SNDHWM, 0)
        self.socket.set(zmq.RCVHWM, 0)
        self.socket.set(zmq.LINGER, 0)

    def connect(self, endpoint: str, number: int, keys: Keys | None) -> None:
        """One more; each can have keys of its own."""
        if keys is not None:
            self.socket.curve_publickey, self.socket.curve_secretkey = keys.public, keys.secret
            self.socket.curve_serverkey = keys.server
        self.socket.set(zmq.CONNECT_ROUTING_ID, b"%06d" % number)
        self.socket.connect(endpoint)

    def send(self, number: int, packet: bytes) -> None:
        self.socket.send(b"%06d" % number, zmq.SNDMORE)
        self.socket.send(packet)

    def close(self) -> None:
        self.socket.close()
        self.context.term()


class BareLoad(Load):
    """The clients of a bare ROUTER, who only listen."""

    def __init__(self, endpoint: str, places: Places, keys: Keys | None) -> None:
        self.tally = Tally(places, [len(some) for some in places.recipients_of])
        self._connections = Connections()
        self._subscribers = len(places.subscribers)
        self._confirmed = 0
        for number in range(self._subscribers + 1):  # the last one publishes
            self._connections.connect(endpoint, number, keys)
            self._connections.send(number, b"%d" % number)
        self.read_until(lambda: self._confirmed > self._subscribers)

    def publish(self) -> None:
        self._connections.send(self._subscribers, payload(self.tally.publish()))

    def read(self, wait: float) -> None:
        socket = self._connections.socket
        if not socket.poll(round(1000 * wait)):
            return
        receive, arrived = socket.recv, self.tally.arrived
        try:
            for _ in range(PACKETS_AT_A_TIME):
                route = receive(zmq.NOBLOCK)
                packet = receive()
                if len(packet) == PAYLOAD:
                    arrived(int.from_bytes(packet[:4], "little"), int(route))
                else:
                    self._confirmed += 1
        except zmq.Again:
            pass

    def settle(self) -> None:
        """Nothing is acknowledged."""

    def close(self) -> None:
        self._connections.close()


class Acknowledgements:
    """Collects acknowledgements by client and sends them as real clients do: several together, and soon."""

    def __init__(self, send: Callable[[int, tuple[int, ...]], None]) -> None:
        self._send = send
        self._ids: dict[int, list[int]] = {}
        self._due: deque[tuple[float, int, list[int]]] = deque()

    def add(self, number: int, identity: int) -> None:
        """Note that an event has come."""
        ids = self._ids.get(number)
        if ids is None:
            ids = self._ids[number] = []
            self._due.append((time.monotonic() + LATEST_S, number, ids))
        ids.append(identity)
        if len(ids) == MOST_TOGETHER:
            del self._ids[number]
            self._send(number, tuple(ids))

    def flush(self, now: float) -> None:
        """Send what is due at that time."""
        while self._due and self._due[0][0] <= now:
            _, number, ids = self._due.popleft()
            if self._ids.get(number) is ids:
                del self._ids[number]
                self._send(number, tuple(ids))


class BypassLoad(Load):
    """The clients of our broker. As real ones do, each sends together what it has to say in one turn."""

    def __init__(self, endpoint: str, places: Places, keys: ClientKeys | None) -> None:
        self.tally = Tally(places, [len(some) for some in places.recipients_of])
        self._connections = Connections()
        self._subscribers = len(places.subscribers)
        self._numbers: dict[int, int] = {}  # that the broker gave them
        self._publisher_of: dict[int, int] = {}  # by such a number
        self._subscribed = 0
        self._saying: dict[int, list[bytes]] = {}  # in this turn
        self._acknowledgements = Acknowledgements(lambda number, ids: self._send(number, Ack(ids)))
        pair = None if keys is None else Keys(keys.public, keys.secret, keys.broker)
        connected = self._subscribers + PUBLISHERS
        for number in range(connected):
            self._connections.connect(endpoint, number, pair)
            self._connections.send(number, encode(Hello(f"client-{number}", number + 1)))
        self.read_until(lambda: len(self._numbers) == connected)
        for publisher in range(PUBLISHERS):
            self._publisher_of[self._numbers[self._subscribers + publisher]] = publisher
        wanted = Subscription.of(attr("kind") == "x")
        for number, (x, y) in enumerate(places.subscribers.tolist()):
            self._send(number, Subscribe(1, wanted, places.radius, ContextUpdate((x, y))))
        self.read_until(lambda: self._subscribed == self._subscribers)

    def publish(self) -> None:
        serial = self.tally.publish()
        count, publisher = divmod(serial, PUBLISHERS)
        number = self._subscribers + publisher
        x, y = self.tally.places.events[self.tally.event(serial)].tolist()
        event = Event(kind="x", payload=payload(serial))
        identity = self._numbers[number] << 32 | count + 1
        self._send(number, Publish(identity, event, Kind.PLACED, 0, (x, y)))

    def read(self, wait: float) -> None:
        self._say()
        socket = self._connections.socket
        if socket.poll(round(1000 * wait)):
            receive = socket.recv
            try:
                for _ in range(PACKETS_AT_A_TIME):
                    route = receive(zmq.NOBLOCK)
                    for data in unpack(receive()):
                        self._take(int(route), data)
            except zmq.Again:
                pass
        self._acknowledgements.flush(time.monotonic())

    def settle(self) -> None:
        self._acknowledgements.flush(math.inf)
        self._say()

    def close(self) -> None:
        self._connections.close()

    def _send(self, number: int, message: Message) -> None:
        message.client, message.scheme = self._numbers[number], RADIAL
        self._saying.setdefault(number, []).append(encode(message))

    def _say(self) -> None:
        for number, messages in self._saying.items():
            self._connections.send(number, pack(messages))
        self._saying.clear()

    def _take(self, number: int, data: bytes) -> None:
        envelope = pb.Envelope.FromString(data)
        if envelope.WhichOneof("body") != "notify":
            self._take_other(number, decode(data))
            return
        identity = envelope.notify.publication.id
        publisher = self._publisher_of[identity >> 32]
        self.tally.arrived(((identity & 0xFFFFFFFF) - 1) * PUBLISHERS + publisher, number)
        self._acknowledgements.add(number, identity)

    def _take_other(self, number: int, message: Message) -> None:
        if isinstance(message, Welcome):
            self._numbers[number] = message.client
        elif isinstance(message, Ack):
            self._subscribed += len(message.handles)
        elif isinstance(message, Ping):
            if message.asks:
                self._send(number, Ping())
        else:
            raise TypeError(f"from the broker: {message}")
