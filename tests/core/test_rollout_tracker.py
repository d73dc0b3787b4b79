"""Plans are followed at clients, in virtual time: the books are right whatever the network does."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.core.broker import Broker
from bypass.core.downlink import Delivery
from bypass.core.plans.rollout_tracker import ANSWER_S, ATTEMPTS
from bypass.live.host import LiveHost
from bypass.places.region import Region
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.protocol.messages import ContextUpdate, Message, OutcomeMessage, PlanMessage
from bypass.sim.clock import VirtualClock
from bypass.support.units import MICROSECONDS
from bypass.transitions import Action, InvalidOutcome, Outcome, Plan, Summary

CLIENTS = range(5)
PERIOD = Plan(plan="p", actions=(Action(proxy="filter", set={"period": 2.0}),))
NEVER_S = 3 * ATTEMPTS * ANSWER_S
"""After so long, nobody is asked again."""


class World:
    """A broker in virtual time; `answer` says what becomes of a plan that a client is sent."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        host = LiveHost(0, self.clock, NoSensor(), Monitor())
        self.broker = Broker(host, self, region=Region((0.0, 0.0, 1000.0, 1000.0)), scheme="radial")
        self.tracker = self.broker.rollout.tracker
        self.sent: list[tuple[int, Plan]] = []
        self.answer: Callable[[int, Plan], None] = lambda client, plan: None
        for client in CLIENTS:
            self.broker.receive(ContextUpdate((10.0, 10.0), client=client, scheme=1))

    def send(self, client: int, message: Message) -> None:
        assert isinstance(message, PlanMessage)
        plan = Plan.from_bytes(message.plan)
        assert plan.epoch == message.epoch
        self.sent.append((client, plan))
        self.answer(client, plan)

    def notify(self, deliveries: Iterable[Delivery]) -> None:
        raise AssertionError("nothing is published")

    def outcome(self, client: int, plan: str, ok: bool = True) -> None:
        records = () if ok else (Summary(id="0", outcome="failed", error="no room"),)
        outcome = Outcome(plan=plan, host=str(client), ok=ok, records=records)
        self.broker.receive(OutcomeMessage(outcome.to_bytes(), client=client))

    def run(self, seconds: float) -> None:
        self.clock.run_until(self.clock.now_us + round(seconds * MICROSECONDS))

    def counts(self) -> dict[str, int]:
        (progress,) = self.tracker.progress.values()
        return {verdict: count for verdict, count in progress.counts.items() if count}


DONE = ["deliver", "repeat", "late"]
FATES = [*DONE, "lose", "refuse", "raise"]


@given(st.lists(st.sampled_from(FATES), min_size=5, max_size=5))
@settings(max_examples=50, deadline=None)
def test_the_books_are_right_whatever_the_network_does(fates: list[str]) -> None:
    """Everybody who answers once that it has done it is done; all others are asked as often as is allowed."""
    world = World()

    def answer(client: int, plan: Plan) -> None:
        fate = fates[client]
        if fate == "raise":
            raise ConnectionError(f"no way to {client}")
        if fate == "late":
            world.clock.after(ANSWER_S + 0.5, world.outcome, client, plan.id)
        for _ in range({"deliver": 1, "repeat": 2, "refuse": 1}.get(fate, 0)):
            world.outcome(client, plan.id, fate != "refuse")

    world.answer = answer
    world.broker.execute(PERIOD)
    world.run(NEVER_S)
    done = sum(fate in DONE for fate in fates)
    assert world.counts() == {v: n for v, n in (("done", done), ("failed", len(fates) - done)) if n}
    asked = {client: sum(each == client for each, _ in world.sent) for client in CLIENTS}
    failing = {client for client in CLIENTS if fates[client] not in DONE}
    assert asked == {client: ATTEMPTS if client in failing else 1 for client in CLIENTS}
    assert world.tracker.given_up == failing
    assert world.tracker.strays == fates.count("repeat")
    assert [*world.tracker.pending] == []
    (progress,) = world.tracker.progress.values()
    assert progress.concluded


def test_an_answer_counts_even_if_sending_fails_afterwards() -> None:
    world = World()

    def answer(client: int, plan: Plan) -> None:
        world.outcome(client, plan.id)
        raise ConnectionError("closed too early")

    world.answer = answer
    world.broker.execute(PERIOD)
    assert (world.counts(), len(world.sent)) == ({"done": 5}, 5)


def test_who_is_cut_off_is_not_waited_for_and_told_when_it_is_back() -> None:
    world = World()
    world.tracker.cut_off(0)
    world.answer = world_answers = lambda client, plan: world.outcome(client, plan.id)
    world.broker.execute(PERIOD)
    assert world.counts() == {"done": 4}
    world.answer = lambda client, plan: None
    world.tracker.cut_off(1)
    world.broker.execute(Plan(plan="next", actions=(Action(proxy="filter", set={"threshold": 3.0}),)))
    for client in (2, 3, 4):
        world.outcome(client, world.sent[-1][1].id)
    world.answer = world_answers
    before = len(world.sent)
    for client in (0, 1):
        world.broker.reconnect(client, 1, 0)
    assert [(client, plan.actions[0].set) for client, plan in world.sent[before:]] == [
        (0, {"period": 2.0, "threshold": 3.0}),
        (1, {"period": 2.0, "threshold": 3.0}),
    ]
    world.run(NEVER_S)
    assert (world.tracker.retries, len(world.sent)) == (0, before + 2)


def test_answers_that_nobody_waits_for_are_counted_and_change_nothing() -> None:
    world = World()
    world.broker.execute(PERIOD)
    (_, plan), *_ = world.sent
    world.outcome(0, "other")
    world.outcome(7, plan.id)
    world.outcome(0, plan.id)
    world.outcome(0, plan.id, ok=False)
    assert (world.tracker.strays, world.counts()) == (3, {"pending": 4, "done": 1})


def test_a_malformed_answer_changes_nothing() -> None:
    world = World()
    world.broker.execute(PERIOD)
    with pytest.raises(InvalidOutcome, match="outcome is not JSON"):
        world.broker.receive(OutcomeMessage(b"nonsense", client=0))
    assert (world.tracker.strays, world.counts()) == (0, {"pending": 5})


def test_who_leaves_has_failed() -> None:
    world = World()
    world.broker.execute(PERIOD)
    world.broker.disconnect(3)
    assert world.counts() == {"pending": 4, "failed": 1}
    world.run(NEVER_S)
    assert sum(client == 3 for client, _ in world.sent) == 1


def test_a_plan_for_nobody_is_concluded() -> None:
    world = World()
    for client in CLIENTS:
        world.broker.disconnect(client)
    world.broker.execute(PERIOD)
    world.run(2.0)
    (progress,) = world.tracker.progress.values()
    assert (progress.concerned, progress.concluded, progress.took) == (0, True, 0.0)
