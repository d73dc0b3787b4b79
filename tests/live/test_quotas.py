"""Quotas: what one key may ask of a live broker, and what becomes of the rest."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st

from bypass import Event, connect
from bypass.live.broker.config import Limits
from bypass.live.broker.loop import connections as connections_module
from bypass.live.broker.loop.connections import Connections
from bypass.live.broker.loop.sender import NOBODY
from bypass.live.broker.operations.metrics import exposition
from bypass.live.broker.reception import backlog, intake
from bypass.live.broker.reception.backlog import WAITING_BYTES, Backlog, Packet, room_of
from bypass.live.broker.service import Service
from bypass.live.broker.sessions.quotas import BURST_S, Account, Bucket, Charge, Quotas
from bypass.live.broker.sessions.sessions import MOST_REFUSED, Numbers, Session
from bypass.live.client.errors import PublicationRefused
from bypass.live.keys import create_broker_keys, create_client_keys, load_client_keys
from bypass.protocol.messages import Kind, Publish
from bypass.protocol.session import Ack, Bye, Hello, Ping, Refused, Welcome
from bypass.protocol.wire import decode, encode, pack, unpack
from tests.live.brokers import Peer, config, in_loop, peers, running, until

Make = Callable[..., Peer]

steps = st.lists(st.tuples(st.floats(0, 10), st.integers(0, 3000)), max_size=40)
rates = st.floats(0.1, 2000)


# -- buckets ----------------------------------------------------------------------------------------------


@given(rates, rates, steps)
def test_no_more_is_taken_than_the_burst_and_what_has_come(
    rate: float, burst: float, steps: list[tuple[float, int]]
) -> None:
    """In every interval, not only from the beginning."""
    bucket, now = Bucket(rate, burst, 0.0), 0.0
    taken: list[tuple[float, int]] = []
    for pause, wanted in steps:
        now += pause
        got = bucket.take(now, wanted)
        assert 0 <= got <= wanted
        taken.append((now, got))
        for first, (began, _) in enumerate(taken):
            allowed = burst + rate * (now - began)
            assert sum(number for _, number in taken[first:]) <= allowed + 1e-6 * allowed


@given(rates, rates, steps)
def test_all_or_nothing_is_bounded_likewise_and_as_generous_as_that(
    rate: float, burst: float, steps: list[tuple[float, int]]
) -> None:
    bucket, now, level = Bucket(rate, burst, 0.0), 0.0, burst
    for pause, wanted in steps:
        now += pause
        level = min(level + pause * rate, burst)
        took = bucket.take_all(now, wanted)
        if abs(level - wanted) > 1e-6 * burst:
            assert took == (wanted <= level)
        level -= wanted * took


@given(steps)
def test_without_a_rate_there_is_no_limit(steps: list[tuple[float, int]]) -> None:
    bucket = Bucket(0.0, 0.0, 0.0)
    assert all(bucket.take(now, wanted) == wanted and bucket.take_all(now, wanted) for now, wanted in steps)


@given(st.lists(st.tuples(st.floats(0, 0.5), st.integers(1, 50), st.integers(1, 9000)), max_size=60))
def test_an_account_admits_messages_and_bytes_within_their_rates(steps: list[tuple[float, int, int]]) -> None:
    limits = Limits(client_rate=100, client_byte_rate=20_000, packet_bytes=9000, message_bytes=9000)
    account, now, messages, size = Account("a", limits, 0.0), 0.0, 0, 0
    answered = answered_bytes = 0
    for pause, count, length in steps:
        now += pause
        charge = account.charge_bytes(now, length)
        if charge is Charge.TAKEN:
            size += length
            taken = account.charge_messages(now, count)
            messages += taken
            answered += account.charge_refusals(now, count - taken)
        elif charge is Charge.REFUSED:
            answered_bytes += length
    for used, rate in ((messages, 100), (answered, 100), (size, 20_000), (answered_bytes, 20_000)):
        assert used <= 2 * rate + rate * now + 1e-3


def test_accounts_that_are_idle_are_forgotten() -> None:
    now = [0.0]
    quotas = Quotas(Limits(client_rate=10), False, lambda: now[0])
    for number in range(1000):
        quotas.stranger(f"k{number}", b"", "").charge_messages(0.0, 5)
    kept = quotas.owner("k1/phone")
    kept.sessions += 1
    quotas.stored(7, quotas.owner("k2"), 100)
    quotas.tidy()
    assert len(quotas) == 1000  # they have used something
    now[0] = 100.0
    quotas.tidy()
    assert len(quotas) == 2
    quotas.released(7)
    quotas.tidy()
    assert len(quotas) == 1
    assert quotas.owner("k1") is kept


def test_an_open_broker_tells_addresses_apart_and_on_its_own_machine_sessions() -> None:
    quotas = Quotas(Limits(), True, lambda: 0.0)
    assert quotas.owner("a", "192.0.2.1") is quotas.owner("b", "192.0.2.1")
    assert quotas.owner("a", "192.0.2.1") is quotas.stranger("", b"1", "192.0.2.1")
    assert quotas.owner("a", "127.0.0.1") is quotas.owner("a", "localhost:0:0:7")
    assert quotas.owner("a", "127.0.0.1") is quotas.owner("a")
    assert quotas.owner("a", "::1") is not quotas.owner("b", "::1")
    assert quotas.stranger("", b"1", "127.0.0.1") is not quotas.stranger("", b"2", "127.0.0.1")


# -- numbers that are refused -----------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=200), st.sets(st.integers(0, 30)))
def test_numbers_are_a_set_that_knows_its_smallest(changes: list[tuple[bool, int]], first: set[int]) -> None:
    numbers, model = Numbers(first), set(first)
    for adds, number in changes:
        (numbers.add if adds else numbers.discard)(number)
        (model.add if adds else model.discard)(number)
        assert numbers.smallest() == min(model, default=None)
        assert len(numbers) == len(model)
        assert (number in numbers) == (number in model)


def test_a_refusal_costs_the_same_however_many_there_have_been() -> None:
    """A hundred thousand of them would take a quarter of a minute if each looked at all before it."""
    session = Session(7, "me", 1, durable=True)
    for number in range(1, 100_001):
        session.refuse(number)
        assert session.known_up_to == max(number - MOST_REFUSED, 0)
    assert len(session.refused) == MOST_REFUSED


# -- connections ------------------------------------------------------------------------------------------


class _Frame:
    """As much of a frame as says by which descriptor it came."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def get(self, option: int) -> int:
        assert option == zmq.SRCFD
        return self.descriptor


