"""What clients that mean harm can do to a live broker: be counted, be refused, and nothing to others."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

from bypass import Event
from bypass.live.broker import turns
from bypass.live.broker.reception import intake
from bypass.live.broker.service import Service
from bypass.live.broker.sessions.sessions import Session
from bypass.live.broker.sessions.unacknowledged_kernels import BYTES
from bypass.live.broker.store.batch import Batch
from bypass.live.keys import ClientKeys, create_broker_keys, create_client_keys, load_client_keys
from bypass.protocol.messages import ContextUpdate, Kind, Notify, Publish, Subscribe, Unsubscribe
from bypass.protocol.session import WINDOW_BYTES, Ack, Bye, Control, Hello, Ping, Refused, Reply, Welcome
from bypass.protocol.wire import MAX_MESSAGE_BYTES, MOST_MESSAGES, decode, encode, pack, unpack
from bypass.protocol.wire import bypass_pb2 as pb
from tests.live.brokers import ANYTHING, PATIENCE, Peer, config, in_loop, peers, running, until

pytestmark = pytest.mark.slow

Make = Callable[..., Peer]
MOMENTS = int(1000 * PATIENCE)
OUTCOMES = ("understood", "malformed", "refused", "oversized", "limited", "strangers", "unauthorised")


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with running(config(tmp_path)) as service:
        yield service


@pytest.fixture(autouse=True)
def no_surprises(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing that clients say may be an error of the broker's."""
    yield
    for when in ("setup", "call", "teardown"):
        said = [record for record in caplog.get_records(when) if record.levelno >= logging.ERROR]
        assert not said, [record.getMessage() for record in said]


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def waiting_for(service: Service, session: Session) -> list[int]:
    return [number for number, _ in service.server.sessions.awaited.waiting(session.slot)]


def count(service: Service, *names: str) -> int:
    """What has been counted so far, together."""
    return int(in_loop(service, lambda: sum(service.server.counters[name] for name in names)))


class Honest:
    """Two clients that have nothing to do with it: what one publishes reaches the other."""

    def __init__(self, make: Make, service: Service) -> None:
        self.subscriber = make(endpoint(service), "honest subscriber")
        self.publisher = make(endpoint(service), "honest publisher")
        self.subscriber.subscribe()

    def check(self) -> None:
        number = self.publisher.publish()
        while self.subscriber.event() != number:  # others may publish, too
            pass


@pytest.fixture
def honest(make: Make, service: Service) -> Iterator[Honest]:
    """They are served before, meanwhile and afterwards."""
    both = Honest(make, service)
    both.check()
    both.subscriber.settle()  # its acknowledgement has arrived, too
    yield both
    both.check()


# -- what is no message ------------------------------------------------------------------------------------


def test_a_packet_beyond_the_limit_ends_its_connection_and_no_other(tmp_path: Path, make: Make) -> None:
    limits = {"message_bytes": 2048, "packet_bytes": 65_536}
    with running(config(tmp_path, limits=limits)) as service:
        honest = Honest(make, service)
        peer = make(endpoint(service), "hostile")
        monitor: zmq.Socket[bytes] = peer.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        peer.socket.send(bytes(65_537))
        assert monitor.poll(MOMENTS)
        assert recv_monitor_message(monitor)["event"] == zmq.EVENT_DISCONNECTED
        peer.socket.disable_monitor()
        monitor.close()
        honest.check()
        back = make(endpoint(service), "hostile")
        assert back.number == peer.number
        back.publish()


def unknown_value(number: int) -> bytes:
    """A publication with a value of a type that the broker does not know."""
    envelope = pb.Envelope.FromString(encode(Publish(number, Event(kind="x"))))
    envelope.publish.attributes.add(name="colour").custom.tag = "unheard-of"
    return envelope.SerializeToString()


def unknown_operator(handle: int) -> bytes:
    envelope = pb.Envelope.FromString(encode(Subscribe(handle, ANYTHING)))
    envelope.subscribe.filters[0].op = "resembles"
    return envelope.SerializeToString()


