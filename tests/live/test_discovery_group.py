"""The multicast group in which edges are asked for: what is sent there stays in its network."""

from __future__ import annotations

import asyncio
import socket
import sys
from ipaddress import IPv4Interface

from bypass.live.adhoc.sockets import DatagramListener, NetworkSockets, parse_discovery
from tests.live.edge_site import free_port

IP_RECVTTL = 12  # of Linux, for which Python has no name


def test_what_is_sent_to_the_group_is_passed_on_by_no_router() -> None:
    """Its TTL is 1, as whoever is in the group sees."""
    group = parse_discovery(f"227.7.12.95:{free_port()}")

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        sender = NetworkSockets(IPv4Interface("127.0.5.1/8"), free_port())
        await sender.open(loop, lambda: DatagramListener(lambda _, __: None))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
            ear.settimeout(10.0)
            ear.bind((str(group.group), group.port))
            here = socket.inet_aton("127.0.5.1")
            ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group.group.packed + here)
            ear.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
            sender.send_to_group(b"probe", group)
            data, told, _, _ = ear.recvmsg(100, socket.CMSG_SPACE(4))
            assert data == b"probe"
            assert [
                int.from_bytes(value, sys.byteorder) for _, kind, value in told if kind == socket.IP_TTL
            ] == [1]
        sender.close()

    asyncio.run(scenario())
