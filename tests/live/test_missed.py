"""Every event for a client is received, waits, or is missed for a reason: exactly."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bypass import Event, attr
from bypass.core.plans.rollout import LAST_EPOCH
from bypass.core.snapshot import BrokerState
from bypass.live.broker.delivery.missed import NOT_TAKEN, TOO_MANY, UNCLAIMED, WITHDRAWN
from bypass.live.broker.reception import presence
from bypass.live.broker.service import Service
from bypass.live.broker.store.batch import Batch
from bypass.live.broker.store.store import Store
from bypass.live.client.connection import connect
from bypass.live.client.session import session as exchange
from bypass.protocol.messages import Notify, Unsubscribe
from bypass.protocol.session import MISSED, Ack, Bye, Control, Hello, Missed, Ping, Refused, Reply
from bypass.transitions import Action, InvalidPlan, Plan
from tests.live.brokers import Peer, config, in_loop, peers, running, until
from tests.live.scripted import on_loop
from tests.live.scripted import until as eventually

Make = Callable[..., Peer]
FEW = {"client_rate": 0.0, "pending_events": 10}


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as made:
        yield made


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def totals_agree(service: Service) -> bool:
    deliveries = service.server.deliveries
    return bool(
        in_loop(
            service,
            lambda: (
                deliveries.deliveries
                == deliveries.acknowledged + deliveries.waiting + deliveries.kept.missing.total
            ),
        )
    )


def leaves(peer: Peer) -> None:
    peer.send(Bye())
    peer.get(Bye)


def told(peer: Peer, count: int) -> str:
    """Why so many events were missed, as a client is told in the end that says something now and then."""
    peer.send(Ping(asks=True))
    while (missed := peer.get(Missed)).count < count:
        peer.send(Ping(asks=True))
    assert missed.count == count
    return missed.reason


# -- slow, fast, durable or not


def test_who_keeps_nothing_and_takes_nothing_is_told_what_it_misses(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, limits=FEW)) as service:
        slow = make(endpoint(service), "s", durable=False, capabilities=(MISSED,))
        publisher = make(endpoint(service), "p")
        slow.subscribe()
        numbers = [publisher.publish() for _ in range(30)]
        taken = [slow.event(acknowledge=False) for _ in range(10)]
        assert taken == numbers[:10]
        assert told(slow, 20) == NOT_TAKEN
        assert totals_agree(service)


def test_who_keeps_nothing_and_was_silent_is_told_what_was_published_meanwhile(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly: what was sent and not acknowledged before may have arrived, and is not among it. Another life
    has missed nothing, and after a while nobody counts any more."""
    capabilities = (MISSED,)
    with running(config(tmp_path, heartbeat=0.2, limits=FEW)) as service:
        publisher = make(endpoint(service), "p")

        def silent(life: int, times: int) -> Peer:
            peer = make(endpoint(service), "s", life=life, durable=False, capabilities=capabilities)
            peer.subscribe()
            publisher.publish()
            assert peer.event()
            publisher.publish()  # which is sent, and not acknowledged
            until(lambda: count(service, "silent") == times)
            return peer

        def count(service: Service, name: str) -> int:
            publisher.send(Ping())  # it is there
            return int(in_loop(service, lambda: service.server.counters[name]))

        silent(1, 1)
        for _ in range(7):
            publisher.publish()
        back = make(endpoint(service), "s", life=1, durable=False, capabilities=capabilities)
        assert back.welcome.missed_by == (Missed(NOT_TAKEN, 7),)
        silent(1, 2)
        publisher.publish()
        again = make(endpoint(service), "s", life=1, durable=False, capabilities=capabilities)
        assert again.welcome.missed_by == (Missed(NOT_TAKEN, 8),)
        other = make(endpoint(service), "s", life=2, durable=False, capabilities=capabilities)
        assert other.welcome.missed_by == ()
        assert totals_agree(service)
        monkeypatch.setattr(presence, "RETURN_S", 0.1)
        until(lambda: count(service, "silent") == 3)
        until(lambda: "s" not in in_loop(service, lambda: {*service.server.sessions.by_name}))
        assert totals_agree(service)