def test_who_asks_for_what_the_broker_does_not_know_gets_an_answer(
    service: Service, make: Make, honest: Honest
) -> None:
    peer = make(endpoint(service), "with types of its own")
    before = count(service, "malformed")
    peer.socket.send(unknown_value(peer.number << 32 | 1))
    refused = peer.get(Refused)
    assert (refused.id, refused.handle) == (peer.number << 32 | 1, None)
    assert "value type 'unheard-of': expected a registered one" in refused.reason
    peer.socket.send(unknown_operator(5))
    refused = peer.get(Refused)
    assert (refused.id, refused.handle) == (None, 5)
    assert "operator 'resembles' of type string: expected one of" in refused.reason
    assert count(service, "malformed") == before + 2
    peer.published = 1
    peer.publish()  # later ones are taken, and the refused one is known as such
    assert make(endpoint(service), peer.name).welcome.published == 0


def test_a_large_message_of_an_unknown_type_gets_an_answer_too(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, limits={"message_bytes": 2048})) as service:
        peer = make(endpoint(service), "with types of its own")
        envelope = pb.Envelope.FromString(unknown_value(peer.number << 32 | 1))
        envelope.publish.payload = bytes(3000)
        peer.socket.send(envelope.SerializeToString())
        refused = peer.get(Refused)
        assert refused.id == peer.number << 32 | 1
        assert "expected at most 2048" in refused.reason


@pytest.mark.parametrize("greeted", [True, False])
def test_truncated_messages(service: Service, make: Make, honest: Honest, greeted: bool) -> None:
    """Each is one of what can become of a message, and counted there."""
    peer = make(endpoint(service), "hostile" if greeted else None)
    before = count(service, *OUTCOMES)
    whole = [
        encode(Publish(peer.number << 32 | 1, Event(kind="x", payload=b"abc"), Kind.PLACED, 5, (1.0, 2.0))),
        encode(Subscribe(7, ANYTHING, 100, ContextUpdate((1.0, 2.0)))),
        encode(Control(1, "status", b"{}")),
    ]
    cut = [data[:length] for data in whole for length in range(len(data))]
    for data in cut:
        peer.socket.send(data)
    until(lambda: count(service, *OUTCOMES) >= before + len(cut))
    assert count(service, *OUTCOMES) == before + len(cut)
    assert count(service, "malformed") > len(cut) // 2


@pytest.mark.parametrize("greeted", [True, False])
@pytest.mark.parametrize("parts", [2, 3, 50])
def test_packets_of_several_parts(service: Service, make: Make, parts: int, greeted: bool) -> None:
    honest = Honest(make, service)
    peer = make(endpoint(service), "hostile" if greeted else None)
    route = in_loop(service, lambda: service.server.sessions.by_name["honest subscriber"].route)
    peer.socket.send_multipart([encode(Hello("x", 1)), *[route, encode(Bye(forget=True))] * 50][:parts])
    until(lambda: count(service, "malformed") == 1)
    assert not in_loop(service, lambda: "x" in service.server.sessions.by_name)
    honest.check()


def test_routes_that_clients_choose_are_not_taken(service: Service, make: Make, honest: Honest) -> None:
    """Somebody else could choose the same one later, and be taken for the client that had it first."""
    peer = make(endpoint(service))
    peer.socket.disconnect(endpoint(service))
    peer.socket.routing_id = b"chosen"
    peer.socket.connect(endpoint(service))
    peer.socket.send(encode(Hello("hostile", 1)))
    assert "routing id" in peer.get(Refused).reason
    assert count(service, "unauthorised") == 1
    assert not in_loop(service, lambda: "hostile" in service.server.sessions.by_name)


# -- what is said twice, or by the wrong one --------------------------------------------------------------


def test_greetings_that_are_repeated_send_nothing_again(service: Service, make: Make, honest: Honest) -> None:
    """What was sent on a connection arrives on it."""
    peer = make(endpoint(service), "hostile")
    peer.subscribe()
    numbers = [honest.publisher.publish(size=10_000) for _ in range(20)]
    assert [peer.event(acknowledge=False) for _ in numbers] == numbers
    for _ in range(100):
        peer.send(Hello("hostile", 1, (1,)))
    assert not [m for m in peer.settle() if isinstance(m, Notify | Welcome)]
    assert count(service, "hello_repeated") == 100
    back = make(endpoint(service), "hostile", handles=(1,))
    assert [back.event() for _ in numbers] == numbers


