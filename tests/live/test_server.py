"""A live broker, message by message: sessions, what waits for them, and what survives a restart."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bypass import Event
from bypass.live.broker.service import Service
from bypass.live.broker.store.store import StoreFailed
from bypass.live.keys import create_broker_keys, create_client_keys, load_client_keys
from bypass.protocol.messages import (
    Assignment,
    ContextUpdate,
    Kind,
    Notify,
    PlanMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.session import Ack, Bye, Hello, Ping, Refused
from bypass.protocol.wire import encode, pack
from bypass.transitions import Action, Plan
from tests.live.brokers import ANYTHING, Peer, config, in_loop, peers, running, until

Make = Callable[..., Peer]


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with running(config(tmp_path)) as service:
        yield service


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def test_an_event_reaches_who_is_near_and_nobody_else(service: Service, make: Make) -> None:
    near, far, publisher = (make(endpoint(service), name) for name in ("near", "far", "publisher"))
    near.subscribe(at=(10.0, 10.0))
    far.subscribe(at=(900.0, 900.0))
    number = publisher.publish((20.0, 20.0))
    assert near.event() == number
    assert not [m for m in far.settle() if isinstance(m, Notify)]
    until(lambda: service.server.deliveries.acknowledged == 1)
    assert service.server.deliveries.waiting == 0


def test_what_was_not_acknowledged_is_sent_again_on_the_next_connection(service: Service, make: Make) -> None:
    subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
    subscriber.subscribe()
    numbers = [publisher.publish() for _ in range(3)]
    assert [subscriber.event(acknowledge=False) for _ in numbers] == numbers
    subscriber.send(Ack((numbers[1],)))
    subscriber.settle()
    again = make(endpoint(service), "s", handles=(1,))
    assert [again.event(acknowledge=False) for _ in range(2)] == [numbers[0], numbers[2]]


def test_a_restarted_broker_goes_on_where_the_one_before_ended(tmp_path: Path, make: Make) -> None:
    settings = config(tmp_path)
    with running(settings) as service:
        subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        subscriber.subscribe()
        first = publisher.publish()
        assert subscriber.event() == first
        subscriber.settle()
        second = publisher.publish()
        plan = Plan(plan="p", actions=(Action(proxy="filter", to="ste", set={"alpha": 2.0}),))
        in_loop(service, lambda: service.server.broker.execute(plan))
        assert subscriber.get(PlanMessage).epoch == 1
    with running(settings) as service:
        broker = service.server.broker
        assert [(scheme.name, scheme.settings()["alpha"]) for scheme in broker.filter_schemes] == [
            ("ste", 2.0)
        ]
        assert broker.rollout.epoch == 1
        back = make(endpoint(service), "s", handles=(1,))
        assert back.number == subscriber.number
        assert back.event() == second
        assert back.get(PlanMessage).epoch == 2  # it had missed what the first broker told it
        returned = make(endpoint(service), "p")
        third = returned.publish()
        assert third & 0xFFFF == 3
        assert back.event() == third


def test_a_repeated_publication_is_acknowledged_and_not_delivered_again(service: Service, make: Make) -> None:
    subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
    subscriber.subscribe()
    number = publisher.publish()
    publisher.published -= 1
    assert publisher.publish() == number
    assert subscriber.event() == number
    assert not [m for m in subscriber.settle() if isinstance(m, Notify)]


def test_a_publication_under_the_number_of_another_client_is_refused(service: Service, make: Make) -> None:
    publisher, other = make(endpoint(service), "p"), make(endpoint(service), "o")
    publisher.send(Publish(other.number << 32 | 1, Event(kind="x"), Kind.PLAIN))
    refused = publisher.get(Refused)
    assert refused.id == other.number << 32 | 1
    assert "expected an id of client" in refused.reason


def test_a_second_connection_takes_the_session_over(service: Service, make: Make) -> None:
    first = make(endpoint(service), "c", life=1)
    second = make(endpoint(service), "c", life=2)
    assert "elsewhere" in first.get(Refused).reason
    assert second.number == first.number
    first.send(Ping(asks=True))
    first.get(Bye)  # it is nobody any more


def test_who_connects_anew_is_not_refused_on_the_connection_it_gave_up(service: Service, make: Make) -> None:
    """It might hear of that after the welcome, and take it for an answer to its greeting."""
    first = make(endpoint(service), "c", life=1)
    second = make(endpoint(service), "c", life=1)
    assert second.number == first.number
    first.send(Ping(asks=True))
    first.get(Bye)
    assert not first.inbox


def test_a_new_life_is_told_what_the_old_one_had_subscribed(service: Service, make: Make) -> None:
    old, publisher = make(endpoint(service), "s", life=1), make(endpoint(service), "p")
    old.subscribe(handle=4)
    number = publisher.publish()
    new = make(endpoint(service), "s", life=2)
    (kept,) = new.welcome.kept
    assert (kept.handle, kept.subscription, kept.radius) == (4, ANYTHING, 100)
    new.subscribe(handle=4)
    assert new.event() == number


def test_the_same_life_withdraws_what_it_does_not_name(service: Service, make: Make) -> None:
    peer, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
    peer.subscribe(handle=1)
    peer.subscribe(handle=2)
    again = make(endpoint(service), "s", handles=(2,))
    publisher.publish()
    assert again.get(Notify).handles == (2,)


def test_where_devices_nearby_reach_a_client_is_its_own_word_alone(service: Service, make: Make) -> None:
    endpoint, addresses = service.server.endpoints[0], service.server.broker.addresses
    peer = make(endpoint, "a")
    for handle in (1, 2):
        peer.send(Subscribe(handle, ANYTHING, 100, ContextUpdate((10.0, 10.0)), address=7))
    peer.settle()
    back = make(endpoint, "a", handles=(1,))  # the broker withdraws the other by itself
    back.settle()
    assert in_loop(service, lambda: dict(addresses)) == {peer.number: 7}
    back.send(Unsubscribe(1, address=8))
    back.settle()
    assert in_loop(service, lambda: dict(addresses)) == {peer.number: 8}
    back.send(Unsubscribe(1))  # it is not reached any more
    back.settle()
    assert in_loop(service, lambda: dict(addresses)) == {}


def test_withdrawn_subscriptions_get_nothing_even_after_a_restart(tmp_path: Path, make: Make) -> None:
    settings = config(tmp_path)
    with running(settings) as service:
        peer = make(endpoint(service), "s")
        peer.subscribe()
        peer.send(Unsubscribe(1))
        assert peer.get(Ack).handles == (1,)
    with running(settings) as service:
        assert make(endpoint(service), "s").welcome.kept == ()
        assert len(service.server.broker.table) == 0


def test_sessions_that_are_not_durable_end_with_their_connection(service: Service, make: Make) -> None:
    peer = make(endpoint(service), "s", durable=False)
    peer.subscribe()
    publisher = make(endpoint(service), "p")
    number = publisher.publish()
    assert peer.event() == number
    peer.send(Bye())
    peer.get(Bye)
    publisher.publish()
    assert in_loop(service, lambda: len(service.server.sessions)) == 1
    assert make(endpoint(service), "s", durable=False).number > publisher.number


def test_numbers_of_forgotten_sessions_are_never_given_again(tmp_path: Path, make: Make) -> None:
    settings = config(tmp_path)
    with running(settings) as service:
        numbers = [make(endpoint(service), "s", durable=False).number for _ in range(3)]
    with running(settings) as service:
        assert make(endpoint(service), "t", durable=False).number > max(numbers)


def test_a_session_can_be_forgotten_for_good(service: Service, make: Make) -> None:
    peer, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
    peer.subscribe()
    publisher.publish()
    peer.send(Bye(forget=True))
    peer.get(Bye)
    until(lambda: service.server.deliveries.waiting == 0)
    assert make(endpoint(service), "s").welcome.kept == ()


def test_a_client_that_is_away_gets_the_newest_and_is_told_how_many_it_missed(
    tmp_path: Path, make: Make
) -> None:
    with running(config(tmp_path, limits={"pending_events": 5})) as service:
        peer, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        peer.subscribe()
        peer.send(Bye())
        peer.get(Bye)
        numbers = [publisher.publish() for _ in range(8)]
        back = make(endpoint(service), "s")
        assert back.welcome.missed == 3
        assert [back.event() for _ in range(5)] == numbers[3:]


def test_events_get_too_old(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, limits={"pending_age": 0.2})) as service:
        peer, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        peer.subscribe()
        peer.send(Bye())
        peer.get(Bye)
        publisher.publish()
        until(lambda: service.server.deliveries.waiting == 0)
        assert make(endpoint(service), "s").welcome.missed == 1


def test_more_than_fits_on_the_way_waits_in_the_log(service: Service, make: Make) -> None:
    """In order, and without gaps, for a client that acknowledges late."""
    peer, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
    peer.subscribe()
    numbers = [publisher.publish(wait=False, size=20_000) for _ in range(150)]
    until(lambda: service.server.deliveries.deliveries == len(numbers))
    sessions = service.server.sessions
    first = in_loop(service, lambda: sessions.awaited.unsent(sessions.by_name["s"].slot))
    assert first > 50  # a megabyte is on its way, the rest is not
    assert [peer.event() for _ in numbers] == numbers


def test_silent_clients_are_asked_and_then_given_up(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, heartbeat=0.4)) as service:
        peer = make(endpoint(service), "s")
        assert peer.get(Ping).asks
        until(lambda: service.server.counters["silent"] == 1)
        peer.send(Ping())
        peer.get(Bye)


def test_a_broker_that_was_stopped_takes_nobody_for_silent(tmp_path: Path, make: Make) -> None:
    heartbeat = 0.5
    with running(config(tmp_path, heartbeat=heartbeat)) as service:
        peer = make(endpoint(service), "s")

        def be_away() -> None:
            ends = time.monotonic() + 5 * heartbeat
            until(lambda: time.monotonic() > ends)

        in_loop(service, be_away)
        assert peer.get(Ping).asks  # only after that
        peer.settle()
        assert service.server.counters["silent"] == 0


def test_too_many_messages_a_second_are_refused(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, limits={"client_rate": 10.0})) as service:
        publisher = make(endpoint(service), "p")
        numbers = [publisher.publish(wait=False) for _ in range(40)]
        answered: set[int | None] = set()
        while len(answered) < len(numbers):
            message = publisher.get(Refused) if len(answered) >= 20 else publisher.get(Ack)
            answered.update(message.ids if isinstance(message, Ack) else (message.id,))
        assert service.server.counters["limited"] == 40 - 20


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"\xff" * 20,
        b"\x0a\x05abc",
        encode(Hello("x", 1))[:-1],
        pack([b"junk", b"more"]),
        encode(Notify(Publish(1, Event(kind="x")), (1,))),
        encode(PlanMessage(b"{")),
    ],
    ids=["empty", "noise", "cut packet", "cut message", "junk inside", "what brokers say", "a plan"],
)
def test_what_is_no_message_of_a_client_is_counted_and_dropped(
    service: Service, make: Make, packet: bytes
) -> None:
    peer = make(endpoint(service), "s")
    peer.socket.send(packet)
    peer.settle()
    counters = service.server.counters
    assert counters["malformed"] + counters["refused"] > 0


def test_packets_of_several_parts_cannot_speak_for_others(service: Service, make: Make) -> None:
    """The rest of such a packet could be taken for the route of another client."""
    victim, peer = make(endpoint(service), "v"), make(endpoint(service), "s")
    victim.subscribe()
    route = in_loop(service, lambda: service.server.sessions.by_name["v"].route)
    peer.socket.send_multipart([encode(Ping()), route, encode(Bye(forget=True))])
    peer.settle()
    assert service.server.counters["malformed"] == 1
    assert not [m for m in victim.settle() if isinstance(m, Bye)]


def test_oversized_messages_are_counted_and_refused(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, limits={"message_bytes": 2048})) as service:
        peer = make(endpoint(service), "s")
        number = peer.publish(wait=False, size=3000)
        refused = peer.get(Refused)
        assert refused.id == number
        assert "expected at most 2048" in refused.reason
        assert service.server.counters["oversized"] == 1


def test_another_protocol_version_is_refused_with_ours(service: Service, make: Make) -> None:
    peer = make(endpoint(service))
    data = encode(Hello("s", 1))
    peer.socket.send(b"\x08\x07" + data[2:])
    assert peer.get(Refused).reason == "message of protocol version 7: expected 1"


def test_strangers_are_asked_to_connect_anew(service: Service, make: Make) -> None:
    peer = make(endpoint(service))
    peer.socket.send(encode(Ping(asks=True)))
    peer.get(Bye)
    assert service.server.counters["strangers"] == 1


def test_subscriptions_of_a_client_are_limited(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, limits={"subscriptions_per_client": 2})) as service:
        peer = make(endpoint(service), "s")
        peer.subscribe(1)
        peer.subscribe(2)
        peer.send(Subscribe(3, ANYTHING, 100, ContextUpdate((1.0, 1.0))))
        refused = peer.get(Refused)
        assert refused.handle == 3
        assert "2 subscriptions" in refused.reason


def test_a_handle_cannot_change_its_meaning(service: Service, make: Make) -> None:
    peer = make(endpoint(service), "s")
    peer.subscribe(1, radius=100)
    peer.send(Subscribe(1, ANYTHING, 200))
    assert peer.get(Refused).handle == 1


def test_parameters_of_the_configuration_reach_clients(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, set={"threshold": 20.0})) as service:
        assert json.loads(make(endpoint(service), "s").welcome.settings) == {"threshold": 20.0}


def test_a_store_that_fails_refuses_and_changes_nothing(
    service: Service, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody gets an event that was refused, and nothing is half subscribed; then all is well again."""
    subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
    subscriber.subscribe()
    server = service.server
    write = server.store.write

    def full(batch: object) -> None:
        raise StoreFailed("store.db: the disk is full")

    monkeypatch.setattr(server.store, "write", full)
    number = publisher.publish(wait=False)
    assert publisher.get(Refused).id == number
    subscriber.send(Subscribe(2, ANYTHING, 50))
    assert subscriber.get(Refused).handle == 2
    subscriber.send(Unsubscribe(1))
    assert subscriber.get(Refused).handle == 1
    assert in_loop(service, lambda: server.turns.failing) == "store.db: the disk is full"
    assert in_loop(service, lambda: len(server.broker.table)) == 1
    monkeypatch.setattr(server.store, "write", write)
    number = publisher.publish()
    assert subscriber.event() == number
    until(lambda: server.turns.failing is None)


