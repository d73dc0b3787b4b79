"""Plans on a live broker: who follows, who is asked again, who is left with what it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bypass.core.plans import rollout_tracker as followup
from bypass.live.broker.service import Service
from bypass.protocol.messages import ContextUpdate, Notify, OutcomeMessage, PlanMessage
from bypass.protocol.session import Bye
from bypass.transitions import Action, Outcome, Plan
from bypass.transitions.coordinator import Summary
from tests.live.brokers import Peer, config, in_loop, peers, running, until

Make = Callable[..., Peer]
TO_STE = Plan(plan="to-ste", why="a test", actions=(Action(proxy="filter", to="ste"),))
RADIAL, STE = 1, 2


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(followup, "ANSWER_S", 0.3)
    with running(config(tmp_path)) as service:
        yield service


def member(service: Service, make: Make, name: str, **hello: Any) -> Peer:
    peer = make(service.server.endpoints[0], name, **hello)
    peer.subscribe()
    return peer


def execute(service: Service, plan: Plan) -> None:
    in_loop(service, lambda: service.server.broker.execute(plan))


def follow(peer: Peer) -> Plan:
    """Do what the broker says."""
    message = peer.get(PlanMessage)
    plan = Plan.from_bytes(message.plan)
    (action,) = plan.actions
    peer.scheme = {"radial": RADIAL, "ste": STE}[action.to or ""]
    peer.epoch = message.epoch
    peer.send(OutcomeMessage(Outcome(plan=plan.id, host=peer.name, ok=True).to_bytes()))
    return plan


def fail(peer: Peer) -> Plan:
    """Say that what the broker says cannot be done."""
    plan = Plan.from_bytes(peer.get(PlanMessage).plan)
    record = Summary(id=plan.id, outcome="failed", error="out of memory")
    outcome = Outcome(plan=plan.id, host=peer.name, ok=False, records=(record,))
    peer.send(OutcomeMessage(outcome.to_bytes()))
    return plan


def latest(service: Service, plan: str = "to-ste") -> dict[str, Any]:
    found: dict[str, Any] = next(
        each for each in in_loop(service, lambda: service.plans.latest(10)) if each["plan"] == plan
    )
    return found


def scheme_of(service: Service, peer: Peer) -> str:
    name: str = in_loop(service, lambda: service.server.broker.scheme_of(peer.number).name)
    return name


def test_all_follow_and_it_is_written_down(service: Service, make: Make) -> None:
    members = [member(service, make, name) for name in ("a", "b")]
    execute(service, TO_STE)
    for peer in members:
        follow(peer)
    until(lambda: len(service.server.store.records(10)) == 2)
    assert [kind for _, _, kind, _ in service.server.store.records(10)] == ["plan", "transition"]
    execution = latest(service)
    assert (execution["clients"], execution["done"], execution["failed"]) == (2, 2, 0)
    assert execution["took_ms"] > 0
    assert execution["acknowledged"] is None  # there was nothing to acknowledge


def test_the_share_acknowledged_is_of_what_was_sent_to_those_who_are_connected(
    service: Service, make: Make
) -> None:
    prompt, mute, away = (member(service, make, name) for name in ("prompt", "mute", "away"))
    away.send(Bye())
    away.get(Bye)
    execute(service, TO_STE)
    prompt.publish()
    mute.publish()  # for the first one, and for who is away
    prompt.event()
    mute.event(acknowledge=False)
    for peer in (prompt, mute):
        follow(peer)
    until(lambda: latest(service)["acknowledged"] is not None)
    assert latest(service)["acknowledged"] == 0.5


def test_who_fails_once_is_asked_again(service: Service, make: Make) -> None:
    peer = member(service, make, "a")
    execute(service, TO_STE)
    first = fail(peer)
    second = follow(peer)
    assert second.actions == first.actions
    assert second.id != first.id  # else it would only repeat its answer
    until(lambda: latest(service)["done"] == 1)
    assert latest(service)["failed"] == 0
    assert service.server.broker.rollout.tracker.retries == 1


def test_who_goes_on_failing_stays_with_its_scheme_while_others_move_on(service: Service, make: Make) -> None:
    stubborn, other = member(service, make, "stubborn"), member(service, make, "other")
    execute(service, TO_STE)
    follow(other)
    for _ in range(followup.ATTEMPTS):
        fail(stubborn)
    until(lambda: latest(service)["isolated"] == ["stubborn"])
    assert scheme_of(service, stubborn) == "radial"
    assert scheme_of(service, other) == "ste"
    assert latest(service, "isolate")["why"].startswith("stubborn failed to-ste-1")
    number = other.publish()
    assert stubborn.event() == number


def test_who_does_not_answer_counts_as_failed(service: Service, make: Make) -> None:
    peer = member(service, make, "mute")
    execute(service, TO_STE)
    plans = [Plan.from_bytes(peer.get(PlanMessage).plan) for _ in range(followup.ATTEMPTS)]
    assert len({plan.id for plan in plans}) == followup.ATTEMPTS
    until(lambda: latest(service)["isolated"] == ["mute"])
    assert "no answer" in latest(service, "isolate")["why"]


def test_who_is_away_is_told_when_it_is_back(service: Service, make: Make) -> None:
    peer, other = member(service, make, "a"), member(service, make, "b")
    peer.send(Bye())
    peer.get(Bye)
    execute(service, TO_STE)
    follow(other)
    until(lambda: latest(service)["pending"] == 0)
    assert latest(service)["isolated"] == []
    back = make(service.server.endpoints[0], "a", handles=(1,), scheme=RADIAL)
    plan = follow(back)
    assert [action.to for action in plan.actions] == ["ste"]
    assert service.server.sessions.by_name["a"].route is not None


def test_who_is_back_as_it_was_left_is_told_nothing(service: Service, make: Make) -> None:
    peer = member(service, make, "a")
    execute(service, TO_STE)
    follow(peer)
    until(lambda: latest(service)["done"] == 1)
    back = make(service.server.endpoints[0], "a", handles=(1,), scheme=STE, epoch=peer.epoch)
    assert not [m for m in back.settle() if isinstance(m, PlanMessage)]


def test_a_client_in_the_old_scheme_is_served_until_it_follows(service: Service, make: Make) -> None:
    peer, publisher = member(service, make, "a"), make(service.server.endpoints[0], "p")
    execute(service, TO_STE)
    number = publisher.publish()
    assert peer.event() == number
    peer.send(ContextUpdate((500.0, 500.0)))  # of the scheme that it still has
    follow(peer)
    peer.settle()
    number = publisher.publish((500.0, 500.0))
    assert peer.get(Notify).publication.id == number


def test_isolation_survives_a_restart(tmp_path: Path, make: Make) -> None:
    settings = config(tmp_path)
    with running(settings) as service:
        stubborn, other = member(service, make, "stubborn"), member(service, make, "other")
        plan = Plan(plan="p", actions=(Action(proxy="filter", to="ste", members=(other.number,)),))
        execute(service, plan)
        follow(other)
        until(lambda: latest(service, "p")["done"] == 1)
    with running(settings) as service:
        assert scheme_of(service, stubborn) == "radial"
        assert scheme_of(service, other) == "ste"


# -- what later plans have overtaken ----------------------------------------------------------------------

SLOW = Plan(plan="slow", actions=(Action(proxy="filter", set={"period": 9.0, "threshold": 3.0}),))
QUICK = Plan(plan="quick", actions=(Action(proxy="filter", set={"period": 1.0}),))
QUICKEST = Plan(plan="quickest", actions=(Action(proxy="filter", set={"period": 0.5, "threshold": 1.0}),))


def told(peer: Peer) -> Plan:
    return Plan.from_bytes(peer.get(PlanMessage).plan)


def answer(peer: Peer, plan: Plan) -> None:
    peer.send(OutcomeMessage(Outcome(plan=plan.id, host=peer.name, ok=True).to_bytes()))


def test_what_later_plans_have_overridden_is_not_repeated(service: Service, make: Make) -> None:
    peer = member(service, make, "paused")
    execute(service, QUICK)
    execute(service, QUICKEST)
    first, second = told(peer), told(peer)  # it was stopped before it could do them
    until(lambda: latest(service, "quick")["obsolete"] == 1)
    third = told(peer)
    assert (third.actions, third.id != second.id) == (second.actions, True)
    answer(peer, first)  # too late to matter
    answer(peer, third)
    until(lambda: latest(service, "quickest")["done"] == 1)
    assert not [each for each in peer.settle() if isinstance(each, PlanMessage)]
    assert latest(service, "quick")["failed"] == latest(service, "quick")["pending"] == 0


def test_what_still_holds_of_a_plan_is_repeated_as_the_newest_one(service: Service, make: Make) -> None:
    peer = member(service, make, "paused")
    execute(service, SLOW)
    slow = fail(peer)
    execute(service, QUICK)
    quick = told(peer)
    answer(peer, quick)
    again = told(peer)
    assert [action.set for action in again.actions] == [{"period": 1.0, "threshold": 3.0}]
    assert slow.epoch < quick.epoch < again.epoch
    answer(peer, again)
    until(lambda: latest(service, "slow")["done"] == 1)


def test_a_client_that_says_obsolete_is_believed(service: Service, make: Make) -> None:
    peer = member(service, make, "ahead")
    execute(service, QUICK)
    plan = told(peer)
    record = Summary(id=plan.id, outcome="obsolete", error="decision 9 is newer")
    peer.send(OutcomeMessage(Outcome(plan=plan.id, host="ahead", ok=True, records=(record,)).to_bytes()))
    until(lambda: latest(service, "quick")["obsolete"] == 1)
    assert latest(service, "quick")["done"] == 0


# -- restarts ---------------------------------------------------------------------------------------------


def test_after_a_restart_who_did_what_it_was_told_is_left_alone(tmp_path: Path, make: Make) -> None:
    settings = config(tmp_path)
    with running(settings) as service:
        peer = member(service, make, "a")
        execute(service, TO_STE)
        follow(peer)
        until(lambda: latest(service)["done"] == 1)
    with running(settings) as service:
        back = make(service.server.endpoints[0], "a", handles=(1,), scheme=STE, epoch=peer.epoch)
        assert not [each for each in back.settle() if isinstance(each, PlanMessage)]


def test_after_a_restart_follow_up_goes_on(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has failed what it was told first and done the rest, one has done all and could not say so."""
    settings = config(tmp_path)
    with running(settings) as service:
        failing, silent = (member(service, make, name) for name in ("failing", "silent"))
        execute(service, SLOW)
        fail(failing)
        answer(silent, told(silent))
        execute(service, QUICK)
        answer(failing, told(failing))
        epoch = silent.get(PlanMessage).epoch
        until(lambda: latest(service, "quick")["done"] == 1)
    monkeypatch.setattr(followup, "ANSWER_S", 0.3)
    with running(settings) as service:
        assert latest(service, "quick")["clients"] == 2
        endpoint = service.server.endpoints[0]
        make(endpoint, "silent", handles=(1,), scheme=RADIAL, epoch=epoch).settle()
        until(lambda: latest(service, "quick")["done"] == 2)
        back = make(endpoint, "failing", handles=(1,), scheme=RADIAL, epoch=epoch)
        again = told(back)
        assert [action.set for action in again.actions] == [{"period": 1.0, "threshold": 3.0}]
        answer(back, again)
        until(lambda: latest(service, "slow")["done"] == 2)


