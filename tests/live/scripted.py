"""A broker's side of the protocol that does what a test says, on a real socket in the test's own loop."""

from __future__ import annotations

import asyncio
import functools
import gc
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import yaml
import zmq

from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.live.client.connection import Connection, connect
from bypass.live.client.subscription import LiveSubscription
from bypass.live.keys import create_broker_keys, create_client_keys, load_broker_keys
from bypass.protocol.messages import Message, Notify, Publish, Subscribe, Unsubscribe
from bypass.protocol.session import Ack, Bye, Hello, Ping, Welcome
from bypass.protocol.wire import decode, encode, pack, unpack

M = TypeVar("M", bound=Message)
P = ParamSpec("P")

NEWS = attr("kind") == "news"
AREA = (0.0, 0.0, 1000.0, 1000.0)
WITHIN_S = 10.0
"""Waiting for something longer than this is a failure."""


class Script:
    """A ROUTER on loopback. Encrypted if `keys` is a folder of key files. Messages are kept until the test
    takes them, in `arrived`; pings are answered by themselves, and with `obliging` everything else."""

    def __init__(self, keys: Path | None = None, endpoint: str = "tcp://127.0.0.1:*") -> None:
        self.welcome = Welcome(0, 5.0, AREA, client=7, scheme=1)
        self.arrived: deque[Message] = deque()
        self.route = b""  # of the latest hello
        self.answers_pings = True
        self.pings = 0
        self.obliging = False
        self._loop = asyncio.get_running_loop()
        self._keys = keys
        self._more = asyncio.Event()
        self.endpoint = endpoint
        self._open()

    def _open(self) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._socket = context.socket(zmq.ROUTER)
        self._socket.linger = 0
        if self._keys is not None:
            pair = load_broker_keys(self._keys / "broker.key")
            self._socket.curve_server = True
            self._socket.curve_publickey, self._socket.curve_secretkey = pair.public, pair.secret
        self._socket.bind(self.endpoint)
        self.endpoint = bytes(self._socket.get(zmq.LAST_ENDPOINT)).decode().rstrip("\0")
        self._fd = int(self._socket.get(zmq.FD))
        self._loop.add_reader(self._fd, self._read)
        self._read()

    def close(self) -> None:
        """Break all connections."""
        self._loop.remove_reader(self._fd)
        self._socket.close(0)

    async def restart(self) -> None:
        """Begin again at the same address."""
        self.close()
        await self.reopen()

    async def reopen(self) -> None:
        async with asyncio.timeout(WITHIN_S):
            while True:
                try:
                    self._open()
                except zmq.ZMQError:  # the system has not let go of the address yet
                    self._socket.close(0)
                    await asyncio.sleep(0.001)
                else:
                    return

    def _read(self) -> None:
        while not self._socket.closed:
            try:
                route, packet = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            for data in unpack(packet):
                message = decode(data)
                if isinstance(message, Ping):
                    self.pings += 1
                    if message.asks and self.answers_pings:
                        self.send(Ping())
                    continue
                if isinstance(message, Hello):
                    self.route = route
                if route == self.route:
                    self.arrived.append(message)
                    self._more.set()
                    if self.obliging:
                        self._oblige(message)

    def _oblige(self, message: Message) -> None:
        match message:
            case Hello():
                self.send(self.welcome)
            case Publish():
                self.send(Ack((message.id,)))
            case Subscribe() | Unsubscribe():
                self.send(Ack(handles=(message.handle,)))
            case Bye():
                self.send(Bye())

    # -- what tests do ------------------------------------------------------------------------------------

    def send(self, *messages: Message) -> None:
        """Send messages in one packet to whoever said hello last."""
        self.send_bytes(pack([encode(message) for message in messages]))

    def send_bytes(self, packet: bytes) -> None:
        self._socket.send_multipart([self.route, packet])
        self._loop.call_soon(self._read)  # the descriptor tells of changes alone

    async def expect(self, kind: type[M]) -> M:
        """The next message of a kind; others before it are dropped, later ones stay."""
        async with asyncio.timeout(WITHIN_S):
            while True:
                while self.arrived:
                    message = self.arrived.popleft()
                    if isinstance(message, kind):
                        return message
                self._more.clear()
                self._read()
                if not self.arrived:
                    await self._more.wait()

    async def greet(self, **changes: Any) -> Hello:
        """Take a hello and answer it with the welcome, changed for good."""
        hello = await self.expect(Hello)
        for name, value in changes.items():
            setattr(self.welcome, name, value)
        self.send(self.welcome)
        return hello

    async def accept(self) -> int:
        """Take a subscription and acknowledge it; gives its handle."""
        handle = (await self.expect(Subscribe)).handle
        self.send(Ack(handles=(handle,)))
        return handle

    async def receipts(self, count: int) -> list[int]:
        """So many acknowledgements of events, in their order."""
        ids: list[int] = []
        while len(ids) < count:
            ids += (await self.expect(Ack)).ids
        return ids


def notify(number: int, handle: int, **attributes: Any) -> Notify:
    """An event of another client for a handle."""
    event = Event(number=number, **attributes)
    publication = Publish(9 << 32 | number, event, client=9, scheme=1)
    return Notify(publication, (handle,), client=7)


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until something holds."""
    async with asyncio.timeout(WITHIN_S):
        while not condition():
            await asyncio.sleep(0.001)


async def together(first: Awaitable[Any], second: Awaitable[Any]) -> tuple[Any, Any]:
    """Both at the same time, such as what a client asks and what the script answers."""
    async with asyncio.timeout(WITHIN_S):
        a, b = await asyncio.gather(first, second)
        return a, b


def on_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test that runs on a loop of its own, and leaves nothing there."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(_checked(test(*args, **kwargs)))

    return run


async def _checked(test: Coroutine[Any, Any, None]) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    async with asyncio.timeout(30.0):
        await test
    gc.collect()  # futures complain when they are collected
    assert complaints == [], complaints


def make_keys(folder: Path, *names: str) -> Path:
    """Key files of a broker and some clients."""
    create_broker_keys(folder)
    for name in names:
        create_client_keys(folder, name)
    return folder


def with_another_broker(path: Path) -> Path:
    """The same client's keys, but for a broker with another key."""
    content = yaml.safe_load(path.read_text())
    content["broker"] = zmq.curve_keypair()[0].decode()
    other = path.with_name("other.key")
    other.touch(mode=0o600)
    other.write_text(yaml.safe_dump(content))
    return other


async def turns() -> None:
    """Let the loop turn a number of times: time enough for what needs no waiting."""
    for _ in range(200):
        await asyncio.sleep(0)


async def connected(script: Script, **options: Any) -> Connection:
    """A connection to a script that has greeted it."""
    me = connect(script.endpoint, open=True, name="me", **options)
    await together(me.open(), script.greet())
    return me


async def subscribed(me: Connection, script: Script, **options: Any) -> tuple[LiveSubscription, int]:
    subscription, handle = await together(me.subscribe(NEWS, **options), script.accept())
    return subscription, handle


async def leave(me: Connection, script: Script) -> None:
    script.obliging = True
    script.send(*[Ack((m.id,)) for m in script.arrived if isinstance(m, Publish)], Ack())
    await me.close()
    script.close()


def numbers(events: list[Event]) -> list[int]:
    return [event["number"] for event in events]
