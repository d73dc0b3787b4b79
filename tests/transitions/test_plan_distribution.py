"""Sending plans to other hosts and collecting what became of them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Annotated, Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.transitions import (
    Coordinator,
    Engine,
    InvalidOutcome,
    InvalidPlan,
    Mechanism,
    MechanismState,
    Outcome,
    Plan,
    Summary,
    TransitionError,
)


class Compressor(Protocol):
    def compress(self, data: bytes) -> bytes: ...


class Base(Mechanism):
    host: Any

    def compress(self, data: bytes) -> bytes:
        return data


class Zip(Base):
    pass


class Brotli(Base):
    quality: Annotated[int, MechanismState("quality")] = 5


class Fragile(Base):
    def start(self) -> None:
        raise OSError("x" * 500)


def executed(worker: Coordinator, data: bytes) -> bytes:
    """What a worker answers to a plan that it is sent."""
    return worker.carry_out(Plan.from_bytes(data)).to_bytes()


class Network:
    """A coordinating host and workers; what is sent waits until it is delivered."""

    def __init__(self, workers: int, *, instant: bool = False) -> None:
        self.instant = instant
        self.unreachable: set[Hashable] = set()
        self.waiting: list[tuple[Hashable, bytes]] = []
        self.sent: list[tuple[Hashable, bytes]] = []
        self.coordinator = Coordinator(Engine("boss"), send=self.send)
        self.engines: dict[Hashable, Engine] = {}
        self.workers: dict[Hashable, Coordinator] = {}
        for number in range(workers):
            engine = Engine(f"w{number}")
            engine.create_proxy("compressor", Compressor, Zip, mechanisms=[Brotli, Fragile])
            self.engines[number] = engine
            self.workers[number] = Coordinator(engine)

    def send(self, host: Hashable, data: bytes) -> None:
        if host in self.unreachable:
            raise ConnectionError(f"no way to {host}")
        self.sent.append((host, data))
        if self.instant:
            self.coordinator.receive_outcome(host, executed(self.workers[host], data))
        else:
            self.waiting.append((host, data))

    def deliver(self) -> None:
        waiting, self.waiting = self.waiting, []
        for host, data in waiting:
            self.coordinator.receive_outcome(host, executed(self.workers[host], data))

    def names(self) -> list[str]:
        return [engine.active("compressor").name for engine in self.engines.values()]


def plan(to: str = "brotli", **fields: Any) -> Plan:
    return Plan.from_data({"plan": "p", "actions": [{"proxy": "compressor", "to": to}], **fields})


@pytest.mark.parametrize("instant", [False, True])
def test_every_host_executes_the_plan_and_answers(instant: bool) -> None:
    network = Network(3, instant=instant)
    distribution = network.coordinator.distribute(plan(), [0, 1, 2])
    if not instant:
        assert (distribution.pending, distribution.finished) == ({0, 1, 2}, False)
        network.deliver()
    assert network.names() == ["brotli"] * 3
    assert distribution.finished
    assert (set(distribution.done), distribution.failed) == ({0, 1, 2}, {})
    assert distribution.done[1] == Outcome(
        plan="boss@1", host="w1", ok=True, records=(Summary(id="boss@1/0", outcome="done"),)
    )
    assert len({data for _, data in network.sent}) == 1


def test_only_the_given_hosts_are_told_and_each_once() -> None:
    network = Network(3)
    network.coordinator.distribute(plan(), [0, 2, 0])
    network.deliver()
    assert network.names() == ["brotli", "zip", "brotli"]
    assert len(network.sent) == 2


def test_plans_are_numbered_upwards_and_own_numbers_are_kept() -> None:
    network = Network(1)
    plans = [plan(), plan(epoch=7), plan(epoch=3), plan(id="mine"), plan()]
    numbered = [network.coordinator.distribute(p, [0]).plan for p in plans]
    assert [(p.id, p.epoch) for p in numbered] == [
        ("boss@1", 1),
        ("boss@7", 7),
        ("boss@3", 3),
        ("mine", 8),
        ("boss@9", 9),
    ]
    assert network.coordinator.epoch == 9


def test_hosts_that_fail_are_told_apart() -> None:
    network = Network(3)
    network.engines[1].transition("compressor", Brotli)
    network.engines[1].drop_proxy("compressor")
    distribution = network.coordinator.distribute(plan(), [0, 1, 2])
    network.waiting.reverse()
    network.deliver()
    assert (set(distribution.done), set(distribution.failed)) == ({0, 2}, {1})
    assert distribution.failed[1].records[0].error == "there is no proxy 'compressor'; there are: none"
    assert distribution.finished


def test_errors_are_cut_to_a_length_that_travels() -> None:
    network = Network(1)
    distribution = network.coordinator.distribute(plan("fragile"), [0])
    network.deliver()
    (summary,) = distribution.failed[0].records
    assert summary.outcome == "failed"
    assert summary.error == "OSError: " + "x" * 191
    assert network.names() == ["zip"]


def test_a_host_that_cannot_be_reached_has_failed() -> None:
    network = Network(3)
    network.unreachable = {1}
    distribution = network.coordinator.distribute(plan(), [0, 1, 2])
    assert distribution.pending == {0, 2}
    assert distribution.failed[1].records[0].error == "ConnectionError: no way to 1"
    network.deliver()
    assert distribution.finished


def test_an_answer_counts_even_if_sending_fails_afterwards() -> None:
    network = Network(1, instant=True)

    def send_and_fail(host: Hashable, data: bytes) -> None:
        network.send(host, data)
        raise ConnectionError("closed too early")

    coordinator = network.coordinator = Coordinator(Engine("boss"), send=send_and_fail)
    distribution = coordinator.distribute(plan(), [0])
    assert (set(distribution.done), distribution.failed) == ({0}, {})


def test_without_hosts_a_distribution_is_finished_at_once() -> None:
    network = Network(0)
    distribution = network.coordinator.distribute(plan(), [])
    assert distribution.finished


def test_hosts_that_never_answer_stay_pending() -> None:
    network = Network(2)
    distribution = network.coordinator.distribute(plan(), [0, 1])
    network.waiting.pop()
    network.deliver()
    assert (distribution.pending, distribution.finished) == ({1}, False)


def test_a_plan_that_comes_twice_is_done_once_and_answered_twice_alike() -> None:
    network = Network(1)
    network.coordinator.distribute(plan("fragile"), [0])
    (_, data) = network.sent[0]
    first = executed(network.workers[0], data)
    again = executed(network.workers[0], data)
    assert first == again
    assert not Outcome.from_bytes(again).ok
    assert len(network.engines[0].records) == 1


def test_answers_that_nobody_waits_for_are_counted() -> None:
    network = Network(2)
    distribution = network.coordinator.distribute(plan(), [0])
    unknown_plan = Outcome(plan="other", host="w0", ok=True).to_bytes()
    unknown_host = Outcome(plan="boss@1", host="w1", ok=False).to_bytes()
    network.coordinator.receive_outcome(0, unknown_plan)
    network.coordinator.receive_outcome(1, unknown_host)
    network.deliver()
    network.coordinator.receive_outcome(0, Outcome(plan="boss@1", host="w0", ok=False).to_bytes())
    assert network.coordinator.strays == 3
    assert (set(distribution.done), distribution.failed) == ({0}, {})


def test_malformed_bytes_change_nothing() -> None:
    network = Network(1)
    with pytest.raises(InvalidPlan, match="plan is not JSON"):
        executed(network.workers[0], b"nonsense")
    for data in (b"nonsense", b"{}", b'{"plan":"p","host":"h","ok":3}', b" " * (256 * 1024 + 1)):
        with pytest.raises(InvalidOutcome) as caught:
            network.coordinator.receive_outcome(0, data)
        assert "\n" not in str(caught.value)
    assert network.names() == ["zip"]
    assert network.coordinator.strays == 0


def test_who_cannot_send_cannot_distribute() -> None:
    with pytest.raises(
        TransitionError, match="plan 'p' cannot be distributed: this coordinator only executes"
    ):
        Network(1).workers[0].distribute(plan(), [0])


def test_a_plan_that_is_too_large_is_not_sent_to_anybody() -> None:
    network = Network(1)
    with pytest.raises(InvalidPlan, match="at most 65536"):
        network.coordinator.distribute(plan(why="x" * 70_000), [0])
    assert (network.sent, network.coordinator.epoch) == ([], 0)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
summaries = st.builds(Summary, id=texts, outcome=st.sampled_from(["done", "failed", "skipped"]), error=texts)


@given(
    st.builds(
        Outcome, plan=texts, host=texts, ok=st.booleans(), records=st.lists(summaries, max_size=4).map(tuple)
    )
)
def test_outcomes_come_back_as_they_were(outcome: Outcome) -> None:
    assert Outcome.from_bytes(outcome.to_bytes()) == outcome


@given(
    st.lists(st.sampled_from(["deliver", "lose", "repeat"]), min_size=5, max_size=5),
    st.sets(st.integers(0, 4)),
)
def test_the_books_are_right_whatever_the_network_does(fates: list[str], unreachable: set[Hashable]) -> None:
    network = Network(5)
    network.unreachable = unreachable
    distribution = network.coordinator.distribute(plan(), range(5))
    waiting, network.waiting = network.waiting, []
    for host, data in waiting:
        for _ in range({"deliver": 1, "lose": 0, "repeat": 2}[fates[int(str(host))]]):
            network.coordinator.receive_outcome(host, executed(network.workers[host], data))
    reached = {host for host, _ in waiting}
    assert set(distribution.failed) == unreachable
    assert set(distribution.done) == {host for host in reached if fates[int(str(host))] != "lose"}
    assert distribution.pending == {host for host in reached if fates[int(str(host))] == "lose"}
    assert network.coordinator.strays == sum(fates[int(str(host))] == "repeat" for host in reached)
    assert distribution.finished == (not distribution.pending)
    assert all(len(engine.records) <= 1 for engine in network.engines.values())