def test_everybody_is_followed_however_many_were_told_together(
    service: Service, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followup, "KEPT", 3)
    execute(service, TO_STE)
    members = [make(service.server.endpoints[0], f"m{n}") for n in range(8)]
    for peer in members:
        peer.scheme = RADIAL
        peer.subscribe()  # each is told by a plan of its own
    for peer in members:
        fail(peer)
    for peer in members:
        follow(peer)
    assert service.server.broker.rollout.tracker.retries == len(members)


# -- what the log says ------------------------------------------------------------------------------------


def test_what_holds_and_was_missed_is_done_when_the_client_is_back_and_does_it(
    service: Service, make: Make
) -> None:
    peer = member(service, make, "a")
    execute(service, SLOW)
    execute(service, TO_STE)
    back = make(service.server.endpoints[0], "a", handles=(1,), scheme=RADIAL)
    until(lambda: latest(service, "slow")["obsolete"] == 1)
    assert latest(service)["done"] == 0
    plan = fail(back)
    assert [action.to for action in plan.actions] == ["ste"]
    until(lambda: latest(service)["failed"] == 1)
    follow(back)
    until(lambda: latest(service)["done"] == 1)
    assert latest(service, "slow")["done"] == latest(service)["failed"] == 0
    assert peer.number == back.number
    assert not [each for each in back.settle() if isinstance(each, PlanMessage)]


