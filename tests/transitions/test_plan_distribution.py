"""Numbering plans for other hosts, sending them, and executing them there."""

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

    def __init__(self, workers: int) -> None:
        self.unreachable: set[int] = set()
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

    def send(self, host: Hashable, epoch: int, data: bytes) -> None:
        if host in self.unreachable:
            raise ConnectionError(f"no way to {host}")
        assert Plan.from_bytes(data).epoch == epoch
        self.sent.append((host, data))
        self.waiting.append((host, data))

    def deliver(self) -> dict[Hashable, Outcome]:
        """What all answer to what they were sent."""
        waiting, self.waiting = self.waiting, []
        return {host: Outcome.from_bytes(executed(self.workers[host], data)) for host, data in waiting}

    def names(self) -> list[str]:
        return [engine.active("compressor").name for engine in self.engines.values()]


def plan(to: str = "brotli", **fields: Any) -> Plan:
    return Plan.from_data({"plan": "p", "actions": [{"proxy": "compressor", "to": to}], **fields})


def test_every_host_executes_the_plan_and_answers() -> None:
    network = Network(3)
    distribution = network.coordinator.distribution(plan(), [0, 1, 2])
    assert network.sent == []
    assert distribution.send() == {}
    outcomes = network.deliver()
    assert network.names() == ["brotli"] * 3
    assert [outcome.ok for outcome in outcomes.values()] == [True] * 3
    assert outcomes[1] == Outcome(
        plan="boss@1", host="w1", ok=True, records=(Summary(id="boss@1/0", outcome="done"),)
    )
    assert len({data for _, data in network.sent}) == 1


def test_only_the_given_hosts_are_told_and_each_once() -> None:
    network = Network(3)
    distribution = network.coordinator.distribution(plan(), [0, 2, 0])
    assert distribution.hosts == (0, 2)
    distribution.send()
    network.deliver()
    assert network.names() == ["brotli", "zip", "brotli"]
    assert len(network.sent) == 2


def test_plans_are_numbered_upwards_and_own_numbers_are_kept() -> None:
    network = Network(1)
    plans = [plan(), plan(epoch=7), plan(epoch=3), plan(id="mine"), plan()]
    numbered = [network.coordinator.distribution(p, [0]).plan for p in plans]
    assert [(p.id, p.epoch) for p in numbered] == [
        ("boss@1", 1),
        ("boss@7", 7),
        ("boss@3", 3),
        ("mine", 8),
        ("boss@9", 9),
    ]
    assert network.coordinator.epoch == 9


def test_hosts_that_fail_say_why() -> None:
    network = Network(3)
    network.engines[1].transition("compressor", Brotli)
    network.engines[1].drop_proxy("compressor")
    network.coordinator.distribution(plan(), [0, 1, 2]).send()
    outcomes = network.deliver()
    assert [outcome.ok for outcome in outcomes.values()] == [True, False, True]
    assert outcomes[1].records[0].error == "there is no proxy 'compressor'; there are: none"


def test_errors_are_cut_to_a_length_that_travels() -> None:
    network = Network(1)
    network.coordinator.distribution(plan("fragile"), [0]).send()
    (summary,) = network.deliver()[0].records
    assert summary.outcome == "failed"
    assert summary.error == "OSError: " + "x" * 191
    assert network.names() == ["zip"]


@given(st.sets(st.integers(0, 4)))
def test_hosts_that_cannot_be_reached_are_known_and_keep_nobody_waiting(unreachable: set[int]) -> None:
    network = Network(5)
    network.unreachable = unreachable
    errors = network.coordinator.distribution(plan(), range(5)).send()
    assert errors == {host: f"ConnectionError: no way to {host}" for host in unreachable}
    assert network.deliver().keys() == {*range(5)} - unreachable


def test_a_plan_that_comes_twice_is_done_once_and_answered_twice_alike() -> None:
    network = Network(1)
    network.coordinator.distribution(plan("fragile"), [0]).send()
    (_, data) = network.sent[0]
    first = executed(network.workers[0], data)
    again = executed(network.workers[0], data)
    assert first == again
    assert not Outcome.from_bytes(again).ok
    assert len(network.engines[0].records) == 1


def test_malformed_bytes_change_nothing() -> None:
    network = Network(1)
    with pytest.raises(InvalidPlan, match="plan is not JSON"):
        executed(network.workers[0], b"nonsense")
    for data in (b"nonsense", b"{}", b'{"plan":"p","host":"h","ok":3}', b" " * (256 * 1024 + 1)):
        with pytest.raises(InvalidOutcome) as caught:
            Outcome.from_bytes(data)
        assert "\n" not in str(caught.value)
    assert network.names() == ["zip"]


def test_who_cannot_send_cannot_distribute() -> None:
    with pytest.raises(
        TransitionError, match="plan 'p' cannot be distributed: this coordinator only executes"
    ):
        Network(1).workers[0].distribution(plan(), [0])


def test_a_plan_that_is_too_large_is_not_sent_to_anybody() -> None:
    network = Network(1)
    with pytest.raises(InvalidPlan, match="at most 65536"):
        network.coordinator.distribution(plan(why="x" * 70_000), [0])
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
