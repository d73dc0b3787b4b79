"""A few devices nearby in real time: clients without a broker that hear each other over UDP."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bypass.core.client import Client
from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.live.adhoc.neighbourhood import Neighbourhood
from bypass.live.adhoc.radio import CheckRadio
from bypass.live.host import LiveHost
from bypass.mechanisms import Registry
from bypass.places.sensor import Fix, FixListener, LocationRequest
from bypass.ports.monitor import Monitor
from bypass.ports.subscriptions import SubHandle
from bypass.protocol.messages import Message
from bypass.testing.worlds.broker import until
from bypass.testing.worlds.live import ClientLoop
from bypass.transitions import Action

KEY = b"a key for tests, and for no more"
APART = 3.0
"""Metres between two devices."""


class LoopClock:
    """The time of day, and timers on an asyncio loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._began = time.time() - loop.time()

    def now(self) -> float:
        return self._began + self._loop.time()

    def after(self, delay: float, action: Callable[..., None], *args: Any) -> asyncio.TimerHandle:
        return self._loop.call_later(delay, action, *args)


class Standing:
    """The sensor of a device that does not move."""

    def __init__(self, x: float, y: float) -> None:
        self._fix = Fix(x, y, 0.0, 0.0, 0.0)

    def request(self, request: LocationRequest, listener: FixListener) -> None:
        """Do nothing: it has nothing new to say."""

    def release(self, listener: FixListener) -> None:
        """Do nothing: there is nothing to release."""

    def available(self) -> bool:
        return True

    def last(self) -> Fix:
        return self._fix

    def current(self) -> Fix:
        return self._fix

    def place(self) -> tuple[float, float]:
        return self._fix[:2]


class DatagramWorld:
    """Devices on the loopback network, numbered from 0 on, all of which have subscribed news; `begin` is what
    they begin with, by proxy, each with parameters. All hear each other."""

    def __init__(
        self,
        devices: int,
        begin: Mapping[str, tuple[str, Mapping[str, Any]]],
        mechanisms: Sequence[str | type] = (),
    ) -> None:
        self._heard: list[tuple[int, int]] = []
        self._events = 0
        self._clients: list[Client] = []
        self._networks: list[Neighbourhood] = []
        self._loop = ClientLoop()
        try:
            self._loop.run(self._open(devices, {"transport": ("wifi", {}), **begin}, mechanisms))
            until(lambda: self._loop.ask(lambda: all(each.is_on for each in self._networks)))
        except BaseException:
            self.close()
            raise

    async def _open(
        self,
        devices: int,
        begin: Mapping[str, tuple[str, Mapping[str, Any]]],
        mechanisms: Sequence[str | type],
    ) -> None:
        loop, port = asyncio.get_running_loop(), _free_port()
        actions = [Action(proxy=proxy, to=to, set=dict(values)) for proxy, (to, values) in begin.items()]
        for number in range(devices):
            interfaces = [f"127.0.0.{number + 1}/8"]
            network = Neighbourhood(loop, number + 1, KEY, interfaces=interfaces, port=port)
            self._networks.append(network)
            await network.open()
            host = LiveHost(number + 1, LoopClock(loop), Standing(APART * number, 0.0), Monitor())
            client = Client(host, _to_nobody, local=network, begin=actions, registry=Registry(mechanisms))
            self._clients.append(client)
            client.engine.register_transition("transport", CheckRadio())
            client.subscribe(attr("kind") == "news", self._callback(number))

    def publish(self, device: int) -> int:
        """Publish news; gives the number of the event."""
        self._events += 1
        event = Event(kind="news", number=self._events)
        self._loop.ask(lambda: self._clients[device].publish(event))
        return self._events

    def until_heard(self, event: int, by: Sequence[int]) -> None:
        """Wait until these devices were told of an event. Raises AssertionError if that does not happen."""
        until(lambda: {*by} <= {*self.heard(event)})

    def heard(self, event: int) -> list[int]:
        """The devices that were told of an event, sorted, as often as they were."""
        return sorted(device for device, number in self._heard if number == event)

    def close(self) -> None:
        """End everything."""

        def end() -> None:
            for client in self._clients:
                client.close()
            for network in self._networks:
                network.close()

        self._loop.ask(end)
        self._loop.close()

    def _callback(self, device: int) -> Callable[[Event, SubHandle], None]:
        return lambda event, _: self._heard.append((device, event["number"]))


def _to_nobody(message: Message) -> None:
    """Do nothing: there is no broker."""


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
