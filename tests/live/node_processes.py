"""Nodes without a broker as processes that are told what to do."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path

LIMIT = 60.0
ROOT = Path(__file__).parents[2]


class NodeProcess:
    """A program of `tests.live.nodes`, and what it has said."""

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
        """Wait until it was told of all these. Raises AssertionError with those that are missing."""
        try:
            async with asyncio.timeout(LIMIT), self._news:
                await self._news.wait_for(lambda: names <= {*self.told})
        except TimeoutError:
            missing = sorted(names - {*self.told})
        else:
            return
        raise AssertionError(f"not told of {missing}: told of {len(self.told)}")

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


async def insert_while(node: NodeProcess, prefix: str, goes_on: asyncio.Task[None]) -> set[str]:
    """Insert one object after the other while something goes on: those that were acknowledged."""
    names: set[str] = set()
    while not goes_on.done():
        names.add(await node.ask("insert", f"{prefix}{len(names)}", 10))
    await goes_on
    return names
