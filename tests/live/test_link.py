"""The link to neighbours, whatever gets lost, late or out of order on its way, in virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.live.adhoc.datagrams import Refusal
from bypass.live.adhoc.link import NeighbourLink
from bypass.live.adhoc.link_packets import (
    MOST_PARTS,
    MOST_PIECE,
    LinkPacket,
    LinkPacketKind,
    is_link_packet,
    pieces,
    unpack,
)
from bypass.live.adhoc.link_sender import BYTES_OF_NEIGHBOUR, MOST_WAITING, RETRIES
from bypass.live.adhoc.member_budget import MOST_AT_ONCE, PACKETS_PER_S
from bypass.live.adhoc.reassembly import (
    BYTES_OF_SOURCE,
    LONGEST_PAUSE_S,
    MOST_BYTES,
    MOST_OF_SOURCE,
    Reassembly,
)
from bypass.ports.datagrams import DatagramLoss
from bypass.sim.clock import VirtualClock

ACK, BROADCAST, UNICAST = LinkPacketKind.ACK, LinkPacketKind.BROADCAST, LinkPacketKind.UNICAST


def nobody(_: DatagramLoss) -> None:
    """Nobody waits for it."""


def no_time() -> float:
    """A clock that stands still."""
    return 0.0


class Air:
    """Links numbered from 1 on, and what is between them: `fate(content)` says how late each copy of a packet
    is, in seconds, or None for one that is lost. `arrived` are receiver, sender and datagram."""

    def __init__(self, count: int, fate: Callable[[bytes], float | None] = lambda _: 0.001) -> None:
        self.clock = VirtualClock()
        self.fate = fate
        self.arrived: list[tuple[int, int, bytes]] = []
        self.failed: list[object] = []
        self.refused: list[Refusal] = []
        self.packets = 0
        self.links: dict[int, NeighbourLink] = {}
        for number in range(1, count + 1):
            self.start(number)

    def start(self, number: int) -> None:
        """A link begins, or begins anew."""
        clock = self.clock

        def send(content: bytes, address: int | None) -> None:
            self.packets += 1
            assert is_link_packet(content)
            for target in self.links if address is None else [address]:
                late = self.fate(content) if target != number else None
                if late is not None:
                    clock.after(late, self.deliver, number, target, content)

        link = NeighbourLink(number, send, clock.after, clock.now, random.Random(number))
        for other, known in self.links.items():
            link.sender.heard(other, other)
            known.sender.heard(number, number)
        self.links[number] = link

    def deliver(self, sender: int, target: int, content: bytes) -> None:
        link = self.links[target]
        link.sender.heard(sender, sender)
        taken = link.arrived(sender, sender, content)
        if isinstance(taken, Refusal):
            self.refused.append(taken)
        elif taken is not None:
            self.arrived.append((target, sender, taken))

    def unicast(self, sender: int, target: int, data: bytes, name: object = None) -> None:
        self.links[sender].sender.transmit(data, target, lambda _: self.failed.append(name))

    def broadcast(self, sender: int, data: bytes) -> None:
        self.links[sender].sender.transmit(data, None, nobody)

    def run(self, seconds: float = 60.0) -> None:
        self.clock.run_until(self.clock.now_us + round(seconds * 1e6))


def some_data(size: int, salt: int = 0) -> bytes:
    return random.Random(size * 1000 + salt).randbytes(size)


# -- without loss -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, MOST_PIECE, MOST_PIECE + 1, 10 * MOST_PIECE, 100_000])
def test_datagrams_arrive_as_they_were_sent(size: int) -> None:
    air = Air(3)
    data = some_data(size)
    air.unicast(1, 2, data)
    air.run()
    assert air.arrived == [(2, 1, data)]
    assert air.packets == 2 * len(pieces(data))  # each piece, and its acknowledgement
    air.broadcast(3, data)
    air.run()
    assert air.arrived[1:] == [(1, 3, data), (2, 3, data)]
    assert air.failed == air.refused == []


def test_datagrams_for_one_neighbour_arrive_in_order() -> None:
    air = Air(2)
    sent = [some_data(size, k) for k, size in enumerate([5, 4000, 1, 9000, 7])]
    for data in sent:
        air.unicast(1, 2, data)
    air.run()
    assert [data for _, _, data in air.arrived] == sent


def test_long_broadcasts_are_sent_at_a_measured_pace() -> None:
    air = Air(2)
    size = 1000 * MOST_PIECE
    for _ in range(10):
        air.broadcast(1, some_data(size // 10))
    air.run(0.5)
    assert 450 < air.packets < 550
    air.run()
    assert len(air.arrived) == 10


# -- failure ----------------------------------------------------------------------------------------------


def test_a_neighbour_that_was_never_heard_is_not_known() -> None:
    air = Air(1)
    air.unicast(1, 7, b"x", "x")
    assert air.failed == []  # not before the call has returned
    air.run()
    assert air.failed == ["x"]
    assert air.links[1].losses == {DatagramLoss.UNKNOWN: 1}
    assert air.packets == 0


def test_what_is_not_acknowledged_is_repeated_and_given_up() -> None:
    air = Air(2, lambda _: None)
    air.unicast(1, 2, some_data(5000), "long")
    air.unicast(1, 2, b"x", "x")
    times = []
    air.fate = lambda _: times.append(air.clock.now())
    air.run()
    assert air.failed == ["long", "x"]
    assert air.links[1].losses == {DatagramLoss.UNACKNOWLEDGED: 2}
    assert air.packets == 2 * (RETRIES + 1)
    assert air.links[1].sender.retransmitted == 2 * RETRIES
    waits = [b - a for a, b in zip([0.0, *times], times, strict=False)][:RETRIES]
    for wait, least in zip(waits, [0.03, 0.06, 0.12, 0.24, 0.4, 0.4], strict=True):
        assert least <= wait <= 1.5 * least
    assert waits[4] != waits[5]  # there is jitter


def test_a_lost_acknowledgement_does_not_double_a_datagram() -> None:
    air = Air(2)
    acks = iter([None, None, 0.001])
    air.fate = lambda content: next(acks) if unpack(content) is not None and content[2] == ACK else 0.001
    air.unicast(1, 2, b"once")
    air.run()
    assert air.arrived == [(2, 1, b"once")]
    assert air.failed == []
    assert air.links[2].duplicates == 2


def test_if_all_acknowledgements_are_lost_it_arrives_and_fails() -> None:
    air = Air(2, lambda content: None if content[2] == ACK else 0.001)
    air.unicast(1, 2, b"x", "x")
    air.run()
    assert (air.arrived, air.failed) == ([(2, 1, b"x")], ["x"])


def test_what_comes_after_its_sender_has_given_up_is_not_taken() -> None:
    """A packet is late by more than all retries, and something newer has come meanwhile."""
    late = iter([50.0] * (RETRIES + 1))
    air = Air(2)
    air.fate = lambda content: next(late, 0.001) if content[2] == UNICAST else 0.001
    air.unicast(1, 2, b"old", "old")
    air.run(10.0)
    assert air.failed == ["old"]
    air.unicast(1, 2, b"new", "new")
    air.run(100.0)
    assert air.arrived == [(2, 1, b"new")]
    assert air.failed == ["old"]


def test_a_receiver_that_begins_anew_does_not_acknowledge_the_rest_of_a_datagram() -> None:
    air = Air(2)
    air.unicast(1, 2, some_data(100 * MOST_PIECE), "long")
    air.run(0.05)
    air.start(2)
    air.unicast(1, 2, b"next", "next")
    air.run()
    assert air.arrived == [(2, 1, b"next")]
    assert air.failed == ["long"]
    assert set(air.refused) == {Refusal.OUT_OF_ORDER}


def test_a_sender_that_begins_anew_is_heard_and_what_it_sent_before_is_not() -> None:
    air = Air(2)
    late: list[float | None] = [None]
    air.fate = lambda _: late[0]
    air.unicast(1, 2, b"first")
    air.run(0.01)
    late[0] = 5.0
    air.run(0.05)  # the repetition is on its way, and late
    late[0] = 0.001
    air.start(1)
    air.unicast(1, 2, b"second")
    air.run()
    assert air.arrived == [(2, 1, b"second")]
    assert Refusal.OUTDATED in air.refused


def test_what_waits_when_the_radio_is_turned_off_fails_once() -> None:
    air = Air(2, lambda _: None)
    for number in range(5):
        air.unicast(1, 2, some_data(3000), number)
    air.broadcast(1, some_data(100_000))
    air.run(0.05)
    air.links[1].clear()
    assert air.failed == []
    air.run()
    assert air.failed == list(range(5))
    assert air.links[1].losses == {DatagramLoss.SWITCHED_OFF: 6}
    before = air.packets
    air.unicast(1, 2, b"x", "x")  # nobody is in reach any more
    air.run()
    assert air.packets == before
    assert air.failed[-1] == "x"


def test_only_so_much_waits_for_one_neighbour() -> None:
    air = Air(3, lambda content: None if unpack(content).target == 2 else 0.001)  # type: ignore[union-attr]
    for number in range(MOST_WAITING + 3):
        air.unicast(1, 2, b"x", number)
    air.unicast(1, 3, b"to another")
    air.run(0.01)
    assert air.failed == [MOST_WAITING, MOST_WAITING + 1, MOST_WAITING + 2]
    assert air.links[1].losses == {DatagramLoss.NO_ROOM: 3}
    assert air.arrived == [(3, 1, b"to another")]
    other = Air(2, lambda _: None)
    for number in range(6):
        other.unicast(1, 2, bytes(BYTES_OF_NEIGHBOUR // 4), number)
    other.run(0.01)
    assert other.failed == [4, 5]


# -- hostile packets --------------------------------------------------------------------------------------


@given(st.binary(max_size=60).map(lambda rest: b"\0" + rest))
def test_whatever_a_member_sends_is_refused_or_taken(content: bytes) -> None:
    air = Air(2)
    air.deliver(1, 2, content)
    air.run(1.0)


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (LinkPacket(UNICAST, 3, 1, 1, piece=b"x"), Refusal.STRAY),
        (LinkPacket(ACK, 2, 1, 1), Refusal.UNASKED),
        (LinkPacket(ACK, 2, 1, 1, piece=b"x"), Refusal.MALFORMED),
        (LinkPacket(UNICAST, 2, 1, 1), Refusal.MALFORMED),  # empty
        (LinkPacket(BROADCAST, 0, 1, 5, 1, 3, b"short"), Refusal.MALFORMED),  # not the last, and not full
        (LinkPacket(BROADCAST, 0, 1, 5, 3, 3, b"x"), Refusal.MALFORMED),
        (LinkPacket(BROADCAST, 0, 1, 5, 0, MOST_PARTS + 1, bytes(MOST_PIECE)), Refusal.MALFORMED),
        (LinkPacket(BROADCAST, 0, 1, 5, 0, 1, bytes(MOST_PIECE + 1)), Refusal.MALFORMED),
        (LinkPacket(UNICAST, 2, 1, 9, 1, 2, b"x"), Refusal.OUT_OF_ORDER),
    ],
)
def test_what_cannot_be_is_refused(packet: LinkPacket, reason: Refusal) -> None:
    air = Air(2)
    air.deliver(1, 2, packet.pack())
    assert air.refused == [reason]
    assert air.packets == 0


def test_a_flood_from_one_address_leaves_others_alone() -> None:
    air = Air(3)
    flood = LinkPacket(ACK, 2, 1, 1).pack()
    for _ in range(int(MOST_AT_ONCE) + 500):
        air.deliver(1, 2, flood)
    assert air.refused.count(Refusal.TOO_MANY) == 500
    air.unicast(3, 2, b"heard")
    air.run(1.0)
    assert air.arrived == [(2, 3, b"heard")]
    air.refused.clear()
    for _ in range(int(min(MOST_AT_ONCE, PACKETS_PER_S))):
        air.deliver(1, 2, flood)
    assert Refusal.TOO_MANY not in air.refused  # a second later it is heard again


# -- pieces -----------------------------------------------------------------------------------------------


def piece(number: int, part: int, parts: int, kind: LinkPacketKind = BROADCAST) -> LinkPacket:
    return LinkPacket(kind, 0, 1, number + part, part, parts, bytes([part % 256]) * MOST_PIECE)


def test_one_address_holds_so_many_datagrams_and_so_many_bytes() -> None:
    held = Reassembly(no_time)
    for number in range(0, 1000, 10):
        assert held.add(1, 1, piece(number + 1, 0, 2)) is None
    assert held.forgotten == 100 - MOST_OF_SOURCE
    held = Reassembly(no_time)
    assert held.add(2, 2, piece(1, 0, 2)) is None
    for number in range(3):
        for part in range(MOST_PARTS - 1):
            held.add(1, 1, piece(1 + 10_000 * number, part, MOST_PARTS))
    assert held.forgotten == 1
    assert held.size <= BYTES_OF_SOURCE + 2 * MOST_PIECE
    assert held.add(2, 2, piece(1, 1, 2)) is not None  # another address has kept its own


def test_all_addresses_hold_so_many_bytes() -> None:
    held = Reassembly(no_time)
    held.add(999, 999, piece(1, 0, 2))
    for source in range(40):
        for part in range(MOST_PARTS - 1):
            held.add(source, source, piece(1, part, MOST_PARTS))
        assert held.size <= MOST_BYTES
    assert held.forgotten > 20
    assert held.add(999, 999, piece(1, 1, 2)) is not None  # it is not among those who have most


def test_pieces_wait_for_others_only_so_long() -> None:
    air = Air(2)
    air.deliver(1, 2, piece(1, 0, 2).pack())
    air.run(LONGEST_PAUSE_S - 0.1)
    assert air.links[2].losses == {}
    air.run(2 * LONGEST_PAUSE_S)
    assert air.links[2].losses == {DatagramLoss.INCOMPLETE: 1}
    air.deliver(1, 2, piece(1, 1, 2).pack())
    assert air.arrived == []


@given(st.integers(1, 40), st.integers(), st.integers(0, 3))
def test_reassembly_gives_what_was_sent_or_nothing(parts: int, seed: int, lost: int) -> None:
    order = random.Random(seed)
    data = order.randbytes((parts - 1) * MOST_PIECE + 1 + order.randrange(MOST_PIECE))
    packets = [
        LinkPacket(BROADCAST, 0, 1, 100 + part, part, parts, cut) for part, cut in enumerate(pieces(data))
    ]
    order.shuffle(packets)
    held = Reassembly(no_time)
    whole = [each for each in (held.add(1, 1, packet) for packet in packets[lost:]) if each is not None]
    assert whole == ([] if lost else [data])
    assert bool(held) is (0 < lost < parts)
    held.clear()
    assert held.size == 0


# -- loss -------------------------------------------------------------------------------------------------

sends = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.one_of(st.none(), st.integers(1, 5)),
        st.sampled_from([1, 40, MOST_PIECE, MOST_PIECE + 1, 7 * MOST_PIECE]),
        st.sampled_from([0.0, 0.0, 0.01, 0.3]),
        st.sampled_from([False, False, False, True]),  # turned off and on
    ),
    min_size=1,
    max_size=25,
)


@settings(deadline=None, max_examples=150)
@given(
    sends, st.sampled_from([0.0, 0.1, 0.3, 0.6, 1.0]), st.sampled_from([0.0, 0.02, 0.5, 8.0]), st.integers()
)
def test_whatever_is_lost_a_unicast_arrives_at_most_once_or_fails_and_nothing_hangs(
    deeds: list[tuple[int, int | None, int, float, bool]], loss: float, spread: float, seed: int
) -> None:
    chance = random.Random(seed)
    air = Air(4)
    air.fate = lambda _: None if chance.random() < loss else chance.random() * spread
    sent: dict[bytes, tuple[int, int | None]] = {}
    for number, (sender, target, size, wait, turned_off) in enumerate(deeds):
        data = number.to_bytes(1) + some_data(size, number)
        sent[data] = (sender, target)
        if target is None:
            air.broadcast(sender, data)
        else:
            air.unicast(sender, target, data, data)
        if turned_off:
            air.links[sender].clear()
            for other in range(1, 5):
                air.links[sender].sender.heard(other, other)
        air.run(wait)
    air.run(400.0)
    assert len(air.failed) == len(set(air.failed))
    arrived = [(receiver, data) for receiver, _, data in air.arrived]
    assert len(arrived) == len(set(arrived))
    for receiver, sender, data in air.arrived:
        assert sent[data] in ((sender, receiver), (sender, None))
    for data, (_, target) in sent.items():
        if target is not None:
            assert (target, data) in arrived or data in air.failed
    packets = air.packets
    air.run()
    assert air.packets == packets
