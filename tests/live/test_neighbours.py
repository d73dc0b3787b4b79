"""Real clients nearby, over UDP on the loopback network: what they hear, and what they must not."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from ipaddress import IPv4Address
from typing import ClassVar

import pytest

from bypass.events.event import Event
from bypass.live.adhoc.datagrams import MOST_BYTES, MOST_CONTENT, DatagramGroup, InvalidGroupKey, Refusal
from bypass.live.adhoc.neighbourhood import MOST_WAITING, Neighbourhood
from bypass.live.adhoc.sockets import InvalidInterface
from bypass.mechanisms.transports import RadioTransport
from bypass.ports.local_access import DIRECT_PORT, GATEWAY_PORT, SEND, LocalAccess, NoSuchRadio, Unless
from bypass.protocol.messages import Frame, Publish, Unsubscribe
from bypass.protocol.wire import encode
from bypass.transitions import TransitionFailed
from tests.live.devices import KEY, Device, devices, until
from tests.vicinity import MECHANISMS, MULTI_HOP

MARK = 999
"""An event that is published to know that all that was sent before has arrived."""


@pytest.fixture
def port() -> int:
    """A port that nobody uses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


@pytest.fixture
def stranger(port: int) -> Iterator[Callable[[bytes], None]]:
    """Sends any bytes to everybody."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        opened.bind(("127.0.0.99", 0))
        yield lambda data: _sent(opened, data, port)


def _sent(opened: socket.socket, data: bytes, port: int) -> None:
    opened.sendto(data, ("127.255.255.255", port))


def run(test: Awaitable[None]) -> None:
    async def main() -> None:
        await test

    asyncio.run(main())


def news(number: int, filler: str = "") -> Event:
    return Event(kind="news", number=number, filler=filler)


def in_a_row(a: int, b: int) -> bool:
    """Each hears the next ones alone."""
    return abs(a - b) <= 1


def heard_by_all(made: list[Device], event: int) -> Callable[[], bool]:
    """Whether everybody but the first has been told."""
    return lambda: all(event in device.heard for device in made[1:])


# -- dissemination ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_everybody_in_reach_is_told_once(mechanism: str, port: int) -> None:
    async def scenario() -> None:
        async with devices(4, mechanism, port=port) as made:
            events = range(20)
            for event in events:
                made[0].publish(event)
                await until(heard_by_all(made, event))
            assert [sorted(device.heard) for device in made] == [[]] + [list(events)] * 3

    run(scenario())


@pytest.mark.parametrize(("mechanism", "values"), [("flooding", {}), ("gossip", {"p": 1.0}), ("hyperg", {})])
def test_an_event_crosses_a_row(mechanism: str, values: dict[str, float], port: int) -> None:
    """The ends cannot hear each other, and those between them hear every event at least twice."""

    async def scenario() -> None:
        async with devices(5, mechanism, port=port, in_reach=in_a_row, **values) as made:
            for event in range(10):
                made[0].publish(event)
                await until(heard_by_all(made, event))
            number = made[0].publish(MARK)
            await until(heard_by_all(made, MARK))
            middle = made[2].neighbourhood.port(DIRECT_PORT)
            await until(lambda: middle.copies(Publish(number, news(0))) == 2)
            assert [sorted(device.heard) for device in made] == [[]] + [[*range(10), MARK]] * 4

    run(scenario())


def test_one_hop_mechanisms_do_not_cross_a_row(port: int) -> None:
    async def scenario() -> None:
        async with devices(3, "broadcast", port=port, in_reach=in_a_row) as made:
            made[0].publish(1)
            made[1].publish(2)
            await until(lambda: made[2].heard == [2])
            assert (made[0].heard, made[1].heard) == ([2], [1])

    run(scenario())


def test_plan_b_knows_how_far_senders_are(port: int) -> None:
    """Who is 10 m away counts as near with a reach of 88 m, and not with one of 15 m."""

    async def scenario(reach: float, near: int) -> None:
        async with devices(2, "plan-b", port=port, reach=reach) as made:
            number = made[0].publish(1)
            await until(heard_by_all(made, 1))
            there = made[1].neighbourhood.port(DIRECT_PORT)
            assert there.near_copies(Publish(number, news(1))) == near

    run(scenario(88.0, 1))
    run(scenario(15.0, 0))


def test_hyperg_repairs_a_partition(port: int) -> None:
    """Who comes into reach is sent what it has missed."""
    apart = True

    def in_reach(a: int, b: int) -> bool:
        return not apart or (a < 3) == (b < 3)

    async def scenario() -> None:
        nonlocal apart
        async with devices(4, "hyperg", port=port, in_reach=in_reach, keep=60.0) as made:
            numbers = [made[0].publish(event) for event in range(5)]
            here = made[0].neighbourhood.port(DIRECT_PORT)
            await until(lambda: all(here.copies(Publish(number, news(0))) == 2 for number in numbers))
            assert made[2].heard == made[3].heard == []
            apart = False
            await until(lambda: all(len(device.heard) == 5 for device in made[1:]))
            assert [sorted(device.heard) for device in made[1:]] == [list(range(5))] * 3

    run(scenario())


def test_unicast_is_for_one_device(port: int) -> None:
    async def scenario() -> None:
        async with devices(3, "unicast", port=port) as made:
            here = made[0].client.nearby.direct
            here.disseminate_locally(
                Publish(1 << 32 | 77, news(1), client=1), [made[2].neighbourhood.address]
            )
            here.disseminate_locally(Publish(1 << 32 | 78, news(MARK), client=1))
            await until(heard_by_all(made, MARK))
            assert [device.heard for device in made] == [[], [MARK], [1, MARK]]

    run(scenario())


@pytest.mark.parametrize(
    "target", [0, 1, 10 << 40 | 7701, 127 << 40 | 1 << 16, (1 << 64) - 1, 0x7FFFFFFF1E15]
)
def test_nothing_is_sent_to_addresses_elsewhere(target: int, port: int) -> None:
    """Whoever gives a false address does not have others send there; 127.255.255.255 is everybody."""

    async def scenario() -> None:
        async with devices(1, "unicast", port=port) as (device,):
            device.client.nearby.direct.disseminate_locally(
                Publish(1 << 32 | 77, news(1), client=1), [target]
            )
            assert (device.neighbourhood.sent, device.neighbourhood.failed) == (0, 1)

    run(scenario())


def test_the_address_says_where_a_device_is(port: int) -> None:
    async def scenario() -> None:
        async with devices(2, port=port) as made:
            for number, device in enumerate(made, 1):
                address = device.neighbourhood.address
                assert (str(IPv4Address(address >> 16)), address & 0xFFFF) == (f"127.0.0.{number}", port)
                assert device.client.network.address == address

    run(scenario())


# -- self-healing -----------------------------------------------------------------------------------------


def test_a_transition_heals_to_all(port: int) -> None:
    """One is told of the decision; all follow, by frames that are sent anyway, across a row."""

    async def scenario() -> None:
        async with devices(5, "flooding", port=port, in_reach=in_a_row) as made:
            made[0].decide("hyperg", 1)
            made[0].publish(1)
            await until(lambda: {device.active() for device in made} == {"hyperg"})
            await until(heard_by_all(made, 1))
            assert [device.client.nearby.healing["direct"].healed for device in made] == [0, 1, 1, 1, 1]
            assert {device.client.nearby.healing["direct"].stamp.counter for device in made} == {1}
            made[4].decide("flooding", 2)
            made[4].publish(2)
            await until(lambda: {device.active() for device in made} == {"flooding"})
            await until(lambda: all(device.heard.count(2) == 1 for device in made[:4]))

    run(scenario())


@pytest.mark.parametrize("mechanism", MULTI_HOP)
def test_two_initiators_agree_in_the_end(mechanism: str, port: int) -> None:
    async def scenario() -> None:
        async with devices(4, "broadcast", port=port) as made:
            made[0].decide(mechanism, 1)
            made[3].decide("unicast", 1)
            for number, device in enumerate(made):
                device.publish(number)
            await until(lambda: {device.active() for device in made} == {mechanism})

    run(scenario())


# -- radios -----------------------------------------------------------------------------------------------


def test_there_is_no_bluetooth(port: int) -> None:
    """A transition to it fails, and what is there goes on."""

    async def scenario() -> None:
        async with devices(2, port=port) as made:
            engine = made[0].client.engine
            with pytest.raises(TransitionFailed) as failed:
                engine.transition("transport", "bluetooth")
            assert isinstance(failed.value.cause, NoSuchRadio)
            assert (
                str(failed.value.cause) == "radio 'bluetooth': expected 'wifi', a local network has no other"
            )
            assert engine.active("transport").name == "wifi"
            made[0].publish(1)
            made[1].publish(2)
            await until(lambda: made[0].heard == [2] and made[1].heard == [1])
            with pytest.raises(NoSuchRadio):
                made[0].neighbourhood.switch("bluetooth", True)
            with pytest.raises(NoSuchRadio):
                made[0].neighbourhood.transmit("infrared", Frame(0, client=1), None, 0.0, SEND)

    run(scenario())


class Infrared(RadioTransport):
    """A transport of one's own."""

    radio: ClassVar[str] = "infrared"