def test_publications_that_are_repeated_arrive_once(service: Service, make: Make, honest: Honest) -> None:
    peer = make(endpoint(service), "hostile")
    number = peer.publish()
    for _ in range(500):
        peer.published -= 1
        assert peer.publish(wait=False) == number
    acknowledged = [i for m in peer.settle() if isinstance(m, Ack) for i in m.ids]
    assert acknowledged == [number] * 500
    assert honest.subscriber.event() == number
    assert not [m for m in honest.subscriber.settle() if isinstance(m, Notify)]


def test_nobody_speaks_for_another(service: Service, make: Make, honest: Honest) -> None:
    victim = honest.subscriber
    peer = make(endpoint(service), "hostile")
    waits = honest.publisher.publish()
    own, peer.number = peer.number, victim.number
    peer.send(Publish(victim.number << 32 | 1, Event(kind="x"), Kind.PLACED, 0, (10.0, 10.0)))
    assert peer.get(Refused).id == victim.number << 32 | 1
    peer.send(Ack((waits,)))
    peer.send(ContextUpdate((900.0, 900.0)))
    peer.send(Unsubscribe(1))
    assert peer.get(Ack).handles == (1,)  # it has none, so that nothing is to be done
    place, handles, waiting = in_loop(
        service,
        lambda: (
            service.server.broker.table.place(victim.number),
            list(service.server.sessions.by_number[victim.number].handles),
            waiting_for(service, service.server.sessions.by_number[victim.number]),
        ),
    )
    assert place[:2] == (10.0, 10.0)
    assert handles == [1]
    assert waits in waiting
    assert victim.event() == waits
    assert in_loop(service, lambda: service.server.broker.table.place(own))[:2] == (900.0, 900.0)


def test_what_follows_a_farewell_in_the_same_packet_is_a_strangers(
    service: Service, make: Make, honest: Honest
) -> None:
    after = [
        Publish(1, Event(kind="x"), Kind.PLACED, 0, (10.0, 10.0)),
        Subscribe(1, ANYTHING, 100, ContextUpdate((10.0, 10.0))),
        ContextUpdate((10.0, 10.0)),
        Unsubscribe(1),
        Ping(asks=True),
        Control(1, "status"),
        Ack((1,)),
    ]
    for forget in (False, True):
        peer = make(endpoint(service))
        peer.socket.send(pack([encode(m) for m in (Hello("hostile", 1), Bye(forget), *after)]))
        peer.get(Welcome)
        for _ in range(1 + len(after)):
            peer.get(Bye)
        assert not peer.inbox
    assert count(service, "strangers") == 2 * len(after)
    assert in_loop(service, lambda: len(service.server.broker.table)) == 1  # the honest one's
    assert in_loop(service, lambda: len(service.server.sessions)) == 2


# -- keys -------------------------------------------------------------------------------------------------


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Service]:
    create_broker_keys(tmp_path)
    for name in ("alice", "mallory", "stranger"):
        create_client_keys(tmp_path, name)
    (tmp_path / "clients" / "stranger.pub").unlink()
    settings = config(
        tmp_path,
        open=False,
        keys=tmp_path / "broker.key",
        clients=tmp_path / "clients",
        listen=("tcp://127.0.0.1:*",),
    )
    with running(settings) as service:
        yield service


def test_wrong_keys_and_a_wrong_broker(tmp_path: Path, guarded: Service, make: Make) -> None:
    alice = load_client_keys(tmp_path / "alice.key")
    subscriber, publisher = (make(endpoint(guarded), name, keys=alice) for name in ("", "publisher"))
    subscriber.subscribe()
    stranger = load_client_keys(tmp_path / "stranger.key")
    other_broker = ClientKeys("mallory", stranger.public, stranger.secret, stranger.public)
    for number in range(3):
        for keys in (stranger, other_broker, None):
            with suppress(zmq.Again):  # there may be no connection any more
                make(endpoint(guarded), None, keys=keys).socket.send(
                    encode(Hello(f"n{number}", 1)), zmq.NOBLOCK
                )
    authenticator = guarded.server.listener.authenticator
    assert authenticator is not None
    until(lambda: authenticator.refused >= 3)
    assert publisher.publish() == subscriber.event()
    assert list(guarded.server.sessions.by_name) == ["alice", "alice/publisher"]
    subscriber.settle()
    assert count(guarded, *OUTCOMES) == 6  # alice's own
    in_loop(guarded, guarded.status.refresh)
    assert guarded.status.snapshot["counters"]["not_admitted"] >= 3


