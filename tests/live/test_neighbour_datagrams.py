"""Datagrams between live clients on the loopback network, whose sockets are real and lose what tests want."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections.abc import AsyncIterator, Callable

import pytest

from bypass.live.adhoc.datagrams import DatagramGroup, Refusal
from bypass.live.adhoc.link_packets import MOST_PIECE, LinkPacket, LinkPacketKind
from bypass.ports.datagrams import DatagramLoss
from bypass.ports.local_access import NoSuchRadio
from tests.datagram_nodes import Call, Node, datagram
from tests.live.devices import KEY, Device, devices, until
from tests.sim.test_datagrams import Neighbours

pytestmark = pytest.mark.slow

LONG = 200_000


@pytest.fixture
def udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Group:
    """Devices with a node each, who know each other; by their numbers, from 1 on."""

    def __init__(self, made: list[Device]) -> None:
        self.devices = {device.client.host.id: device for device in made}
        self.nodes = {number: Node(each.client, each.neighbourhood) for number, each in self.devices.items()}

    async def meet(self) -> None:
        """Everybody says something to all, until it is known where all are."""
        for node in self.nodes.values():
            node.broadcast(0)
        others = len(self.nodes) - 1
        await until(lambda: all(len(node.calls) == others for node in self.nodes.values()))
        for node in self.nodes.values():
            node.calls.clear()
            node.arrivals.clear()

    async def told(self, sender: int, target: int, number: int) -> None:
        """Wait until a unicast has arrived, or failed."""
        there, here = ("arrived", sender, number), ("failed", sender, number)
        await until(lambda: there in self.nodes[target].calls or here in self.nodes[sender].calls)


@contextlib.asynccontextmanager
async def group(
    count: int, port: int, lost: Callable[[int, int], bool] | None = None
) -> AsyncIterator[Group]:
    """`lost(sender, receiver)` is asked about each UDP datagram, as soon as all have met."""
    met = False

    def in_reach(sender: int, receiver: int) -> bool:
        return not (met and lost is not None and lost(sender, receiver))

    async with devices(count, port=port, in_reach=in_reach) as made:
        together = Group(made)
        await together.meet()
        met = True
        yield together


@pytest.mark.parametrize("size", [1, MOST_PIECE, LONG])
def test_datagrams_arrive_as_they_were_sent(udp_port: int, size: int) -> None:
    async def story() -> None:
        async with group(3, udp_port) as three:
            sent = three.nodes[1].unicast(1, 2, size)
            await until(lambda: three.nodes[2].calls == [("arrived", 1, 1)])
            assert three.nodes[2].arrivals == [sent]
            sent = three.nodes[3].broadcast(2, size)
            await until(lambda: ("arrived", 3, 2) in three.nodes[1].calls)
            await until(lambda: ("arrived", 3, 2) in three.nodes[2].calls)
            assert three.nodes[1].arrivals == [sent]
            assert three.nodes[3].calls == []

    asyncio.run(story())


def test_what_cannot_be_sent_fails(udp_port: int) -> None:
    async def story() -> None:
        async with group(2, udp_port) as two:
            node, nearby = two.nodes[1], two.devices[1].neighbourhood
            node.unicast(1, 99)
            await until(lambda: node.calls == [("failed", 1, 1)])
            nearby.switch("wifi", False)
            node.unicast(2, 2)
            node.broadcast(3)
            await until(lambda: node.calls[1:] == [("failed", 1, 2)])
            nearby.switch("wifi", True)
            node.unicast(4, 2)  # who has been off does not know who is there
            await until(lambda: node.calls[2:] == [("failed", 1, 4)])
            assert nearby.link.losses == {DatagramLoss.UNKNOWN: 2, DatagramLoss.SWITCHED_OFF: 2}
            with pytest.raises(NoSuchRadio):
                nearby.transmit_datagram("infrared", datagram(1, 5), None, lambda _: None)
            two.devices[1].client.engine.transition("transport", "nothing")
            node.unicast(6, 2)
            await until(lambda: node.calls[3:] == [("failed", 1, 6)])
            assert node.outlet.dropped == 1
            assert two.nodes[2].calls == []

    asyncio.run(story())


def test_a_neighbour_that_goes_silent_is_given_up(udp_port: int) -> None:
    async def story() -> None:
        async with group(2, udp_port) as two:
            two.devices[2].neighbourhood.switch("wifi", False)
            two.nodes[1].unicast(1, 2)
            two.nodes[1].unicast(2, 2, LONG)
            await until(lambda: two.nodes[1].calls == [("failed", 1, 1), ("failed", 1, 2)])
            assert two.devices[1].neighbourhood.link.losses == {DatagramLoss.UNACKNOWLEDGED: 2}
            assert two.nodes[2].calls == []

    asyncio.run(story())


def test_every_third_packet_is_lost_and_all_unicasts_arrive_once_or_fail(udp_port: int) -> None:
    chance = random.Random(1)

    async def story() -> None:
        async with group(3, udp_port, lambda *_: chance.random() < 0.3) as three:
            sent = {}
            for number in range(60):
                sender, target = number % 3 + 1, (number + 1) % 3 + 1
                sent[sender, number] = target
                three.nodes[sender].unicast(number, target, 1 + number * 60)

            def fate(sender: int, number: int) -> int:
                arrived = three.nodes[sent[sender, number]].count("arrived", sender, number)
                failed = three.nodes[sender].count("failed", sender, number)
                assert max(arrived, failed) <= 1
                return arrived + failed

            await until(lambda: all(fate(*each) for each in sent))
            arrived = sum(call[0] == "arrived" for node in three.nodes.values() for call in node.calls)
            links = [device.neighbourhood.link for device in three.devices.values()]
            assert arrived > 50
            assert sum(link.sender.retransmitted for link in links) > 20
            assert sum(link.duplicates for link in links) > 5

    asyncio.run(story())


def test_a_flood_from_one_member_does_not_starve_others(udp_port: int) -> None:
    """A member sends pieces, acknowledgements and unicasts as fast as it can; two others go on talking."""

    async def story() -> None:
        async with group(2, udp_port) as two:
            with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as flood:
                flood.bind(("127.0.0.77", udp_port))
                member = DatagramGroup(KEY, 77)

                def burst(start: int) -> None:
                    for number in range(start, start + 300):
                        piece = LinkPacket(LinkPacketKind.BROADCAST, 0, 1, number, 0, 9, bytes(MOST_PIECE))
                        unasked = LinkPacket(LinkPacketKind.ACK, 2, 1, number)
                        for packet in (piece, unasked):
                            flood.sendto(member.seal(packet.pack()), ("127.0.0.2", udp_port))

                for number in range(30):
                    burst(1 + 300 * number)
                    two.nodes[1].unicast(number, 2, 3000)
                    await two.told(1, 2, number)
            assert two.nodes[2].calls == [("arrived", 1, number) for number in range(30)]
            flooded = two.devices[2].neighbourhood
            assert flooded.refused[Refusal.UNASKED] > 0
            assert flooded.link.losses[DatagramLoss.INCOMPLETE] > 0

    asyncio.run(story())


def test_who_speaks_in_the_name_of_another_is_refused(udp_port: int) -> None:
    """The datagram in a packet has to say the same sender as the packet."""

    async def story() -> None:
        async with group(2, udp_port) as two:
            link, nearby = two.devices[1].neighbourhood, two.devices[2].neighbourhood
            link.transmit_datagram("wifi", datagram(3, 1), 2, lambda _: None)
            await until(lambda: nearby.refused[Refusal.MALFORMED] == 1)
            assert two.nodes[2].calls == []

    asyncio.run(story())


@pytest.mark.parametrize("seed", range(3))
def test_the_medium_and_the_link_make_the_same_calls(udp_port: int, seed: int) -> None:
    """Numbers in the simulator are one less."""
    chance = random.Random(seed)
    deeds: list[tuple[int, int | None, int]] = []
    for _ in range(40):
        who, whom = chance.randint(1, 4), chance.choice([None, 1, 2, 3, 4, 99])
        deeds.append((who, None if whom == who else whom, chance.choice([0, 1, 1300, 1500, 20_000])))

    simulated = Neighbours([(10.0 * number, 0.0) for number in range(4)])
    expected: list[dict[int, list[Call]]] = []
    for number, (who, whom, size) in enumerate(deeds):
        if whom is None:
            simulated.nodes[who - 1].broadcast(number, size)
        else:
            simulated.nodes[who - 1].unicast(number, whom - 1, size)
        simulated.run(2.0)
        expected.append({node.id + 1: list(node.calls) for node in simulated.nodes})

    async def story() -> None:
        async with group(4, udp_port) as live:
            for number, (who, whom, size) in enumerate(deeds):
                if whom is None:
                    live.nodes[who].broadcast(number, size)
                else:
                    live.nodes[who].unicast(number, whom, size)
                for each, calls in expected[number].items():
                    same = [(what, sender + 1, which) for what, sender, which in calls]
                    await until(lambda node=live.nodes[each], same=same: node.calls == same)  # type: ignore[misc]

    asyncio.run(story())