def test_there_are_no_radios_of_others(port: int) -> None:
    async def scenario() -> None:
        async with devices(1, port=port) as (device,):
            with pytest.raises(TransitionFailed) as failed:
                device.client.engine.transition("transport", Infrared)
            assert (
                str(failed.value.cause) == "radio 'infrared': expected 'wifi', a local network has no other"
            )
            assert device.active("transport") == "wifi"

    run(scenario())


def test_a_radio_that_is_off_neither_sends_nor_hears(port: int) -> None:
    async def scenario() -> None:
        async with devices(3, "broadcast", port=port) as made:
            away = made[1]
            away.client.engine.transition("transport", "nothing")
            assert not away.neighbourhood.is_on
            assert away.client.network.address == 0
            made[0].publish(1)
            away.publish(2)
            made[0].publish(MARK)
            await until(lambda: made[2].heard == [1, MARK])
            away.client.engine.transition("transport", "wifi")
            await until(lambda: away.neighbourhood.is_on)
            made[0].publish(3)
            await until(lambda: away.heard == [3])
            away.publish(4)
            await until(lambda: made[0].heard == [4])
            assert made[2].heard == [1, MARK, 3, 4]

    run(scenario())


def test_whom_a_radio_has_heard_is_forgotten_when_it_is_turned_off(port: int) -> None:
    async def scenario() -> None:
        async with devices(3, "hyperg", port=port) as made:
            ports = [device.neighbourhood.port(DIRECT_PORT) for device in made]
            await until(lambda: [each.neighbours(60.0) for each in ports] == [2, 2, 2])
            made[0].client.engine.transition("transport", "nothing")
            assert [each.neighbours(60.0) for each in ports] == [0, 2, 2]

    run(scenario())