def test_a_connection_is_ended_only_while_its_descriptor_is_its_own() -> None:
    ours, theirs = socket.socketpair()
    other, innocent = socket.socketpair()
    connections = Connections(lambda route: True)
    connections.meet(b"r", _Frame(ours.fileno()))  # type: ignore[arg-type]
    assert not connections.end(b"r")  # in the same turn nobody can tell
    connections.turn += 1
    os.dup2(other.fileno(), ours.fileno())  # it was closed, and somebody else got its number
    assert not connections.end(b"r")
    other.send(b"x")
    assert innocent.recv(1) == b"x"
    connections.meet(b"s", _Frame(other.fileno()))  # type: ignore[arg-type]
    connections.turn += 1
    assert connections.end(b"s")
    assert innocent.recv(1) == b""
    for each in (connections, ours, theirs, other, innocent):
        each.close()


def test_a_connection_that_is_gone_is_not_ended() -> None:
    ours, theirs = socket.socketpair()
    connections = Connections(lambda route: False)
    connections.meet(b"r", _Frame(ours.fileno()))  # type: ignore[arg-type]
    connections.turn += 1
    assert not connections.end(b"r")
    assert not connections.end(b"unknown")
    theirs.send(b"x")
    assert ours.recv(1) == b"x"
    for each in (connections, ours, theirs):
        each.close()


def test_only_what_was_accepted_at_an_address_of_ours_is_ended_for_its_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections_module, "GREETING_S", 0.0)
    connections = Connections(lambda route: True)
    connections.ours = {str(tmp_path / "ours")}
    with ExitStack() as stack:
        stack.callback(connections.close)
        pairs = []
        for name in ("ours", "others"):
            listening = stack.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(str(tmp_path / name))
            listening.listen()
            peer = stack.enter_context(socket.socket(socket.AF_UNIX))
            peer.connect(str(tmp_path / name))
            pairs.append((stack.enter_context(listening.accept()[0]), peer))
            connections.accepted(pairs[-1][0].fileno())
        (_, silent), (accepted, innocent) = pairs
        connections.look_after(())
        assert connections.ungreeted == 1
        assert silent.recv(1) == b""
        accepted.send(b"x")
        assert innocent.recv(1) == b"x"