def test_control_needs_the_right(tmp_path: Path, guarded: Service, make: Make) -> None:
    mallory = make(endpoint(guarded), "", keys=load_client_keys(tmp_path / "mallory.key"))
    plan = {"plan": "p", "actions": [{"proxy": "filter", "to": "ste"}]}
    for number, command in enumerate(("status", "execute", "log", "anything")):
        mallory.send(Control(number, command, json.dumps({"plan": plan}).encode()))
        reply = mallory.get(Reply)
        assert (reply.request, reply.ok) == (number, False)
        assert "expected a key with the right 'admin'" in json.loads(reply.content)["error"]
    assert count(guarded, "unauthorised") == 4
    assert [scheme.name for scheme in guarded.server.broker.filter_schemes] == ["radial"]


def test_who_is_not_admitted_any_more_ends_nobodys_session(
    tmp_path: Path, guarded: Service, make: Make
) -> None:
    """A connection that was admitted outlives its key by up to a second."""
    alice = load_client_keys(tmp_path / "alice.key")
    subscriber, publisher = (make(endpoint(guarded), name, keys=alice) for name in ("", "publisher"))
    subscriber.subscribe()
    mallory = make(endpoint(guarded), None, keys=load_client_keys(tmp_path / "mallory.key"))
    mallory.send(Ping())
    mallory.get(Bye)
    (tmp_path / "clients" / "mallory.pub").unlink()
    key, listed = load_client_keys(tmp_path / "mallory.key").public, guarded.server.listener.allow_list
    assert listed is not None
    until(lambda: listed.find(key) is None)
    mallory.send(Hello("alice", 1, durable=False))
    assert "not admitted" in mallory.get(Refused).reason
    assert publisher.publish() == subscriber.event()
    assert in_loop(guarded, lambda: guarded.server.sessions.by_name["alice"].number) == subscriber.number


# -- too much ---------------------------------------------------------------------------------------------


def test_acknowledgements_of_what_nobody_has_sent(service: Service, make: Make, honest: Honest) -> None:
    sessions = service.server.sessions
    peer = make(endpoint(service), "hostile")
    peer.subscribe()
    number = honest.publisher.publish()
    before = count(service, "understood")
    for n in range(1_500):
        peer.socket.send(encode(Ack((n, number + 1 + n), client=peer.number)))
    until(lambda: count(service, "understood") == before + 1_500)
    assert in_loop(service, lambda: waiting_for(service, sessions.by_name["hostile"])) == [number]
    assert peer.event() == number  # whose acknowledgement counts, though there are too many
    until(lambda: not waiting_for(service, sessions.by_name["hostile"]))


def test_more_subscriptions_than_there_may_be(service: Service, make: Make, honest: Honest) -> None:
    peer = make(endpoint(service), "hostile")
    subscribe = Subscribe(0, ANYTHING, 100, ContextUpdate((500.0, 500.0)), client=peer.number)
    for handle in range(1, 1_501):
        subscribe.handle = handle
        peer.socket.send(encode(subscribe))
    until(lambda: count(service, "refused", "limited") == 1_500 - 100)
    assert in_loop(service, lambda: len(service.server.broker.table)) == 101
    subscribed, refused = answers(peer, 1_500)
    assert len(subscribed) == 100
    assert sorted(subscribed + refused) == list(range(1, 1_501))