def test_a_client_that_does_not_know_it_is_not_told(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, limits=FEW)) as service:
        slow, publisher = make(endpoint(service), "s", durable=False), make(endpoint(service), "p")
        slow.subscribe()
        for _ in range(30):
            publisher.publish()
        in_loop(service, service.server.deliveries.kept.note_cursors)
        assert not any(isinstance(message, Missed) for message in slow.settle())
        assert service.server.deliveries.kept.missing.by_reason[NOT_TAKEN] == 20


def test_what_a_slow_client_may_have_is_not_given_up(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, limits=FEW)) as service:
        slow = make(endpoint(service), "s", capabilities=(MISSED,))
        publisher = make(endpoint(service), "p")
        slow.subscribe()
        numbers = [publisher.publish() for _ in range(40)]
        got = [slow.event() for _ in range(20)]
        assert got == numbers[:10] + numbers[-10:]
        assert told(slow, 20) == TOO_MANY
        until(lambda: service.server.deliveries.waiting == 0)
        assert totals_agree(service)
        again = make(endpoint(service), "s", handles=(1,), capabilities=(MISSED,))
        assert again.welcome.missed == 20
        assert [(each.reason, each.count) for each in again.welcome.missed_by] == [(TOO_MANY, 20)]


@pytest.mark.parametrize("seed", range(3))
def test_what_was_published_is_received_missed_or_waits(tmp_path: Path, make: Make, seed: int) -> None:
    """Whatever clients do: they acknowledge some, all or nothing, go, and come back."""
    draw = random.Random(seed)
    with running(config(tmp_path, limits=FEW)) as service:
        publisher = make(endpoint(service), "p")
        clients = [Reckoning(make, service, f"s{i}", durable=i > 0) for i in range(4)]
        for _ in range(60):
            client = draw.choice(clients)
            what = draw.randrange(6)
            if what < 2:
                for _ in range(draw.randrange(1, 15)):
                    publisher.publish()
                    for each in clients:
                        each.published += 1
            elif what < 4:
                client.takes(draw.choice((0.0, 0.5, 1.0)), draw)
            elif client.durable:
                client.goes_or_comes(new_life=what == 5)
            if draw.random() < 0.2:
                assert totals_agree(service)
        for client in clients:
            client.agrees()
        assert totals_agree(service)


class Reckoning:
    """A client that counts for itself."""

    def __init__(self, make: Make, service: Service, name: str, durable: bool) -> None:
        self.published = 0
        self.durable = durable
        self._make, self._service, self._name, self._life = make, service, name, 1
        self._received: set[int] = set()
        self._held: list[int] = []
        self._peer: Peer | None = make(endpoint(service), name, durable=durable)
        self._peer.subscribe()

    def takes(self, share: float, draw: random.Random) -> None:
        """Read all that is there, and acknowledge a share of it."""
        if self._peer is None:
            return
        self._read(self._peer)
        known = [number for number in self._held if draw.random() < share]
        self._held = [number for number in self._held if number not in known]
        self._received.update(known)
        self._peer.send(Ack(tuple(known)))
        self._read(self._peer)

    def _read(self, peer: Peer) -> None:
        self._held += [m.publication.id for m in peer.settle() if isinstance(m, Notify)]

    def goes_or_comes(self, new_life: bool) -> None:
        if self._peer is not None:
            leaves(self._peer)
            self._peer.close()
            self._peer = None
            return
        self._held.clear()
        self._life += new_life
        self._peer = self._make(endpoint(self._service), self._name, life=self._life, handles=(1,))
        self._peer.subscribe()

    def agrees(self) -> None:
        def counts() -> tuple[int, int]:
            session = self._service.server.sessions.by_name[self._name]
            awaited = self._service.server.sessions.awaited
            waiting = sum(awaited.count(slot) for slot in (session.slot, *session.lanes.values()))
            return waiting, session.missed.total()

        waiting, missed = in_loop(self._service, counts)
        assert self.published == len(self._received) + missed + waiting


# -- subscriptions that nobody claims


