"""Networks that fail as a test says: a way to a broker, over TCP, and the air between devices, over UDP.

TCP neither loses nor reorders what it carries: what can happen to it is that it takes long, stops or breaks.
Datagrams can be lost, late, doubled and out of order.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Literal

from bypass.live.adhoc.neighbourhood import Neighbourhood

PATIENCE = 20.0
MOST_READ = 65_536

Direction = Literal["both", "up", "down"]
"""Up is towards the broker."""


@dataclass(frozen=True)
class Weather:
    """How the network is: seconds that everything takes, up to so many more at random, bytes a second (0: as
    fast as it can), in which directions nothing passes, and whether new connections are refused."""

    delay: float = 0.0
    jitter: float = 0.0
    rate: float = 0.0
    stalled: Direction | None = None
    refusing: bool = False

    def stalls(self, direction: Direction) -> bool:
        return self.stalled in ("both", direction)


FINE = Weather()


class FaultyNetwork:
    """Listens at `port` and connects to the broker at `target` through whatever the weather is.

    A thread does that; all methods may be called from others, and have done what they say when they return.
    """

    def __init__(self, target: tuple[str, int], seed: int = 0) -> None:
        self.refused = 0  # connections
        self.passed = 0  # bytes
        self._target = target
        self._weather = FINE
        self._rng = random.Random(seed)
        self._changed = asyncio.Event()
        self._ways: set[_Way] = set()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._run, name="faulty network")
        self._thread.start()

    @property
    def endpoint(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def become(self, weather: Weather) -> None:
        """From now on the network is like this; what is on its way is not lost."""
        self._in_loop(lambda: self._become(weather))

    def change(self, **changes: object) -> None:
        """As it is, but for this."""
        self._in_loop(lambda: self._become(replace(self._weather, **changes)))  # type: ignore[arg-type]

    def cut(self, *, reset: bool) -> int:
        """End all connections, at both ends: reset or closed. Gives how many there were."""
        return self._in_loop(lambda: self._cut(reset))

    def switch(self, on: bool, *, refusing: bool = False) -> None:
        """OFF: all connections end. Until it is ON, new ones are refused, or get no answer."""
        self.change(refusing=refusing and not on, stalled=None if on else "both")
        if not on:
            self.cut(reset=True)

    @property
    def connections(self) -> int:
        return self._in_loop(lambda: len(self._ways))

    def close(self) -> None:
        self._in_loop(lambda: self._cut(reset=True))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    # -- in the thread ------------------------------------------------------------------------------------

    def _run(self) -> None:
        accepting = self._loop.create_task(self._accept())
        self._loop.run_forever()
        for task in (accepting, *self._tasks):
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(accepting, *self._tasks, return_exceptions=True))
        self._listener.close()
        self._loop.close()

    def _in_loop(self, ask: Callable[[], int | None]) -> int:
        async def answer() -> int:
            return ask() or 0

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result(PATIENCE)

    def _become(self, weather: Weather) -> None:
        self._weather = weather
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _cut(self, reset: bool) -> int:
        ways = list(self._ways)
        for way in ways:
            way.end(reset)
        return len(ways)

    async def _accept(self) -> None:
        while True:
            near, _ = await self._loop.sock_accept(self._listener)
            if self._weather.refusing:
                self.refused += 1
                _end(near, reset=True)
                continue
            task = self._loop.create_task(self._connect(near))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connect(self, near: socket.socket) -> None:
        far = socket.socket()
        for each in (near, far):
            each.setblocking(False)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        way = _Way(near, far)
        self._ways.add(way)
        pumps: list[asyncio.Task[None]] = []
        try:
            await self._loop.sock_connect(far, self._target)
            pumps.append(self._loop.create_task(self._pump("up", near, far)))
            pumps.append(self._loop.create_task(self._pump("down", far, near)))
            way.pumps = pumps
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass  # the broker is not there
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            self._ways.discard(way)
            way.end(reset=False)

    async def _pump(self, direction: Direction, source: socket.socket, sink: socket.socket) -> None:
        """Carry what comes until it ends; at most a few portions are on their way at a time."""
        on_the_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(64)
        carrying = self._loop.create_task(self._carry(direction, on_the_way, sink))
        try:
            while data := await self._loop.sock_recv(source, MOST_READ):
                weather = self._weather
                due = self._loop.time() + weather.delay + weather.jitter * self._rng.random()
                await on_the_way.put((due, data))
            await on_the_way.put((self._loop.time(), b""))
            await carrying
        except OSError:
            pass  # reset
        finally:
            carrying.cancel()
            await asyncio.gather(carrying, return_exceptions=True)

    async def _carry(
        self, direction: Direction, on_the_way: asyncio.Queue[tuple[float, bytes]], sink: socket.socket
    ) -> None:
        while True:
            due, data = await on_the_way.get()
            await asyncio.sleep(max(0.0, due - self._loop.time()))
            if not data:
                return
            step = len(data) if not self._weather.rate else max(1, int(self._weather.rate / 50))
            for first in range(0, len(data), step):
                while self._weather.stalls(direction):
                    await self._changed.wait()
                part = data[first : first + step]
                await self._loop.sock_sendall(sink, part)
                self.passed += len(part)
                if self._weather.rate:
                    await asyncio.sleep(len(part) / self._weather.rate)


class _Way:
    """One connection: its two sockets."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self._sockets = (near, far)
        self.pumps: list[asyncio.Task[None]] = []

    def end(self, reset: bool) -> None:
        for pump in self.pumps:
            pump.cancel()
        for each in self._sockets:
            _end(each, reset)