def test_frames_wait_and_outlive_their_mechanism(port: int) -> None:
    async def scenario() -> None:
        async with devices(2, "broadcast", port=port) as made:
            link = made[0].neighbourhood.port(DIRECT_PORT)
            link.broadcast(Publish(1 << 32 | 77, news(1), client=1), 0.05)
            made[0].client.engine.transition("direct", "nothing")
            await until(lambda: made[1].heard == [1])

    run(scenario())


def test_frames_are_called_off_when_enough_copies_were_heard(port: int) -> None:
    async def scenario() -> None:
        async with devices(3, "broadcast", port=port) as made:
            here = made[0].neighbourhood
            link = here.port(DIRECT_PORT)
            publication = Publish(3 << 32 | 77, news(1), client=3)
            link.broadcast(publication, 0.2, Unless(copies=3))
            link.broadcast(publication, 0.2, Unless(copies=4))
            assert link.copies(publication) == 1  # its own
            for other in made[1:]:
                other.neighbourhood.port(DIRECT_PORT).broadcast(publication)
            await until(lambda: link.copies(publication) == 3)
            assert here.called_off == here.sent == 0
            await until(lambda: here.called_off == here.sent == 1)

    run(scenario())


def test_frames_that_wait_are_limited(port: int) -> None:
    async def scenario() -> None:
        async with devices(1, "broadcast", port=port) as (device,):
            here = device.neighbourhood
            for number in range(MOST_WAITING + 10):
                here.port(DIRECT_PORT).broadcast(Publish(1 << 32 | number, news(number), client=1), 60.0)
            assert here.dropped == 10

    run(scenario())


