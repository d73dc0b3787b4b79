"""Subscriptions of an earlier life have lanes of their own: neither they nor the reading of the log keep a
broker busy, stop others, or outlive what they are for."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bypass.live.broker import turns
from bypass.live.broker.service import Service
from bypass.live.broker.store.batch import Batch
from bypass.live.broker.store.reader import Reader
from bypass.live.broker.store.store import Logged, Store, StoreFailed
from bypass.protocol.messages import ContextUpdate, Notify, Subscribe, Unsubscribe
from bypass.protocol.session import Ack, Bye, Refused
from bypass.protocol.wire import encode, pack
from tests.live.brokers import ANYTHING, PATIENCE, Peer, config, in_loop, peers, running, until

Make = Callable[..., Peer]


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as made:
        yield made


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def leave(peer: Peer, *, forget: bool = False) -> None:
    peer.send(Bye(forget))
    peer.get(Bye)


def test_an_event_that_waits_for_an_acknowledgement_is_not_read_again_and_again(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Sequence[int]] = []
    read = Store.read

    def counted(self: Store, seqs: Sequence[int]) -> list[Logged]:
        reads.append(seqs)
        return read(self, seqs)

    monkeypatch.setattr(Store, "read", counted)
    with running(config(tmp_path)) as service:
        client, publisher = make(endpoint(service), "client"), make(endpoint(service), "publisher")
        for handle in (1, 2, 3, 4):
            client.subscribe(handle)
        leave(client)
        client = make(endpoint(service), "client", life=2)
        client.subscribe(1)
        number = publisher.publish()
        assert client.event(acknowledge=False) == number
        for handle in (2, 3, 4):  # the same event waits for these, too
            client.subscribe(handle)
        for _ in range(50):
            client.settle()
        assert len(reads) < 10
        client.send(Ack((number,)))
        notified = client.get(Notify)
        assert (notified.publication.id, notified.handles) == (number, (2, 3, 4))
        client.send(Ack((number,)))
        until(lambda: service.server.deliveries.waiting == 0)


def test_an_event_comes_at_once_for_subscriptions_that_are_claimed_together(
    tmp_path: Path, make: Make
) -> None:
    with running(config(tmp_path)) as service:
        client, publisher = make(endpoint(service), "client"), make(endpoint(service), "publisher")
        client.subscribe(1)
        client.subscribe(2)
        leave(client)
        client = make(endpoint(service), "client", life=2)
        numbers = [publisher.publish() for _ in range(3)]
        claims = [Subscribe(handle, ANYTHING, 100, ContextUpdate((10.0, 10.0))) for handle in (1, 2)]
        for claim in claims:
            claim.client, claim.scheme = client.number, client.scheme
        client.socket.send(pack([encode(claim) for claim in claims]))
        got = [client.get(Notify) for _ in numbers]
        assert [(each.publication.id, each.handles) for each in got] == [(n, (1, 2)) for n in numbers]
        client.send(Ack(tuple(numbers)))
        until(lambda: service.server.deliveries.waiting == 0)


def test_a_slot_that_was_another_clients_while_the_log_was_read_is_fed(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    read = Store.read

    def slow(self: Store, seqs: Sequence[int]) -> list[Logged]:
        assert go.wait(PATIENCE)
        return read(self, seqs)

    with running(config(tmp_path, limits={"pending_events": 5})) as service:
        first, publisher = make(endpoint(service), "first"), make(endpoint(service), "publisher")
        first.subscribe(1)
        leave(first)
        publisher.publish()
        monkeypatch.setattr(Store, "read", slow)
        first = make(endpoint(service), "first", handles=(1,))
        leave(first, forget=True)
        second = make(endpoint(service), "second")
        second.subscribe(1)
        numbers = [publisher.publish() for _ in range(7)]
        got = [second.event() for _ in range(5)]
        go.set()
        assert [*got, second.event(), second.event()] == numbers


def test_a_withdrawal_that_was_not_stored_leaves_the_subscription_its_clients(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(config(tmp_path)) as service:
        client, publisher = make(endpoint(service), "client"), make(endpoint(service), "publisher")
        for handle in (1, 2, 3):
            client.subscribe(handle)

        def full(self: Store, batch: Batch) -> None:
            raise StoreFailed("full")

        with monkeypatch.context() as broken:
            broken.setattr(Store, "write", full)
            client.send(Unsubscribe(1))
            assert client.get(Refused).handle == 1
        publisher.publish()  # it works again
        client.send(Unsubscribe(3))
        client.get(Ack)
        session = service.server.sessions.by_name["client"]
        assert in_loop(service, lambda: (set(session.own), session.divided)) == ({1, 2}, False)


def test_a_claim_is_granted_whatever_the_store_does(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(config(tmp_path)) as service:
        client, publisher = make(endpoint(service), "client"), make(endpoint(service), "publisher")
        client.subscribe(1)
        leave(client)
        numbers = [publisher.publish() for _ in range(5)]

        def full(self: Store, batch: Batch) -> None:
            raise StoreFailed("full")

        monkeypatch.setattr(Store, "write", full)
        client = make(endpoint(service), "client", life=2)
        client.subscribe(1)
        assert [client.event() for _ in numbers] == numbers


@pytest.mark.parametrize("how", ["withdrawn", "left"])
def test_after_a_restart_what_waits_unclaimed_is_counted_when_it_ends(
    tmp_path: Path, make: Make, how: str
) -> None:
    limits = {"unclaimed_age": 0.2 if how == "left" else 1000.0}
    with running(config(tmp_path)) as service:
        client, publisher = make(endpoint(service), "client"), make(endpoint(service), "publisher")
        client.subscribe(1)
        client.subscribe(2)
        leave(client)
        client = make(endpoint(service), "client", life=2)
        numbers = [publisher.publish() for _ in range(5)]
        client.send(Unsubscribe(1))
        client.get(Ack)
        client.subscribe(3)
        others = [publisher.publish() for _ in range(5)]
        assert [client.event() for _ in others] == others  # which are not missed, whatever becomes of 2
        client.settle()
    with running(config(tmp_path, limits=limits)) as service:
        client = make(endpoint(service), "client", life=2, handles=(2, 3))
        client.subscribe(3)
        if how == "withdrawn":
            client.send(Unsubscribe(2))
            client.get(Ack)
        kept = service.server.deliveries.kept
        until(lambda: kept.missing.total == len(numbers))
        assert kept.waiting == 0


def test_a_killed_broker_has_counted_all_that_it_had_given_up(tmp_path: Path, make: Make) -> None:
    """A store as any turn leaves it: what waits and what is missed make up all that was acknowledged."""
    limits = {"client_rate": 0.0, "pending_events": 10}
    with running(config(tmp_path, limits=limits)) as service:
        client, publisher = make(endpoint(service), "client"), make(endpoint(service), "publisher")
        client.subscribe(1)
        leave(client)
        for count in range(1, 31):
            publisher.publish()
            copy = tmp_path / f"killed{count}"
            copy.mkdir()
            for file in tmp_path.glob("store.db*"):
                shutil.copy(file, copy)
    for count in range(1, 31):
        store = Store(tmp_path / f"killed{count}" / "store.db", sync="normal")
        loaded = store.load()
        [stored] = [each for each in loaded.clients if each.name == "client"]
        store.close()
        assert (len(loaded.waiting), sum(stored.missed.values())) == (min(count, 10), max(count - 10, 0))


def test_a_store_that_fails_is_not_tried_without_pause(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[float] = []

    def full(self: Store, batch: Batch) -> None:
        tries.append(time.monotonic())
        raise StoreFailed("full")

    with running(config(tmp_path)) as service:
        client = make(endpoint(service), "client")
        client.subscribe(1)
        with monkeypatch.context() as broken:
            broken.setattr(Store, "write", full)
            client.send(Unsubscribe(1))
            client.get(Refused)
            until(lambda: len(tries) >= 10)
    assert tries[9] - tries[0] >= 9 * turns.FAILED_S


def test_a_broker_that_is_stopped_under_load_reads_no_more(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "MOST_COLLECTED", 5)
    go = threading.Event()
    write = Store.write

    def slow(self: Store, batch: Batch) -> None:
        assert go.wait(PATIENCE)
        write(self, batch)

    with running(config(tmp_path, limits={"client_rate": 0.0})) as service:
        client, publisher = make(endpoint(service), "client"), make(endpoint(service), "publisher")
        client.subscribe(1)
        monkeypatch.setattr(Store, "write", slow)
        served = in_loop(service, lambda: service.server.loop)
        intake = service.server.intake
        until(lambda: publisher.publish(wait=False) and in_loop(service, lambda: intake.paused))
        again: list[Any] = []
        in_loop(service, lambda: setattr(served, "serve", lambda *args: again.append(args)))
        service.server.stop()
        for _ in range(20):
            publisher.publish(wait=False)
        go.set()
    assert again == []


def test_a_reader_that_is_closed_beside_its_thread_ends(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.db", sync="normal")
    try:
        for _ in range(200):
            reader = Reader(store, lambda *_: None)
            for _ in range(20):
                reader.read([1], 1, lambda _: None)
            closing = threading.Thread(target=reader.close)
            closing.start()
            closing.join(PATIENCE)
            assert not closing.is_alive()
    finally:
        store.close()


def test_an_acknowledgement_of_much_costs_no_more_for_each_lane(tmp_path: Path, make: Make) -> None:
    """Numbers that nobody waits for are sorted once, however many subscriptions wait for a claim."""
    with running(config(tmp_path)) as service:
        plain, divided = make(endpoint(service), "plain"), make(endpoint(service), "divided")
        publisher = make(endpoint(service), "publisher")
        plain.subscribe(1)
        for handle in range(1, 101):
            divided.subscribe(handle)
        leave(divided)
        divided = make(endpoint(service), "divided", life=2)
        publisher.publish()
        divided.settle()
        unknown = tuple(np.random.default_rng(1).integers(1 << 40, 1 << 50, 13_000).tolist())
        server = service.server
        sessions = [server.sessions.by_name[name] for name in ("plain", "divided")]
        assert in_loop(service, lambda: len(sessions[1].lanes)) == 100

        def seconds(which: int) -> float:
            began = time.thread_time()
            server.deliveries.acknowledge(sessions[which], unknown)
            return time.thread_time() - began

        plainly, with_lanes = (
            min(in_loop(service, partial(seconds, which)) for _ in range(5)) for which in (0, 1)
        )
        assert with_lanes < plainly + 0.05