def _end(each: socket.socket, reset: bool) -> None:
    if each.fileno() < 0:
        return
    if reset:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    else:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
    each.close()


@contextmanager
def faulty_network(endpoint: str, seed: int = 0) -> Iterator[FaultyNetwork]:
    """A network between clients and the broker that listens at a TCP endpoint."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    network = FaultyNetwork((host, int(port)), seed)
    try:
        yield network
    finally:
        network.close()


class Lag:
    """How late a loop is at most, because the machine has other things to do: measured meanwhile."""

    def __init__(self) -> None:
        self.most = 0.0
        self._task = asyncio.get_running_loop().create_task(self._measure())

    async def _measure(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            self.most = max(self.most, time.monotonic() - before - 0.01)

    def end(self) -> float:
        self._task.cancel()
        return self.most


# -- between devices nearby -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Air:
    """The shares of datagrams that get lost, that arrive twice, and that arrive up to `delay` s late, after
    others that were sent later."""

    loss: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    delay: float = 0.0


class Airs:
    """Through which air devices hear, from when `Neighbourhood` is told to ask here; all the same one."""

    def __init__(self, seed: int) -> None:
        self.air = Air()
        self._rng = random.Random(seed)
        self._arrived = Neighbourhood._arrived

    def hear(self, device: Neighbourhood, data: bytes, source: tuple[str, int]) -> None:
        """Instead of `Neighbourhood._arrived`."""
        air, rng = self.air, self._rng
        if rng.random() < air.loss:
            return
        for _ in range(1 + (rng.random() < air.doubled)):
            if rng.random() < air.late:
                delay = air.delay * rng.random()
                asyncio.get_running_loop().call_later(delay, self._arrived, device, data, source)
            else:
                self._arrived(device, data, source)


@contextmanager
def in_the_air(seed: int) -> Iterator[Airs]:
    """Devices that are opened in the block hear through an air."""
    airs = Airs(seed)
    before = Neighbourhood._arrived

    def hear(device: Neighbourhood, data: bytes, source: tuple[str, int]) -> None:
        airs.hear(device, data, source)

    Neighbourhood._arrived = hear  # type: ignore[method-assign, assignment]
    try:
        yield airs
    finally:
        Neighbourhood._arrived = before  # type: ignore[method-assign]
