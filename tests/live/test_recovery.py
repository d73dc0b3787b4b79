"""What a broker that was killed leaves behind, message by message, and what is undone if the store fails.

A broker is killed by going on with a copy of its files as they are between two writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bypass.live.broker import housekeeping
from bypass.live.broker.service import Service
from bypass.live.broker.store.store import StoreFailed
from bypass.protocol.messages import ContextUpdate, Notify, PlanMessage, Subscribe
from bypass.protocol.session import Ack, Bye, Hello, Ping, Refused
from bypass.transitions import Action, Plan
from tests.live.brokers import ANYTHING, Peer, config, in_loop, killed, peers, running, until

Make = Callable[..., Peer]


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


@pytest.fixture(autouse=True)
def never_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is stored because some time has passed."""
    monkeypatch.setattr(housekeeping, "CURSORS_S", 3600.0)


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def test_where_a_subscriber_is_is_as_safe_as_its_subscription(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        make(endpoint(service), "s").subscribe(at=(10.0, 10.0))
        settings = killed(service, tmp_path / "copy")
    with running(settings) as service:
        number = make(endpoint(service), "p").publish((20.0, 20.0))
        assert make(endpoint(service), "s", handles=(1,)).event() == number


def test_no_epoch_is_given_twice(tmp_path: Path, make: Make) -> None:
    """A client that has come is told what others were told, under an epoch of its own."""
    with running(config(tmp_path)) as service:
        early = make(endpoint(service), "early")
        plan = Plan(plan="p", actions=(Action(proxy="filter", to="ste", set={"alpha": 2.0}),))
        in_loop(service, lambda: service.server.broker.execute(plan))
        early.subscribe()
        assert early.get(PlanMessage).epoch == 2
        settings = killed(service, tmp_path / "copy")
    with running(settings) as service:
        assert service.server.broker.rollout.epoch == 2


def test_what_only_clients_do_is_known_again(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        plan = Plan(plan="p", actions=(Action(proxy="mode", to="augment"),))
        in_loop(service, lambda: service.server.broker.execute(plan))
        make(endpoint(service), "s").settle()
        settings = killed(service, tmp_path / "copy")
    with running(settings) as service:
        assert service.server.broker.rollout.epoch == 1
        assert service.server.broker.rollout.standing.all["mode"].to == "augment"


def test_the_same_life_withdraws_what_it_does_not_name_after_a_restart(tmp_path: Path, make: Make) -> None:
    """It has withdrawn it, and the broker was killed before that was stored."""
    with running(config(tmp_path)) as service:
        peer = make(endpoint(service), "s")
        peer.subscribe(handle=1)
        peer.subscribe(handle=2)
        settings = killed(service, tmp_path / "copy")
    with running(settings) as service:
        back = make(endpoint(service), "s", handles=(2,))
        assert [kept.handle for kept in back.welcome.kept] in ([], [2])
        assert in_loop(service, lambda: len(service.server.broker.table)) == 1


def test_an_event_for_two_subscriptions_of_one_client_waits_once(tmp_path: Path, make: Make) -> None:
    """One subscription has a place and the other has none, so that they are found in two ways."""
    changes = {"set": {"missing_context": "unfiltered"}}
    with running(config(tmp_path, **changes)) as service:
        subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        for handle, radius in ((1, None), (2, 100)):
            subscriber.send(Subscribe(handle, ANYTHING, radius))
            assert handle in subscriber.get(Ack).handles
        publisher.publish()
        settings = killed(service, tmp_path / "copy", **changes)
    with running(settings) as service:
        deliveries = service.server.deliveries
        back = make(endpoint(service), "s", handles=(1, 2))
        found = {handle for _ in range(2) for handle in back.get(Notify).handles}
        assert found == {1, 2}
        assert deliveries.waiting == 1
        assert not [message for message in back.settle() if isinstance(message, Notify)]
        back.send(Ack((publisher.number << 32 | 1,)))
        back.settle()
        assert deliveries.waiting == 0
        in_loop(service, deliveries.kept.note_cursors)  # what nobody waits for is removed with what is noted
        back.settle()
        assert service.server.store.load().waiting == []


def test_an_event_that_had_to_wait_for_a_place_survives_like_others(tmp_path: Path, make: Make) -> None:
    """Nothing was published after it, and for others something else is published next."""
    changes = {"set": {"missing_context": "wait"}}
    with running(config(tmp_path, **changes)) as service:
        subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        subscriber.send(Subscribe(1, ANYTHING, 100))
        assert subscriber.get(Ack).handles == (1,)
        late = publisher.publish()
        subscriber.send(ContextUpdate((10.0, 10.0)))
        assert subscriber.event(acknowledge=False) == late
        following = publisher.publish()
        assert in_loop(service, lambda: service.server.deliveries.waiting) == 2
        settings = killed(service, tmp_path / "copy", **changes)
    with running(settings) as service:
        back = make(endpoint(service), "s", handles=(1,))
        assert [back.event() for _ in range(2)] == [late, following]
        until(lambda: service.server.deliveries.waiting == 0)


# -- a store that fails -----------------------------------------------------------------------------------


class Failing:
    """A store that fails for as long as it is told to, or `once`. `hold` lets it wait before it does."""

    def __init__(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fails = self.once = self._next = False
        self.waiting = threading.Event()
        self.go = threading.Event()
        self.go.set()
        self._write = service.server.store.write
        monkeypatch.setattr(service.server.store, "write", self.write)

    def write(self, batch: object) -> None:
        self.waiting.set()
        assert self.go.wait(20.0)
        if self.fails:
            self.fails = not self.once
            raise StoreFailed("store.db: the disk is full")
        self._write(batch)  # type: ignore[arg-type]
        self.fails = self._next

    def fail_next(self) -> None:
        """Write what is held, and fail once after that."""
        self._next, self.once = True, True

    def hold(self) -> None:
        self.waiting.clear()
        self.go.clear()


def test_places_in_the_log_are_not_used_again(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes after a failure and a restart must not look like something that clients have had."""
    with running(config(tmp_path)) as service:
        store = Failing(service, monkeypatch)
        subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        subscriber.subscribe()
        publisher.publish()
        subscriber.event()
        subscriber.settle()
        store.fails = True
        publisher.publish(wait=False)
        publisher.get(Refused)
        store.fails = False
        in_loop(service, service.server.deliveries.kept.note_cursors)
        subscriber.settle()
        settings = killed(service, tmp_path / "copy")
    with running(settings) as service:
        number = make(endpoint(service), "p").publish()
        settings = killed(service, tmp_path / "copy2")
    with running(settings) as service:
        assert make(endpoint(service), "s", handles=(1,)).event() == number


def test_who_connects_again_while_an_event_cannot_be_stored_is_not_told_that_it_was(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(config(tmp_path)) as service:
        store = Failing(service, monkeypatch)
        subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        subscriber.subscribe()
        session = service.server.sessions.by_name["p"]
        route = session.route
        store.hold()
        number = publisher.publish(wait=False)
        assert store.waiting.wait(20.0)
        second = make(endpoint(service))
        second.send(Hello("p", 1))
        until(lambda: session.route not in (None, route))
        store.fails = True
        store.go.set()
        second.get(Bye)
        assert second.inbox == []
        store.fails = False
        third = make(endpoint(service), "p")
        assert third.published == 0
        assert third.publish() == number
        assert subscriber.event() == number
        assert not [message for message in subscriber.settle() if isinstance(message, Notify)]


def test_a_refusal_that_was_not_heard_is_not_taken_for_an_acknowledgement(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(config(tmp_path)) as service:
        store = Failing(service, monkeypatch)
        subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        subscriber.subscribe()
        store.fails = True
        number = publisher.publish(wait=False)
        until(lambda: service.server.turns.failing)
        store.fails = False
        assert subscriber.number != publisher.number
        later = publisher.publish()
        assert subscriber.event() == later
        again = make(endpoint(service), "p")
        assert again.published == 0
        assert again.publish() == number
        assert subscriber.event() == number
        # In another life nobody knows of it, and its number is not used again.
        assert make(endpoint(service), "p", life=2).published == 2


@pytest.mark.parametrize("together", [False, True])
def test_a_refusal_that_was_not_heard_is_not_taken_for_an_acknowledgement_by_another_broker(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    """What comes after it may be on its way to the store already when it is refused."""
    with running(config(tmp_path)) as service:
        store = Failing(service, monkeypatch)
        subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        subscriber.subscribe()
        taken = publisher.publish()
        assert subscriber.event() == taken
        store.hold()
        store.fails = store.once = True
        refused = publisher.publish(wait=False)
        assert store.waiting.wait(20.0)
        if together:
            later = publisher.publish(wait=False)
            until(lambda: in_loop(service, lambda: len(service.server.deliveries.turn.logged)) == 1)
        store.go.set()
        until(lambda: in_loop(service, lambda: service.server.counters["refused"]))
        if not together:
            later = publisher.publish(wait=False)
        assert subscriber.event() == later
        settings = killed(service, tmp_path / "copy")
    with running(settings) as service:
        subscriber = make(endpoint(service), "s", handles=(1,))
        again = make(endpoint(service), "p")
        assert again.published == 1
        assert again.publish() == refused
        assert [subscriber.event(), subscriber.event()] == [later, refused]
        assert make(endpoint(service), "p", life=2).published == 3  # no number is used again


def test_what_is_published_again_to_another_broker_is_waited_for_once(tmp_path: Path, make: Make) -> None:
    """One was refused for good, so that the store cannot tell what the publisher knows of those after it."""
    changes = {"limits": {"message_bytes": 2000, "client_rate": 0.0}}
    with running(config(tmp_path, **changes)) as service:
        subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        subscriber.subscribe()
        subscriber.close()
        publisher.publish(wait=False, size=5000)
        publisher.get(Refused)
        numbers = [publisher.publish() for _ in range(200)]
        settings = killed(service, tmp_path / "copy", **changes)
    with running(settings) as service:
        publisher = make(endpoint(service), "p")
        assert publisher.published == 0
        publisher.published = 1  # which it knows to be refused
        assert [publisher.publish() for _ in numbers] == numbers
        deliveries = service.server.deliveries
        assert in_loop(service, lambda: deliveries.waiting) == len(numbers)
        subscriber = make(endpoint(service), "s", handles=(1,))
        assert [subscriber.event(acknowledge=False) for _ in numbers] == numbers
        subscriber.send(Ack(tuple(reversed(numbers))))
        assert not [message for message in subscriber.settle() if isinstance(message, Notify)]
        assert in_loop(service, lambda: deliveries.waiting) == 0


def test_an_event_that_was_stored_is_not_refused_because_it_is_sent_again(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(config(tmp_path)) as service:
        store = Failing(service, monkeypatch)
        subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        subscriber.subscribe()
        subscriber.send(Bye())
        subscriber.get(Bye)
        stored = [publisher.publish() for _ in range(3)]
        store.hold()
        stored.append(publisher.publish(wait=False))
        assert store.waiting.wait(20.0)
        publisher.published -= 4
        again = publisher.publish(wait=False)
        assert again == stored[0]
        publisher.published += 3
        refused = publisher.publish(wait=False)
        acknowledged = service.server.deliveries.turn._confirmed
        until(lambda: [len(ids) for ids, _ in in_loop(service, acknowledged.copy).values()] == [2])
        store.fail_next()
        store.go.set()
        assert publisher.get(Ack).ids == (stored[-1],)
        assert publisher.get(Refused).id == refused
        assert publisher.get(Ack).ids == (again,)
        back = make(endpoint(service), "s", handles=(1,))
        assert [back.event() for _ in stored] == stored
        until(lambda: service.server.deliveries.waiting == 0)


def test_who_subscribes_again_what_cannot_be_stored_is_not_told_that_it_was(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(config(tmp_path)) as service:
        store = Failing(service, monkeypatch)
        first = make(endpoint(service), "s")
        session = service.server.sessions.by_name["s"]
        route = session.route
        store.hold()
        first.send(Subscribe(1, ANYTHING, 100, ContextUpdate((10.0, 10.0))))
        assert store.waiting.wait(20.0)
        second = make(endpoint(service))
        second.send(Hello("s", 1, (1,)))
        second.send(Subscribe(1, ANYTHING, 100, ContextUpdate((10.0, 10.0))))
        until(lambda: session.route not in (None, route))
        second.send(Ping(asks=True))
        store.fails = True
        store.go.set()
        second.get(Bye)
        store.fails = False
        third = make(endpoint(service), "s", handles=(1,))
        third.subscribe()
        number = make(endpoint(service), "p").publish()
        assert third.event() == number


def test_who_was_forgotten_while_nothing_could_be_stored_stays_forgotten(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(config(tmp_path)) as service:
        store = Failing(service, monkeypatch)
        peer, other = make(endpoint(service), "s"), make(endpoint(service), "o")
        peer.subscribe()
        store.fails = True
        peer.send(Bye(forget=True))
        peer.get(Bye)
        until(lambda: service.server.turns.failing)
        store.fails = False
        other.subscribe()
        settings = killed(service, tmp_path / "copy")
    with running(settings) as service:
        assert list(service.server.sessions.by_name) == ["o"]


def test_what_waits_in_the_log_is_sent_while_nothing_can_be_stored(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(config(tmp_path)) as service:
        store = Failing(service, monkeypatch)
        subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        subscriber.subscribe()
        numbers = [publisher.publish() for _ in range(3)]
        store.fails = True
        back = make(endpoint(service), "s", handles=(1,))
        assert [back.event() for _ in numbers] == numbers
        assert service.server.turns.failing


def test_a_log_that_cannot_be_read_for_a_while_delays_what_is_in_it(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(config(tmp_path)) as service:
        subscriber, publisher = make(endpoint(service), "s"), make(endpoint(service), "p")
        subscriber.subscribe()
        number = publisher.publish()
        assert subscriber.event(acknowledge=False) == number

        def unreadable(seqs: object) -> None:
            raise StoreFailed("store.db: cannot be read")

        with monkeypatch.context() as patch:
            patch.setattr(service.server.store, "read", unreadable)
            back = make(endpoint(service), "s", handles=(1,))
            until(lambda: service.server.deliveries.feeding.unreadable)
        publisher.publish()
        assert [back.event(), back.event()] == [number, number + 1]