def test_who_has_failed_for_good_is_told_again_when_it_connects_again(service: Service, make: Make) -> None:
    peer = member(service, make, "a")
    execute(service, SLOW)
    for _ in range(followup.ATTEMPTS):
        fail(peer)
    until(lambda: latest(service, "slow")["failed"] == 1)
    execute(service, QUICK)
    message = peer.get(PlanMessage)
    answer(peer, Plan.from_bytes(message.plan))
    until(lambda: latest(service, "quick")["done"] == 1)
    back = make(service.server.endpoints[0], "a", handles=(1,), scheme=RADIAL, epoch=message.epoch)
    assert [action.set for action in told(back).actions] == [{"period": 1.0, "threshold": 3.0}]


def test_who_leaves_too_much_without_an_answer_is_told_all_that_holds(
    service: Service, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followup, "MOST_PENDING", 4)
    peer = member(service, make, "a")
    execute(service, SLOW)
    for period in range(4):
        execute(service, Plan(plan="more", actions=(Action(proxy="filter", set={"period": float(period)}),)))
    until(lambda: latest(service, "slow")["failed"] == 1)
    whole = {"period": 3.0, "threshold": 3.0}
    until(lambda: whole in [action.set for action in told(peer).actions])
    tracker = service.server.broker.rollout.tracker
    of = in_loop(service, lambda: [each.plan.plan for each in tracker.pending.of(peer.number)])
    assert of == ["join"]


