"""Clients of `transitions_under_load.py`: many connections of `bypass.connect` in one process.

Called with a file that says who they are. It says "ready" when all have subscribed, publishes from when it is
told to until its input ends, and writes what was published and received to a file.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import time
from array import array
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np

from bypass import Event, attr, connect
from bypass.live.client.connection import Connection
from bypass.subscriptions import Callback, SubHandle

PAYLOAD = bytes(64)
TOGETHER = 25
"""Clients that connect at a time."""

PATIENCE_S = 60.0
QUIET_S = 2.0
"""After so long without an event no more are expected."""


class Load:
    """What some clients do and see. Times are on the clock that all processes of a machine share."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._clients: list[tuple[int, Connection]] = []
        self._ending = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._heard = 0.0
        self.disconnections = 0
        # Of each publication: who, which one, when it was due, published, and acknowledged (0: never).
        self.who, self.serial = array("q"), array("q")
        self.due, self.published, self.acknowledged = array("d"), array("d"), array("d")
        # Of each event that was handed over: to whom, whose, which one, and when.
        self.to, self.of, self.number, self.at = array("q"), array("q"), array("q"), array("d")

    async def run(self) -> None:
        settings = self._settings
        async with AsyncExitStack() as stack:
            clients = settings["clients"]
            for first in range(0, len(clients), TOGETHER):
                await asyncio.gather(
                    *(self._connect(stack, *one) for one in clients[first : first + TOGETHER])
                )
            # In reality each of them has a process of its own: its collector does not look at all others.
            gc.collect()
            gc.freeze()
            print("ready", flush=True)
            begin = float(await asyncio.to_thread(sys.stdin.readline))
            listening = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
            listening.add_done_callback(lambda _: self._ending.set())
            usage = resource.getrusage(resource.RUSAGE_SELF)
            await self._publish_on(begin)
            after = resource.getrusage(resource.RUSAGE_SELF)
            self.cpu = after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=PATIENCE_S)
            while time.monotonic() - self._heard < QUIET_S:
                await asyncio.sleep(QUIET_S / 10)
            self._write(Path(settings["out"]))  # before they leave
            for _, me in self._clients:
                me.on_state = lambda _: None

    async def _connect(self, stack: AsyncExitStack, index: int, x: float, y: float) -> None:
        settings = self._settings
        me = connect(
            settings["endpoint"],
            keys=settings["keys"],
            name=f"client-{index}",
            location=lambda: (x, y),
            patience=PATIENCE_S,
        )
        await stack.enter_async_context(me)
        me.on_state = self._state_changed
        await me.subscribe(attr("kind") == "x", radius=settings["radius"], callback=self._callback(index))
        self._clients.append((index, me))

    def _callback(self, index: int) -> Callback:
        to, of, number, at, clock = self.to, self.of, self.number, self.at, time.monotonic

        def arrived(event: Event, handle: SubHandle) -> None:  # noqa: ARG001
            self._heard = now = clock()
            to.append(index)
            of.append(event["who"])  # type: ignore[arg-type]
            number.append(event["n"])  # type: ignore[arg-type]
            at.append(now)

        return arrived

    def _state_changed(self, state: str) -> None:
        self.disconnections += state == "disconnected"

    async def _publish_on(self, begin: float) -> None:
        """One client after the other, evenly, whatever becomes of what was published before."""
        clients, rate = self._clients, self._settings["rate"]
        n = 0
        while not self._ending.is_set():
            while (due := begin + n / rate) <= time.monotonic():
                index, me = clients[n % len(clients)]
                task = asyncio.create_task(self._publish(index, me, n, due))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                n += 1
            await asyncio.sleep(max(due - time.monotonic(), 0.0))

    async def _publish(self, index: int, me: Connection, n: int, due: float) -> None:
        event = Event(kind="x", who=index, n=n, payload=PAYLOAD)
        place = len(self.who)
        self.who.append(index)
        self.serial.append(n)
        self.due.append(due)
        self.acknowledged.append(0.0)
        self.published.append(time.monotonic())
        await me.publish_local(event)
        self.acknowledged[place] = time.monotonic()

    def _write(self, path: Path) -> None:
        np.savez(
            path,
            **{
                name: np.array(getattr(self, name))
                for name in (
                    *("who", "serial", "due", "published", "acknowledged"),
                    *("to", "of", "number", "at", "disconnections", "cpu"),
                )
            },
        )


async def main() -> None:
    await Load(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))).run()


if __name__ == "__main__":
    asyncio.run(main())
