"""A node without a broker as a program: it reads commands, and writes what becomes of them, a line each.

`python -m tests.live.nodes NAME PORT STORE X Y INTERFACE...`, STORE is a file, or - for none.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from bypass import Action, Connection, Neighbours, Plan, connect
from bypass.errors import BypassError
from bypass.live.client.objects.matches import ObjectMatch
from bypass.mechanisms.routing.dsdv import Dsdv

KEY = b"the key of a grid of nodes"
AREA = [0.0, 0.0, 300.0, 300.0]
PARAMETERS: dict[str, Any] = {
    "area": AREA, "side": 100.0, "beacon_s": 0.25, "listen_s": 0.5,
    "update_s": 1.0, "settling_s": 0.2,
    "settle_s": 0.5, "join_delay_s": 0.2, "repair_s": 2.0,
}  # fmt: skip
"""Those of all designs and their routing, with which less time passes than with the defaults."""

ROUTING = {"local": "dsdv", "cells": "cells"}


def plan_to(storage: str) -> Plan:
    """The plan that moves all nodes to another design."""
    actions = (Action(proxy="routing", to=ROUTING[storage]), Action(proxy="storage", to=storage))
    return Plan(plan=f"to {storage}", actions=actions)


class NodeProgram:
    """The commands. Each is carried out by itself; `ask` says what it says, or `failed` and why."""

    def __init__(self, me: Connection) -> None:
        self.me = me
        self.matches: dict[str, ObjectMatch] = {}
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, number: str, command: str, *arguments: str) -> None:
        """Carry out a command, and say how it ends, with its number."""
        does: Callable[..., Coroutine[Any, Any, object]] = getattr(self, f"do_{command}")
        task = asyncio.get_running_loop().create_task(self._finish(number, does(*arguments)))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _finish(self, number: str, does: Coroutine[Any, Any, object]) -> None:
        try:
            say("done", number, await does)
        except BypassError as error:
            say("failed", number, repr(error))

    async def do_insert(self, name: str, size: str) -> str:
        key = await self.me.insert(name.encode() * int(size), {"a", name}, name=name)
        return key.name

    async def do_delete(self, name: str) -> str:
        access = self.me._exchange.usable().objects
        await self.me.delete(next(each.key for each in access.store.own if each.key.name == name))
        return name

    async def do_past(self, formula: str) -> str:
        """All that is found now."""
        names: list[str] = []
        async with self.me.query(formula, until="now") as found:
            async for match in found:
                names.append(match.key.name)
                self.matches[match.key.name] = match
        return ",".join(names) or "-"

    async def do_follow(self, formula: str) -> str:
        """All that is found, as it comes; ends with the program."""
        async with self.me.query(formula, since="-1h") as found:
            async for match in found:
                self.matches[match.key.name] = match
                say("told", match.key.name)
        return ""

    async def do_retrieve(self, name: str) -> str:
        data = await self.matches[name].retrieve()
        return str(data.count(name.encode()))

    async def do_decide(self, storage: str) -> bool:
        return self.me.decide(plan_to(storage)).ok

    async def do_storage(self) -> str:
        return self.me.mechanisms["storage"]

    async def do_hops(self, node: str) -> object:
        routing = self.me._exchange.usable().engine.active("routing")
        return routing.hops_to(int(node)) if isinstance(routing, Dsdv) else None


def say(*words: object) -> None:
    print(*words, flush=True)


async def serve(program: NodeProgram) -> None:
    """Read commands until there are no more."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        program.begin(*line.split())


async def _main(name: str, port: str, store: str, x: str, y: str, *interfaces: str) -> None:
    place = float(x), float(y)
    me = connect(
        None,
        name=name,
        neighbours=Neighbours(KEY, interfaces, int(port)),
        location=lambda: place,
        storage="local",
        routing="dsdv",
        set=PARAMETERS,
        store=None if store == "-" else store,
    )
    async with me:
        say("ready", me.number)
        await serve(NodeProgram(me))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
