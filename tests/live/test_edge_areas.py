"""Two edges and six clients as processes in network namespaces: two areas, and a wire between the edges."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bypass.objects.sqlite_persistence import SqlitePersistence
from tests.live.edge_site import create_keys
from tests.live.networks import Networks, made_networks
from tests.live.node_processes import LIMIT, ROOT, NodeProcess, insert_while

pytestmark = pytest.mark.slow

BYPASS = "from bypass.cli import main; main()"
EDGES = ("hall", "yard")
CLIENTS = range(6)
SETTINGS = """
client_port: 7701
beacon_s: 0.25
heartbeat_s: 0.2
cell_data_period_s: 0.5
retrieval_period_s: 1.0
retrieval_slack_s: 0.2
needs_period_s: 1.0
slot_s: 0.5
"""


@pytest.fixture
def networks() -> Iterator[Networks]:
    with made_networks() as made:
        yield made


def area_of(client: int) -> int:
    return client // 3


class Areas:
    """Edges by name and clients by number. Cable number n is that of edge n to the other one."""

    def __init__(self, networks: Networks, folder: Path) -> None:
        self.clients: dict[int, NodeProcess] = {}
        self.networks = networks
        self.folder = folder
        self._keys = folder / "keys"
        self._edges: dict[str, asyncio.subprocess.Process] = {}
        create_keys(self._keys, *EDGES)
        for bridge in ("wire", "area0", "area1"):
            networks.bridge(bridge)
        self._spaces = {}
        for area, name in enumerate(EDGES):
            other = EDGES[1 - area]
            host, far = f"10.79.9.{1 + area}", f"10.79.9.{2 - area}"
            (folder / f"{name}.yaml").write_text(
                f"host: {host}\ninterfaces: [10.79.{area}.1/24]\nkeys: keys/{name}.key\nstore: {name}\n"
                f"edges: [{{host: {far}, port: 9501, key: keys/edges/{other}.pub}}]\n{SETTINGS}"
            )
            self._spaces[name] = networks.device(name, ("wire", f"{host}/24"))
        for area, name in enumerate(EDGES):
            networks.join(name, 1, f"area{area}", f"10.79.{area}.1/24")
        self._clients = {
            each: networks.device(
                f"c{each}", (f"area{area_of(each)}", f"10.79.{area_of(each)}.{10 + each}/24")
            )
            for each in CLIENTS
        }

    async def start_edge(self, name: str) -> None:
        self._edges[name] = process = await self._start(
            self._spaces[name], "-c", BYPASS, "edge", "--config", str(self.folder / f"{name}.yaml")
        )
        assert process.stdout is not None
        async with asyncio.timeout(LIMIT):
            line = (await process.stdout.readline()).decode()
        assert line.startswith(f"bypass edge {name}, number ")

    async def kill_edge(self, name: str) -> None:
        self._edges[name].kill()
        await self._edges[name].wait()

    async def stop_edge(self, name: str) -> None:
        """End an edge in order."""
        self._edges[name].send_signal(signal.SIGTERM)
        async with asyncio.timeout(LIMIT):
            assert await self._edges[name].wait() == 0

    async def start_client(self, number: int) -> NodeProcess:
        interface = f"10.79.{area_of(number)}.{10 + number}/24"
        process = await self._start(
            self._clients[number],
            "-m", "tests.live.edge_clients", f"client-{number}", str(self._keys), "-", interface,
        )  # fmt: skip
        self.clients[number] = client = NodeProcess(process)
        return client

    async def end(self) -> None:
        for process in self._edges.values():
            if process.returncode is None:
                process.kill()
            await process.wait()

    async def until_all(self, area: int, storage: str) -> None:
        """Wait until the clients of an area store in a way, and have an edge if that takes one."""
        async with asyncio.timeout(LIMIT):
            for number, client in self.clients.items():
                while area_of(number) == area and not await self._is_there(client, storage):
                    await asyncio.sleep(0.05)

    async def _is_there(self, client: NodeProcess, storage: str) -> bool:
        has_edge = await client.ask("edge") != "None"
        return await client.ask("storage") == storage and has_edge == (storage == "infra")

    async def _start(self, space: str, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            "ip", "netns", "exec", space, sys.executable, *arguments,
            cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip


@asynccontextmanager
async def areas(networks: Networks, folder: Path) -> AsyncIterator[Areas]:
    made = Areas(networks, folder)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(made.end)
        for name in EDGES:
            await made.start_edge(name)
        for number in CLIENTS:
            stack.push_async_callback((await made.start_client(number)).end)
        for client in made.clients.values():
            await client.until_ready()
        for area in (0, 1):
            await made.until_all(area, "infra")
        yield made


async def until_found(client: NodeProcess, formula: str, expected: Callable[[set[str]], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while True:
            found = (await client.ask("past", formula)).split(",")
            assert len(found) == len({*found})
            if expected({*found} - {"-"}):
                return
            await asyncio.sleep(0.05)


def test_objects_in_two_areas_a_killed_edge_and_a_partition(networks: Networks, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with areas(networks, tmp_path) as made:
            first, second, third, far, further, _ = (made.clients[n] for n in CLIENTS)
            for client in made.clients.values():
                client.tell("follow", "a")
            stored = {await first.ask("insert", f"early{n}", 3) for n in range(5)}
            await third.until_told(stored)

            # A popular object comes to those who have asked for it in the other area.
            await second.until_told(stored)
            assert await second.ask("retrieve", "early1") == "3"
            await far.until_told({"early1"})
            assert await far.ask("retrieve", "early1") == "3"

            await made.kill_edge("hall")
            moving = asyncio.create_task(made.until_all(0, "cells"))
            stored |= await insert_while(first, "without", moving)
            stored.add(await second.ask("insert", "alone", 9000))
            await third.until_told(stored)
            assert await third.ask("retrieve", "alone") == "9000"

            await made.start_edge("hall")
            moving = asyncio.create_task(made.until_all(0, "infra"))
            stored |= await insert_while(third, "back", moving)
            stored.add(await first.ask("insert", "at-last", 1))
            for client in (first, second, third):
                await client.until_told(stored)
                await until_found(client, "a", lambda found: stored <= found)
            assert await further.ask("storage") == "infra"

            # A deletion while the edges are apart.
            assert await second.ask("retrieve", "at-last") == "1"
            await far.until_told({"at-last"})
            networks.plug(0, False)
            assert await first.ask("delete", "at-last") == "at-last"
            await until_found(third, "a", lambda found: "at-last" not in found)
            await until_found(further, "at-last", lambda found: found == {"at-last"})
            networks.plug(0, True)
            await until_found(further, "at-last", lambda found: not found)
            await until_found(far, "a", lambda found: "early1" in found and "at-last" not in found)
            for client in made.clients.values():
                assert len(client.told) == len({*client.told}), "somebody was told twice"
            for name in EDGES:
                await made.stop_edge(name)
        for name in EDGES:
            kept = SqlitePersistence(tmp_path / name / "tombstones.db", _unused, _unused)
            assert [each.key.name for each in kept.load()[1]] == ["at-last"]
            kept.close()

    asyncio.run(scenario())


def _unused(_: Any) -> Any:
    raise AssertionError("an edge keeps no objects")
