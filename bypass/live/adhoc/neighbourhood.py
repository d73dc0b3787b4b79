"""Devices nearby on a local network: what a client's radios and ports are in the simulator, over UDP.

Whoever is on the same network hears. A frame is one UDP datagram, to the network's broadcast address or to
one device; like a frame on the air it may be lost, and nobody is told. Datagrams of routing go by a link that
repeats those for one neighbour until they are acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Protocol

from bypass.live.adhoc.datagrams import MOST_CONTENT, DatagramGroup, Refusal
from bypass.live.adhoc.link import NeighbourLink
from bypass.live.adhoc.link_packets import is_link_packet
from bypass.live.adhoc.port import Copies, LivePort
from bypass.live.adhoc.radio import check_radio
from bypass.live.adhoc.sockets import (
    DatagramListener,
    DiscoveryGroup,
    NetworkSockets,
    packed_address,
    parse_interfaces,
)
from bypass.ports.datagrams import DatagramReceiver, Failed, KnownWays, NoKnownWays
from bypass.ports.local_access import PORTS, Unless
from bypass.protocol.messages import Frame, Message
from bypass.protocol.wire import CODEC, Codec, MalformedMessage, UnknownVersion
from bypass.support.units import MICROSECONDS

if TYPE_CHECKING:
    from bypass.protocol.datagrams import Datagram

PORT = 7701
MOST_WAITING = 1024  # frames that are to be sent later

_log = logging.getLogger(__name__)


class EdgeGuard(Protocol):
    """Has what edges say signed, or checked."""

    def outgoing(self, datagram: Datagram) -> Datagram:
        """Give a datagram as it is to be sent."""

    def refusal(self, datagram: Datagram) -> Refusal | None:
        """Say why a datagram that has arrived is not taken; None if it is."""


class Neighbourhood:
    """The `LocalAccess` of the client with this number, whose neighbours have the same `key`.

    `interfaces` are this device's addresses in the networks that it hears and speaks in, each with the length
    of the network's prefix: `192.168.1.5/24`. All members use the same UDP port. What `key` is good for,
    and what it is not, is said at `DatagramGroup`. Frames go to addresses in these networks alone: nobody can
    have them sent elsewhere by giving a false address. A network has one radio, `wifi`, whatever its cables.

    `drop` is asked about each UDP datagram, by its sender's address, whether it is to get lost: for tests in
    which not everybody hears everybody. The waits of `link`, which carries datagrams of routing, have
    `jitter` from this stream.

    Edges are asked for in the multicast group `discovery`, and at `hosts`; an edge `listens` in the group.
    `guard` has to take what edges say before routing hears of it; without one no edge is known, and nothing
    of the kind is taken.

    What is counted: frames `called_off` because enough copies were heard, `too_long` ones that do not fit a
    UDP datagram, those `dropped` because the radio was off or too much waits to be sent; `sent` UDP
    datagrams, one in each network for a frame to all, and those `failed` that the system did not send; and of
    what arrived `received` frames and UDP datagrams `refused`. Of datagrams of routing, those that were
    `received_datagrams`, and what `link` counts. Belongs to the thread of `loop`.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        number: int,
        key: bytes,
        *,
        interfaces: Sequence[str],
        port: int = PORT,
        codec: Codec = CODEC,
        drop: Callable[[int], bool] | None = None,
        jitter: random.Random | None = None,
        discovery: DiscoveryGroup | None = None,
        hosts: Sequence[IPv4Address] = (),
        listens: bool = False,
        guard: EdgeGuard | None = None,
    ) -> None:
        """Raises InvalidInterface and InvalidGroupKey."""
        self.sent = 0
        self.called_off = 0
        self.too_long = 0
        self.dropped = 0
        self.failed = 0
        self.received = 0
        self.received_datagrams = 0
        self.refused: Counter[Refusal] = Counter()
        self._loop = loop
        self._codec = codec
        self._group = DatagramGroup(key, number)
        self._networks = [NetworkSockets(each, port) for each in parse_interfaces(interfaces, port)]
        self._drop = drop
        self._discovery = discovery
        self._hosts = [packed_address(each, port) for each in hosts]
        self._listens = listens
        self._guard = guard
        self._is_open = False
        self.is_on = False
        self._ports = [LivePort(each, number, self._now_us) for each in range(PORTS)]
        self._waiting: set[asyncio.TimerHandle] = set()
        self.address: int = self._networks[0].address
        self.link = NeighbourLink(number, self._send, loop.call_later, loop.time, jitter or random.Random())
        self._routing: DatagramReceiver | None = None

    async def open(self) -> None:
        """From now on the radio can be turned on. Raises InvalidInterface if the addresses cannot be used."""
        joined = self._discovery if self._listens else None
        try:
            for network in self._networks:
                await network.open(self._loop, lambda: DatagramListener(self._arrived), joined)
        except BaseException:
            self.close()
            raise
        self._is_open = True

    def close(self) -> None:
        """Nothing is sent or heard any more."""
        self._is_open = False
        for network in self._networks:
            network.close()
        for timer in self._waiting:
            timer.cancel()
        self._waiting.clear()
        self.link.clear()

    # -- the client's side --------------------------------------------------------------------------------

    @property
    def radios(self) -> Neighbourhood:
        return self

    def port(self, number: int) -> LivePort:
        return self._ports[number]

    def switch(self, radio: str, on: bool) -> None:
        """Raises NoSuchRadio."""
        check_radio(radio)
        self.is_on = on
        if not on:
            for port in self._ports:
                port.forget_neighbours()
            self.link.clear()

    def transmit(self, radio: str, frame: Frame, target: int | None, delay: float, unless: Unless) -> None:
        """Several events that do not fit a datagram go into several; what does not fit alone is not sent.

        Raises NoSuchRadio, and MalformedMessage for an event that cannot travel.
        """
        check_radio(radio)
        content, events = self._codec.encode(frame), frame.publications
        if len(content) > MOST_CONTENT:
            if len(events) > 1:
                half = len(events) // 2
                for part in (events[:half], events[half:]):
                    self.transmit(radio, replace(frame, publications=part), target, delay, unless)
                return
            if not self.too_long:
                _log.warning("frame of %d bytes not sent: expected at most %d", len(content), MOST_CONTENT)
            self.too_long += 1
            return
        known = self._ports[frame.port].sending(events)
        if delay <= 0.0:
            self._release(content, known, target, unless)
        elif len(self._waiting) >= MOST_WAITING:
            self.dropped += 1
        else:
            self._wait(content, known, target, delay, unless)

    def transmit_datagram(
        self, radio: str, datagram: Datagram, neighbour: int | None, failed: Failed
    ) -> bool:
        """Raises NoSuchRadio, and MalformedMessage for a datagram that cannot travel."""
        from bypass.protocol.datagrams import EdgeProbe

        check_radio(radio)
        sender = self.link.sender
        if not (self.is_on and self._is_open):
            sender.refuse(neighbour, failed)
        elif isinstance(datagram.body, EdgeProbe) and self._discovery is not None:
            self._ask_for_edges(sender.packet_for_all(self._codec.encode(datagram)), self._discovery)
        else:
            outgoing = datagram if self._guard is None else self._guard.outgoing(datagram)
            sender.transmit(self._codec.encode(outgoing), neighbour, failed)
        return True

    def hear_datagrams(self, receiver: DatagramReceiver) -> KnownWays:
        self._routing = receiver
        return NoKnownWays()

    # -- sending ------------------------------------------------------------------------------------------

    def _wait(
        self, content: bytes, known: list[Copies], target: int | None, delay: float, unless: Unless
    ) -> None:
        for copies in known:
            copies.waiting += 1

        def due() -> None:
            self._waiting.remove(timer)
            for copies in known:
                copies.waiting -= 1
            self._release(content, known, target, unless)

        timer = self._loop.call_later(delay, due)
        self._waiting.add(timer)

    def _release(self, content: bytes, known: list[Copies], target: int | None, unless: Unless) -> None:
        if known and known[0].calls_off(unless):
            self.called_off += 1
        elif not (self.is_on and self._is_open):
            self.dropped += 1
        else:
            self._send(content, target)

    def _send(self, content: bytes, target: int | None) -> None:
        networks = self._networks
        if target is not None:
            networks = [network for network in networks if network.leads_to(target)][:1]
        self.failed += not networks
        data = self._group.seal(content)
        for network in networks:
            self._attempt(partial(network.send, data, target))

    def _ask_for_edges(self, content: bytes, discovery: DiscoveryGroup) -> None:
        """Send to those who listen for this, and to hosts that were named: one that hears both takes one."""
        data = self._group.seal(content)
        for network in self._networks:
            self._attempt(partial(network.send_to_group, data, discovery))
            for host in self._hosts:
                if network.leads_to(host):
                    self._attempt(partial(network.send, data, host))

    def _attempt(self, send: Callable[[], None]) -> None:
        try:
            send()
        except BlockingIOError:
            self.dropped += 1
        except OSError as error:
            self.failed += 1
            _log.debug("frame not sent: %s", error)
        else:
            self.sent += 1

    # -- receiving ----------------------------------------------------------------------------------------

    def _arrived(self, data: bytes, source: tuple[str, int]) -> None:
        if not self.is_on:
            return
        address = packed_address(IPv4Address(source[0]), source[1])
        if self._drop is not None and self._drop(address):
            return
        network = next((n for n, network in enumerate(self._networks) if network.leads_to(address)), -1)
        opened = self._group.open(data, (network, address))
        if opened is Refusal.OWN and all(address != each.address for each in self._networks):
            opened = self._namesake_heard(source[0])
        if isinstance(opened, Refusal):
            self.refused[opened] += 1
            return
        sender, content = opened
        self.link.sender.heard(sender, address)
        if is_link_packet(content):
            self._packet_arrived(sender, address, content)
            return
        frame = self._decoded(content)
        if frame is None:
            return
        if (
            not isinstance(frame, Frame)
            or frame.client != sender
            or frame.port >= PORTS
            or any(each.id >> 32 != each.client for each in frame.publications)  # not its publisher's number
        ):
            self.refused[Refusal.MALFORMED] += 1
            return
        self.received += 1
        self._ports[frame.port].arrived(frame)

    def _namesake_heard(self, address: str) -> Refusal:
        """Another address speaks under this device's number. A warning says so the first time."""
        if not self.refused[Refusal.NAMESAKE]:
            _log.warning(
                "datagram with this node's own number from %s: expected a name that no other node has",
                address,
            )
        return Refusal.NAMESAKE

    def _packet_arrived(self, sender: int, address: int, content: bytes) -> None:
        from bypass.protocol.datagrams import Datagram  # a client that stores nothing does not load them

        taken = self.link.arrived(sender, address, content)
        if isinstance(taken, Refusal):
            self.refused[taken] += 1
        elif taken is not None and (datagram := self._decoded(taken)) is not None:
            if not isinstance(datagram, Datagram) or datagram.client != sender:
                self.refused[Refusal.MALFORMED] += 1
                return
            if (untrue := self._refusal(datagram)) is not None:
                self.refused[untrue] += 1
                return
            self.received_datagrams += 1
            if self._routing is not None:
                self._routing.arrived(datagram)

    def _refusal(self, datagram: Datagram) -> Refusal | None:
        if self._guard is None:
            from bypass.live.edge.signatures import EdgeVerifier

            self._guard = EdgeVerifier({})
        return self._guard.refusal(datagram)

    def _decoded(self, content: bytes) -> Message | None:
        """Decode a message; None, and it is counted, if it is none."""

        try:
            return self._codec.decode(content)
        except UnknownVersion:
            self.refused[Refusal.VERSION] += 1
        except MalformedMessage:
            self.refused[Refusal.MALFORMED] += 1
        return None

    def _now_us(self) -> int:
        return round(self._loop.time() * MICROSECONDS)