@pytest.mark.parametrize("durable", [False, True])
def test_who_is_forgotten_has_not_done_what_it_was_told(service: Service, make: Make, durable: bool) -> None:
    """Under the same name it is another client, whatever epoch it says."""
    peer = member(service, make, "a", durable=durable)
    execute(service, TO_STE)
    epoch = peer.get(PlanMessage).epoch
    peer.send(Bye(forget=True) if durable else Bye())
    peer.get(Bye)
    until(lambda: latest(service)["pending"] == 0)
    back = make(service.server.endpoints[0], "a", scheme=RADIAL, epoch=epoch, durable=durable)
    assert back.number != peer.number
    back.scheme = RADIAL
    back.subscribe()
    assert [action.to for action in told(back).actions] == ["ste"]
    in_loop(service, lambda: service.server.housekeeping._note(0, 1))
    execution = latest(service)
    assert (execution["done"], execution["failed"], execution["pending"]) == (0, 1, 0)


def test_a_session_that_is_not_durable_begins_anew_after_a_restart(tmp_path: Path, make: Make) -> None:
    settings = config(tmp_path)
    with running(settings) as service:
        peer = member(service, make, "a", durable=False)
        named = Action(proxy="direct", to="flooding", members=(peer.number,))
        execute(service, Plan(plan="p", actions=(named, Action(proxy="mode", to="augment"))))
        epoch = peer.get(PlanMessage).epoch
    with running(settings) as service:
        back = make(service.server.endpoints[0], "a", durable=False, scheme=RADIAL, epoch=epoch)
        back.subscribe()
        assert [action.proxy for action in told(back).actions] == ["mode"]
        assert latest(service, "p")["done"] == 0
        assert in_loop(service, lambda: service.server.broker.rollout.standing.own) == {}
