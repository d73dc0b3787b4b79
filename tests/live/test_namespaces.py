"""Clients as processes of their own, each in a network namespace, on networks that this machine makes up."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.live.devices import LIMIT
from tests.live.networks import Networks, made_networks

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PORT = 7701


@pytest.fixture
def networks() -> Iterator[Networks]:
    with made_networks() as made:
        yield made


class Process:
    """A client in a namespace; what it heard is in `heard`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.heard: list[int] = []

    def tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n".encode())

    async def until(self, word: str) -> list[str]:
        """What comes after the next line's `word`; events that are heard meanwhile are noted."""
        assert self.process.stdout is not None
        async with asyncio.timeout(LIMIT):
            while line := (await self.process.stdout.readline()).decode().split():
                if line[0] == "heard":
                    self.heard.append(int(line[1]))
                if line[0] == word:
                    return line[1:]
        raise AssertionError(f"the client ended before it said {word!r}")

    async def until_heard(self, *events: int) -> None:
        while not set(events) <= set(self.heard):
            await self.until("heard")

    async def ask(self, command: str) -> list[str]:
        self.tell(command)
        return await self.until(command)


@asynccontextmanager
async def client(namespace: str, number: int, mechanism: str, *interfaces: str) -> AsyncIterator[Process]:
    """A client, which has ended when the block is left."""
    command = (sys.executable, "-m", "tests.live.devices", str(number), str(PORT), mechanism, *interfaces)
    process = await asyncio.create_subprocess_exec(
        "ip", "netns", "exec", namespace, *command,
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield Process(process)
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(LIMIT):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def clients(
    networks: Networks,
    mechanism: str,
    *places: Sequence[tuple[str, str]],
    unplugged: Collection[int] = (),
) -> AsyncIterator[list[Process]]:
    """A client for each of `places`, numbered from 1 on, when all are there; cables from 0 on."""
    namespaces = [networks.device(f"d{number}", *where) for number, where in enumerate(places)]
    for cable in unplugged:
        networks.plug(cable, False)
    async with AsyncExitStack() as stack:
        made = []
        for number, (namespace, where) in enumerate(zip(namespaces, places, strict=True), 1):
            interfaces = [interface for _, interface in where]
            made.append(await stack.enter_async_context(client(namespace, number, mechanism, *interfaces)))
        for each in made:
            await each.until("ready")
        yield made


async def publish_until_heard(publisher: Process, first: int, receiver: Process) -> None:
    """A network that was just plugged in takes a moment: publish until something arrives."""
    for event in range(first, first + 100):
        publisher.tell(f"publish {event}")
        with suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                return await receiver.until_heard(event)
    raise AssertionError("nothing was heard")


def one(bridge: str, interface: str) -> list[tuple[str, str]]:
    return [(bridge, interface)]


def test_three_clients_on_one_network(networks: Networks) -> None:
    """All hear all, once each, and follow a transition that one of them began."""
    networks.bridge("lan")

    async def scenario() -> None:
        places = [one("lan", f"10.77.0.{n}/24") for n in (1, 2, 3)]
        async with clients(networks, "flooding", *places) as made:
            for number, each in enumerate(made):
                for event in range(10):
                    each.tell(f"publish {10 * number + event}")
            for number, each in enumerate(made):
                others = [event for event in range(30) if event // 10 != number]
                await each.until_heard(*others)
                assert sorted(each.heard) == others
            made[0].tell("decide plan-b 1")
            made[0].tell("publish 50")
            for each in made[1:]:
                await each.until_heard(50)
                assert await each.ask("active") == ["plan-b"]
            for each in made:
                sent, received, *refused = await each.ask("counts")
                assert int(sent) >= 30
                assert int(received) >= 60
                assert refused == []
                assert len(each.heard) == len(set(each.heard))

    asyncio.run(scenario())


def test_a_client_in_two_networks_passes_on_from_one_to_the_other(networks: Networks) -> None:
    for bridge in ("left", "right"):
        networks.bridge(bridge)

    async def scenario() -> None:
        left, right = ("left", "10.77.1.2/24"), ("right", "10.77.2.2/24")
        places = (one("left", "10.77.1.1/24"), [left, right], one("right", "10.77.2.1/24"))
        async with clients(networks, "flooding", *places) as made:
            for event in range(5):
                made[0].tell(f"publish {event}")
                made[2].tell(f"publish {100 + event}")
            await made[2].until_heard(*range(5))
            await made[0].until_heard(*range(100, 105))
            await made[1].until_heard(*range(5), *range(100, 105))
            assert sorted(made[2].heard) == list(range(5))
            assert sorted(made[0].heard) == list(range(100, 105))
            networks.plug(2, False)  # from the one between them to the right
            made[0].tell("publish 5")
            await made[1].until_heard(5)
            await made[1].ask("active")  # it has tried to pass it on
            networks.plug(2, True)
            await publish_until_heard(made[0], 1000, made[2])
            assert 5 not in made[2].heard
            made[2].tell("decide gossip 1")
            made[2].tell("publish 200")
            await made[1].until_heard(200)
            assert await made[1].ask("active") == ["gossip"]

    asyncio.run(scenario())


def test_who_comes_late_is_sent_what_it_has_missed(networks: Networks) -> None:
    """Its cable is plugged in when others have talked for a while."""
    networks.bridge("lan")

    async def scenario() -> None:
        places = [one("lan", f"10.77.0.{n}/24") for n in (1, 2, 3)]
        async with clients(networks, "hyperg", *places, unplugged=[2]) as made:
            for event in range(5):
                made[0].tell(f"publish {event}")
            await made[1].until_heard(*range(5))
            await made[1].ask("active")
            await made[2].ask("active")
            assert made[2].heard == []
            networks.plug(2, True)
            await made[2].until_heard(*range(5))
            assert sorted(made[2].heard) == list(range(5))

    asyncio.run(scenario())


async def until_told(process: Process, *calls: str) -> list[str]:
    """Wait until a client's node was told all of this; gives everything that it was told."""
    async with asyncio.timeout(LIMIT):
        while not set(calls) <= set(told := await process.ask("told")):
            await asyncio.sleep(0.02)
    return told


async def meet(made: Sequence[Process], *numbers: int) -> None:
    """Let the clients with these numbers hear each other, however long a network that was just made takes."""
    async with asyncio.timeout(LIMIT):
        while True:
            for each in numbers:
                made[each - 1].tell("broadcast 0 1")
            told = {each: set(await made[each - 1].ask("told")) for each in numbers}
            if all(
                f"arrived-{other}-0" in told[each] for each in numbers for other in numbers if other != each
            ):
                return
            await asyncio.sleep(0.02)


def test_datagrams_go_through_the_network_in_which_a_neighbour_is(networks: Networks) -> None:
    """A client in two networks reaches both neighbours; these do not know each other; one is unplugged."""
    for bridge in ("left", "right"):
        networks.bridge(bridge)

    async def scenario() -> None:
        left, right = ("left", "10.77.1.2/24"), ("right", "10.77.2.2/24")
        places = (one("left", "10.77.1.1/24"), [left, right], one("right", "10.77.2.1/24"))
        async with clients(networks, "flooding", *places) as made:
            await meet(made, 1, 2)
            await meet(made, 2, 3)
            made[1].tell("unicast 1 1 100000")
            made[1].tell("unicast 2 3 100000")
            made[0].tell("unicast 3 3 10")
            await until_told(made[0], "arrived-2-1", "failed-1-3")
            await until_told(made[2], "arrived-2-2")
            networks.plug(2, False)  # from the one between them to the right
            made[1].tell("unicast 4 3 5000")
            made[1].tell("unicast 5 1 5000")
            await until_told(made[1], "failed-2-4")
            told = await until_told(made[0], "arrived-2-5")
            assert "failed-2-5" not in await made[1].ask("told")
            assert len([call for call in told if call == "arrived-2-1"]) == 1

    asyncio.run(scenario())


def test_datagrams_arrive_once_or_fail_where_packets_are_lost(networks: Networks) -> None:
    """By the cables, or where this kernel has none that lose, by the clients."""
    networks.bridge("lan")

    async def scenario() -> None:
        places = [one("lan", f"10.77.0.{n}/24") for n in (1, 2)]
        async with clients(networks, "flooding", *places) as (here, there):
            await meet((here, there), 1, 2)
            for cable, each in enumerate((here, there)):
                if not networks.lose(cable, 25):
                    each.tell("lose 0.25")
            for number in range(1, 41):
                here.tell(f"unicast {number} 2 {100 * number}")
            async with asyncio.timeout(LIMIT):
                while True:
                    arrived = [
                        c for c in await there.ask("told") if c.startswith("arrived") and c[-2:] != "-0"
                    ]
                    failed = [call for call in await here.ask("told") if call.startswith("failed")]
                    assert len(set(arrived)) == len(arrived)
                    assert len(set(failed)) == len(failed)
                    if {call.rpartition("-")[2] for call in arrived + failed} == {
                        str(n) for n in range(1, 41)
                    }:
                        break
                    await asyncio.sleep(0.02)
            assert len(arrived) > 30

    asyncio.run(scenario())