def answers(peer: Peer, expected: int) -> tuple[list[int], list[int]]:
    """What was acknowledged and what was refused, publications or handles, when so many were answered."""
    acknowledged: list[int] = []
    refused: list[int] = []
    while len(acknowledged) + len(refused) < expected:
        assert peer.socket.poll(MOMENTS)
        for message in map(decode, unpack(peer.socket.recv())):
            if isinstance(message, Ack):
                acknowledged += message.ids or message.handles
            elif isinstance(message, Refused):
                number = message.handle if message.id is None else message.id
                assert number is not None
                refused.append(number)
    return acknowledged, refused


def test_a_flood_of_publications_is_answered_one_by_one(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, limits={"client_rate": 100.0})) as service:
        honest = Honest(make, service)
        peer = make(endpoint(service), "hostile")
        numbers = [peer.publish((900.0, 900.0), wait=False) for _ in range(380)]
        honest.check()
        acknowledged, refused = answers(peer, len(numbers))
        assert sorted(acknowledged + refused) == numbers
        assert len(refused) > 100
        assert count(service, "limited") == len(refused)
        assert count(service, "refused") == 0


def test_who_never_reads_is_served_later(tmp_path: Path, make: Make) -> None:
    """Only so much is on its way to it, whatever it is sent; the rest waits in the store."""
    with running(config(tmp_path, limits={"client_rate": 0.0})) as service:
        honest = Honest(make, service)
        peer = make(endpoint(service), "hostile")
        peer.subscribe()
        session = service.server.sessions.by_name["hostile"]
        numbers = []
        for _ in range(30):
            numbers += [honest.publisher.publish(wait=False, size=5_000) for _ in range(50)]
            assert [honest.subscriber.event() for _ in range(50)] == numbers[-50:]
        awaited = service.server.sessions.awaited
        on_the_way = in_loop(service, lambda: awaited.count(session.slot) - awaited.unsent(session.slot))
        assert 0 < on_the_way * 5_000 < WINDOW_BYTES + 10_000
        assert [peer.event() for _ in numbers] == numbers
        until(lambda: service.server.deliveries.waiting == 0)


@pytest.mark.parametrize("away", [False, True])
def test_what_waits_for_who_never_reads_is_bounded(tmp_path: Path, make: Make, away: bool) -> None:
    limits = {"client_rate": 0.0, "client_byte_rate": 0.0, "pending_events": 100}
    with running(config(tmp_path, limits=limits)) as service:
        honest = Honest(make, service)
        peer = make(endpoint(service), "hostile")
        peer.subscribe()
        if away:
            peer.send(Bye())
            peer.get(Bye)
        session = service.server.sessions.by_name["hostile"]
        numbers = []
        for _ in range(40):
            numbers += [honest.publisher.publish(wait=False, size=5_000) for _ in range(50)]
            assert [honest.subscriber.event() for _ in range(50)] == numbers[-50:]
        awaited = service.server.sessions.awaited
        waiting, unsent = in_loop(
            service, lambda: (awaited.count(session.slot), awaited.unsent(session.slot))
        )
        assert waiting == (100 if away else 200)  # and those that are on their way, and may have arrived
        assert unsent <= waiting
        back = make(endpoint(service), "hostile", handles=(1,))
        assert back.welcome.missed == len(numbers) - waiting
        assert [back.event() for _ in range(waiting)] == numbers[: waiting - 100] + numbers[-100:]


def test_much_that_waits_is_sent_in_packets_that_may_be_sent(tmp_path: Path, make: Make) -> None:
    """Large events for one that was away are many bytes, few events at a time; others lose nothing by it."""
    with running(config(tmp_path, limits={"client_rate": 0.0})) as service:
        honest = Honest(make, service)
        peer = make(endpoint(service), "hostile")
        peer.subscribe()
        peer.send(Bye())
        peer.get(Bye)
        numbers = [honest.publisher.publish(size=65_000) for _ in range(100)]
        assert [honest.subscriber.event() for _ in numbers] == numbers
        back = make(endpoint(service), "hostile", handles=(1,))
        back.send(Ping(asks=True))
        honest.check()
        sessions = service.server.sessions
        on_the_way = in_loop(service, lambda: sessions.awaited.slots[sessions.by_name["hostile"].slot, BYTES])
        assert on_the_way < WINDOW_BYTES + 66_000
        assert [back.event() for _ in numbers] == numbers


