"""Live edges and clients on loopback: plans, and members of the group, or others, that mean no good."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bypass import Action, Connection, Plan
from bypass.live import InvalidArgument, Unsupported
from bypass.live.adhoc.datagrams import MOST_BYTES, Refusal
from bypass.live.adhoc.neighbourhood import Neighbourhood
from bypass.live.adhoc.sockets import parse_discovery
from bypass.live.edge.keys import load_edge_keys
from bypass.live.edge.signatures import EdgeSigner
from bypass.mechanisms.routing.counters import DropReason
from bypass.protocol.datagrams import (
    Datagram,
    DatagramScope,
    EdgeAnswer,
    EdgeBeacon,
    EdgeProbe,
    NodeAddress,
    RoutingMessage,
    WorldMap,
)
from tests.live.edge_site import (
    GROUP,
    LIMIT,
    EdgeSite,
    edge_of,
    free_port,
    host_of,
    refused,
    until,
)

COMMON = WorldMap("", "", 9, 1)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await scenario

    asyncio.run(limited())


class Member:
    """A member of the group that says what it likes, by any number, and hears what others say."""

    def __init__(self, site: EdgeSite, number: int, host: str, signer: EdgeSigner | None = None) -> None:
        near = site.neighbours(0, 0)
        self.number = number
        self.heard: list[Datagram] = []
        self.network = Neighbourhood(
            asyncio.get_running_loop(), number, GROUP, interfaces=(f"{host}/8",), port=near.port,
            discovery=parse_discovery(near.discovery), listens=True, guard=signer or _Silent(),
        )  # fmt: skip
        self.network.hear_datagrams(self)

    async def open(self) -> Member:
        await self.network.open()
        self.network.switch("wifi", True)
        return self

    def arrived(self, datagram: Datagram) -> None:
        self.heard.append(datagram)

    def nonces(self) -> list[int]:
        """The numbers of probes that it has heard."""
        return [each.body.nonce for each in self.heard if isinstance(each.body, EdgeProbe)]

    def say(self, body: RoutingMessage, namespace: str, to: int | None = None) -> None:
        datagram = Datagram(
            self.number << 32 | random.getrandbits(32), NodeAddress(self.number), (), DatagramScope.HOP, body,
            namespace=namespace, client=self.number,
        )  # fmt: skip
        self.network.transmit_datagram("wifi", datagram, to, lambda _: None)

    def send(self, datagram: Datagram) -> None:
        """Send a datagram of somebody else as its own."""
        self.network.transmit_datagram("wifi", replace(datagram, client=self.number), None, lambda _: None)


class _Silent:
    """The guard of somebody who signs nothing and believes everything."""

    def outgoing(self, datagram: Datagram) -> Datagram:
        return datagram

    def refusal(self, datagram: Datagram) -> None:
        """Take it."""


def test_a_plan_leads_to_the_edges_and_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = EdgeSite(tmp_path, "hall")
        async with site.edge("hall") as hall:
            clients = [site.client(0, n, storage="cells", routing="cells") for n in range(3)]
            for each in clients:
                await each.open()
            first, second, _ = clients
            await until(lambda: len(first._exchange.usable().node.routing.neighbours()) == 2)
            key = await first.insert(b"before", {"a"}, name="before")
            for routing, storage, number in (
                ("access-point", "infra", hall.number),
                ("cells", "cells", None),
            ):
                outcome = first.decide(plan_to(routing, storage))
                assert outcome.ok
                await until(lambda edge=number: [edge_of(each) for each in clients] == [edge] * 3)
                assert {each.mechanisms["storage"] for each in clients} == {storage}
                await until_found(second, {"before"})
            await first.delete(key)
            for each in clients:
                await each.close()

    run(scenario())


def test_a_user_prefers_peers_and_comes_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = EdgeSite(tmp_path, "hall")
        async with site.edge("hall") as hall, site.client(0, 1) as me:
            await until(lambda: edge_of(me) == hall.number)
            me.prefer("peers")
            await until(lambda: me.mechanisms["storage"] == "cells" and edge_of(me) is None)
            me.prefer("auto")
            await until(lambda: edge_of(me) == hall.number and me.mechanisms["storage"] == "infra")
            with pytest.raises(InvalidArgument, match="expected 'auto', 'edges' or 'peers'"):
                me.prefer("nobody")  # type: ignore[arg-type]
        async with site.client(0, 2, storage="local", edges=()) as other:
            with pytest.raises(Unsupported, match="expected a node that was given edges"):
                other.prefer("peers")

    run(scenario())


def test_answers_that_no_known_edge_has_signed_never_win(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = EdgeSite(tmp_path, "hall", "yard")
        hall, yard = (site.neighbours(0, 0).number_of(each) for each in site.edges)
        false_key = EdgeSigner(load_edge_keys(site.keys / "yard.key"))
        unsigned = await Member(site, yard, "127.0.9.1").open()
        forger = await Member(site, yard + 1, "127.0.9.2", false_key).open()
        me = await site.client(0, 1).open()
        number = me.number
        for _ in range(3):
            asked = len(unsigned.nonces())
            await until(lambda before=asked: len(unsigned.nonces()) > before)
            nonce = unsigned.nonces()[-1]
            unsigned.say(EdgeAnswer(nonce, yard, (COMMON,)), f"@{yard}", number)
            forger.say(EdgeAnswer(nonce, forger.number, (COMMON,)), f"@{forger.number}", number)
            forger.say(EdgeAnswer(nonce, hall, (COMMON,)), f"@{hall}", number)
            forger.say(EdgeBeacon(hall, 1 << 62, COMMON, (number,)), f"@{hall}")
        await until(lambda: refused(me, Refusal.UNSIGNED) >= 10)
        assert edge_of(me) is None
        async with site.edge("hall"):
            await until(lambda: edge_of(me) == hall)
        unsigned.network.close()
        forger.network.close()
        await me.close()

    run(scenario())


def test_a_false_edge_with_the_number_of_a_known_one_is_not_believed(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = EdgeSite(tmp_path, "hall", "yard")
        hall = site.neighbours(0, 0).number_of("hall")
        false_key = EdgeSigner(load_edge_keys(site.keys / "yard.key"))
        forger = await Member(site, hall, "127.0.9.2", false_key).open()
        me = await site.client(0, 1).open()
        await until(lambda: forger.nonces())
        forger.say(EdgeAnswer(forger.nonces()[-1], hall, (COMMON,)), f"@{hall}", me.number)
        forger.say(EdgeBeacon(hall, 1, COMMON, (me.number,)), f"@{hall}")
        await until(lambda: refused(me, Refusal.FORGED) == 2)
        assert edge_of(me) is None
        forger.network.close()
        await me.close()

    run(scenario())


def test_recorded_beacons_are_taken_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = EdgeSite(tmp_path, "hall")
        ear = await Member(site, 99, "127.0.9.9").open()
        hall = await site.edge("hall").open()
        me = await site.client(0, 1).open()
        await until(lambda: len(beacons(ear.heard)) >= 4)
        hall.close()
        ear.network.close()
        await until(lambda: edge_of(me) is None)
        # Somebody plays them again at the place and by the number of the edge that is gone.
        player = await Member(site, hall.number, host_of(0)).open()
        for each in beacons(ear.heard)[-4:]:
            player.send(each)
        await until(lambda: refused(me, Refusal.REPLAYED) == 4)
        assert edge_of(me) is None
        player.network.close()
        await me.close()

    run(scenario())


def test_an_edge_serves_while_it_is_flooded(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = EdgeSite(tmp_path, "hall")
        async with site.edge("hall", most_answers=50) as hall:
            flooder = await Member(site, 77, "127.0.9.9").open()
            me, other = await site.client(0, 1).open(), await site.client(0, 2).open()
            await until(lambda: edge_of(me) == edge_of(other) == hall.number)
            relay, near = hall.node.relay, hall.neighbourhood
            before, began = relay.answers, asyncio.get_running_loop().time()
            address = (host_of(0), site.neighbours(0, 0).port)
            noise = random.Random(1)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as raw:
                raw.bind(("127.0.9.8", free_port()))
                for n in range(2000):
                    flooder.say(EdgeProbe(n), "@")
                    raw.sendto(noise.randbytes(n % (MOST_BYTES + 100)), address)
                    send_garbage(flooder, noise.randbytes(n % 200))
                    if n % 10 == 0:
                        await asyncio.sleep(0)
                await me.insert(b"x", {"a"}, name="meanwhile")
                await until_found(other, {"meanwhile"})
                # Of a flood the system drops what the edge has no time to read: others follow it.
                for size, refusal in ((1, Refusal.TRUNCATED), (MOST_BYTES + 1, Refusal.OVERSIZED)):
                    await until(partial(sent_until, near, refusal, raw, noise.randbytes(size), address))
                while near.refused[Refusal.UNAUTHENTIC] + near.refused[Refusal.VERSION] <= 100:
                    raw.sendto(noise.randbytes(100), address)
                    await asyncio.sleep(0)
                while near.refused[Refusal.MALFORMED] < 100:
                    send_garbage(flooder, noise.randbytes(100))
                    await asyncio.sleep(0)
            assert relay.answers - before <= 50 * (1 + asyncio.get_running_loop().time() - began)
            assert relay.dropped[DropReason.FULL] > 0
            assert edge_of(me) == hall.number
            flooder.network.close()
            await me.close()
            await other.close()

    run(scenario())


def beacons(heard: Sequence[Datagram]) -> list[Datagram]:
    return [each for each in heard if isinstance(each.body, EdgeBeacon)]


def send_garbage(member: Member, content: bytes) -> None:
    """Send bytes that a member has signed, and that are nothing."""
    member.network._send(b"\0" + content, None)


def sent_until(
    near: Neighbourhood, refusal: Refusal, raw: socket.socket, content: bytes, address: tuple[str, int]
) -> bool:
    """Send bytes, unless some have been refused so."""
    raw.sendto(content, address)
    return near.refused[refusal] > 0


def plan_to(routing: str, storage: str) -> Plan:
    return Plan(
        plan=f"to {storage}",
        actions=(Action(proxy="routing", to=routing), Action(proxy="storage", to=storage)),
    )


async def until_found(client: Connection, names: set[str]) -> None:
    """Wait until a client finds all of these."""
    while True:
        found = set()
        async with client.query("a", until="now") as matches:
            async for match in matches:
                found.add(match.key.name)
        if names <= found:
            return
        await asyncio.sleep(0.05)
