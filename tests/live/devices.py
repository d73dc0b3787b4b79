"""Clients with a live neighbourhood and no broker, for tests of what devices nearby do over UDP.

As a program (`python -m tests.live.devices NUMBER PORT MECHANISM INTERFACE...`) it is one such client, which
reads commands and writes what happens, a line each.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

from bypass.core.client import Client
from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.live.adhoc.datagrams import Refusal
from bypass.live.adhoc.neighbourhood import Neighbourhood
from bypass.live.adhoc.radio import CheckRadio
from bypass.live.host import LiveHost
from bypass.ports.monitor import Monitor
from bypass.ports.subscriptions import SubHandle
from bypass.protocol.messages import Message
from bypass.testing.worlds.datagrams import KEY as KEY
from bypass.testing.worlds.datagrams import LoopClock, Standing
from bypass.transitions import Action, Plan
from tests.datagram_nodes import Node

LIMIT = 60.0
AT_ONCE: dict[str, dict[str, float]] = {
    "flooding": {"jitter": 0.0},
    "hyperg": {"hesitation": 0.0, "keep": 60.0},
}
"""With this, what is heard has been passed on when the next command is answered."""


class Device:
    """A client with a neighbourhood, in AD HOC mode; `heard` are the events that it was told of, in order."""

    def __init__(
        self, number: int, neighbourhood: Neighbourhood, x: float, mechanism: str, **values: Any
    ) -> None:
        self.neighbourhood = neighbourhood
        self.heard: list[int] = []
        self.on_heard: Callable[[int], object] = self.heard.append
        clock = LoopClock(asyncio.get_running_loop())
        self.client = Client(
            LiveHost(number, clock, Standing(x, 0.0), Monitor()),
            _to_nobody,
            local=neighbourhood,
            begin=(
                Action(proxy="transport", to="wifi"),
                Action(proxy="direct", to=mechanism, set=values),
                Action(proxy="mode", to="ad-hoc"),
            ),
        )
        self.client.engine.register_transition("transport", CheckRadio())
        self.client.subscribe(attr("kind") == "news", self._told)

    def publish(self, number: int, **attributes: Any) -> int:
        return self.client.publish(Event(kind="news", number=number, **attributes))

    def decide(self, mechanism: str, decision: int) -> None:
        """Exchange how events travel, as if a broker had decided it."""
        plan = Plan(plan="test", decision=decision, actions=(Action(proxy="direct", to=mechanism),))
        self.client.carry_out(plan)

    def active(self, proxy: str = "direct") -> str:
        return self.client.engine.active(proxy).name

    def _told(self, event: Event, handle: SubHandle) -> None:
        self.on_heard(event["number"])


def _to_nobody(message: Message) -> None:
    """There is no broker."""


@contextlib.asynccontextmanager
async def devices(
    count: int,
    mechanism: str = "flooding",
    *,
    port: int,
    in_reach: Callable[[int, int], bool] = lambda a, b: True,
    **values: Any,
) -> AsyncIterator[list[Device]]:
    """Devices on the loopback network, numbered from 1 on, 10 m from each other, radios on."""
    loop = asyncio.get_running_loop()
    made = []

    def out_of_reach(receiver: int) -> Callable[[int], bool]:
        return lambda address: not in_reach((address >> 16) & 0xFF, receiver)

    try:
        for number in range(1, count + 1):
            neighbourhood = Neighbourhood(
                loop, number, KEY, interfaces=[f"127.0.0.{number}/8"], port=port, drop=out_of_reach(number)
            )
            await neighbourhood.open()
            made.append(Device(number, neighbourhood, 10.0 * number, mechanism, **values))
        await until(lambda: all(device.neighbourhood.is_on for device in made))
        yield made
    finally:
        for device in made:
            device.client.close()
            device.neighbourhood.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, not for long."""
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.002)


async def _main(number: int, port: int, mechanism: str, *interfaces: str) -> None:
    loop = asyncio.get_running_loop()
    chance, lost = random.Random(number), 0.0
    neighbourhood = Neighbourhood(
        loop, number, KEY, interfaces=interfaces, port=port, drop=lambda _: chance.random() < lost
    )
    await neighbourhood.open()
    device = Device(number, neighbourhood, 0.0, mechanism, **AT_ONCE[mechanism])
    device.on_heard = lambda event: _say("heard", event)
    node = Node(device.client, neighbourhood)
    await until(lambda: neighbourhood.is_on)
    _say("ready", neighbourhood.address)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command, *arguments = line.split()
        if command == "publish":
            device.publish(int(arguments[0]))
        elif command == "decide":
            device.decide(arguments[0], int(arguments[1]))
        elif command == "active":
            _say("active", device.active())
        elif command == "counts":
            refused = [reason for reason in neighbourhood.refused if reason is not Refusal.OWN]
            _say("counts", neighbourhood.sent, neighbourhood.received, *refused)
        elif command == "lose":
            lost = float(arguments[0])
        elif command == "broadcast":
            node.broadcast(int(arguments[0]), int(arguments[1]))
        elif command == "unicast":
            node.unicast(*map(int, arguments))
        elif command == "told":
            _say("told", *(f"{what}-{sender}-{which}" for what, sender, which in node.calls))
    device.client.close()
    neighbourhood.close()


def _say(*words: object) -> None:
    print(*words, flush=True)


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