def test_a_turn_ends_however_many_messages_packets_have(
    service: Service, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one client could keep all others waiting until they are taken for lost."""
    monkeypatch.setattr(intake, "MOST_PER_TURN", 50)
    peer = make(endpoint(service), "hostile")
    server = service.server
    in_loop(service, lambda: server.loop.leave(server.socket))
    before = server.counters["understood"]
    for _ in range(5):
        peer.socket.send(pack([encode(Ping())] * 40))

    def turns() -> list[int]:
        counts = [0]
        deadline = 200
        while counts[-1] < 200 and deadline:
            server.socket.poll(100)
            server.intake.read()
            counts.append(server.counters["understood"] - before)
            deadline -= 1
        server.loop.serve(server.socket, server.intake.read)
        return counts

    counts = in_loop(service, turns)
    assert counts[-1] == 200
    assert max(after - before for before, after in pairwise(counts)) < 50 + 40


def test_no_more_is_read_than_can_be_kept_while_the_store_is_slow(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is; and who cannot be heard is not taken for silent."""
    monkeypatch.setattr(intake, "MOST_PER_TURN", 10)
    monkeypatch.setattr(turns, "MOST_BYTES_COLLECTED", 20_000)
    heartbeat = 0.5
    with running(config(tmp_path, heartbeat=heartbeat)) as service:
        server, goes_on = service.server, threading.Event()
        publisher, peer = make(endpoint(service), "publisher"), make(endpoint(service), "hostile")
        publisher.publish()
        write = server.store.write

        def slowly(batch: Batch) -> None:
            assert goes_on.wait(PATIENCE)
            write(batch)

        monkeypatch.setattr(server.store, "write", slowly)
        publisher.publish(wait=False)
        until(lambda: server.turns.writing)
        before = server.counters["bytes_in"]
        for _ in range(100):
            peer.socket.send(bytes(1000))
        until(lambda: server.intake.paused)
        paused_at = server.loop.now()
        assert server.counters["bytes_in"] - before < 20_000 + 11 * 1000
        until(lambda: server.loop.now() > paused_at + 5 * heartbeat)
        goes_on.set()
        assert publisher.get(Ack).ids
        until(lambda: server.counters["malformed"] == 100)
        assert server.counters["silent"] == 0


def test_full_packets_of_a_stranger_are_not_read_for_long(
    service: Service, make: Make, honest: Honest
) -> None:
    """Some are answered; then the rest is not read, and then there is no connection any more."""
    peer = make(endpoint(service))
    packet = pack([encode(Ping(asks=True))] * MOST_MESSAGES)
    peer.socket.send(packet)
    peer.get(Bye)
    assert count(service, "strangers") < MOST_MESSAGES
    while not count(service, "disconnected"):
        with suppress(zmq.Again):
            peer.socket.send(packet, zmq.NOBLOCK)
    assert count(service, "unread") > 0


def test_an_answer_that_is_too_large_disturbs_no_other(service: Service, make: Make, honest: Honest) -> None:
    peer = make(endpoint(service), "hostile")
    session = service.server.sessions.by_name["hostile"]
    service.server.reception.on_control = lambda asking, request: service.server.deliveries.send(
        asking.number, Reply(request.request, True, bytes(MAX_MESSAGE_BYTES))
    )
    peer.socket.send(encode(Control(1, "status", client=peer.number)))
    honest.check()
    assert not [m for m in peer.settle() if isinstance(m, Reply)]
    assert count(service, "malformed") == 1
    assert session.route is not None


def test_two_thousand_connections_one_after_the_other(service: Service, honest: Honest) -> None:
    """The broker has let go of them afterwards."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    before = len(os.listdir("/proc/self/fd"))
    try:
        for life in range(2_000):
            with context.socket(zmq.DEALER) as socket:
                socket.linger = 0
                socket.connect(endpoint(service))
                socket.send(encode(Hello("hostile", life)))
                assert socket.poll(MOMENTS)
            if life % 500 == 0:
                honest.check()
    finally:
        context.term()
    assert in_loop(service, lambda: len(service.server.sessions)) == 3
    until(lambda: len(os.listdir("/proc/self/fd")) <= before)
