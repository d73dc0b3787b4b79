"""A store that takes its time: the broker takes what comes, keeps so much of it, and loses nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from bypass import Event, attr, connect
from bypass.live.broker.reception.backlog import WAITING_BYTES, WAITING_BYTES_IN_ALL
from bypass.live.client.connection import Connection
from tests.live.brokers import PATIENCE, Peer, peers, until
from tests.live.stalling import BrokerProcess, broker_process
from tests.live.zmtp import PING, RawPeer, frame

pytestmark = pytest.mark.slow

Make = Callable[..., Peer]
MIB = 1 << 20


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


def test_pings_of_a_peer_that_breaks_its_connection_meanwhile_do_not_end_the_broker(
    tmp_path: Path, make: Make
) -> None:
    """ZeroMQ aborts if it has stopped the input of a connection that breaks, and then finds a ping there."""
    with broker_process(tmp_path) as broker:
        publisher = make(broker.endpoint, "publisher")
        with broker.stalled():
            broker.pause(publisher)
            hostile = RawPeer(broker.port)
            hostile.socket.sendall((frame(b"x") + PING) * 500)
            hostile.until_read()
            hostile.reset()
        until(lambda: broker.count("malformed") == 500)
        publisher.settle()


class Floods:
    """Peers that send packets of this size as fast as they can, and connect again when they are ended."""

    def __init__(self, broker: BrokerProcess, size: int, number: int = 4) -> None:
        self.sent = 0
        self._port = broker.port
        self._packets = frame(bytes(size)) * max(100_000 // size, 1)
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._flood) for _ in range(number)]

    def __enter__(self) -> Floods:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _flood(self) -> None:
        while not self._ending.is_set():
            with suppress(OSError), RawPeer(self._port) as peer:  # it may be ended, and it may hang
                peer.socket.settimeout(0.2)
                while not self._ending.is_set():
                    peer.socket.sendall(self._packets)
                    self.sent += len(self._packets)


class Honest:
    """A client that publishes, and one that hears what has a number."""

    def __init__(self, subscriber: Connection, publisher: Connection, events: list[Event]) -> None:
        self.heard: list[int] = []
        self._subscriber = subscriber
        self._publisher = publisher
        self._events = events
        self._publishing: list[asyncio.Future[int]] = []

    async def subscribe(self) -> None:
        await self._subscriber.subscribe(
            attr("n") >= 0, callback=lambda event, _: self.heard.append(event["n"])
        )

    def publish(self) -> None:
        """Begin to publish all events."""
        publish = self._publisher.publish
        self._publishing = [asyncio.ensure_future(publish(each, location=None)) for each in self._events]

    def nothing_is_acknowledged(self) -> bool:
        return not any(each.done() for each in self._publishing)

    async def check(self) -> None:
        """All are acknowledged, and those with a number have arrived once."""
        expected = [each["n"] for each in self._events if "n" in each]
        async with asyncio.timeout(3 * PATIENCE):
            await asyncio.gather(*self._publishing)
            while len(self.heard) < len(expected):
                await asyncio.sleep(0.01)
        assert sorted(self.heard) == expected


@asynccontextmanager
async def honest(broker: BrokerProcess, events: list[Event]) -> AsyncIterator[Honest]:
    async with (
        connect(broker.endpoint, open=True, name="subscriber") as subscriber,
        connect(broker.endpoint, open=True, name="publisher") as publisher,
    ):
        both = Honest(subscriber, publisher, events)
        await both.subscribe()
        yield both


@pytest.mark.parametrize(("size", "mib"), [(1, 3), (5000, 100), (200_000, 300)])
def test_a_flood_meanwhile_takes_so_much_memory_and_harms_nobody(tmp_path: Path, size: int, mib: int) -> None:
    """Honest clients are answered afterwards, and what is held is given back."""

    async def use(broker: BrokerProcess) -> None:
        async with honest(broker, [Event(n=n) for n in range(300)]) as both:
            first, most, held = broker.mib(), 0.0, 0
            with broker.stalled():
                both.publish()
                with Floods(broker, size) as floods:
                    async with asyncio.timeout(3 * PATIENCE):
                        while floods.sent < mib * MIB:
                            held = max(held, broker.ask("server.intake._backlog.bytes"))
                            most = max(most, broker.mib())
                            await asyncio.sleep(0.01)
                assert both.nothing_is_acknowledged()  # before it is safe
            assert held <= WAITING_BYTES_IN_ALL
            assert most - first < 2 * WAITING_BYTES_IN_ALL / MIB
            await both.check()
        until(lambda: broker.ask("server.intake._backlog.bytes") == 0)

    with broker_process(tmp_path) as broker:
        asyncio.run(use(broker))


def test_an_honest_client_that_says_more_than_can_wait_loses_nothing(tmp_path: Path) -> None:
    """It has to connect again, and says again what was not answered."""
    size = 60_000
    large = Event(payload=bytes(size))
    events = [each for n in range(3 * WAITING_BYTES // size) for each in (large, Event(n=n))]

    async def use(broker: BrokerProcess) -> None:
        async with honest(broker, events) as both:
            with broker.stalled():
                both.publish()
                async with asyncio.timeout(PATIENCE):
                    while not broker.count("overflowed"):
                        await asyncio.sleep(0.01)
                # That something was too much shows that the bound was reached; it may be served by now.
                assert broker.ask("max(each.account.waiting for each in server.sessions)") <= WAITING_BYTES
            await both.check()
        assert broker.count("offended") + broker.count("disconnected") > 0

    with broker_process(tmp_path, limits={"client_rate": 0.0, "client_byte_rate": 0.0}) as broker:
        asyncio.run(use(broker))


def test_a_broker_that_ends_meanwhile_leaves_nothing_unread(tmp_path: Path, make: Make) -> None:
    with broker_process(tmp_path) as broker:
        publisher = make(broker.endpoint, "publisher")
        with broker.stalled(), RawPeer(broker.port) as peer:
            broker.pause(publisher)
            broker.ask("server.stop()")
            peer.send(*[bytes(1000)] * 2000)
            peer.until_read()
            until(lambda: not broker.ask("server.socket.poll(0)"))
