"""Nine nodes without a broker in network namespaces: a 3 × 3 grid with a bridge for each neighbouring pair.

1 2 3
4 5 6
7 8 9
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.live.networks import Networks, made_networks
from tests.live.node_processes import LIMIT, ROOT, NodeProcess, insert_while

pytestmark = pytest.mark.slow

PORT = 7702
NODES = range(1, 10)
PAIRS = [(n, n + 1) for n in NODES if n % 3] + [(n, n + 3) for n in NODES if n <= 6]


@pytest.fixture
def networks() -> Iterator[Networks]:
    with made_networks() as made:
        yield made


class Grid:
    """The nodes by their numbers, and their namespaces."""

    def __init__(self, networks: Networks, folder: Path) -> None:
        self.nodes: dict[int, NodeProcess] = {}
        self._folder = folder
        self._places: dict[int, list[str]] = {number: [] for number in NODES}
        ends: dict[int, list[tuple[str, str]]] = {number: [] for number in NODES}
        for pair, both in enumerate(PAIRS):
            networks.bridge(f"b{pair}")
            for host, number in enumerate(both, 1):
                ends[number].append((f"b{pair}", f"10.78.{pair}.{host}/24"))
        self._namespaces = {n: networks.device(f"g{n}", *where) for n, where in ends.items()}
        self._places = {n: [interface for _, interface in where] for n, where in ends.items()}

    async def start(self, number: int, store: bool = False) -> NodeProcess:
        file = self._folder / f"{number}.db" if store else "-"
        row, column = divmod(number - 1, 3)
        at = (str(50 + 100 * column), str(50 + 100 * row))
        process = await asyncio.create_subprocess_exec(
            "ip", "netns", "exec", self._namespaces[number],
            sys.executable, "-m", "tests.live.nodes", f"node-{number}", str(PORT), str(file), *at,
            *self._places[number],
            cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self.nodes[number] = node = NodeProcess(process)
        return node

    async def until_all(self, storage: str) -> None:
        async with asyncio.timeout(LIMIT):
            for node in self.nodes.values():
                while await node.ask("storage") != storage:
                    await asyncio.sleep(0.05)


@asynccontextmanager
async def grid(networks: Networks, folder: Path) -> AsyncIterator[Grid]:
    made = Grid(networks, folder)
    async with AsyncExitStack() as stack:
        for number in NODES:
            stack.push_async_callback((await made.start(number, store=number == 7)).end)
        for node in made.nodes.values():
            await node.until_ready()
        yield made


def test_objects_over_four_hops_two_transitions_and_a_kill(networks: Networks, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with grid(networks, tmp_path) as made:
            first, middle, far, lost = (made.nodes[n] for n in (1, 5, 9, 7))
            async with asyncio.timeout(LIMIT):
                while await first.ask("hops", far.number) != "4":
                    await asyncio.sleep(0.05)
            stored = {await first.ask("insert", f"early{n}", 3) for n in range(30)}
            stored.add(await lost.ask("insert", "rescued", 7))
            far.tell("follow", "a")
            await far.until_told(stored)  # in two pages, of nodes at other ends

            async def move(storage: str) -> None:
                assert await middle.ask("decide", storage) == "True"
                await made.until_all(storage)

            moving = asyncio.create_task(move("cells"))
            stored |= await insert_while(first, "to-cells", moving)
            stored.add(await first.ask("insert", "in-cells", 9000))
            await far.until_told(stored)
            assert await far.ask("retrieve", "in-cells") == "9000"
            assert await far.ask("retrieve", "rescued") == "7"  # it has a copy from now on
            await made.nodes[6].until_past("a", stored)

            lost.process.send_signal(signal.SIGKILL)
            await lost.end()
            del made.nodes[7]
            stored.add(await first.ask("insert", "without-7", 1))
            await made.nodes[3].until_past("a", stored)
            assert await made.nodes[3].ask("retrieve", "rescued") == "7"
            await first.ask("delete", "early3")
            stored.remove("early3")
            await made.nodes[3].until_past("a", stored, without="early3")
            again = await made.start(7, store=True)
            await again.until_ready()
            await made.until_all("cells")

            moving = asyncio.create_task(move("local"))
            stored |= await insert_while(first, "to-local", moving)
            stored.add(await first.ask("insert", "at-last", 1))
            await far.until_told(stored)
            for number in (2, 7):
                await made.nodes[number].until_past("a", stored, without="early3")
            assert len(far.told) == len({*far.told}), "somebody was told twice"
            assert await made.nodes[8].ask("past", "early3") == "-"
            await again.end()

    asyncio.run(scenario())