def test_keys_that_are_expelled_are_cut_off(tmp_path: Path, make: Make) -> None:
    create_broker_keys(tmp_path)
    create_client_keys(tmp_path, "alice")
    keys = load_client_keys(tmp_path / "alice.key")
    settings = config(
        tmp_path, open=False, keys=tmp_path / "broker.key", clients=tmp_path / "clients", heartbeat=0.5
    )
    with running(settings) as service:
        peer = make(endpoint(service), "", keys=keys)
        assert service.server.sessions.by_name["alice"].number == peer.number
        (tmp_path / "clients" / "alice.pub").unlink()
        refused = peer.get(Refused)
        assert "not admitted" in refused.reason
        assert refused.retry > 0
        until(lambda: not service.server.sessions.by_route)


@pytest.mark.parametrize("scheme", ["grid", "egrid", "attract", "multi"])
def test_a_new_life_is_assigned_channels_as_if_it_knew_none(tmp_path: Path, make: Make, scheme: str) -> None:
    place = {"name": "park", "x": 10, "y": 10, "radius": 50}
    with running(config(tmp_path, scheme=scheme, region={"places": [place]})) as service:
        for life in (1, 2):
            peer = make(endpoint(service), "s", life=life)
            peer.subscribe()
            assignment = peer.get(Assignment)
            assert assignment.publish
            assert bool(assignment.circles) == (scheme in ("attract", "multi"))
