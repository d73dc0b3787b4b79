"""Little that a client sends must not make a live broker do, keep or send much."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bypass import Subscription, attr, connect
from bypass.events.filters import Filter
from bypass.live.broker.reception import greeting
from bypass.live.broker.service import Service
from bypass.live.client.errors import SubscriptionRefused
from bypass.protocol.messages import ContextUpdate, Subscribe
from bypass.protocol.session import KEPT_PARTS, Ack, Bye, Hello, Kept, Ping, Refused, Welcome
from bypass.protocol.wire import encode, pack
from tests.live.brokers import ANYTHING, Peer, config, in_loop, peers, running
from tests.live.scripted import AREA, Script, on_loop, together, turns

Make = Callable[..., Peer]
HERE = ContextUpdate((10.0, 10.0))
LARGE = {"filters_per_subscription": 5000, "subscription_bytes": 131_072, "session_bytes": 4 << 20}


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def count(service: Service, name: str) -> int:
    return int(in_loop(service, lambda: service.server.counters[name]))


def filters(count: int) -> Subscription:
    return Subscription(attr(f"a{number}") == number for number in range(count))


def large(number: int, size: int = 100_000) -> Filter:
    """A filter of about so many bytes, each number another one."""
    return attr("text") == f"{number:0{size}}"


# -- greetings --------------------------------------------------------------------------------------------


def test_a_connection_is_greeted_once(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        peer = make(endpoint(service), "hostile")
        peer.subscribe()
        again = make(endpoint(service))
        again.socket.send(pack([encode(Hello("hostile", 2))] * 200))
        again.get(Welcome)
        assert not [message for message in again.settle() if isinstance(message, Welcome)]
        assert count(service, "hello_repeated") == 199


def test_a_connection_that_has_left_is_not_greeted_again(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        peer = make(endpoint(service))
        peer.socket.send(pack([encode(each) for each in (Hello("hostile", 1), Bye())] * 100))
        peer.get(Welcome)
        assert count(service, "hello_repeated") == 99
        peer.send(Ping(asks=True))  # which is answered by a farewell, as nobody is there
        peer.get(Bye)
        assert not [message for message in peer.inbox if isinstance(message, Welcome)]
        back = make(endpoint(service), "hostile")
        back.publish()


# -- subscriptions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "subscription", "reason"),
    [
        ({"filters_per_subscription": 10}, filters(11), "11 filters: expected at most 10 in a subscription"),
        ({"subscription_bytes": 500}, Subscription.of(large(1, 600)), "expected at most 500"),
        ({"session_bytes": 700}, Subscription.of(large(1, 700)), "expected at most 700 of one client"),
    ],
)
def test_subscriptions_are_bounded(
    tmp_path: Path, make: Make, limit: dict[str, int], subscription: Subscription, reason: str
) -> None:
    with running(config(tmp_path, limits=limit)) as service:
        peer = make(endpoint(service), "me")
        peer.send(Subscribe(1, subscription, 100, HERE))
        refused = peer.get(Refused)
        assert refused.handle == 1
        assert reason in refused.reason
        assert in_loop(service, lambda: len(service.server.broker.table)) == 0
        peer.subscribe(1)


def test_what_is_withdrawn_makes_room_for_other_subscriptions(tmp_path: Path) -> None:
    async def go(endpoint: str) -> None:
        async with connect(endpoint, open=True, name="me") as me:
            for number in range(5):
                subscription = await me.subscribe(large(number, 600))
                with pytest.raises(SubscriptionRefused, match="expected at most 1000 of one client"):
                    await me.subscribe(large(number + 100, 600))
                await me.unsubscribe(subscription)

    with running(config(tmp_path, limits={"session_bytes": 1000})) as service:
        asyncio.run(go(endpoint(service)))


def test_what_the_store_has_beyond_a_limit_goes_on_and_is_not_added_to(
    tmp_path: Path, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with running(config(tmp_path)) as service:
        peer = make(endpoint(service), "me")
        many = Subscription([attr("kind") == "x", *(attr("kind") != f"{n}" for n in range(20))])
        peer.send(Subscribe(1, many, 100, HERE))
        assert peer.get(Ack).handles == (1,)
        peer.close()
    with (
        caplog.at_level(logging.WARNING),
        running(config(tmp_path, limits={"session_bytes": 300})) as service,
    ):
        assert "me: kept subscription 1 goes on" in caplog.text
        assert count(service, "subscriptions_over_limit") == 1
        back = make(endpoint(service), "me", handles=(1,))
        assert make(endpoint(service), "publisher").publish() == back.event()
        back.send(Subscribe(1, many, 100, HERE))  # it has that, and may say so
        assert back.get(Ack).handles == (1,)
        back.send(Subscribe(2, ANYTHING, 100, HERE))
        assert "expected at most 300 of one client" in back.get(Refused).reason


# -- the welcome ------------------------------------------------------------------------------------------


def test_kept_subscriptions_arrive_however_large_they_are_together(tmp_path: Path) -> None:
    async def subscribe(endpoint: str) -> None:
        async with connect(endpoint, open=True, name="me") as me:
            for number in range(15):
                await me.subscribe(large(number))

    async def come_back(endpoint: str) -> None:
        async with connect(endpoint, open=True, name="me", patience=5.0) as me:
            assert len(me.kept) == 15
            await me.subscribe(large(7))
            assert len(me.kept) == 14

    with running(config(tmp_path, limits=LARGE)) as service:
        asyncio.run(subscribe(endpoint(service)))
        asyncio.run(come_back(endpoint(service)))
        assert in_loop(service, lambda: len(service.server.sessions.by_name["me"].handles)) == 15


def test_who_knows_no_parts_is_told_of_what_fits(tmp_path: Path, make: Make) -> None:
    """The rest stays subscribed, is counted, and does not stand in the way of new handles."""
    with running(config(tmp_path, limits=LARGE)) as service:
        peer = make(endpoint(service), "old")
        for handle in range(1, 11):
            peer.send(Subscribe(handle, Subscription.of(large(handle)), 100, HERE))
            assert peer.get(Ack).handles == (handle,)
        back = make(endpoint(service), "old", life=2)
        assert [kept.handle for kept in back.welcome.kept] == [10, 9, 8, 7, 6]
        assert greeting.WELCOME_BYTES < 6 * 100_000
        assert back.welcome.kept_parts == 0
        assert count(service, "kept_untold") == 5
        again = make(endpoint(service), "old", life=2, handles=(10, 9, 8))
        handles = in_loop(service, lambda: set(service.server.sessions.by_name["old"].handles))
        assert handles == {1, 2, 3, 4, 5, 8, 9, 10}
        assert not [message for message in again.settle() if isinstance(message, Kept)]


def test_parts_of_a_welcome_are_small(tmp_path: Path, make: Make) -> None:
    limits = {"subscription_bytes": 131_072, "session_bytes": 4 << 20}
    with running(config(tmp_path, limits=limits)) as service:
        peer = make(endpoint(service), "me")
        for handle, size in enumerate((100, 30_000, 30_000, 100_000, 100, 100), start=1):
            peer.send(Subscribe(handle, Subscription.of(large(handle, size)), 100, HERE))
            peer.get(Ack)
        back = make(endpoint(service), "me", life=2, capabilities=(KEPT_PARTS,))
        assert back.welcome.kept == ()
        parts = [back.get(Kept) for _ in range(back.welcome.kept_parts)]
        assert [[each.handle for each in part.kept] for part in parts] == [[1, 2, 3], [4], [5, 6]]


@on_loop
async def test_a_client_is_welcomed_when_all_parts_are_there() -> None:
    script = Script()
    me = connect(script.endpoint, open=True, name="me")
    opening = asyncio.ensure_future(me.open())
    hello = await script.expect(Hello)
    assert KEPT_PARTS in hello.capabilities
    script.send(Welcome(0, 5.0, AREA, kept_parts=2, client=7, scheme=1))
    script.send(Kept((Subscribe(4, ANYTHING, 100),), client=7))
    await turns()
    assert not opening.done()
    script.send(Kept((Subscribe(9, ANYTHING, 200), Subscribe(3, ANYTHING)), client=7))
    await opening
    assert sorted(handle.id for handle in me.kept) == [3, 4, 9]
    script.obliging = True
    await together(me.close(), script.expect(Bye))
    script.close()
