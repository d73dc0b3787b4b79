"""UDP sockets in the local networks of a device."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv4Interface
from typing import NamedTuple

from bypass.errors import BypassError, shown
from bypass.live.addresses import LARGEST_PORT


class InvalidInterface(BypassError):
    """An interface that is none to a network with a broadcast address, or not one of this device."""


class DiscoveryGroup(NamedTuple):
    """The multicast group and the port where edges are asked for, in the same network alone (TTL 1)."""

    group: IPv4Address
    port: int


class DatagramListener(asyncio.DatagramProtocol):
    """Hands on datagrams that a socket receives."""

    def __init__(self, arrived: Callable[[bytes, tuple[str, int]], None]) -> None:
        self.datagram_received = arrived  # type: ignore[assignment] # addresses are IPv4 ones


class NetworkSockets:
    """The way into one network: a socket for what is meant for this device, which also sends, and one for
    what is meant for all, which other clients on this device may share."""

    def __init__(self, interface: IPv4Interface, port: int) -> None:
        self.address = packed_address(interface.ip, port)
        self._interface = interface
        self._port = port
        self._everybody = str(interface.network.broadcast_address)
        self._own: socket.socket | None = None
        self._transports: list[asyncio.DatagramTransport] = []

    async def open(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: Callable[[], DatagramListener],
        discovery: DiscoveryGroup | None = None,
    ) -> None:
        """Listen, also in a multicast group if one is given. Raises InvalidInterface."""
        own = self._socket(str(self._interface.ip), self._port, socket.SO_BROADCAST)
        own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, self._interface.ip.packed)
        own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        await self._listen(loop, listener, own)
        await self._listen(loop, listener, self._socket(self._everybody, self._port, socket.SO_REUSEADDR))
        if discovery is not None:
            await self._listen(loop, listener, self._member(discovery))
        self._own = own

    def close(self) -> None:
        for transport in self._transports:
            transport.close()
        self._transports.clear()
        self._own = None

    def leads_to(self, target: int) -> bool:
        """Say whether a device with this address can be in this network."""
        network = self._interface.network
        first, last = int(network.network_address), int(network.broadcast_address)
        return first < target >> 16 < last and target & 0xFFFF != 0

    def send(self, data: bytes, target: int | None) -> None:
        """Send to the device with this address, or to all. Raises OSError.

        Directly: what waits to be sent waits in the system, which never has much.
        """
        assert self._own is not None
        if target is None:
            self._own.sendto(data, (self._everybody, self._port))
        else:
            self._own.sendto(data, (str(IPv4Address(target >> 16)), target & 0xFFFF))

    def send_to_group(self, data: bytes, discovery: DiscoveryGroup) -> None:
        """Send to all in a multicast group in this network. Raises OSError."""
        assert self._own is not None
        self._own.sendto(data, (str(discovery.group), discovery.port))

    async def _listen(
        self, loop: asyncio.AbstractEventLoop, listener: Callable[[], DatagramListener], at: socket.socket
    ) -> None:
        transport, _ = await loop.create_datagram_endpoint(listener, sock=at)
        self._transports.append(transport)

    def _member(self, discovery: DiscoveryGroup) -> socket.socket:
        joined = self._socket(str(discovery.group), discovery.port, socket.SO_REUSEADDR)
        membership = discovery.group.packed + self._interface.ip.packed
        try:
            joined.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
        except OSError as error:
            joined.close()
            raise InvalidInterface(
                f"interface {self._interface}: multicast group {discovery.group}: {error.strerror}:"
                " expected a network with multicast"
            ) from error
        return joined

    def _socket(self, host: str, port: int, option: int) -> socket.socket:
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            opened.setsockopt(socket.SOL_SOCKET, option, 1)
            opened.setblocking(False)
            opened.bind((host, port))
        except OSError as error:
            opened.close()
            raise InvalidInterface(
                f"interface {self._interface}: {host} port {port}: {error.strerror}:"
                " expected an address of this device, the prefix of its network, and a free port"
            ) from error
        return opened


def parse_interfaces(texts: Sequence[str], port: int) -> list[IPv4Interface]:
    """Raises InvalidInterface, also for a port that is none."""
    if not isinstance(texts, list | tuple):
        raise InvalidInterface(f"interfaces {shown(texts)}: expected a tuple of them")
    if not texts:
        raise InvalidInterface("no interfaces: expected at least one, such as 192.168.1.5/24")
    if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= LARGEST_PORT:
        raise InvalidInterface(f"port {shown(port)}: expected 1 to {LARGEST_PORT}")
    return [_interface(text) for text in texts]


def parse_discovery(text: str) -> DiscoveryGroup:
    """Raises InvalidInterface for what is no multicast group and port."""
    host, _, port = text.rpartition(":") if isinstance(text, str) else ("", "", "")
    try:
        group = IPv4Address(host)
    except AddressValueError:
        group = IPv4Address(0)
    number = int(port) if port.isascii() and port.isdecimal() and len(port) <= 5 else 0
    if not group.is_multicast or not 1 <= number <= LARGEST_PORT:
        raise InvalidInterface(
            f"discovery {shown(text)}: expected a multicast group and a port, such as 227.7.12.95:8999"
        )
    return DiscoveryGroup(group, number)


def _interface(text: str) -> IPv4Interface:
    try:
        interface = IPv4Interface(text)
    except (ValueError, TypeError):
        interface = None
    if interface is None or interface.network.prefixlen > 30:  # longer ones have no broadcast address
        raise InvalidInterface(
            f"interface {shown(text)}: expected an IPv4 address with the length of its network's prefix,"
            " such as 192.168.1.5/24"
        )
    return interface


def packed_address(host: IPv4Address, port: int) -> int:
    return int(host) << 16 | port