@contextmanager
def all_descriptors_used() -> Iterator[None]:
    """This process can open nothing more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 1, hard))
    try:
        with suppress(OSError):
            while True:
                used.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in used:
            os.close(each)


def test_a_process_without_a_descriptor_sees_how_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """And ends the connection of which too much is held."""
    monkeypatch.setattr(connections_module, "GROWTH_BYTES", 1 << 23)
    monkeypatch.setattr(connections_module, "HELD_BYTES", 1000)
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        connections = Connections(lambda route: True)
        stack.callback(connections.close)
        connections.ours = {listening.getsockname()[1]}
        peer = stack.enter_context(socket.create_connection(listening.getsockname()))
        accepted = stack.enter_context(listening.accept()[0])
        connections.accepted(accepted.fileno())
        peer.sendall(bytes(2000))
        until(lambda: len(accepted.recv(2000, socket.MSG_PEEK)) == 2000)
        connections.watch()
        with all_descriptors_used():
            connections.watch()
            assert connections.swollen == 0
            growth = b"x" * (1 << 25)
            connections.watch()
        assert connections.swollen == 1, len(growth)
        assert peer.recv(1) == b""


def test_time_in_which_nobody_was_heard_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Connections(lambda route: True)
    ours, theirs = socket.socketpair()
    connections.meet(b"r", _Frame(ours.fileno()))  # type: ignore[arg-type]
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 3600)
    connections.listens_again()
    connections.look_after(())
    assert connections.ungreeted == 0
    monkeypatch.setattr(time, "monotonic", lambda: now + 7200)
    connections.look_after({b"r"})
    assert connections.ungreeted == 0
    monkeypatch.setattr(time, "monotonic", lambda: now + 10800)
    connections.look_after(())
    assert connections.ungreeted == 1
    assert theirs.recv(1) == b""
    assert not connections.by_route
    for each in (connections, ours, theirs):
        each.close()


# -- at a broker ------------------------------------------------------------------------------------------


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def count(service: Service, name: str) -> int:
    return int(in_loop(service, lambda: service.server.counters[name]))


def guarded(folder: Path, **limits: Any) -> Any:
    """A broker that admits alice, bob and the operator boss."""
    create_broker_keys(folder)
    for name in ("alice", "bob"):
        create_client_keys(folder, name)
    create_client_keys(folder, "boss", frozenset({"admin"}))
    return config(
        folder,
        open=False,
        keys=folder / "broker.key",
        clients=folder / "clients",
        listen=("tcp://127.0.0.1:*",),
        limits=limits,
    )


def test_a_key_has_so_many_sessions_and_operators_always_get_in(tmp_path: Path, make: Make) -> None:
    settings = guarded(tmp_path, sessions_per_key=3, clients=4)
    alice, bob, boss = (load_client_keys(tmp_path / f"{name}.key") for name in ("alice", "bob", "boss"))
    with running(settings) as service:
        for number in range(3):
            make(endpoint(service), f"{number}", keys=alice)
        refused = make(endpoint(service), None, keys=alice)
        refused.send(Hello("3", 1))
        assert "alice has 3 sessions: expected no more of one key" in refused.get(Refused).reason
        make(endpoint(service), "2", life=2, keys=alice)  # one that it has
        make(endpoint(service), "", keys=bob)
        full = make(endpoint(service), None, keys=bob)
        full.send(Hello("more", 1))
        assert "this broker has 4 sessions" in full.get(Refused).reason
        for number in range(5):
            make(endpoint(service), f"{number}", keys=boss)
        assert count(service, "over_sessions") == 2
        gone = make(endpoint(service), "0", life=3, keys=alice)
        gone.send(Bye(forget=True))
        gone.get(Bye)
        make(endpoint(service), "1", life=2, keys=alice)
    with running(settings) as service:  # what the store has counts
        assert in_loop(service, lambda: service.server.sessions.quotas.owner("alice").sessions) == 2


def test_a_key_makes_so_many_connections_in_a_short_time_and_operators_any_number(
    tmp_path: Path, make: Make
) -> None:
    with running(guarded(tmp_path, sessions_per_key=5)) as service:
        alice, bob, boss = (load_client_keys(tmp_path / f"{name}.key") for name in ("alice", "bob", "boss"))
        for _ in range(60):  # which say nothing
            make(endpoint(service), None, keys=alice)
        until(lambda: count(service, "over_connections") > 0)
        make(endpoint(service), "", keys=bob).publish()
        for number in range(30):
            make(endpoint(service), f"{number}", keys=boss)


def test_sessions_of_a_key_share_what_it_may_send(tmp_path: Path, make: Make) -> None:
    """Together they have one burst, and what has come since: a new session brings no other."""
    with running(guarded(tmp_path, client_rate=50.0)) as service:
        alice, bob = (load_client_keys(tmp_path / f"{name}.key") for name in ("alice", "bob"))
        began = service.server.loop.now()
        taken = refused = 0
        for name in ("1", "2", "3"):
            peer = make(endpoint(service), name, keys=alice)
            numbers = [peer.publish(wait=False) for _ in range(60)]
            answered: list[int] = []
            while len(answered) < len(numbers):
                peer.inbox += map(decode, unpack(peer.socket.recv()))
                for message in peer.inbox:
                    if isinstance(message, Ack):
                        answered += message.ids
                        taken += len(message.ids)
                    elif isinstance(message, Refused):
                        assert message.reason == "more than 50 messages a second"
                        assert message.id is not None
                        answered.append(message.id)
                        refused += 1
                peer.inbox.clear()
            assert sorted(answered) == numbers
        assert taken <= 2 * 50 + 50 * (service.server.loop.now() - began)
        assert count(service, "limited") == refused
        make(endpoint(service), "", keys=bob).publish()


def test_who_goes_on_and_on_is_disconnected(tmp_path: Path, make: Make) -> None:
    """First it is told to connect again, and nobody else notices anything."""
    with running(config(tmp_path, limits={"client_rate": 50.0})) as service:
        subscriber, publisher = make(endpoint(service), "subscriber"), make(endpoint(service), "publisher")
        subscriber.subscribe()
        peer = make(endpoint(service), "hostile")
        monitor: zmq.Socket[bytes] = peer.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        packet = pack([encode(Ping())] * 1000)
        peer.socket.send(packet)
        peer.get(Bye)
        until(lambda: count(service, "offended") == 1)
        while not monitor.poll(0):
            with suppress(zmq.Again):
                peer.socket.send(packet, zmq.NOBLOCK)
            publisher.settle()
        peer.socket.disable_monitor()
        monitor.close()
        until(lambda: count(service, "disconnected") >= 1)
        assert publisher.publish() == subscriber.event()
        make(endpoint(service), "hostile", life=2)


def test_bytes_are_limited_as_messages_are(tmp_path: Path, make: Make) -> None:
    limits = {"client_byte_rate": 50_000, "message_bytes": 20_000, "packet_bytes": 40_000}
    with running(config(tmp_path, limits=limits)) as service:
        peer = make(endpoint(service), "hostile")
        numbers = [peer.publish(wait=False, size=15_000) for _ in range(9)]
        refused = peer.get(Refused)
        assert refused.id in numbers[6:]
        assert refused.reason == "more than 50000 bytes a second"
        for _ in range(10):
            peer.publish(wait=False, size=15_000)
        peer.get(Bye)
        assert count(service, "limited_bytes") > 0
        assert count(service, "unread") > 0


def test_large_acknowledgements_are_charged(tmp_path: Path, make: Make) -> None:
    """However true one of them is."""
    with running(config(tmp_path, limits={"client_byte_rate": 1_000_000})) as service:
        subscriber, publisher = make(endpoint(service), "hostile"), make(endpoint(service), "publisher")
        subscriber.subscribe()
        acks = encode(Ack((publisher.publish(), *range(16_000)), client=subscriber.number))
        for _ in range(40):
            subscriber.socket.send(acks)
        subscriber.get(Bye)
        assert count(service, "unread") > 0
        publisher.publish()


def test_what_was_taken_is_not_refused_when_it_comes_again(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, limits={"client_rate": 50.0})) as service:
        peer = make(endpoint(service), "me")
        number = peer.publish()
        event = Publish(number, Event(kind="x"), Kind.PLACED, 0, (10.0, 10.0), client=peer.number)
        peer.socket.send(pack([encode(event)] * 150))
        answers: list[int] = []
        while len(answers) < 150:
            answers += peer.get(Ack).ids
        assert set(answers) == {number}
        assert count(service, "limited") > 0
        assert not [message for message in peer.inbox if isinstance(message, Refused)]


def test_what_is_stored_for_a_key_is_bounded(tmp_path: Path, make: Make) -> None:
    settings = config(tmp_path, limits={"stored_bytes_per_key": 50_000})
    with running(settings) as service:
        subscriber, publisher = make(endpoint(service), "subscriber"), make(endpoint(service), "publisher")
        subscriber.subscribe()
        subscriber.send(Bye())
        subscriber.get(Bye)
        numbers = [publisher.publish(size=20_000) for _ in range(3)]
        refused = publisher.publish(wait=False)
        answer = publisher.get(Refused)
        assert answer.id == refused
        assert "bytes of events of session publisher are waited for: expected at most 50000" in answer.reason
        assert count(service, "over_stored") == 1
        make(endpoint(service), "another").publish()
    with running(settings) as service:
        publisher = make(endpoint(service), "publisher", life=2)
        publisher.publish(wait=False)
        assert "expected at most 50000" in publisher.get(Refused).reason
        back = make(endpoint(service), "subscriber", handles=(1,))
        assert [back.event() for _ in numbers] == numbers
        back.settle()
        publisher.publish()


@pytest.mark.parametrize("size", [100, 100_000])
def test_what_waits_to_be_read_is_bounded_for_each_key(tmp_path: Path, make: Make, size: int) -> None:
    """Whoever sends more has to connect again, and there is room for others."""
    limits = {"client_rate": 0.0, "client_byte_rate": 0.0}
    with running(config(tmp_path, limits=limits)) as service:
        peer, other = make(endpoint(service), "hostile"), make(endpoint(service), "other")
        server, sessions = service.server, service.server.sessions
        account = in_loop(service, lambda: sessions.by_name["hostile"].account)
        in_loop(service, lambda: setattr(server.intake, "paused", True))
        sent = 0
        while not count(service, "overflowed"):
            for _ in range(max(100_000 // size, 1)):
                peer.publish(wait=False, size=size // 2)
                sent += 1
        assert WAITING_BYTES // 2 < account.waiting <= WAITING_BYTES
        number = other.publish(wait=False)
        in_loop(service, server.intake.resume)
        assert number in other.get(Ack).ids
        assert count(service, "disconnected") == 1
        peer.close()
        until(lambda: account.waiting == 0)
        taken = count(service, "publications") - 1
        assert taken + count(service, "overflowed") + count(service, "unread") <= sent
        back = make(endpoint(service), "hostile", life=2)
        assert back.published == taken  # all in a row, up to the first that could not wait
        back.publish()


def test_what_is_wrong_with_a_packet_does_not_keep_those_behind_it(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing more has to arrive until these are read."""
    with running(config(tmp_path)) as service:
        peer, server = make(endpoint(service), "peer"), service.server
        receive = server.reception.receive

        def fail_once(*_: object) -> None:
            server.reception.receive = receive  # type: ignore[method-assign]
            raise RuntimeError("a mistake of ours")

        in_loop(service, lambda: setattr(server.intake, "paused", True))
        peer.send(Ping())
        number = peer.publish(wait=False)
        until(lambda: in_loop(service, lambda: len(server.intake._backlog)) == 2)
        monkeypatch.setattr(server.reception, "receive", fail_once)
        in_loop(service, server.intake.resume)
        assert number in peer.get(Ack).ids