def test_what_waits_is_lost_when_the_radio_is_off_by_then(port: int) -> None:
    async def scenario() -> None:
        async with devices(1, "broadcast", port=port) as (device,):
            here = device.neighbourhood
            here.port(DIRECT_PORT).broadcast(Publish(1 << 32 | 77, news(1), client=1), 0.01)
            here.switch("wifi", False)
            await until(lambda: here.dropped == 1)
            assert here.sent == 0

    run(scenario())


# -- sizes ------------------------------------------------------------------------------------------------


def test_events_that_do_not_fit_together_go_one_after_the_other(port: int) -> None:
    async def scenario() -> None:
        async with devices(2, "broadcast", port=port) as made:
            link = made[0].neighbourhood.port(DIRECT_PORT)
            big = [Publish(1 << 32 | n, news(n, filler="x" * 400), client=1) for n in range(16)]
            link.broadcast_together(big)
            await until(lambda: len(made[1].heard) == 16)
            assert made[1].heard == list(range(16))
            assert made[0].neighbourhood.sent == 8
            assert made[0].neighbourhood.too_long == 0

    run(scenario())


def test_an_event_that_fits_no_datagram_is_not_sent(port: int, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with devices(2, "broadcast", port=port) as made:
            here = made[0]
            room = MOST_CONTENT - len(encode(Frame(0, publications=(Publish(1, news(0)),))))
            for number, size in ((1, room + 10), (2, room + 10), (3, room - 10)):
                here.publish(number, filler="x" * size)
            here.neighbourhood.port(DIRECT_PORT).digest(range(1000))
            here.publish(MARK)
            await until(heard_by_all(made, MARK))
            assert made[1].heard == [3, MARK]
            assert (here.neighbourhood.too_long, here.neighbourhood.sent) == (3, 2)

    run(scenario())
    assert [record.getMessage().split(":")[1] for record in caplog.records] == [
        f" expected at most {MOST_CONTENT}"
    ]


# -- what must not be heard -------------------------------------------------------------------------------


def test_strangers_are_counted_and_not_heard(port: int, stranger: Callable[[bytes], None]) -> None:
    async def scenario() -> None:
        async with devices(3, port=port) as made:
            member = DatagramGroup(KEY, 50)
            frame = Frame(
                DIRECT_PORT, publications=(Publish(50 << 32, news(1), client=50),), client=50, scheme=3
            )
            good, newer = member.seal(encode(frame)), encode(frame).replace(b"\x08\x01", b"\x08\x07", 1)
            sent: list[tuple[Refusal, bytes]] = [
                (Refusal.UNAUTHENTIC, DatagramGroup(b"another key" * 3, 50).seal(encode(frame))),
                (Refusal.TRUNCATED, good[:20]),
                (Refusal.TRUNCATED, b""),
                (Refusal.UNAUTHENTIC, good[:-1]),
                (Refusal.OVERSIZED, good + bytes(MOST_BYTES)),
                (Refusal.OVERSIZED, bytes(60_000)),
                (Refusal.VERSION, b"\x02" + good[1:]),
                (Refusal.VERSION, member.seal(newer)),
                (Refusal.VERSION, member.seal(b"")),  # none at all
                (Refusal.MALFORMED, member.seal(b"\xff" * 99)),
                (Refusal.MALFORMED, member.seal(encode(frame)[:-3])),
                (Refusal.MALFORMED, member.seal(encode(Unsubscribe(1, client=50)))),
                (Refusal.MALFORMED, DatagramGroup(KEY, 51).seal(encode(frame))),  # in the name of another
                (Refusal.MALFORMED, member.seal(encode(Frame(2, client=50)))),  # there is no such port
            ]
            for _, data in sent:
                stranger(data)
            stranger(good)
            await until(heard_by_all(made, 1))
            stranger(good)
            stranger(good)
            made[0].publish(MARK)
            await until(heard_by_all(made, MARK))
            for device in made[1:]:
                refused = device.neighbourhood.refused
                expected = Counter(reason for reason, _ in sent) + Counter({Refusal.REPEATED: 2})
                assert refused - Counter({Refusal.OWN: refused[Refusal.OWN]}) == expected
                assert device.heard == [1, MARK]
            assert made[0].heard == [1]

    run(scenario())


def test_own_frames_come_back_and_are_not_heard(port: int) -> None:
    async def scenario() -> None:
        async with devices(2, "broadcast", port=port) as made:
            made[0].publish(1)
            await until(lambda: made[0].neighbourhood.refused[Refusal.OWN] == 1)
            assert made[0].heard == []
            assert made[0].neighbourhood.received == 0

    run(scenario())


def test_a_mechanism_that_raises_ends_nothing(port: int) -> None:
    async def scenario() -> None:
        problems: list[str] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, what: problems.append(str(what["exception"]))
        )
        async with devices(2, port=port) as made:
            mechanism = made[1].client.engine.active("direct")
            mechanism.heard = _refuse  # type: ignore[attr-defined]
            made[0].publish(1)
            await until(lambda: problems == ["not that one"])
            del mechanism.heard  # type: ignore[attr-defined]
            made[0].publish(2)
            await until(lambda: made[1].heard == [2])

    run(scenario())


