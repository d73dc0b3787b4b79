"""The link that carries datagrams to neighbours over UDP, and takes those that arrive, each once."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from bypass.live.adhoc.datagrams import MOST_SENDERS, Refusal
from bypass.live.adhoc.link_packets import LinkPacket, LinkPacketKind, unpack
from bypass.live.adhoc.link_sender import After, LinkSender, SendContent
from bypass.live.adhoc.member_budget import MemberBudget
from bypass.live.adhoc.reassembly import LONGEST_PAUSE_S, Reassembly
from bypass.ports.datagrams import DatagramLoss


class NeighbourLink:
    """The link of the device with this number.

    `send(content, address)` sends a UDP datagram, which may be lost, to an address or to all. `after` sets
    timers, `clock` gives seconds, and the jitter of retransmissions is drawn from `random`.

    A unicast is acknowledged if it is new and can be taken, or has been taken before: then an earlier
    acknowledgement was lost, and it is one of the `duplicates`. A piece whose predecessors are not there any
    more is not acknowledged, so that its sender gives the datagram up.
    """

    def __init__(
        self, number: int, send: SendContent, after: After, clock: Callable[[], float], random: Random
    ) -> None:
        self.sender = LinkSender(send, after, random)
        self.losses = self.sender.losses
        self.duplicates = 0
        self._number = number
        self._after = after
        self._taken: dict[int, tuple[int, int]] = {}  # session and number of the latest unicast, by sender
        self._budget = MemberBudget(clock)
        self._reassembly = Reassembly(clock)
        self._watched = False  # whether it is looked after pieces that wait for others

    def arrived(self, sender: int, source: int, content: bytes) -> bytes | Refusal | None:
        """Take a packet from an address; gives the datagram that is complete with it, if one is, or why the
        packet is refused. The sender must have been heard."""
        if not self._budget.takes(source):
            return Refusal.TOO_MANY
        packet = unpack(content)
        if packet is None:
            return Refusal.MALFORMED
        if packet.kind is LinkPacketKind.BROADCAST:
            return self._add(source, sender, packet)
        if packet.target != self._number:
            return Refusal.STRAY
        if packet.kind is LinkPacketKind.ACK:
            return None if self.sender.acknowledged(sender, packet) else Refusal.UNASKED
        return self._unicast(source, sender, packet)

    def clear(self) -> None:
        """Forget everything but what has been taken: the radio was turned off."""
        self.sender.clear()
        self._reassembly.clear()
        self._count_forgotten()

    def _unicast(self, source: int, sender: int, packet: LinkPacket) -> bytes | Refusal | None:
        latest, this = self._taken.get(sender, (0, 0)), (packet.session, packet.number)
        if packet.session < latest[0]:
            return Refusal.OUTDATED
        if this <= latest:
            # Its sender has had an acknowledgement, or has given up: otherwise nothing newer had come.
            self.duplicates += 1
            self.sender.acknowledge(sender, packet)
            return None
        if not self._reassembly.expects(source, sender, packet):
            return Refusal.OUT_OF_ORDER
        self._taken.pop(sender, None)
        if len(self._taken) == MOST_SENDERS:
            del self._taken[next(iter(self._taken))]
        self._taken[sender] = this
        self.sender.acknowledge(sender, packet)
        return self._add(source, sender, packet)

    def _add(self, source: int, sender: int, packet: LinkPacket) -> bytes | None:
        data = self._reassembly.add(source, sender, packet)
        self._count_forgotten()
        if self._reassembly and not self._watched:
            self._watched = True
            self._after(LONGEST_PAUSE_S, self._expire)
        return data

    def _expire(self) -> None:
        self._watched = False
        self._reassembly.expire()
        self._count_forgotten()
        if self._reassembly:
            self._watched = True
            self._after(LONGEST_PAUSE_S, self._expire)

    def _count_forgotten(self) -> None:
        if self._reassembly.forgotten:
            self.losses[DatagramLoss.INCOMPLETE] += self._reassembly.forgotten
            self._reassembly.forgotten = 0