def test_what_is_too_much_for_a_turn_waits_for_the_next_in_its_order(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MOST_PER_TURN", 3)
    with running(config(tmp_path)) as service:
        server, made = service.server, [make(endpoint(service), name) for name in "ab"]
        in_loop(service, lambda: server.loop.leave(server.socket))
        numbers = [[peer.publish(wait=False) for _ in range(20)] for peer in made]
        in_loop(service, lambda: server.loop.serve(server.socket, server.intake.read))
        for peer, own in zip(made, numbers, strict=True):
            answered: list[int] = []
            while len(answered) < len(own):
                answered += peer.get(Ack).ids
            assert answered == own
        assert count(service, "publications") == 40


def test_a_client_was_heard_when_its_packet_came_however_late_it_is_read(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        server, peer = service.server, make(endpoint(service), "peer")
        session = in_loop(service, lambda: server.sessions.by_name["peer"])
        in_loop(service, lambda: setattr(server.intake, "paused", True))
        peer.send(Ping(asks=True))
        until(lambda: in_loop(service, lambda: len(server.intake._backlog)))
        heard = session.heard
        in_loop(service, server.intake.resume)
        peer.get(Ping)
        assert session.heard == heard


def test_one_packet_can_always_wait_and_all_together_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "WAITING_BYTES", 2000)
    monkeypatch.setattr(backlog, "WAITING_BYTES_IN_ALL", 8000)
    accounts = [Account(name, Limits(), 0.0) for name in "abcd"]
    waiting = Backlog()

    def put(account: Account, size: int) -> bool:
        room = room_of(size, 1)
        if not waiting.has(account, room):
            return False
        waiting.put(Packet(NOBODY, account, size, room, (bytes(size),), 1, "", 0, None))
        return True

    assert put(accounts[0], 5000)
    assert not put(accounts[0], 1)
    assert put(accounts[1], 100)
    assert put(accounts[1], 100)
    assert not put(accounts[1], 1000)
    assert not put(accounts[2], 5000)
    assert not accounts[0].is_idle(100.0)
    while len(waiting):
        waiting.take()
    assert [each.waiting for each in accounts] == [0] * 4
    assert accounts[0].is_idle(100.0)


def test_a_key_that_floods_makes_no_further_connections_for_a_while() -> None:
    account = Account("a", Limits(), 0.0)
    assert account.charge_connection(1.0)
    account.bar(1.0)
    assert not account.charge_connection(1.0 + BURST_S / 2)
    assert not account.is_idle(1.0 + BURST_S / 2)
    assert account.charge_connection(1.0 + BURST_S)


def test_newcomers_wait_while_more_comes_than_can_be_taken(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They get in one by one, and none is refused: ZeroMQ would let it try again only after five seconds."""
    monkeypatch.setattr(intake, "MOST_TAKEN", 10)
    with running(config(tmp_path)) as service:
        server, admission = service.server, service.server.listener.authenticator
        peer = make(endpoint(service), "peer")
        in_loop(service, lambda: server.loop.leave(server.socket))
        in_loop(service, lambda: server.loop.leave(admission.socket))
        for _ in range(25):
            peer.socket.send(encode(Ping()))

        def take() -> bool:
            server.socket.poll(100)
            server.intake.read()
            return server.intake.behind

        until(lambda: in_loop(service, take))
        strangers = [make(endpoint(service)) for _ in range(5)]

        def let_in() -> int:
            before = admission.admitted
            admission.handle()
            return admission.admitted - before

        admitted: list[int] = []
        for _ in strangers:
            until(lambda: in_loop(service, lambda: admission.socket.poll(0)))
            admitted.append(in_loop(service, let_in))
        assert admitted == [1] * len(strangers)
        assert count(service, "over_connections") == 0
        in_loop(service, lambda: server.loop.serve(admission.socket, admission.handle))
        in_loop(service, lambda: server.loop.serve(server.socket, server.intake.read))
        for number, stranger in enumerate(strangers):
            stranger.send(Hello(f"stranger {number}", 1))
            stranger.get(Welcome)
        peer.settle()


def test_an_application_that_publishes_too_fast_hears_of_every_event(tmp_path: Path) -> None:
    """Also of those that were not read: it connects again, and says them once more."""

    async def go(endpoint: str) -> None:
        async with connect(endpoint, open=True, name="me") as me:
            publishing = [asyncio.ensure_future(me.publish(Event(n=n), location=None)) for n in range(1500)]
            answers = await asyncio.wait_for(asyncio.gather(*publishing, return_exceptions=True), 20.0)
        refused = [answer for answer in answers if isinstance(answer, PublicationRefused)]
        assert all("more than 300 messages a second" in str(answer) for answer in refused)
        taken = [answer for answer in answers if isinstance(answer, int)]
        assert len(taken) + len(refused) == 1500
        assert len(taken) >= 600

    with running(config(tmp_path, limits={"client_rate": 300.0})) as service:
        asyncio.run(go(endpoint(service)))
        assert count(service, "offended") >= 1
        in_loop(service, service.status.refresh)
        assert service.status.snapshot["counters"]["offended"] >= 1
        assert b"bypass_connections_offended_total 0" not in exposition(service.status.snapshot)
        assert b"bypass_messages_limited_bytes_total 0" in exposition(service.status.snapshot)


def test_a_greeting_is_answered_though_its_key_has_said_too_much(tmp_path: Path, make: Make) -> None:
    with running(guarded(tmp_path, client_rate=50.0)) as service:
        alice = load_client_keys(tmp_path / "alice.key")
        make(endpoint(service), "1", keys=alice).socket.send(pack([encode(Ping())] * 120))
        until(lambda: count(service, "limited") > 0)
        peer = make(endpoint(service), None, keys=alice)
        peer.send(Hello("2", 1))
        peer.get(Welcome)