def test_what_nobody_claims_takes_no_place_of_others(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path, limits=FEW)) as service:
        old, publisher = make(endpoint(service), "s", life=1), make(endpoint(service), "p")
        old.subscribe(1)
        leaves(old)
        before = publisher.publish()
        new = make(endpoint(service), "s", life=2, capabilities=(MISSED,))
        new.subscribe(5)
        numbers = []
        for _ in range(30):
            numbers.append(publisher.publish())
            notified = new.get(Notify)
            assert (notified.publication.id, notified.handles) == (numbers[-1], (5,))
            new.send(Ack((numbers[-1],)))
        new.subscribe(1)
        claimed = [new.get(Notify) for _ in range(10)]
        assert [each.handles for each in claimed] == [(1,)] * 10
        assert [each.publication.id for each in claimed] == numbers[-10:]
        new.send(Ack(tuple(numbers)))
        assert before not in numbers
        until(lambda: service.server.deliveries.waiting == 0)
        new.settle()
        publisher.publish()
        assert new.get(Notify).handles == (1, 5)  # as others are
        session = service.server.sessions.by_name["s"]
        assert session.missed == {TOO_MANY: 1}  # `before`: it has got all others, by one or the other
        assert not session.divided
        assert totals_agree(service)


@pytest.mark.parametrize("handles", [(1,), (1, 2)])
@pytest.mark.parametrize("between", ["nobody", "a life that claims nothing", "a restart"])
def test_what_an_earlier_life_may_have_got_is_not_given_up_for_its_number(
    tmp_path: Path, make: Make, handles: tuple[int, ...], between: str
) -> None:
    """Events that nobody was sent are missed, and no others."""
    with ExitStack() as brokers:
        service = brokers.enter_context(running(config(tmp_path, limits=FEW)))
        old, publisher = make(endpoint(service), "s", life=1), make(endpoint(service), "p")
        for handle in handles:
            old.subscribe(handle)
        seen = [publisher.publish() for _ in range(5)]
        assert [old.event(acknowledge=False) for _ in seen] == seen
        leaves(old)
        if between == "a life that claims nothing":
            idle = make(endpoint(service), "s", life=2)
            numbers = [publisher.publish() for _ in range(25)]
            leaves(idle)
        else:
            numbers = [publisher.publish() for _ in range(25)]
        if between == "a restart":
            brokers.close()
            service = brokers.enter_context(running(config(tmp_path, limits=FEW)))
        new = make(endpoint(service), "s", life=3, capabilities=(MISSED,))
        for handle in handles:
            new.subscribe(handle)
        got: set[int] = set()
        while in_loop(service, lambda: service.server.deliveries.waiting):
            came = [each.publication.id for each in new.settle() if isinstance(each, Notify)]
            new.send(Ack(tuple(came)))
            got.update(came)  # each once for each lane
        assert sorted(got) == [*seen, *numbers[-10:]]
        assert service.server.sessions.by_name["s"].missed == {TOO_MANY: 15}
        assert totals_agree(service)