def _refuse(publication: Publish, sender: int, distance: float) -> None:
    raise RuntimeError("not that one")


# -- opening and closing ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "interface",
    ["", "localhost/8", "127.0.0.1", "127.0.0.1/32", "127.0.0.1/31", "127.0.0.1/33", "::1/64", "1/8"],
)
def test_what_is_no_interface_is_refused(interface: str) -> None:
    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(InvalidInterface, match=r"interface '.*': expected an IPv4 address"):
            Neighbourhood(loop, 1, KEY, interfaces=[interface])
        with pytest.raises(InvalidInterface, match="no interfaces"):
            Neighbourhood(loop, 1, KEY, interfaces=[])
        with pytest.raises(InvalidGroupKey):
            Neighbourhood(loop, 1, b"short", interfaces=["127.0.0.1/8"])
    finally:
        loop.close()


@pytest.mark.parametrize("interface", ["192.0.2.1/24", "127.0.0.1/24", "127.0.0.1/8"])
def test_addresses_that_cannot_be_used_are_refused(interface: str, port: int) -> None:
    """Of another device; of another network; of another client. What was opened before is closed."""

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        async with devices(1, port=port):
            here = Neighbourhood(loop, 5, KEY, interfaces=["127.0.0.5/8", interface], port=port)
            with pytest.raises(InvalidInterface, match=f"interface {interface}: .* port {port}: "):
                await here.open()
            again = Neighbourhood(loop, 5, KEY, interfaces=["127.0.0.5/8"], port=port)
            await until(lambda: _is_free("127.0.0.5", port))
            await again.open()
            again.close()

    run(scenario())


def _is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def test_after_closing_nothing_is_sent_or_heard(port: int) -> None:
    async def scenario() -> None:
        async with devices(3, "broadcast", port=port) as made:
            gone = made[1].neighbourhood
            gone.port(DIRECT_PORT).broadcast(Publish(2 << 32 | 77, news(1), client=2), 0.01)
            gone.close()
            made[1].publish(2)
            made[0].publish(MARK)
            await until(lambda: made[2].heard == [MARK])
            await until(lambda: _is_free("127.0.0.2", port))
            assert made[1].heard == []
            assert (gone.sent, gone.dropped) == (0, 1)
            await gone.open()
            made[1].publish(3)
            await until(lambda: made[2].heard == [MARK, 3])

    run(scenario())


def test_ports_are_apart_and_always_the_same(port: int) -> None:
    async def scenario() -> None:
        async with devices(2, "broadcast", port=port) as made:
            access: LocalAccess = made[0].neighbourhood
            assert access.port(DIRECT_PORT) is access.port(DIRECT_PORT)
            access.port(GATEWAY_PORT).broadcast(Publish(1 << 32 | 77, news(1), client=1))
            made[0].publish(MARK)
            await until(heard_by_all(made, MARK))
            assert made[1].heard == [MARK]
            assert made[1].neighbourhood.port(GATEWAY_PORT).strange == 1
            assert made[1].neighbourhood.port(DIRECT_PORT).strange == 0

    run(scenario())
