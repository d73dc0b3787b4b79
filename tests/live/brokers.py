"""A real broker in a thread, and peers that speak its protocol message by message."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import zmq

from bypass import Event, Subscription, attr
from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.service import Service
from bypass.live.keys import ClientKeys
from bypass.protocol.messages import ContextUpdate, Kind, Message, Notify, Publish, Subscribe
from bypass.protocol.session import Ack, Hello, Ping, Welcome
from bypass.protocol.wire import decode, encode, unpack
from bypass.testing.worlds.broker import PATIENCE as PATIENCE
from bypass.testing.worlds.broker import config as config
from bypass.testing.worlds.broker import copy_store
from bypass.testing.worlds.broker import in_loop as in_loop
from bypass.testing.worlds.broker import running as running
from bypass.testing.worlds.broker import until as until

M = TypeVar("M", bound=Message)
ANYTHING = Subscription.of(attr("kind") == "x")


def killed(service: Service, folder: Path, **changes: object) -> BrokerConfig:
    """The configuration of a broker that starts with what this one has in its files now."""
    folder.mkdir()
    until(lambda: in_loop(service, lambda: copy_store(service, folder)))
    return config(folder, **changes)


class Peer:
    """A client that does only what it is told."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        endpoint: str,
        name: str | None,
        life: int = 1,
        keys: ClientKeys | None = None,
        **hello: Any,
    ) -> None:
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.sndtimeo = int(1000 * PATIENCE)
        if keys is not None:
            self.socket.curve_serverkey = keys.broker
            self.socket.curve_publickey, self.socket.curve_secretkey = keys.public, keys.secret
        self.socket.connect(endpoint)
        self.name = name or ""
        self.inbox: list[Message] = []
        self.number = 0
        self.scheme = 0
        self.epoch = 0
        self.published = 0
        self.welcome: Welcome
        if name is not None:
            try:
                self.greet(life, **hello)
            except BaseException:
                self.close()
                raise

    def greet(self, life: int, **hello: Any) -> None:
        self.send(Hello(self.name, life, **hello))
        self.welcome = self.get(Welcome)
        self.number, self.scheme = self.welcome.client, self.welcome.scheme
        self.published = self.welcome.published

    def send(self, message: Message) -> None:
        message.client = self.number
        message.scheme = message.scheme or self.scheme
        message.epoch = message.epoch or self.epoch
        self.socket.send(encode(message))

    def get(self, kind: type[M], patience: float = PATIENCE) -> M:
        """The next message of a kind; what came before it is in the inbox."""
        deadline = time.monotonic() + patience
        while True:
            for message in self.inbox:
                if isinstance(message, kind):
                    self.inbox.remove(message)
                    return message
            left = deadline - time.monotonic()
            if left <= 0 or not self.socket.poll(int(1000 * left) + 1):
                raise AssertionError(f"no {kind.__name__} in {patience} s; got {self.inbox}")
            self.inbox += [decode(data) for data in unpack(self.socket.recv())]

    def settle(self) -> list[Message]:
        """All that was on its way: the broker answers in order."""
        self.send(Ping(asks=True))
        self.get(Ping)
        messages, self.inbox = self.inbox, []
        return messages

    def subscribe(
        self, handle: int = 1, radius: int | None = 100, at: tuple[float, float] = (10.0, 10.0)
    ) -> None:
        self.send(Subscribe(handle, ANYTHING, radius, ContextUpdate(at)))
        assert handle in self.get(Ack).handles

    def publish(self, at: tuple[float, float] = (10.0, 10.0), *, wait: bool = True, size: int = 0) -> int:
        self.published += 1
        number = self.number << 32 | self.published
        self.send(Publish(number, Event(kind="x", payload=bytes(size)), Kind.PLACED, 0, at))
        if wait:
            assert number in self.get(Ack).ids
        return number

    def event(self, *, acknowledge: bool = True) -> int:
        number = self.get(Notify).publication.id
        if acknowledge:
            self.send(Ack((number,)))
        return number

    def close(self) -> None:
        self.socket.close()


@contextmanager
def peers() -> Iterator[Callable[..., Peer]]:
    """Makes peers, which are gone when the block ends."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    made: list[Peer] = []

    def make(endpoint: str, name: str | None = None, life: int = 1, **hello: Any) -> Peer:
        made.append(Peer(context, endpoint, name, life, **hello))
        return made[-1]

    try:
        yield make
    finally:
        for peer in made:
            peer.close()
        context.term()
