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
from itertools import count
from pathlib import Path

import pytest

from tests.live.networks import Networks, made_networks

pytestmark = pytest.mark.slow

LIMIT = 60.0
ROOT = Path(__file__).parents[2]
PORT = 7702
NODES = range(1, 10)
PAIRS = [(n, n + 1) for n in NODES if n % 3] + [(n, n + 3) for n in NODES if n <= 6]


@pytest.fixture
def networks() -> Iterator[Networks]:
    with made_networks() as made:
        yield made


class GridNode:
    """A node in a namespace, and what it has said."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.told: list[str] = []
        self.number = 0
        self._numbers = count()
        self._answers: dict[str, asyncio.Future[list[str]]] = {}
        self._news = asyncio.Condition()
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def ask(self, *command: object) -> str:
        """Have it carry out a command. Raises AssertionError if that fails."""
        assert self.process.stdin is not None
        number = str(next(self._numbers))
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self.process.stdin.write(f"{number} {' '.join(map(str, command))}\n".encode())
        async with asyncio.timeout(LIMIT):
            word, *rest = await answer
        assert word == "done", (command, word, rest)
        return rest[0] if rest else ""

    def tell(self, *command: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"- {' '.join(map(str, command))}\n".encode())

    async def until_told(self, names: set[str]) -> None:
        async with asyncio.timeout(LIMIT), self._news:
            await self._news.wait_for(lambda: names <= {*self.told})

    async def until_past(self, formula: str, names: set[str], without: str = "") -> None:
        """Wait until all of these are found, and one is not."""
        async with asyncio.timeout(LIMIT):
            while True:
                found = (await self.ask("past", formula)).split(",")
                assert len(found) == len({*found})
                if names <= {*found} and without not in found:
                    return

    async def end(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := (await self.process.stdout.readline()).decode().split():
            word, *rest = line
            if word == "told":
                self.told += rest
            elif word == "ready":
                self.number = int(rest[0])
            elif (answer := self._answers.pop(rest[0], None)) is not None:
                answer.set_result([word, *rest[1:]])
            async with self._news:
                self._news.notify_all()

    async def until_ready(self) -> None:
        async with asyncio.timeout(LIMIT), self._news:
            await self._news.wait_for(lambda: self.number != 0)


class Grid:
    """The nodes by their numbers, and their namespaces."""

    def __init__(self, networks: Networks, folder: Path) -> None:
        self.nodes: dict[int, GridNode] = {}
        self._folder = folder
        self._places: dict[int, list[str]] = {number: [] for number in NODES}
        ends: dict[int, list[tuple[str, str]]] = {number: [] for number in NODES}
        for pair, both in enumerate(PAIRS):
            networks.bridge(f"b{pair}")
            for host, number in enumerate(both, 1):
                ends[number].append((f"b{pair}", f"10.78.{pair}.{host}/24"))
        self._namespaces = {n: networks.device(f"g{n}", *where) for n, where in ends.items()}
        self._places = {n: [interface for _, interface in where] for n, where in ends.items()}

    async def start(self, number: int, store: bool = False) -> GridNode:
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
        self.nodes[number] = node = GridNode(process)
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


async def insert_while(node: GridNode, prefix: str, goes_on: asyncio.Task[None]) -> set[str]:
    """Insert one object after the other while something goes on: those that were acknowledged."""
    names: set[str] = set()
    while not goes_on.done():
        names.add(await node.ask("insert", f"{prefix}{len(names)}", 10))
    await goes_on
    return names


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