def test_what_waits_unclaimed_survives_a_restart(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        old, publisher = make(endpoint(service), "s", life=1), make(endpoint(service), "p")
        old.subscribe(1)
        new = make(endpoint(service), "s", life=2)
        new.subscribe(5)
        numbers = [publisher.publish() for _ in range(5)]
        assert [new.event() for _ in numbers] == numbers
        until(lambda: service.server.deliveries.waiting == len(numbers))
    with running(config(tmp_path)) as service:
        third = make(endpoint(service), "s", life=3)
        third.subscribe(5)
        third.subscribe(1)
        got = [third.get(Notify) for _ in numbers]
        assert [each.handles for each in got] == [(1,)] * 5
        assert [each.publication.id for each in got] == numbers
        third.send(Ack(tuple(numbers)))
        until(lambda: service.server.deliveries.waiting == 0)
        assert not any(isinstance(message, Notify) for message in third.settle())


@pytest.mark.parametrize("restarted", [False, True])
def test_what_waits_unclaimed_waits_once_however_often_a_client_connects(
    tmp_path: Path, make: Make, restarted: bool
) -> None:
    with ExitStack() as brokers:
        service = brokers.enter_context(running(config(tmp_path)))
        old, publisher = make(endpoint(service), "s", life=1), make(endpoint(service), "p")
        old.subscribe(1)
        new = make(endpoint(service), "s", life=2)
        new.subscribe(5)
        numbers = [publisher.publish() for _ in range(3)]
        assert [new.event(acknowledge=False) for _ in numbers] == numbers
        if restarted:
            brokers.close()
            service = brokers.enter_context(running(config(tmp_path)))
        again = make(endpoint(service), "s", life=2, handles=(1, 5))
        again.subscribe(5)
        assert [again.event() for _ in numbers] == numbers
        again.subscribe(1)
        claimed = [again.get(Notify) for _ in numbers]
        assert [(each.publication.id, each.handles) for each in claimed] == [(n, (1,)) for n in numbers]
        again.send(Ack(tuple(numbers)))
        until(lambda: service.server.deliveries.waiting == 0)
        assert not any(isinstance(message, Notify) for message in again.settle())
        assert totals_agree(service)


def test_what_nobody_claims_is_withdrawn_in_the_end(
    tmp_path: Path, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with running(config(tmp_path, limits={"unclaimed_age": 0.5})) as service:
        old, publisher = make(endpoint(service), "s", life=1), make(endpoint(service), "p")
        old.subscribe(1)
        new = make(endpoint(service), "s", life=2)
        publisher.publish()
        refused = new.get(Refused)
        assert (refused.handle, refused.reason) == (1, "not claimed within 0.5 s: withdrawn")
        until(lambda: service.server.deliveries.waiting == 0)
        session = service.server.sessions.by_name["s"]
        assert (session.missed, session.handles) == ({UNCLAIMED: 1}, {})
        assert "s: kept subscriptions [1]: not claimed within 0.5 s: withdrawn" in caplog.text
        assert totals_agree(service)


def test_what_nobody_claims_is_withdrawn_after_a_restart_too(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        old, publisher = make(endpoint(service), "s", life=1), make(endpoint(service), "p")
        old.subscribe(1)
        new = make(endpoint(service), "s", life=2)
        publisher.publish()
        new.subscribe(5)
        number = publisher.publish()
        assert new.event() == number
        until(lambda: service.server.deliveries.waiting == 2)
    with running(config(tmp_path, limits={"unclaimed_age": 0.5})) as service:
        again = make(endpoint(service), "s", life=2, handles=(1, 5))
        assert again.get(Refused).handle == 1
        assert [*service.server.sessions.by_name["s"].handles] == [5]
        # A client says again, after a welcome, what it had claimed: what it does not say it never had.
        until(lambda: service.server.deliveries.waiting == 0)
        assert service.server.sessions.by_name["s"].missed == {UNCLAIMED: 1}
        assert in_loop(service, lambda: service.server.counters["kept_withdrawn"]) == 1


def test_what_waits_for_a_kept_subscription_is_missed_when_that_is_withdrawn(
    tmp_path: Path, make: Make
) -> None:
    with running(config(tmp_path)) as service:
        old, publisher = make(endpoint(service), "s", life=1), make(endpoint(service), "p")
        old.subscribe(1)
        new = make(endpoint(service), "s", life=2)
        publisher.publish()
        new.send(Unsubscribe(1))
        assert new.get(Ack).handles == (1,)
        until(lambda: service.server.deliveries.waiting == 0)
        assert service.server.sessions.by_name["s"].missed == {WITHDRAWN: 1}


@on_loop
async def test_a_client_may_drop_what_its_earlier_life_has_subscribed(tmp_path: Path) -> None:
    with running(config(tmp_path)) as service:
        publisher = await connect(endpoint(service), open=True, name="p").open()
        async with connect(endpoint(service), open=True, name="s") as before:
            await before.subscribe(attr("kind") == "x")
            await before.subscribe(attr("kind") == "y")
        for n in range(3):
            await publisher.publish(Event(kind="x", n=n))
        async with connect(endpoint(service), open=True, name="s", kept="drop") as me:
            assert me.kept == ()
            await eventually(lambda: not service.server.sessions.by_name["s"].handles)
            await eventually(lambda: service.server.deliveries.waiting == 0)
            again = await me.subscribe(attr("kind") == "x")
            await publisher.publish(Event(kind="x", n=3))
            assert (await anext(again))["n"] == 3
        await publisher.close()
        assert totals_agree(service)


@on_loop
async def test_a_client_warns_of_what_it_does_not_claim(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "CLAIMED_WITHIN_S", 0.05)
    with running(config(tmp_path)) as service:
        async with connect(endpoint(service), open=True, name="s") as before:
            await before.subscribe(attr("kind") == "x")
        assert "not claimed" not in caplog.text
        async with connect(endpoint(service), open=True, name="s") as me:
            (kept,) = me.kept
            await eventually(lambda: "not claimed" in caplog.text)
            assert (
                f"s: 1 subscriptions of an earlier life are not claimed, events wait for them: "
                f"{kept.subscription}; subscribe to them, unsubscribe what is in `kept`, or connect with "
                f"kept='drop'"
            ) in caplog.text


def test_what_is_to_be_done_with_kept_subscriptions_is_one_of_two() -> None:
    with pytest.raises(ValueError, match="kept 'forget': expected 'keep' or 'drop'"):
        connect("tcp://127.0.0.1:1", open=True, name="s", kept="forget")  # type: ignore[arg-type]


# -- sessions that must not be lost


def test_a_durable_session_is_not_ended_by_one_of_the_same_name_that_is_not(
    tmp_path: Path, make: Make
) -> None:
    with running(config(tmp_path)) as service:
        peer, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        peer.subscribe()
        leaves(peer)
        numbers = [publisher.publish() for _ in range(5)]
        other = make(endpoint(service))
        other.send(Hello("s", 2, durable=False))
        assert "s is a durable session: expected durable=True" in other.get(Refused).reason
        back = make(endpoint(service), "s", handles=(1,))
        assert [back.event() for _ in numbers] == numbers


def test_a_clock_that_is_days_ahead_ends_nothing(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(config(tmp_path)) as service:
        peer, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        peer.subscribe()
        leaves(peer)
        number = publisher.publish()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 8 * 86_400)
    with running(config(tmp_path, heartbeat=0.05)) as service:
        until(lambda: in_loop(service, service.server.settings.served) > 0)
        in_loop(service, service.server.attendance.look_after)
        in_loop(service, service.server.deliveries.kept.note_cursors)
        back = make(endpoint(service), "s", handles=(1,))
        assert back.event() == number
        assert back.welcome.missed == 0


def test_ages_go_on_over_restarts(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        in_loop(service, lambda: setattr(service.server.settings, "_served", 1000.0))
        make(endpoint(service), "s").publish()
    store = Store(config(tmp_path).store)
    try:
        assert float(store.load().settings["served"]) >= 1000.0
    finally:
        store.close()


# -- the end, and what is asked for


def test_what_is_stored_last_is_answered(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(config(tmp_path)) as service:
        peer = make(endpoint(service), "s")
        write = service.server.store.write
        busy, go = threading.Event(), threading.Event()

        def slow(batch: Batch) -> None:
            busy.set()
            assert go.wait(20.0)
            write(batch)

        monkeypatch.setattr(service.server.store, "write", slow)
        first = peer.publish(wait=False)
        assert busy.wait(20.0)
        second = peer.publish(wait=False)
        until(lambda: second in in_loop(service, lambda: set(service.server.deliveries.turn._taken)))
        service.server.stop()
        in_loop(service, lambda: None)
        go.set()
        answered: set[int] = set()
        while not {first, second} <= answered:
            answered.update(peer.get(Ack).ids)
        peer.get(Bye)


@pytest.mark.parametrize("before", [1 << 63, -1])
def test_numbers_that_are_none_are_refused(tmp_path: Path, make: Make, before: int) -> None:
    with running(config(tmp_path)) as service:
        peer = make(endpoint(service), "s")
        peer.send(Control(1, "log", b'{"before": %d}' % before))
        reply = peer.get(Reply)
        assert not reply.ok
        assert b"before" in reply.content


def test_an_epoch_that_no_message_can_carry_does_no_harm(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        state = in_loop(service, lambda: BrokerState.of(service.server.broker))
    store = Store(config(tmp_path).store)
    batch = Batch()
    batch.setting("state", state.model_copy(update={"epoch": 1 << 40}).model_dump_json())
    store.write(batch)
    store.close()
    with running(config(tmp_path)) as service:
        peer = make(endpoint(service), "s")
        assert peer.welcome.epoch == LAST_EPOCH
        peer.subscribe()
        make(endpoint(service), "p").publish()
        peer.event()
        plan = Plan(plan="one more", actions=(Action(proxy="filter", to="ste"),))
        with pytest.raises(InvalidPlan, match=f"epoch {LAST_EPOCH}"):
            in_loop(service, lambda: service.server.broker.execute(plan))
